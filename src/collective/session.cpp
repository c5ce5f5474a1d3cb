#include "collective/session.hpp"

#include <algorithm>

#include "os/host.hpp"

namespace couplet::collective {
namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t number) noexcept {
  hash = (hash ^ number) * 0xBF58476D1CE4E5B9U;
  return hash ^ (hash >> 29U);
}

constexpr std::uint64_t mailbox_mark = 0x636F6C6C65637431U;

std::uint32_t internal(std::uint64_t hash) noexcept {
  return message::user_context(hash) | message::internal_context;
}

// Returns a number that is not 0, and that was never returned before.
std::uint64_t fresh_number() {
  const auto bits = os::random_bits();
  return bits.ok() && *bits != 0 ? *bits : 1;
}

}  // namespace

Session::Session(message::Courier& courier, const message::Group& group, const PeerFacts& facts)
    : courier_(courier), facts_(facts), group_(group), mailbox_context_(internal(mix(group.hash(), mailbox_mark))), birth_(fresh_number()) {
  group_.pending = 0;
  const std::int32_t own = group_.rank();
  std::int32_t bit = 1;
  for (; bit < group_.size() && (own & bit) == 0; bit *= 2) {
    if (own + bit < group_.size()) children_.push_back({.rank = own + bit});
  }
  if (own != 0) parent_ = own - bit;
  for (std::int32_t rank = 0; rank < group_.size(); ++rank) losses_.push_back(courier_.losses(group_.peer(rank)));
  open_mailbox();
}

Session::~Session() {
  close();
}

void Session::close() noexcept {
  if (mailbox_ == nullptr) return;
  if (mailbox_->done) {
    static_cast<void>(courier_.end(mailbox_));
  } else {
    static_cast<void>(courier_.withdraw(mailbox_));
  }
}

void Session::open_mailbox() {
  if (group_.size() == 1) return;
  mailbox_ = courier_.receive_bytes(group_, mailbox_context_, COUPLET_ANY_TAG, incoming_, COUPLET_ANY_SOURCE);
}

std::uint32_t Session::context_of(std::uint64_t call) const noexcept {
  return internal(mix(mix(group_.hash(), epoch_), call));
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

// ---- meeting ----

wire::CollectiveNotice Session::notice(wire::NoticeKind kind, std::uint64_t call) const {
  wire::CollectiveNotice made;
  made.kind = kind;
  made.identity = group_.hash();
  made.call = call;
  made.epoch = epoch_;
  return made;
}

// A target that is lost is not told. One that cannot be told for want of memory loses its channel, so that it does not
// wait for ever.
void Session::send_notice(const wire::CollectiveNotice& notice, std::int32_t target) noexcept {
  Status sent;
  try {
    sent =
        courier_.messenger().send_internal(group_, mailbox_context_, wire::encode_collective_notice(notice), target, 0);
  } catch (const std::bad_alloc&) {
    sent = Code::memory;
  }
  if (sent.code() == Code::memory) courier_.messenger().give_up_peer(group_, target, sent);
}

void Session::meet(std::uint64_t call) {
  if (met()) return;
  const bool complete = std::all_of(children_.begin(), children_.end(),
                                    [call](const Child& child) { return child.greeted && child.call == call; });
  if (!complete) return;
  if (parent_ < 0) {
    wire::CollectiveNotice answer = notice(wire::NoticeKind::epoch, call);
    answer.epoch = fresh_number();
    for (std::int32_t rank = 0; rank < group_.size(); ++rank) {
      answer.systems.push_back(facts_.system_of ? facts_.system_of(group_.peer(rank)) : 0);
    }
    return met_in(answer);
  }
  if (stamp_ != 0 && greeted_call_ == call) return;
  stamp_ = fresh_number();
  greeted_call_ = call;
  wire::CollectiveNotice greeting = notice(wire::NoticeKind::greeting, call);
  greeting.stamp = stamp_;
  greeting.epoch = birth_;
  send_notice(greeting, parent_);
}

void Session::met_in(const wire::CollectiveNotice& answer) {
  epoch_ = answer.epoch;
  systems_ = group_systems(answer.systems);
  names_ = answer.systems;
  for (Child& child : children_) child.met_birth = child.birth;
  answer_children();
}

// A child that greets after the meeting has given up a call before, and is told at once; unless it has created the group
// again, and this member will do so.
void Session::answer_children() {
  for (Child& child : children_) {
    if (!child.greeted || child.birth != child.met_birth) continue;
    wire::CollectiveNotice answer = notice(wire::NoticeKind::epoch, child.call);
    answer.stamp = child.stamp;
    answer.systems = names_;
    send_notice(answer, child.rank);
    child.greeted = false;
  }
}

Status Session::created_again(std::uint64_t call, const std::vector<std::int32_t>& awaited) const {
  for (const Child& child : children_) {
    if (!met() || !child.greeted || child.birth == child.met_birth) continue;
    if (std::find(awaited.begin(), awaited.end(), child.rank) == awaited.end()) continue;
    return fail(Code::mismatch,
                "rank {} has created the group again, and makes call {} in it, while rank {} makes call {} in the old one",
                child.rank, child.call, group_.rank(), call);
  }
  return {};
}

void Session::greeted(const wire::CollectiveNotice& greeting, std::int32_t source) {
  for (Child& child : children_) {
    if (child.rank != source) continue;
    child.stamp = greeting.stamp;
    child.call = greeting.call;
    child.birth = greeting.epoch;
    child.greeted = true;
  }
  if (met()) answer_children();
}

void Session::revoked(const wire::CollectiveNotice& notice, std::int32_t source, News& news) {
  if (notice.epoch != 0 && notice.epoch != epoch_) return;  // of a group of the same name and members, before
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
  if (!has_notice()) return false;
  const std::int32_t source = mailbox_->result.source;
  const Status arrived = courier_.end(mailbox_);
  if (!arrived.ok()) return true;  // all others are lost, which lost_member() says
  const auto taken = wire::decode_collective_notice(incoming_);
  open_mailbox();
  // Another group may have the same context, of 31 bits. What is malformed is dropped: its sender is told by inquiries.
  if (!taken.ok() || taken->identity != group_.hash()) return true;
  news.source = source;
  switch (taken->kind) {
    case wire::NoticeKind::greeting:
      greeted(*taken, source);
      break;
    case wire::NoticeKind::epoch:
      if (!met() && taken->stamp == stamp_ && stamp_ != 0 && source == parent_ && taken->epoch != 0 &&
          taken->systems.size() == static_cast<std::size_t>(group_.size())) {
        met_in(*taken);
      }
      break;
    case wire::NoticeKind::revoke:
      revoked(*taken, source, news);
      break;
    case wire::NoticeKind::inquiry:
      news.inquiry = *taken;
      break;
  }
  return true;
}

void Session::watch() noexcept {
  if (mailbox_ != nullptr) courier_.watch(*mailbox_);
}

// ---- failures ----

Status Session::lost_member() const {
  for (std::int32_t rank = 0; rank < group_.size(); ++rank) {
    const channel::PeerId peer = group_.peer(rank);
    if (courier_.losses(peer) == losses_[static_cast<std::size_t>(rank)]) continue;
    if (courier_.has_left(peer) || (facts_.has_left && facts_.has_left(peer))) continue;
    return fail(Code::peer_lost, "rank {} is lost, and the group has to be created again: {}", rank,
                courier_.loss(peer).text());
  }
  return {};
}

void Session::tell(std::uint64_t call, const Status& why, const std::vector<std::int32_t>& targets) {
  wire::CollectiveNotice made = notice(wire::NoticeKind::revoke, call);
  const Status sent = why.error() ? why : fail(Code::timeout, "it was interrupted at rank {}", group_.rank());
  made.code = static_cast<std::int32_t>(sent.code());
  made.text = sent.text();
  if (targets.empty()) {
    for (std::int32_t rank = 0; rank < group_.size(); ++rank) {
      if (rank != group_.rank()) send_notice(made, rank);
    }
    return;
  }
  for (const std::int32_t target : targets) send_notice(made, target);
}

void Session::ask(std::uint64_t call, const wire::CollectiveHead& head, const std::vector<std::int32_t>& targets) {
  wire::CollectiveNotice made = notice(wire::NoticeKind::inquiry, call);
  made.head = head;
  for (const std::int32_t target : targets) send_notice(made, target);
}

std::vector<std::int32_t> Session::neighbors() const {
  std::vector<std::int32_t> found;
  if (parent_ >= 0) found.push_back(parent_);
  for (const Child& child : children_) found.push_back(child.rank);
  return found;
}

bool Session::start_again() {
  next_call_ = 0;
  birth_ = fresh_number();
  stamp_ = epoch_ = 0;
  greeted_call_ = UINT64_MAX;
  failures_.clear();
  past_.fill({});
  for (std::int32_t rank = 0; rank < group_.size(); ++rank) {
    losses_[static_cast<std::size_t>(rank)] = courier_.losses(group_.peer(rank));
  }
  return std::any_of(children_.begin(), children_.end(), [](const Child& child) { return child.greeted; });
}

}  // namespace couplet::collective
