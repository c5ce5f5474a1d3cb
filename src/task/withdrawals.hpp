// What a process has asked couplers to take back, and which of them have not answered yet.
//
// A coupler that makes no call leaves messages where they are. If there is no connection to it yet, or no room, they
// stay in this process, and then a request and its withdrawal may reach the coupler at different times. So a request is
// sent only to a coupler that has answered before, and that has answered all withdrawals of this process, whatever the
// names of the tasks. Used by the requesters of a mailbox. Tests: tests/unit/task/requester_test.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "base/status.hpp"
#include "universe/membership.hpp"
#include "wire/task_message.hpp"

namespace couplet::task {

class Mailbox;

class Withdrawals {
 public:
  explicit Withdrawals(Mailbox& mailbox) noexcept : mailbox_(mailbox) {}

  // Has the coupler answered this process, in this life, and all withdrawals?
  [[nodiscard]] bool may_ask(channel::PeerId coupler) const;
  // Has it answered all withdrawals?
  [[nodiscard]] bool answered(channel::PeerId coupler) const { return !unanswered_.contains(coupler); }
  // Takes the request `number` back. If it cannot be sent, for example without memory, ask() sends it again.
  Status send(channel::PeerId coupler, std::uint64_t space, std::uint64_t number);
  // Asks for the answers without which may_ask() is false. A coupler that has not answered yet is asked to take back a
  // request that was never sent.
  Status ask(channel::PeerId coupler, std::uint64_t space);

  // A message of that process has come. Returns true if it answers a withdrawal.
  bool take(channel::PeerId source, const wire::TaskMessage& message);
  void lost(channel::PeerId peer);

 private:
  struct Withdrawal {
    std::uint64_t space = 0;
    bool sent = false;
  };
  Mailbox& mailbox_;
  std::set<channel::PeerId> met_;                                              // have answered in this life
  std::map<channel::PeerId, std::map<std::uint64_t, Withdrawal>> unanswered_;  // by number
};

}  // namespace couplet::task
