#include "collective/session.hpp"

#include <algorithm>
#include <utility>

namespace couplet::collective {
namespace {

constexpr std::string_view revoked_by = "revoked by rank ";

Status lost(const message::Courier& courier, const message::Group& group, std::int32_t rank) {
  return fail(Code::peer_lost, "rank {} is lost ({}); create the group again when it has returned, or one without it",
              rank, courier.loss(group.peer(rank)).text());
}

// A call that had ended here, and that another member names as the cause, is passed on like one that is revoked.
void note_cause(Session& session, std::uint64_t call, std::uint64_t cause, const Status& why) {
  const std::vector<std::int32_t> neighbors = session.meeting().neighbors();
  if (session.past().note_cause(call, cause, why)) session.tell(cause, why, neighbors);
}

}  // namespace

Session::Session(message::Courier& courier, const message::Group& group, const PeerFacts& facts, std::uint64_t creation)
    : courier_(courier),
      facts_(facts),
      mailbox_(courier, group),
      meeting_(mailbox_, creation),
      losses_(mailbox_.group(), &facts.membership),
      creations_(static_cast<std::size_t>(group.size())) {
  losses_.note(courier);
}

// ---- calls ----

Session::EarlyFailure Session::failure_of(std::uint64_t call) {
  if (failures_.empty()) return {};
  const auto found = failures_.find({meeting_.creation(), call});
  if (found == failures_.end()) return {};
  EarlyFailure failure = std::move(found->second);
  failures_.erase(failures_.begin(), std::next(found));
  note_cause(*this, call, failure.cause, failure.why);
  return failure;
}

void Session::fail_call(std::uint64_t call, const Status& why) noexcept {
  past_.fail(call, why.error() ? why : Status(Code::timeout));
  if (!meeting_.met()) return;
  // What has come for it, and what still comes, is not wanted any more.
  const std::uint32_t context = mailbox_.context_of(meeting_.epoch(), call);
  for (std::int32_t rank = 0; rank < group().size(); ++rank) courier_.drop(group().peer(rank), context);
}

// ---- notices ----

void Session::revoked(const wire::CollectiveNotice& notice, std::int32_t source, News& news) {
  heard_ = std::max(heard_, notice.creation + 1);
  if (notice.creation < meeting_.creation()) return;
  const bool is_later = notice.creation > meeting_.creation();
  if (!is_later && notice.epoch != 0 && notice.epoch != meeting_.epoch()) return;
  const bool is_known = !is_later && past_.is_known(notice.call);
  Status why(static_cast<Code>(notice.code), notice.text);
  if (!notice.text.starts_with(revoked_by)) {  // it may pass on what another rank has told
    why = why.within(fmt::format("{}{} ({})", revoked_by, source, courier_.name(mailbox_.group().peer(source))));
  }
  const bool is_earlier_cause = notice.cause < notice.call;
  if (!is_later && is_earlier_cause && past_.is_open(notice.cause)) {
    past_.fail(notice.cause, why);
    news.revoked = notice.cause;
    news.why = std::move(why);
    news.has_more = true;
    return;
  }
  if (is_known && !past_.failure_in(notice.call).ok()) return;
  if (!is_later && notice.call < next_call_ && past_.is_open(notice.call)) {
    note_cause(*this, notice.call, notice.cause, why);
    news.revoked = notice.call;
    news.why = std::move(why);
    return;
  }
  if (notice.call >= next_call_ || is_later) {
    if (failures_.size() >= max_early_texts) why = why.code();
    if (is_earlier_cause && (is_later || notice.cause >= next_call_)) {
      failures_.try_emplace({notice.creation, notice.cause}, EarlyFailure{why, true});
    }
    failures_.try_emplace({notice.creation, notice.call}, EarlyFailure{std::move(why), true, notice.cause});
    return;
  }
  if (!is_known) return;  // too long ago
  // If this member has failed for the same reason already, it has nothing more to tell: otherwise two members that are
  // a call apart would fail each other's calls for ever.
  const std::uint64_t cause = notice.cause;
  if (cause < notice.call && (!past_.is_known(cause) || !past_.failure_in(cause).ok())) return;
  // What needs memory comes first: the notice is taken again if there is none, and must not be known then.
  const std::vector<std::int32_t> neighbors = meeting_.neighbors();
  const std::uint64_t open = past_.first_open(notice.call, next_call_);
  // The others make the next call, too, and learn from this member why it fails.
  Status next = why.within(fmt::format("call {} had ended here before it failed", notice.call));
  decltype(failures_) next_failure;
  if (open == next_call_) next_failure.try_emplace({notice.creation, next_call_}, EarlyFailure{next});
  past_.set_cause(open, cause);
  note_cause(*this, notice.call, cause, why);
  failures_.merge(next_failure);
  past_.fail(notice.call, why);
  tell(notice.call, why, neighbors);  // the source may not reach them
  if (open == next_call_) return;
  news.revoked = open;
  news.why = std::move(next);
  news.is_told = false;
}

bool Session::take_notice(News& news) {
  news = {};
  if (!is_held_ && !mailbox_.take(held_, held_source_)) return false;
  is_held_ = true;
  news.source = held_source_;
  if (news.source >= 0) work_off(held_, news);
  is_held_ = news.has_more;
  return true;
}

// A member in which a call has failed goes on when the group is created again, and not by itself in a later creation.
// Before its first call it may: what failed in its creation was a call of members that have left that creation since.
void Session::note_creation(std::uint64_t creation, News& news) {
  const std::uint64_t before = std::exchange(creations_[static_cast<std::size_t>(news.source)], creation);
  news.is_ahead = before <= meeting_.creation() && creation > meeting_.creation();
  heard_ = std::max(heard_, creation);
  const auto early = failures_.lower_bound({meeting_.creation(), 0});
  const bool is_clean = past_.failure().ok() &&
                        (next_call_ == 0 || early == failures_.end() || early->first.first != meeting_.creation());
  if (is_clean) meeting_.adopt(creation, news.source);
}

void Session::work_off(const wire::CollectiveNotice& notice, News& news) {
  note_creation(notice.creation, news);
  switch (notice.kind) {
    case wire::NoticeKind::creation:
      break;
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
      if (notice.creation <= meeting_.creation()) news.inquiry = notice;
      break;
  }
}

// ---- failures ----

Status Session::lost_member() {
  const std::optional<std::int32_t> rank = losses_.find_ended(courier_);
  return rank ? lost(courier_, mailbox_.group(), *rank) : Status();
}

bool Session::is_undisturbed() {
  return meeting_.met() && !has_notice() && failures_.empty() && losses_.none(courier_);
}

void Session::watch_awaited(std::uint64_t call) {
  for (const std::int32_t rank : meeting_.awaited(call)) courier_.watch(mailbox_.group().peer(rank));
}

Status Session::absent_member(std::uint64_t call) const {
  for (const std::int32_t rank : meeting_.awaited(call)) {
    const channel::PeerId peer = mailbox_.group().peer(rank);
    const bool is_lost = courier_.is_lost(peer);
    if (is_lost && !courier_.has_left(peer)) return lost(courier_, mailbox_.group(), rank);
    const bool has_left =
        facts_.membership.has_left && facts_.membership.has_left(peer) && !courier_.is_connected(peer);
    if (!has_left && !is_lost) continue;
    return fail(Code::peer_lost, "rank {} ({}) has left, and has not made this call", rank, courier_.name(peer));
  }
  return {};
}

std::string Session::waited_for(std::uint64_t call) const {
  constexpr std::size_t max_named = 3;
  const std::vector<std::int32_t> ranks = meeting_.awaited(call);
  std::string text;
  for (std::size_t index = 0; index < std::min(ranks.size(), max_named); ++index) {
    const channel::PeerId peer = mailbox_.group().peer(ranks[index]);
    text += fmt::format("{} rank {} ({})", index == 0 ? "; it has waited for" : ",", ranks[index], courier_.name(peer));
  }
  if (ranks.size() > max_named) text += fmt::format(" and {} more", ranks.size() - max_named);
  return text.empty() ? text : text + ", in a group of this name with the same ranks in the same order";
}

wire::CollectiveNotice Session::notice(wire::NoticeKind kind, std::uint64_t call) const {
  wire::CollectiveNotice made;
  made.kind = kind;
  made.identity = mailbox_.group().hash();
  made.call = call;
  made.creation = meeting_.creation();
  made.epoch = meeting_.epoch();
  return made;
}

Status Session::created_again(std::uint64_t call, const std::vector<std::int32_t>& awaited) const {
  for (const std::int32_t rank : awaited) {
    if (creations_[static_cast<std::size_t>(rank)] <= meeting_.creation()) continue;
    const auto later = failures_.lower_bound({meeting_.creation(), call});
    if (later != failures_.end()) return later->second.why;
    return fail(Code::mismatch, "rank {} has created the group again, while rank {} is in call {} of the old one", rank,
                mailbox_.group().rank(), call);
  }
  return {};
}

void Session::tell(std::uint64_t call, const Status& why, const std::vector<std::int32_t>& targets,
                   const wire::CollectiveNotice* asked) noexcept {
  wire::CollectiveNotice made = notice(wire::NoticeKind::revoke, call);
  if (asked != nullptr) made.creation = asked->creation;
  const bool is_former = made.creation != meeting_.creation();
  if (is_former || (asked != nullptr && asked->epoch == 0)) made.epoch = asked->epoch;  // it knows no other one
  made.code = static_cast<std::int32_t>(why.error() ? why.code() : Code::timeout);
  made.cause = is_former ? call : past_.cause_of(call);
  try {
    made.text = why.error() ? why.text()
                            : fmt::format("call {} of group '{}' was interrupted at rank {}", call,
                                          mailbox_.group().name(), mailbox_.group().rank());
  } catch (const std::bad_alloc&) {
    made.text.clear();
  }
  const auto send = [&](std::int32_t rank) {
    const bool was_lost = meeting_.met() ? meeting_.has_lost(rank) : losses_.has(courier_, rank);
    if (rank != mailbox_.group().rank() && (asked != nullptr || !was_lost)) mailbox_.send(made, rank);
  };
  for (const std::int32_t target : targets) send(target);
  if (!targets.empty()) return;
  for (std::int32_t rank = 0; rank < mailbox_.group().size(); ++rank) send(rank);
}

void Session::ask(std::uint64_t call, const wire::CollectiveHead& head, const std::vector<std::int32_t>& targets) {
  wire::CollectiveNotice made = notice(wire::NoticeKind::inquiry, call);
  made.head = head;
  for (const std::int32_t target : targets) mailbox_.send(made, target);
}

void Session::ask_awaited(std::uint64_t call, const wire::CollectiveHead& head) {
  meeting_.greet_again(call);
  std::vector<std::int32_t> targets = meeting_.awaited(call);
  if (!facts_.has_earlier_life) {
    std::erase_if(targets, [this](std::int32_t rank) {
      return creations_[static_cast<std::size_t>(rank)] <= meeting_.creation();
    });
  }
  ask(call, head, targets);
}

// A creation in which no call was made is not counted. Not all members may know of it: a session that is not in use is
// not kept.
std::uint64_t Session::next_creation() const noexcept {
  return std::max(meeting_.creation() + (next_call_ > 0 ? 1 : 0), heard_);
}

bool Session::start_again() {
  const std::uint64_t creation = next_creation();
  next_call_ = 0;
  failures_.erase(failures_.begin(), failures_.lower_bound({creation, 0}));
  past_.clear();
  mailbox_.open_again();
  losses_.note(courier_);
  meeting_.start_again(creation);
  return meeting_.is_greeted() || !failures_.empty();
}

}  // namespace couplet::collective
