#include "collective/session.hpp"

#include <algorithm>

namespace couplet::collective {

Session::Session(message::Courier& courier, const message::Group& group, const PeerFacts& facts)
    : courier_(courier),
      facts_(facts),
      mailbox_(courier, group),
      meeting_(mailbox_),
      births_(static_cast<std::size_t>(group.size())) {
  note_losses();
}

void Session::note_losses() {
  losses_.clear();
  const message::Group& group = mailbox_.group();
  for (std::int32_t rank = 0; rank < group.size(); ++rank) losses_.push_back(courier_.losses(group.peer(rank)));
}

// ---- calls ----

Session::EarlyFailure Session::failure_of(std::uint64_t call) noexcept {
  const auto found = failures_.find(call);
  if (found == failures_.end()) return {};
  EarlyFailure failure = std::move(found->second);
  failures_.erase(failures_.begin(), std::next(found));
  return failure;
}

void Session::note_head(std::uint64_t call, const wire::CollectiveHead& head) noexcept {
  past(call) = {.call = call, .head = head};
}

void Session::end_call(std::uint64_t call, const wire::CollectiveHead& head) noexcept {
  past(call) = {.call = call, .ended = true, .head = head};
}

void Session::fail_call(std::uint64_t call, const Status& why) noexcept {
  const Status kept = why.error() ? why : Status(Code::timeout);
  past(call) = {.call = call, .failed = true, .ended = true, .why = kept};
  has_failed_ = true;
  if (!meeting_.met()) return;
  // What has come for it, and what still comes, is not wanted any more.
  const std::uint32_t context = mailbox_.context_of(meeting_.epoch(), call);
  for (std::int32_t rank = 0; rank < group().size(); ++rank) courier_.drop(group().peer(rank), context);
}

// The oldest call whose place the next one takes has ended, or there are more places.
void Session::make_room() noexcept {
  const Past& next = past(next_call_);
  if (next.call == UINT64_MAX || next.ended) return;
  try {
    std::vector<Past> more(2 * past_.size());
    for (Past& one : past_) {
      if (one.call != UINT64_MAX) more[one.call % more.size()] = std::move(one);
    }
    past_ = std::move(more);
  } catch (const std::bad_alloc&) {
    return;  // the revocation of the oldest call gets lost
  }
}

Status Session::failure_in(std::uint64_t call) const noexcept {
  const Past& found = past(call);
  return found.call == call && found.failed ? found.why : Status();
}

std::uint32_t Session::signature_before(std::uint64_t call) const noexcept {
  if (call == 0) return 0;
  const Past& before = past(call - 1);
  return before.call == call - 1 && !before.failed ? before.head.signature() : 0;
}

const wire::CollectiveHead* Session::head_of(std::uint64_t call) const noexcept {
  const Past& found = past(call);
  return found.call == call && !found.failed ? &found.head : nullptr;
}

// ---- notices ----

void Session::revoked(const wire::CollectiveNotice& notice, std::int32_t source, News& news) {
  // It comes from a group of the same name and members that was freed: here, or at its sender.
  Births& births = births_[static_cast<std::size_t>(source)];
  const bool is_stale = notice.epoch != 0 ? notice.epoch != meeting_.epoch() : notice.stamp == births.stale;
  births.last = notice.stamp;
  if (is_stale) return;
  Past& known = past(notice.call);
  const bool is_known = known.call == notice.call;
  Status why(static_cast<Code>(notice.code), notice.text);
  why = why.within(fmt::format("revoked by rank {} ({})", source, courier_.name(mailbox_.group().peer(source))));
  if (is_known && known.failed) return;
  if (notice.call < next_call_ && is_known && !known.ended) {
    news.revoked = notice.call;
    news.why = std::move(why);
    return;
  }
  if (notice.call >= next_call_) {
    if (failures_.size() >= max_early_texts) why = why.code();
    failures_.try_emplace(notice.call, EarlyFailure{std::move(why), true});
    return;
  }
  if (!is_known) return;  // too long ago
  // The others make the next call, too, and learn from this member why it fails.
  failures_.try_emplace(next_call_,
                        EarlyFailure{why.within(fmt::format("call {} had ended here before it failed", notice.call))});
  known.failed = true;
  known.why = why;
}

bool Session::take_notice(News& news) {
  news = {};
  if (!is_held_ && !mailbox_.take(held_, held_source_)) return false;
  is_held_ = true;
  news.source = held_source_;
  if (news.source >= 0) work_off(held_, news);
  is_held_ = false;
  return true;
}

void Session::work_off(const wire::CollectiveNotice& notice, News& news) {
  switch (notice.kind) {
    case wire::NoticeKind::greeting:
      births_[static_cast<std::size_t>(news.source)].last = notice.epoch;
      meeting_.greeted(notice, news.source);
      break;
    case wire::NoticeKind::epoch:
      meeting_.answered(notice, news.source);
      break;
    case wire::NoticeKind::revoke:
      revoked(notice, news.source, news);
      break;
    case wire::NoticeKind::inquiry:
      news.inquiry = notice;
      break;
  }
}

// ---- failures ----

Status Session::lost_member() const {
  for (std::int32_t rank = 0; rank < mailbox_.group().size(); ++rank) {
    const channel::PeerId peer = mailbox_.group().peer(rank);
    if (courier_.losses(peer) == losses_[static_cast<std::size_t>(rank)]) continue;
    if (courier_.has_left(peer) || (facts_.has_left && facts_.has_left(peer))) continue;
    return fail(Code::peer_lost, "rank {} is lost, and the group has to be freed, and created again: {}", rank,
                courier_.loss(peer).text());
  }
  return {};
}

Status Session::absent_member(std::uint64_t call) const {
  for (const std::int32_t rank : meeting_.awaited(call)) {
    const channel::PeerId peer = mailbox_.group().peer(rank);
    const bool has_left = facts_.has_left && facts_.has_left(peer) && !courier_.is_connected(peer);
    if (!has_left && !courier_.has_left(peer)) continue;
    return fail(Code::peer_lost, "rank {} ({}) has left, and has not made this call", rank, courier_.name(peer));
  }
  return {};
}

wire::CollectiveNotice Session::notice(wire::NoticeKind kind, std::uint64_t call) const {
  wire::CollectiveNotice made;
  made.kind = kind;
  made.identity = mailbox_.group().hash();
  made.call = call;
  made.epoch = meeting_.epoch();
  if (kind == wire::NoticeKind::revoke) made.stamp = meeting_.birth();
  return made;
}

void Session::tell(std::uint64_t call, const Status& why, const std::vector<std::int32_t>& targets) noexcept {
  wire::CollectiveNotice made = notice(wire::NoticeKind::revoke, call);
  made.code = static_cast<std::int32_t>(why.error() ? why.code() : Code::timeout);
  try {
    made.text = why.error() ? why.text()
                            : fmt::format("call {} of group '{}' was interrupted at rank {}", call,
                                          mailbox_.group().name(), mailbox_.group().rank());
  } catch (const std::bad_alloc&) {
    made.text.clear();
  }
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
  past_.assign(min_kept_calls, {});
  for (Births& one : births_) one.stale = one.last;
  has_failed_ = false;
  mailbox_.open_again();
  note_losses();
  return meeting_.start_again();
}

}  // namespace couplet::collective
