#include "collective/execution.hpp"

#include <algorithm>
#include <cstring>

#include "message/swap.hpp"

namespace couplet::collective {
namespace {

using message::Request;

// How many steps are looked at beyond the first that is not done. Partners are in the same round, or one side waits.
constexpr std::size_t max_open_steps = 64;

}  // namespace

std::string describe(const wire::CollectiveHead& head) {
  const auto kind = static_cast<cost::Collective>(head.kind);
  std::string text = name_of(kind, head.uneven);
  if (kind == cost::Collective::barrier) return text;
  const TypeInfo* const type = find_type(head.type);
  text += fmt::format(" of {} {}", head.count, type == nullptr ? "unknown" : type->name);
  if (head.root >= 0) text += fmt::format(" with root {}", head.root);
  static const Operations built_in;
  if (head.operation >= first_user_mark) {
    text += " by an operation of user code";
  } else if (head.operation != no_operation) {
    text += fmt::format(" by {}", built_in.name_of(static_cast<couplet_operation>(head.operation)));
  }
  return text + fmt::format(" ({})", cost::name_of(static_cast<cost::Method>(head.method)));
}

void Execution::begin(const Arguments& arguments, const wire::CollectiveHead& head, const Schedule& schedule,
                      const Surroundings& surroundings) {
  arguments_ = arguments;
  head_ = head;
  schedule_ = &schedule;
  around_ = surroundings;
  type_ = find_type(arguments.type);
  steps_.resize(schedule.steps.size());
  first_open_ = 0;
  std::size_t outgoing = 0;
  for (std::size_t index = 0; index < steps_.size(); ++index) {
    Work& work = steps_[index];
    const Step& step = schedule.steps[index];
    work.phase = Phase::waiting;
    work.outgoing = outgoing;
    if (step.action != Action::send) continue;
    const std::uint64_t bytes = bytes_of(step.from);
    outgoing += wire::collective_head_bytes + (bytes <= max_joined_bytes ? bytes : 0);
  }
  outgoing_.resize(outgoing);
  scratch_.resize(schedule.scratch_count * type_->element_bytes);
}

std::byte* Execution::memory(const Range& range) const noexcept {
  const std::uint64_t offset = range.first * type_->element_bytes;
  switch (range.space) {
    case Space::input:                                                                          // it is only read
      return const_cast<std::byte*>(static_cast<const std::byte*>(arguments_.input)) + offset;  // NOLINT
    case Space::output:
      return static_cast<std::byte*>(arguments_.output) + offset;
    case Space::scratch:
      break;
  }
  return const_cast<std::byte*>(scratch_.data()) + offset;  // NOLINT
}

// The lower bits of the call's number beside those of the context: contexts are only 31 bits.
std::int32_t Execution::tag_of(const Step& step, bool payload) const noexcept {
  return static_cast<std::int32_t>((around_.call & 0x3FFU) << 21U | (std::uint64_t{step.number} & 0xFFFFFU) << 1U |
                                   (payload ? 1U : 0U));
}

wire::CollectiveHead Execution::head_of(const Step& /*step*/, const Range& range) const noexcept {
  wire::CollectiveHead head = head_;
  if (arguments_.uneven) head.count = range.count;
  head.apart = bytes_of(range) > max_joined_bytes;
  return head;
}

bool Execution::may_begin(const Step& step) const noexcept {
  const auto needs = schedule_->needs_of(step);
  return std::all_of(needs.begin(), needs.end(),
                     [this](std::uint32_t need) { return steps_[need].phase == Phase::done; });
}

bool Execution::advance(Status& failure) {
  bool moved = false;
  const std::size_t end = std::min(steps_.size(), first_open_ + max_open_steps);
  for (std::size_t index = first_open_; index < end; ++index) {
    Work& work = steps_[index];
    if (work.phase == Phase::waiting) {
      if (!may_begin(schedule_->steps[index])) continue;
      failure = start(index);
      moved = true;
      if (!failure.ok()) return true;
    }
    if (work.phase == Phase::begun) {
      failure = look(index);
      if (!failure.ok()) return true;
      moved = moved || work.phase == Phase::done;
      if (std::exchange(must_check_, false)) break;  // nothing goes on before the caller has looked at the notices
    }
  }
  while (first_open_ < steps_.size() && steps_[first_open_].phase == Phase::done) ++first_open_;
  return moved;
}

Status Execution::start(std::size_t index) {
  const Step& step = schedule_->steps[index];
  Work& work = steps_[index];
  work.phase = Phase::begun;
  switch (step.action) {
    case Action::send:
      return start_send(step, work);
    case Action::receive:
      start_receive(step, work);
      return {};
    case Action::combine_left:
    case Action::combine_right:
      work.phase = Phase::done;
      return combine(step);
    case Action::copy:
      break;
  }
  work.phase = Phase::done;
  std::byte* const target = memory(step.to);
  if (target != memory(step.from)) std::memmove(target, memory(step.from), bytes_of(step.to));
  return {};
}

Status Execution::start_send(const Step& step, Work& work) {
  const wire::CollectiveHead head = head_of(step, step.from);
  std::byte* const image = outgoing_.data() + work.outgoing;
  wire::encode_collective_head(head,
                               std::span<std::byte, wire::collective_head_bytes>(image, wire::collective_head_bytes));
  const std::uint64_t joined = head.apart ? 0 : bytes_of(step.from);
  if (joined > 0) std::memcpy(image + wire::collective_head_bytes, memory(step.from), joined);
  message::Courier& courier = *around_.courier;
  COUPLET_TRY_VALUE(work.head, courier.send(*around_.group, around_.context, tag_of(step, false), image,
                                            wire::collective_head_bytes + joined, *find_type(COUPLET_BYTE), step.peer));
  if (!head.apart) return {};
  COUPLET_TRY_VALUE(work.payload, courier.send(*around_.group, around_.context, tag_of(step, true), memory(step.from),
                                               step.from.count, *type_, step.peer));
  return {};
}

void Execution::start_receive(const Step& step, Work& work) {
  message::Courier& courier = *around_.courier;
  work.head = courier.receive_bytes(*around_.group, around_.context, tag_of(step, false), work.incoming, step.peer);
  if (bytes_of(step.to) <= max_joined_bytes) return;
  work.payload = courier.receive(*around_.group, around_.context, tag_of(step, true), memory(step.to), step.to.count,
                                 *type_, step.peer);
}

// The operand that has come is in the scratch space, and is not needed any more.
Status Execution::combine(const Step& step) {
  const Side own = step.action == Action::combine_right ? Side::left : Side::right;
  return around_.operations->combine(arguments_.operation, arguments_.type, own, memory(step.from), memory(step.to),
                                     step.to.count);
}

Status Execution::look(std::size_t index) {
  const Step& step = schedule_->steps[index];
  Work& work = steps_[index];
  if (work.head != nullptr && work.head->done) {
    COUPLET_TRY(around_.courier->end(work.head));
    if (step.action == Action::receive) COUPLET_TRY(take_head(step, work));
  }
  if (work.head == nullptr && work.payload != nullptr && work.payload->done) {
    COUPLET_TRY(around_.courier->end(work.payload));
    // The sender may have given up the call, and have changed its memory, while it was being read. It has said so
    // before, so that its notice is there now.
    if (step.action == Action::receive) {
      around_.courier->look(around_.group->peer(step.peer));
      must_check_ = true;
    }
  }
  if (work.head == nullptr && work.payload == nullptr) work.phase = Phase::done;
  return {};
}

Status Execution::take_head(const Step& step, Work& work) {
  COUPLET_TRY_VALUE(const wire::CollectiveHead theirs, wire::decode_collective_head(work.incoming));
  COUPLET_TRY(compare(theirs, step));
  const std::uint64_t bytes = bytes_of(step.to);
  const std::uint64_t joined = work.incoming.size() - wire::collective_head_bytes;
  if (theirs.apart != (work.payload != nullptr) || joined != (theirs.apart ? 0 : bytes)) {
    return fail(Code::protocol, "{} sends {} bytes in {}, not {}",
                around_.courier->name(around_.group->peer(step.peer)), joined, describe(head_), bytes);
  }
  if (joined == 0) return {};
  std::byte* const target = memory(step.to);
  std::memcpy(target, work.incoming.data() + wire::collective_head_bytes, joined);
  if (theirs.big_endian != head_.big_endian) message::swap_numbers(target, joined, type_->swap_bytes);
  return {};
}

Status Execution::compare(const wire::CollectiveHead& theirs, const Step& step) const {
  const wire::CollectiveHead mine = head_of(step, step.to);
  const auto text = [&] {
    return fmt::format("rank {} ({}) calls {}", step.peer, around_.courier->name(around_.group->peer(step.peer)),
                       describe(theirs));
  };
  if (!mine.agrees(theirs)) {
    return fail(Code::mismatch, "{}, and rank {} ({}) {}", text(), around_.group->rank(),
                around_.courier->name(around_.group->peer(around_.group->rank())), describe(mine));
  }
  if (mine.previous != 0 && theirs.previous != 0 && mine.previous != theirs.previous) {
    return fail(Code::mismatch, "{} as rank {} does, but the calls that the two have made before it differ", text(),
                around_.group->rank());
  }
  return {};
}

void Execution::abort() {
  for (Work& work : steps_) {
    for (Request** const request : {&work.head, &work.payload}) {
      if (*request != nullptr && !around_.courier->withdraw(*request))
        static_cast<void>(around_.courier->detach(*request));
    }
  }
  for (const Step& step : schedule_->steps) {
    if (step.peer >= 0) around_.courier->drop(around_.group->peer(step.peer), around_.context);
  }
}

bool Execution::memory_is_free() {
  bool free = true;
  for (Work& work : steps_) {
    for (Request** const request : {&work.head, &work.payload}) {
      if (*request == nullptr) continue;
      if (!(*request)->done) static_cast<void>(around_.courier->detach(*request));
      if (*request != nullptr && (*request)->done) static_cast<void>(around_.courier->end(*request));
    }
    free = free && work.payload == nullptr;
  }
  return free;
}

bool Execution::is_ended() {
  return memory_is_free() &&
         std::all_of(steps_.begin(), steps_.end(), [](const Work& work) { return work.head == nullptr; });
}

void Execution::cut_off(const Status& why) noexcept {
  for (std::size_t index = 0; index < steps_.size(); ++index) {
    if (steps_[index].payload == nullptr) continue;
    around_.courier->messenger().give_up_peer(*around_.group, schedule_->steps[index].peer, why);
  }
}

void Execution::free_memory() noexcept {
  scratch_ = {};
  outgoing_ = {};
}

const Request* Execution::awaited() const noexcept {
  const std::size_t end = std::min(steps_.size(), first_open_ + max_open_steps);
  for (std::size_t index = first_open_; index < end; ++index) {
    const Work& work = steps_[index];
    if (work.phase != Phase::begun) continue;
    return work.head != nullptr ? work.head : work.payload;
  }
  return nullptr;
}

bool Execution::could_advance() const noexcept {
  const std::size_t end = std::min(steps_.size(), first_open_ + max_open_steps);
  for (std::size_t index = first_open_; index < end; ++index) {
    const Work& work = steps_[index];
    if ((work.head != nullptr && work.head->done) || (work.payload != nullptr && work.payload->done)) return true;
  }
  return false;
}

void Execution::watch() noexcept {
  for (std::size_t index = first_open_; index < steps_.size(); ++index) {
    if (steps_[index].head != nullptr) around_.courier->watch(*steps_[index].head);
  }
}

namespace {

void add_once(std::vector<std::int32_t>& ranks, std::int32_t rank) {
  if (rank >= 0 && std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) ranks.push_back(rank);
}

}  // namespace

std::vector<std::int32_t> Execution::sources() const {
  std::vector<std::int32_t> found;
  for (std::size_t index = 0; index < steps_.size(); ++index) {
    const bool receives = schedule_->steps[index].action == Action::receive;
    const Work& work = steps_[index];
    if (receives && work.phase == Phase::begun && work.head != nullptr && !work.head->done)
      add_once(found, schedule_->steps[index].peer);
  }
  return found;
}

std::vector<std::int32_t> Execution::dependants() const {
  std::vector<std::int32_t> found;
  for (std::size_t index = 0; index < steps_.size(); ++index) {
    const bool sends = schedule_->steps[index].action == Action::send;
    if (sends && steps_[index].phase != Phase::done) add_once(found, schedule_->steps[index].peer);
  }
  return found;
}

}  // namespace couplet::collective
