#include "collective/meeting.hpp"

#include <algorithm>

#include "os/host.hpp"

namespace couplet::collective {
namespace {

// Returns a number that is not 0, and that was never returned before.
std::uint64_t fresh_number() {
  const auto bits = os::random_bits();
  return bits.ok() && *bits != 0 ? *bits : 1;
}

}  // namespace

Meeting::Meeting(Mailbox& mailbox) : mailbox_(mailbox), birth_(fresh_number()) {
  const message::Group& group = mailbox.group();
  const std::int32_t own = group.rank();
  std::int32_t bit = 1;
  for (; bit < group.size() && (own & bit) == 0; bit *= 2) {
    if (own + bit < group.size()) children_.push_back({.rank = own + bit});
  }
  if (own != 0) parent_ = own - bit;
}

wire::CollectiveNotice Meeting::notice(wire::NoticeKind kind, std::uint64_t call) const {
  wire::CollectiveNotice made;
  made.kind = kind;
  made.identity = mailbox_.group().hash();
  made.call = call;
  made.epoch = epoch_;
  return made;
}

void Meeting::meet(std::uint64_t call, const SystemOf& system_of) {
  if (met()) return;
  const message::Group& group = mailbox_.group();
  const bool complete = std::all_of(children_.begin(), children_.end(),
                                    [this, call](const Child& child) { return has_come(child, call); });
  if (!complete) return;
  if (parent_ < 0) {
    wire::CollectiveNotice answer = notice(wire::NoticeKind::epoch, call);
    answer.epoch = fresh_number();
    for (std::int32_t rank = 0; rank < group.size(); ++rank) {
      answer.systems.push_back(system_of ? system_of(group.peer(rank)) : 0);
    }
    return conclude(answer);
  }
  if (stamp_ != 0 && greeted_call_ == call) return;
  stamp_ = fresh_number();
  greeted_call_ = call;
  greet_again(call);
}

// A greeting of a process that has died since is worth nothing.
bool Meeting::has_come(const Child& child, std::uint64_t call) const {
  return child.greeted && child.call == call && child.losses == mailbox_.losses_of(child.rank);
}

void Meeting::greet_again(std::uint64_t call) {
  if (met() || parent_ < 0 || stamp_ == 0 || greeted_call_ != call) return;
  wire::CollectiveNotice greeting = notice(wire::NoticeKind::greeting, call);
  greeting.stamp = stamp_;
  greeting.epoch = birth_;
  mailbox_.send(greeting, parent_);
}

void Meeting::conclude(const wire::CollectiveNotice& answer) {
  epoch_ = answer.epoch;
  systems_ = group_systems(answer.systems);
  names_ = answer.systems;
  for (Child& child : children_) child.met_birth = child.birth;
  answer_children();
}

// A child that greets after the meeting has given up a call before, and is told at once; unless it has created the
// group again, and this member will do so.
void Meeting::answer_children() {
  for (Child& child : children_) {
    if (!child.greeted || child.birth != child.met_birth) continue;
    wire::CollectiveNotice answer = notice(wire::NoticeKind::epoch, child.call);
    answer.stamp = child.stamp;
    answer.systems = names_;
    mailbox_.send(answer, child.rank);
    child.greeted = false;
  }
}

Status Meeting::created_again(std::uint64_t call, const std::vector<std::int32_t>& awaited) const {
  for (const Child& child : children_) {
    if (!met() || !child.greeted || child.birth == child.met_birth) continue;
    if (std::find(awaited.begin(), awaited.end(), child.rank) == awaited.end()) continue;
    return fail(
        Code::mismatch,
        "rank {} has created the group again, and makes call {} in it, while rank {} is in call {} of the old one",
        child.rank, child.call, mailbox_.group().rank(), call);
  }
  return {};
}

void Meeting::greeted(const wire::CollectiveNotice& greeting, std::int32_t source) {
  for (Child& child : children_) {
    if (child.rank != source) continue;
    child.stamp = greeting.stamp;
    child.call = greeting.call;
    child.birth = greeting.epoch;
    child.losses = mailbox_.losses_of(source);
    child.greeted = true;
  }
  if (met()) answer_children();
}

void Meeting::answered(const wire::CollectiveNotice& answer, std::int32_t source) {
  const bool is_meant = !met() && stamp_ != 0 && answer.stamp == stamp_ && source == parent_ && answer.epoch != 0;
  if (is_meant && answer.systems.size() == static_cast<std::size_t>(mailbox_.group().size())) conclude(answer);
}

std::vector<std::int32_t> Meeting::awaited(std::uint64_t call) const {
  std::vector<std::int32_t> found;
  if (met()) return found;
  for (const Child& child : children_) {
    if (!has_come(child, call)) found.push_back(child.rank);
  }
  if (found.empty() && parent_ >= 0) found.push_back(parent_);
  return found;
}

std::vector<std::int32_t> Meeting::neighbors() const {
  std::vector<std::int32_t> found;
  if (parent_ >= 0) found.push_back(parent_);
  for (const Child& child : children_) found.push_back(child.rank);
  return found;
}

bool Meeting::start_again() {
  birth_ = fresh_number();
  stamp_ = epoch_ = 0;
  greeted_call_ = UINT64_MAX;
  return std::any_of(children_.begin(), children_.end(), [](const Child& child) { return child.greeted; });
}

}  // namespace couplet::collective
