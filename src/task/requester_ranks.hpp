// The requesters of a coupler: those from which requests may come, and those that were lost and have not closed, so
// that their end is not taken for the end of the work. Tests: tests/unit/task/requester_ranks_test.cpp.
#pragma once

#include <map>
#include <set>
#include <string_view>

#include "base/status.hpp"
#include "task/mailbox.hpp"

namespace couplet::task {

class RequesterRanks {
 public:
  // Requests may come from these ranks, unless they have left.
  void expect(Mailbox& mailbox, const std::set<channel::PeerId>& ranks);
  // Requests may come from the rank, also if it was lost before.
  void add(channel::PeerId rank);
  // The rank has closed, or has left.
  void closed(channel::PeerId rank);
  // The rank is lost. Nothing changes if it had closed.
  void lost(channel::PeerId rank, Status why);
  // The rank has been started again. Nothing changes if it was not lost.
  void returned(channel::PeerId rank);
  // Asks whether ranks that were lost have been started again, if no other is left. Lets the process make progress, for
  // a caller that answers at once, again and again: otherwise it would never come back to a hub that was started again.
  void look_for_returned(Mailbox& mailbox);

  // May a request come?
  [[nodiscard]] bool any() const noexcept { return !present_.empty(); }
  // Has each of them closed or left?
  [[nodiscard]] bool all_closed() const noexcept { return present_.empty() && lost_.empty(); }
  // Returns peer_lost, with the name of the tasks and of one that was lost, if all others have closed; else ok.
  [[nodiscard]] Status loss(std::string_view tasks) const;

 private:
  std::set<channel::PeerId> present_;
  std::map<channel::PeerId, Status> lost_;
};

}  // namespace couplet::task
