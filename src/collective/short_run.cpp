#include "collective/short_run.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace couplet::collective {
namespace {

constexpr std::size_t head_bytes = wire::short_head_bytes;
// Those of a message of an Execution of a call of the same number, however it differs.
constexpr std::size_t max_image_bytes = wire::collective_head_bytes + max_joined_bytes;

}  // namespace

bool ShortRun::fits(const Schedule& schedule, const TypeInfo& type) noexcept {
  static_assert(max_bytes <= max_joined_bytes);
  if (schedule.steps.size() > max_steps) return false;
  return std::all_of(schedule.steps.begin(), schedule.steps.end(), [&type](const Step& step) {
    return std::max(step.from.count, step.to.count) * type.element_bytes <= max_bytes;
  });
}

Progress ShortRun::run(const Arguments& arguments, const wire::ShortHead& head, const Schedule& schedule,
                       const Surroundings& around) {
  const std::uint64_t element_bytes = find_type(arguments.type)->element_bytes;
  const std::size_t scratch_bytes = schedule.scratch_count * element_bytes;
  if (scratch_.size() < scratch_bytes) scratch_.resize(scratch_bytes);
  if (incoming_ == nullptr) {
    auto memory = std::make_unique<message::OwnMemory>();
    memory->bytes.resize(max_image_bytes);
    incoming_ = std::move(memory);
  }
  wire::encode_short_head(head, std::span<std::byte, head_bytes>(outgoing_.data(), head_bytes));
  spaces_ = {arguments.input, arguments.output, scratch_.data(), element_bytes};
  Progress progress;
  progress.scratch = scratch_.data();
  while (progress.done < schedule.steps.size() &&
         carry_out(schedule.steps[progress.done], arguments, around, progress)) {
    ++progress.done;
  }
  return progress;
}

bool ShortRun::carry_out(const Step& step, const Arguments& arguments, const Surroundings& around, Progress& progress) {
  switch (step.action) {
    case Action::send:
      return send(step, around);
    case Action::receive:
      return receive(step, around, progress);
    case Action::combine_left:
    case Action::combine_right: {
      const Side own = step.action == Action::combine_right ? Side::left : Side::right;
      progress.failure = around.operations->combine(arguments.operation, arguments.type, own, spaces_.at(step.from),
                                                    spaces_.at(step.to), step.to.count);
      return progress.failure.ok();
    }
    case Action::copy:
      break;
  }
  copy_elements(spaces_.at(step.to), spaces_.at(step.from), spaces_.bytes_of(step.to));
  return true;
}

bool ShortRun::send(const Step& step, const Surroundings& around) {
  const std::uint64_t bytes = spaces_.bytes_of(step.from);
  copy_elements(outgoing_.data() + head_bytes, spaces_.at(step.from), bytes);
  return around.courier->send_at_once(*around.group, around.context, tag_of(around.call, step.number, false),
                                      {outgoing_.data(), head_bytes + bytes}, step.peer);
}

// A message whose head is not exactly ours is left to Execution, which says what differs.
bool ShortRun::receive(const Step& step, const Surroundings& around, Progress& progress) {
  message::Courier& courier = *around.courier;
  message::Request* request = courier.receive_soon(
      *around.group, around.context, tag_of(around.call, step.number, false), incoming_->bytes, step.peer);
  const std::uint64_t bytes = spaces_.bytes_of(step.to);
  const bool has_come = request->done && request->status.ok() && request->result.bytes == head_bytes + bytes &&
                        std::memcmp(incoming_->bytes.data(), outgoing_.data(), head_bytes) == 0;
  if (!has_come) [[unlikely]] {
    progress.request = request;
    progress.incoming = std::move(incoming_);
    return false;
  }
  static_cast<void>(courier.end(request));
  copy_elements(spaces_.at(step.to), reinterpret_cast<const std::byte*>(incoming_->bytes.data()) + head_bytes, bytes);
  return true;
}

}  // namespace couplet::collective
