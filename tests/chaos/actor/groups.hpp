// Groups and their collective calls: a part of the actor.
#pragma once

#include <couplet/couplet.h>

#include <map>
#include <string>

#include "history.hpp"
#include "script.hpp"
#include "self.hpp"

namespace chaos {

// A group, and how far this process has come in it. Every few calls its members agree on the next round.
struct Circle {
  couplet_group* group = nullptr;
  std::uint64_t size = 0;
  std::int32_t own = -1;  // rank of this process
  std::uint64_t round = 0;
  bool agreed = false;  // the next call is the one of this round, and no agreement
  bool ends = false;    // a member has said in an agreement that its time is over
};

class Groups {
 public:
  Groups(const Self& self, History& history) : self_(self), history_(history) {}
  // Makes calls in one group after the other. together=1: ends when a member has told the first group that its time is
  // over; otherwise each member ends by itself. keep=1: a group is created again only if it must be.
  void meet(couplet_universe* universe, const Action& action);
  // The universe that the groups belonged to is left.
  void forget() { circles_.clear(); }

 private:
  bool make_group(couplet_universe* universe, const std::string& members, const std::string& name, Circle& circle);
  couplet_status meet_once(const std::string& name, Circle& circle, const Action& action, bool wants_end);

  const Self& self_;
  History& history_;
  std::map<std::string, Circle> circles_;
};

}  // namespace chaos
