#include "collective/execution.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/swap.hpp"

namespace couplet::collective {
namespace {

using message::Request;

// How many steps are looked at beyond the first that is not done. Partners are in the same round, or one side waits.
constexpr std::size_t max_open_steps = 64;

// Returns "rank 1 (ocean rank 1)".
std::string name_of_rank(const Surroundings& around, std::int32_t rank) {
  return fmt::format("rank {} ({})", rank, around.courier->name(around.group->peer(rank)));
}

// Returns mismatch if the member `source` has made another call than this one.
Status compare(const Surroundings& around, const wire::CollectiveHead& mine, const wire::CollectiveHead& theirs,
               std::int32_t source) {
  if (!mine.agrees(theirs)) {
    return fail(Code::mismatch, "{} calls {}, and {} calls {}", name_of_rank(around, source), describe(theirs),
                name_of_rank(around, around.group->rank()), describe(mine));
  }
  if (mine.previous != 0 && theirs.previous != 0 && mine.previous != theirs.previous) {
    return fail(Code::mismatch, "{} calls {} as rank {} does, but the calls that the two have made before it differ",
                name_of_rank(around, source), describe(theirs), around.group->rank());
  }
  return {};
}

// Does the same for a short head: this member has made the call of the other one, too.
Status compare(const Surroundings& around, const wire::CollectiveHead& mine, const wire::ShortHead& theirs,
               std::int32_t source) {
  wire::CollectiveHead found = mine;
  if (theirs.signature != mine.signature()) {
    const wire::CollectiveHead* const other = around.short_calls->find(theirs.signature);
    if (other == nullptr) {
      return fail(Code::mismatch, "{} makes another call than {}, which calls {}", name_of_rank(around, source),
                  name_of_rank(around, around.group->rank()), describe(mine));
    }
    found = *other;
  }
  const bool same_before = theirs.previous == (mine.previous & wire::max_short_previous);
  found.previous = theirs.previous == 0 ? 0 : same_before ? mine.previous : ~mine.previous;
  return compare(around, mine, found, source);
}

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
  scratch_.resize(schedule.scratch_count * type_->element_bytes);
  spaces_ = {arguments.input, arguments.output, scratch_.data(), type_->element_bytes};
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
}

void Execution::take_over(Progress& progress) noexcept {
  for (std::size_t index = 0; index < progress.done; ++index) steps_[index].phase = Phase::done;
  if (!scratch_.empty()) std::memcpy(scratch_.data(), progress.scratch, scratch_.size());
  first_open_ = progress.done;
  if (progress.request == nullptr) return;
  Work& work = steps_[progress.done];
  work.phase = Phase::begun;
  work.head = std::exchange(progress.request, nullptr);
  // The memory keeps its address: it is longer than what a string holds itself.
  work.incoming.swap(progress.incoming->bytes);
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
  copy_elements(memory(step.to), memory(step.from), bytes_of(step.to));
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
  if (around_.losses->has(courier, step.peer)) return courier.loss(around_.group->peer(step.peer));
  COUPLET_TRY_VALUE(work.head,
                    courier.send(*around_.group, around_.context, tag_of(around_.call, step.number, false), image,
                                 wire::collective_head_bytes + joined, *find_type(COUPLET_BYTE), step.peer));
  if (!head.apart) return {};
  COUPLET_TRY_VALUE(work.payload, courier.send(*around_.group, around_.context, tag_of(around_.call, step.number, true),
                                               memory(step.from), step.from.count, *type_, step.peer));
  return {};
}

void Execution::start_receive(const Step& step, Work& work) {
  message::Courier& courier = *around_.courier;
  work.head = courier.receive_bytes(*around_.group, around_.context, tag_of(around_.call, step.number, false),
                                    work.incoming, step.peer);
  if (bytes_of(step.to) <= max_joined_bytes) return;
  work.payload = courier.receive(*around_.group, around_.context, tag_of(around_.call, step.number, true),
                                 memory(step.to), step.to.count, *type_, step.peer);
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
    const std::uint64_t bytes = work.head->result.bytes;
    COUPLET_TRY(around_.courier->end(work.head));
    if (step.action == Action::receive) work.incoming.resize(bytes);  // a ShortRun may have given it more memory
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
  std::string_view image = work.incoming;
  if (wire::has_short_head(image)) {
    const wire::ShortHead theirs = wire::decode_short_head(image);
    COUPLET_TRY(compare(around_, head_of(step, step.to), theirs, step.peer));
    return take_elements(step, image.substr(wire::short_head_bytes), theirs.big_endian);
  }
  COUPLET_TRY_VALUE(const wire::CollectiveHead theirs, wire::decode_collective_head(image));
  COUPLET_TRY(compare(around_, head_of(step, step.to), theirs, step.peer));
  image.remove_prefix(wire::collective_head_bytes);
  if (theirs.apart != (work.payload != nullptr) || (theirs.apart && !image.empty())) {
    return fail(Code::protocol, "{} sends {} bytes in {}, not {}",
                around_.courier->name(around_.group->peer(step.peer)), image.size(), describe(head_),
                theirs.apart ? 0 : bytes_of(step.to));
  }
  return theirs.apart ? Status() : take_elements(step, image, theirs.big_endian);
}

Status Execution::take_elements(const Step& step, std::string_view joined, bool big_endian) const {
  const std::uint64_t bytes = bytes_of(step.to);
  if (joined.size() != bytes) {
    return fail(Code::protocol, "{} sends {} bytes in {}, not {}",
                around_.courier->name(around_.group->peer(step.peer)), joined.size(), describe(head_), bytes);
  }
  if (bytes == 0) return {};
  std::byte* const target = memory(step.to);
  std::memcpy(target, joined.data(), bytes);
  if (big_endian != head_.big_endian) swap_numbers(target, bytes, type_->swap_bytes);
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
