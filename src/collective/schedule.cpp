#include "collective/schedule.hpp"

namespace couplet::collective {
namespace {

bool overlap(const Range& a, const Range& b) noexcept {
  return a.space == b.space && a.first < b.first + b.count && b.first < a.first + a.count;
}

bool reads(const Step& step) noexcept {
  return step.action != Action::receive;
}
bool writes(const Step& step) noexcept {
  return step.action != Action::send;
}

// Would the result differ if `later` did not wait for `earlier`? A combination reads and writes `to`.
bool conflict(const Step& earlier, const Step& later) noexcept {
  if (writes(earlier) && reads(later) && overlap(earlier.to, later.from)) return true;
  if (writes(earlier) && writes(later) && overlap(earlier.to, later.to)) return true;
  return reads(earlier) && writes(later) && overlap(earlier.from, later.to);
}

}  // namespace

Range Builder::scratch(std::uint64_t count) {
  const Range made{Space::scratch, schedule_.scratch_count, count};
  schedule_.scratch_count += count;
  return made;
}

void Builder::send(std::int32_t peer, Range from) {
  if (sent_.empty()) sent_.resize(static_cast<std::size_t>(size_));
  Step step;
  step.action = Action::send;
  step.peer = peer;
  step.number = sent_[static_cast<std::size_t>(peer)]++;
  step.from = from;
  add(step);
}

void Builder::receive(std::int32_t peer, Range to) {
  if (received_.empty()) received_.resize(static_cast<std::size_t>(size_));
  Step step;
  step.action = Action::receive;
  step.peer = peer;
  step.number = received_[static_cast<std::size_t>(peer)]++;
  step.to = to;
  add(step);
}

void Builder::combine_left(Range from, Range to) {
  add({.action = Action::combine_left, .from = from, .to = to});
}

void Builder::combine_right(Range from, Range to) {
  add({.action = Action::combine_right, .from = from, .to = to});
}

void Builder::copy(Range from, Range to) {
  if (from.count > 0) add({.action = Action::copy, .from = from, .to = to});
}

void Builder::fork() noexcept {
  forked_ = true;
  fork_ = schedule_.steps.size();
}

void Builder::join() noexcept {
  forked_ = false;
}

void Builder::add(Step step) {
  step.first_need = static_cast<std::uint32_t>(schedule_.needs.size());
  const std::size_t end = forked_ ? fork_ : schedule_.steps.size();
  for (std::size_t index = 0; index < end; ++index) {
    if (conflict(schedule_.steps[index], step)) schedule_.needs.push_back(static_cast<std::uint32_t>(index));
  }
  step.need_count = static_cast<std::uint32_t>(schedule_.needs.size()) - step.first_need;
  schedule_.steps.push_back(step);
}

}  // namespace couplet::collective
