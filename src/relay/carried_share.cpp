#include "relay/carried_share.hpp"

#include <algorithm>

namespace couplet::relay {
namespace {

// With each step, the share grows by at most this part of itself, and shrinks to at least that part. It grows slowly,
// since what waits in the buffers of the system is seen late.
constexpr double growth = 0.01;  // for the first step that comes while the link is idle, twice that for the second one
constexpr double max_growth = 0.08;
constexpr double min_shrunk = 0.75;
constexpr double min_first = 0.4;  // for the first share after all steps
// So large a part of the writer's slots should wait: if fewer wait, the link is idle between two steps of the share; if
// more wait, a step is overwritten before its turn. The correction is that of the share if a whole window too many
// waits. It is small, since it takes effect several steps later, and the smallest share of several links counts: with
// 0.5, some link always asked for less than it could carry.
constexpr double wanted_waiting = 0.375;
constexpr double correction = 0.25;
// The link counts as idle if nothing comes for twice the time between the last two steps that came, within these
// bounds; after so many steps in a row of which each was the newest one when it came, for the smallest of these times:
// then the time between two steps is that between two steps of the share, and not what the link takes.
constexpr std::uint64_t min_patience_ns = 100'000'000;
constexpr std::uint64_t max_patience_ns = 500'000'000;
constexpr int min_newest = 2;

std::uint32_t as_share(double part) noexcept {
  return static_cast<std::uint32_t>(
      std::clamp(part * wire::whole_share, double{wire::min_share}, double{wire::whole_share}));
}

}  // namespace

void CarriedShare::step_came(std::uint64_t ordinal, std::uint64_t sent_at, std::uint64_t known) noexcept {
  const std::uint64_t newer = known - std::min(known, ordinal + 1);
  steps_[count_++ % max_steps] = {sent_at, newer};
  newest_ = newer == 0 ? std::min(newest_ + 1, min_newest) : 0;
  if (share_ == wire::whole_share && told_ == wire::whole_share) {
    return;
  }
  const double part = carried();
  if (part > 0) {
    const std::uint64_t late = waiting();
    const double too_many = static_cast<double>(late) / static_cast<double>(slots_) - wanted_waiting;
    // The relay had sent it before a newer one was there, and not more wait here than should.
    const bool idle = sent_at <= ordinal + 1 && too_many <= 0;
    idle_ = idle ? idle_ + 1 : 0;
    const double least = idle ? 1 + std::min(max_growth, growth * idle_) : min_shrunk;
    doubled_ = late == 0 ? doubled_ : 0;
    const double found = std::max(part * (1 - correction * too_many), least * told_ / wire::whole_share);
    share_ = std::max(as_share(found), doubled_);
  }
}

// What a reader loses that has given no credit for a while is not the link's fault, and with a smaller share it would
// lose more. Then the last steps have come quickly one after the other. The first steps fill the buffers, and were sent
// faster than they came, so the steps that are published now count and not only those at the time of the last one.
void CarriedShare::steps_were_lost(std::uint64_t begin, std::uint64_t end, std::uint64_t known) noexcept {
  if (told_ == wire::whole_share && share_ == wire::whole_share && std::max(begin, unsure_below_) < end &&
      takes_long()) {
    share_ = as_share(std::max(carried_until(known), min_first));
    count_ = 0;  // the buffers are full now, and what comes next shows what the link carries
  }
}

void CarriedShare::look(std::uint64_t now_ns, std::uint64_t known, std::uint64_t arrived, bool under_way) noexcept {
  auto& last = last_look_;
  if (count_ != last.count) {
    last.patience_ns = newest_ < min_newest ? std::clamp(2 * (now_ns - last.came_ns), min_patience_ns, max_patience_ns)
                                            : min_patience_ns;
    last.came_ns = now_ns;
  }
  const bool steps_wait = known > last.known || known > arrived;
  if (told_ == wire::whole_share || under_way || count_ != last.count || !steps_wait) {
    last.at_ns = now_ns;
  } else if (now_ns - last.at_ns >= std::max(last.patience_ns, min_patience_ns)) {
    last.at_ns = now_ns;
    share_ = doubled_ = std::min(wire::whole_share, 2 * std::max(share_, told_));
  } else {
    return;
  }
  last.known = std::max(last.known, known);
  last.count = count_;
}

void CarriedShare::tell(std::uint32_t share, std::uint64_t known) noexcept {
  if (share > told_) {
    unsure_below_ = known + slots_;
  }
  told_ = share;
  doubled_ = share < doubled_ ? doubled_ : 0;
}

double CarriedShare::carried() const noexcept {
  return count_ < min_steps ? 0 : carried_until(steps_[(count_ - 1) % max_steps].sent_at);
}

double CarriedShare::carried_until(std::uint64_t known) const noexcept {
  const std::size_t held = std::min(count_, max_steps);
  const std::uint64_t last = std::max(known, steps_[(count_ - 1) % max_steps].sent_at);
  const std::uint64_t published = last - std::min(last, steps_[(count_ - held) % max_steps].sent_at);
  return static_cast<double>(held - 1) / static_cast<double>(std::max<std::uint64_t>(published, held - 1));
}

// Returns true if most of the last steps took at least as long as the writer needs for one.
bool CarriedShare::takes_long() const noexcept {
  if (count_ < min_steps) {
    return false;
  }
  const std::size_t held = std::min(count_, max_steps);
  std::size_t slow = 0;
  for (std::size_t number = count_ - held + 1; number < count_; ++number) {
    slow += steps_[number % max_steps].sent_at > steps_[(number - 1) % max_steps].sent_at ? 1U : 0U;
  }
  return 4 * slow >= 3 * (held - 1);
}

// What waits in a quarter of the cases at most is taken for the time that a step is on its way.
std::uint64_t CarriedShare::waiting() const noexcept {
  const std::size_t held = std::min(count_, max_steps);
  std::array<std::uint64_t, max_steps> sorted{};
  std::transform(steps_.begin(), steps_.end(), sorted.begin(), [](const Step& step) { return step.waiting; });
  const auto usual = sorted.begin() + static_cast<std::ptrdiff_t>(held / 4);
  std::nth_element(sorted.begin(), usual, sorted.begin() + static_cast<std::ptrdiff_t>(held));
  const std::uint64_t last = steps_[(count_ - 1) % max_steps].waiting;
  return last - std::min(last, *usual);
}

}  // namespace couplet::relay
