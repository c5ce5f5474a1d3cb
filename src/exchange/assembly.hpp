// Assembly: what all members of a group tell each other before there is a plan. Each may have something for any others,
// and does not know which of them have something for it. Exchange owns it; halo uses it for lists of indices.
// Invariants: a member talks to at most 2 log2(size) others, for whomever its parcels are; an error at one member is
// that of all. Tests: tests/conformance/exchange/assembly_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "exchange/notices.hpp"
#include "exchange/talk.hpp"
#include "wire/lists.hpp"

namespace couplet::exchange {

// Bytes for a member, or from one.
struct Parcel {
  std::int32_t rank = -1;
  std::string bytes;
};

class Assembly {
 public:
  // All of it outlives the object; messages refer to it until group.pending is 0.
  Assembly(message::Messenger& messenger, message::Group& group, message::Team& team, const std::string& title,
           std::uint64_t deadline_ns);

  // Lets the body talk, and agrees on how it has ended: returns the first error of any member. Collective; blocks.
  Status hold(const std::function<Status(Assembly&)>& body);
  // Brings each parcel to the member with its rank. Returns what has come to this one, in order of ranks; what one
  // member has sent in its order. Collective; blocks. protocol, timeout, peer_lost, interrupted.
  Result<std::vector<Parcel>> deliver(std::vector<Parcel> parcels);
  // Returns the first error that any member gives, at all members.
  Status agree(const Status& own) { return talk_.agree(own); }
  // Is it so at all members? Collective; blocks.
  Result<bool> all(bool own);
  [[nodiscard]] std::int32_t rank() const noexcept { return group_.rank(); }
  [[nodiscard]] std::int32_t size() const noexcept { return group_.size(); }

 private:
  Status step(std::int32_t distance, std::vector<wire::MovingParcel>& here);

  message::Group& group_;
  Notices notices_;
  GroupTalk talk_;
  std::uint32_t context_ = 0;
  bool is_broken_ = false;  // a member could not be talked to
};

}  // namespace couplet::exchange
