#include "task/requester_ranks.hpp"

#include <utility>

namespace couplet::task {

void RequesterRanks::expect(Mailbox& mailbox, const std::set<channel::PeerId>& ranks) {
  Environment& environment = mailbox.environment();
  for (const channel::PeerId rank : ranks) {
    const bool is_gone = mailbox.is_gone(rank);
    if (!is_gone || environment.is_lost(rank)) {
      add(rank);
    }
    if (is_gone || mailbox.is_cut_off(rank)) {
      lost(rank, fail(Code::peer_lost, "{} is lost", environment.peer_name(rank)));
    }
  }
}

void RequesterRanks::add(channel::PeerId rank) {
  lost_.erase(rank);
  present_.insert(rank);
}

void RequesterRanks::closed(channel::PeerId rank) {
  lost_.erase(rank);
  present_.erase(rank);
}

void RequesterRanks::lost(channel::PeerId rank, Status why) {
  if (present_.erase(rank) > 0) {
    lost_.insert_or_assign(rank, std::move(why));
  }
}

void RequesterRanks::returned(channel::PeerId rank) {
  if (lost_.erase(rank) > 0) {
    present_.insert(rank);
  }
}

void RequesterRanks::look_for_returned(Mailbox& mailbox) {
  if (any()) {
    return;
  }
  mailbox.environment().engine().poll();
  for (const auto& [rank, why] : std::map(lost_)) {
    if (!mailbox.is_gone(rank) && !mailbox.is_cut_off(rank)) {
      returned(rank);
    }
  }
}

Status RequesterRanks::loss(std::string_view tasks) const {
  if (any() || lost_.empty()) {
    return {};
  }
  return fail(Code::peer_lost, "tasks '{}': no requester is left, and one has not closed: {}; it may be started again",
              tasks, lost_.begin()->second.text());
}

}  // namespace couplet::task
