#include "collective/meeting.hpp"

#include <algorithm>

#include "cost/choices.hpp"
#include "os/host.hpp"

namespace couplet::collective {
namespace {

// Returns a number that is not 0, and that was never returned before.
std::uint64_t fresh_number() {
  const auto bits = os::random_bits();
  return bits.ok() && *bits != 0 ? *bits : 1;
}

static_assert(wire::max_collective_pieces == cost::max_method_pieces);

// The table as it is sent, and back.
void put_table(const MethodTable& table, wire::CollectiveNotice& answer) {
  for (const cost::MethodPiece& piece : table.pieces) {
    answer.table.push_back({.kind = static_cast<std::uint8_t>(piece.kind),
                            .method = static_cast<std::uint8_t>(piece.method),
                            .min_systems = piece.min_systems,
                            .min_size = piece.min_size,
                            .max_bytes = piece.max_bytes});
  }
  answer.origin = table.origin;
}

MethodTable table_of(const wire::CollectiveNotice& answer) {
  MethodTable table{.pieces = {}, .origin = answer.origin};
  for (const wire::CollectivePiece& piece : answer.table) {
    table.pieces.push_back({.kind = static_cast<cost::Collective>(piece.kind),
                            .min_systems = piece.min_systems,
                            .min_size = piece.min_size,
                            .max_bytes = piece.max_bytes,
                            .method = static_cast<cost::Method>(piece.method)});
  }
  return table;
}

}  // namespace

Meeting::Meeting(Mailbox& mailbox, std::uint64_t creation) : mailbox_(mailbox), creation_(creation) {
  const message::Group& group = mailbox.group();
  const std::int32_t own = group.rank();
  std::int32_t bit = 1;
  for (; bit < group.size() && (own & bit) == 0; bit *= 2) {
    if (own + bit < group.size()) {
      children_.push_back({.rank = own + bit, .losses_first = mailbox.losses_of(own + bit)});
    }
  }
  if (own != 0) parent_ = own - bit;
  losses_met_.resize(static_cast<std::size_t>(group.size()));
}

wire::CollectiveNotice Meeting::notice(wire::NoticeKind kind, std::uint64_t call) const {
  wire::CollectiveNotice made;
  made.kind = kind;
  made.identity = mailbox_.group().hash();
  made.call = call;
  made.creation = creation_;
  made.epoch = epoch_;
  return made;
}

void Meeting::meet(std::uint64_t call, const SystemOf& system_of, const MethodTable& table) {
  if (met() || greeted_call_ == call) return;
  const message::Group& group = mailbox_.group();
  const bool complete = std::all_of(children_.begin(), children_.end(),
                                    [this, call](const Child& child) { return has_come(child) && child.call == call; });
  if (!complete) return;
  if (parent_ < 0) {
    wire::CollectiveNotice answer = notice(wire::NoticeKind::epoch, call);
    answer.epoch = fresh_number();
    for (std::int32_t rank = 0; rank < group.size(); ++rank) {
      answer.systems.push_back(system_of ? system_of(group.peer(rank)) : 0);
    }
    put_table(table, answer);
    return conclude(answer);
  }
  greeted_call_ = call;
  greet_again(call);
}

// Has the child greeted in this creation? A process that was lost since one of the two began it takes no part.
bool Meeting::has_come(const Child& child) const {
  const std::uint64_t losses = mailbox_.losses_of(child.rank);
  return child.greeted && child.creation == creation_ && child.losses == losses && child.losses_first == losses;
}

void Meeting::greet_again(std::uint64_t call) {
  if (met() || parent_ < 0 || greeted_call_ != call) return;
  mailbox_.send(notice(wire::NoticeKind::greeting, call), parent_);
}

void Meeting::conclude(const wire::CollectiveNotice& answer) {
  // Everything that needs memory comes first: if there is none, nothing has changed, and the answer is taken again.
  wire::CollectiveNotice to_children = notice(wire::NoticeKind::epoch, 0);
  to_children.epoch = answer.epoch;
  to_children.systems = answer.systems;
  Systems systems = group_systems(answer.systems);
  MethodTable table = table_of(answer);
  put_table(table, to_children);
  to_children_ = std::move(to_children);
  systems_ = std::move(systems);
  table_ = std::move(table);
  for (std::size_t rank = 0; rank < losses_met_.size(); ++rank) {
    losses_met_[rank] = mailbox_.losses_of(static_cast<std::int32_t>(rank));
  }
  epoch_ = answer.epoch;
  answer_children();
}

// A child that greets after the meeting has given up a call before, and is told at once.
void Meeting::answer_children() {
  for (Child& child : children_) {
    if (!has_come(child)) continue;
    to_children_.call = child.call;
    mailbox_.send(to_children_, child.rank);
    child.greeted = false;
  }
}

void Meeting::greeted(const wire::CollectiveNotice& greeting, std::int32_t source) {
  for (Child& child : children_) {
    if (child.rank != source) continue;
    child.creation = greeting.creation;
    child.call = greeting.call;
    child.losses = mailbox_.losses_of(source);
    child.greeted = greeting.creation >= creation_;
    if (!child.greeted) tell_creation(source);
  }
  if (met()) answer_children();
}

void Meeting::answered(const wire::CollectiveNotice& answer, std::int32_t source) {
  const bool is_meant = !met() && greeted_call_ != no_call && answer.creation == creation_ && source == parent_;
  if (!is_meant || answer.epoch == 0) return;
  if (answer.systems.size() == static_cast<std::size_t>(mailbox_.group().size())) conclude(answer);
}

// A member that has greeted its parent cannot know whether the members have met. Its parent does: had they met, its
// answer would have come before anything of a later creation; and had it failed a call, its revocation.
void Meeting::adopt(std::uint64_t creation, std::int32_t source) {
  if (creation <= creation_ || met()) return;
  if (greeted_call_ == no_call || source == parent_) begin(creation);
}

void Meeting::tell_creation(std::int32_t target) {
  mailbox_.send(notice(wire::NoticeKind::creation, 0), target);
}

void Meeting::start_again(std::uint64_t creation) {
  epoch_ = 0;
  for (Child& child : children_) child.losses_first = mailbox_.losses_of(child.rank);
  begin(creation);
}

// Children that have greeted in an earlier creation may be waiting, and take this number, too.
void Meeting::begin(std::uint64_t creation) {
  creation_ = creation;
  greeted_call_ = no_call;
  for (Child& child : children_) {
    if (!child.greeted || child.creation >= creation) continue;
    child.greeted = false;
    tell_creation(child.rank);
  }
}

bool Meeting::is_greeted() const noexcept {
  return std::any_of(children_.begin(), children_.end(), [](const Child& child) { return child.greeted; });
}

std::vector<std::int32_t> Meeting::awaited(std::uint64_t call) const {
  std::vector<std::int32_t> found;
  if (met()) return found;
  for (const Child& child : children_) {
    if (!has_come(child) || child.call != call) found.push_back(child.rank);
  }
  // Once the parent was greeted, its answer is awaited, also if a child has gone on to a later creation meanwhile.
  if (parent_ >= 0 && (found.empty() || greeted_call_ == call)) found.push_back(parent_);
  return found;
}

std::vector<std::int32_t> Meeting::neighbors() const {
  std::vector<std::int32_t> found;
  if (parent_ >= 0) found.push_back(parent_);
  for (const Child& child : children_) found.push_back(child.rank);
  return found;
}

}  // namespace couplet::collective
