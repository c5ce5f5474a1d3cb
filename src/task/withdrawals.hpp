// The withdrawals of this process that their couplers have not answered yet, and the couplers that have answered it in
// their present life. Shared by all requesters of a process.
//
// A coupler that makes no call leaves messages where they are. If there is no connection to it yet, or no room, they
// stay in this process, and then a request and its withdrawal may reach the coupler at different times. So a request is
// sent only to a coupler that has answered before, and that has answered all withdrawals of this process, whatever the
// names of the tasks.
// Tests: tests/unit/task/withdrawals_test.cpp, requester_test.cpp.
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

  // Returns true if the coupler has answered this process in its present life, and no withdrawal to it is unanswered.
  [[nodiscard]] bool may_ask(channel::PeerId coupler) const;
  // Returns true if no withdrawal to it is unanswered.
  [[nodiscard]] bool answered(channel::PeerId coupler) const { return !unanswered_.contains(coupler); }
  // Takes the request `number` back. If that cannot be sent, for example because there is no memory, ask() sends it
  // again.
  Status send(channel::PeerId coupler, std::uint64_t space, std::uint64_t number);
  // Asks for the answers without which may_ask() is false. A coupler that has not answered yet is asked to take back a
  // request that was never sent.
  Status ask(channel::PeerId coupler, std::uint64_t space);

  // Notes that a message of `source` has come. Returns true if it answers a withdrawal.
  bool take(channel::PeerId source, const wire::TaskMessage& message);
  // Forgets what concerns the life of the peer that has ended.
  void lost(channel::PeerId peer) noexcept;

 private:
  struct Withdrawal {
    std::uint64_t space = 0;
    bool sent = false;
  };
  Mailbox& mailbox_;
  std::set<channel::PeerId> have_answered_;
  std::map<channel::PeerId, std::map<std::uint64_t, Withdrawal>> unanswered_;  // by number
};

}  // namespace couplet::task
