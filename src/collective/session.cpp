#include "collective/session.hpp"

#include <algorithm>

namespace couplet::collective {

Session::Session(message::Courier& courier, const message::Group& group, const PeerFacts& facts)
    : courier_(courier), facts_(facts), mailbox_(courier, group), meeting_(mailbox_) {
  note_losses();
}

void Session::note_losses() {
  losses_.clear();
  const message::Group& group = mailbox_.group();
  for (std::int32_t rank = 0; rank < group.size(); ++rank) losses_.push_back(courier_.losses(group.peer(rank)));
}

// ---- calls ----

Status Session::failure_of(std::uint64_t call) {
  const auto found = failures_.find(call);
  if (found == failures_.end()) return {};
  Status why = std::move(found->second);
  failures_.erase(failures_.begin(), std::next(found));
  return why;
}

void Session::note_head(std::uint64_t call, const wire::CollectiveHead& head) noexcept {
  past(call) = {.call = call, .head = head};
}

void Session::end_call(std::uint64_t call, const wire::CollectiveHead& head, bool failed) noexcept {
  past(call) = {.call = call, .failed = failed, .ended = true, .head = head};
}

std::uint32_t Session::signature_before(std::uint64_t call) const noexcept {
  if (call == 0) return 0;
  const Past& before = past_[(call - 1) % kept_calls];
  return before.call == call - 1 && !before.failed ? before.head.signature() : 0;
}

const wire::CollectiveHead* Session::head_of(std::uint64_t call) const noexcept {
  const Past& found = past_[call % kept_calls];
  return found.call == call && !found.failed ? &found.head : nullptr;
}

// ---- notices ----

void Session::revoked(const wire::CollectiveNotice& notice, std::int32_t source, News& news) {
  // It comes from a group of the same name and members that was freed.
  if (notice.epoch != 0 && notice.epoch != meeting_.epoch()) return;
  Past& known = past(notice.call);
  const bool is_known = known.call == notice.call;
  Status why(static_cast<Code>(notice.code), notice.text);
  why = why.within(fmt::format("revoked by rank {}", source));
  if (is_known && known.failed) return;
  if (notice.call < next_call_ && is_known && !known.ended) {
    news.revoked = notice.call;
    news.why = std::move(why);
    return;
  }
  if (notice.call >= next_call_) {
    if (failures_.size() < max_early_failures) failures_.emplace(notice.call, std::move(why));
    return;
  }
  if (!is_known) return;  // too long ago
  known.failed = true;
  failures_.emplace(next_call_, why.within(fmt::format("call {} had ended here before it failed", notice.call)));
}

bool Session::take_notice(News& news) {
  news = {};
  wire::CollectiveNotice notice;
  if (!mailbox_.take(notice, news.source)) return false;
  if (news.source < 0) return true;
  switch (notice.kind) {
    case wire::NoticeKind::greeting:
      meeting_.greeted(notice, news.source);
      break;
    case wire::NoticeKind::epoch:
      meeting_.answered(notice, news.source);
      break;
    case wire::NoticeKind::revoke:
      revoked(notice, news.source, news);
      break;
    case wire::NoticeKind::inquiry:
      news.inquiry = std::move(notice);
      break;
  }
  return true;
}

// ---- failures ----

Status Session::lost_member() const {
  for (std::int32_t rank = 0; rank < mailbox_.group().size(); ++rank) {
    const channel::PeerId peer = mailbox_.group().peer(rank);
    if (courier_.losses(peer) == losses_[static_cast<std::size_t>(rank)]) continue;
    if (courier_.has_left(peer) || (facts_.has_left && facts_.has_left(peer))) continue;
    return fail(Code::peer_lost, "rank {} is lost, and the group has to be created again: {}", rank,
                courier_.loss(peer).text());
  }
  return {};
}

wire::CollectiveNotice Session::notice(wire::NoticeKind kind, std::uint64_t call) const {
  wire::CollectiveNotice made;
  made.kind = kind;
  made.identity = mailbox_.group().hash();
  made.call = call;
  made.epoch = meeting_.epoch();
  return made;
}

void Session::tell(std::uint64_t call, const Status& why, const std::vector<std::int32_t>& targets) {
  wire::CollectiveNotice made = notice(wire::NoticeKind::revoke, call);
  const Status sent = why.error() ? why : fail(Code::timeout, "it was interrupted at rank {}", mailbox_.group().rank());
  made.code = static_cast<std::int32_t>(sent.code());
  made.text = sent.text();
  if (targets.empty()) {
    for (std::int32_t rank = 0; rank < mailbox_.group().size(); ++rank) {
      if (rank != mailbox_.group().rank()) mailbox_.send(made, rank);
    }
    return;
  }
  for (const std::int32_t target : targets) mailbox_.send(made, target);
}

void Session::ask(std::uint64_t call, const wire::CollectiveHead& head, const std::vector<std::int32_t>& targets) {
  wire::CollectiveNotice made = notice(wire::NoticeKind::inquiry, call);
  made.head = head;
  for (const std::int32_t target : targets) mailbox_.send(made, target);
}

bool Session::start_again() {
  next_call_ = 0;
  failures_.clear();
  past_.fill({});
  note_losses();
  return meeting_.start_again();
}

}  // namespace couplet::collective
