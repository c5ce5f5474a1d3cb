// CarriedShare: how large a share of the steps one subscription can carry, as its reader finds it from what arrives. It
// is pure. The steps that the writer has published are its measure of time; only look() is told the time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/step_share.hpp"

namespace couplet::relay {

class CarriedShare {
 public:
  // slots: the number of steps that the writer retains.
  explicit CarriedShare(std::uint64_t slots) : slots_(slots) {}

  // A step has come whole. sent_at: how many steps were published when it was sent. known: how many steps are published
  // now, as far as this process knows.
  void step_came(std::uint64_t ordinal, std::uint64_t sent_at, std::uint64_t known) noexcept;
  // The ordinals [begin, end) will not come. known: as in step_came().
  void steps_were_lost(std::uint64_t begin, std::uint64_t end, std::uint64_t known) noexcept;
  // Returns the share that can come. It is whole_share as long as nothing is lost.
  [[nodiscard]] std::uint32_t share() const noexcept { return share_; }

  // The reader looks at what there is. arrived: so many ordinals have come, or will not come. under_way: a part of a
  // step has come. If the link brings nothing for a while although steps wait or are published, the share doubles: the
  // writer may be slower now, or pause, and with a small share too many of its steps would pass until the share grows
  // with those that come.
  void look(std::uint64_t now_ns, std::uint64_t known, std::uint64_t arrived, bool under_way) noexcept;

  // The relay is told the share that all sources of the reader have in common.
  void tell(std::uint32_t share, std::uint64_t known) noexcept;
  // Returns what it was told.
  [[nodiscard]] std::uint32_t told() const noexcept { return told_; }

 private:
  // Returns the steps that came, divided by those that were published meanwhile; 0: too few have come.
  [[nodiscard]] double carried() const noexcept;
  // Returns the same for the time until so many steps are published. REQUIRES: a step has come.
  [[nodiscard]] double carried_until(std::uint64_t known) const noexcept;
  [[nodiscard]] bool takes_long() const noexcept;
  // Returns how many steps wait behind the last one that came. Those that are published while a step is on its way do
  // not count.
  [[nodiscard]] std::uint64_t waiting() const noexcept;

  static constexpr std::size_t max_steps = 16;  // so many steps are remembered
  static constexpr std::size_t min_steps = 4;   // with fewer ones nothing is measured

  std::uint64_t slots_;
  struct Step {
    std::uint64_t sent_at = 0;
    std::uint64_t waiting = 0;  // the number of newer steps when it came
  };
  std::array<Step, max_steps> steps_{};  // the last ones: a ring
  std::size_t count_ = 0;                // number of steps that were put into it
  int idle_ = 0;                         // successive steps that came while the link was idle
  int newest_ = 0;                       // successive steps that were the newest ones when they came; up to a bound
  std::uint32_t share_ = wire::whole_share;
  std::uint32_t told_ = wire::whole_share;
  // What look() has found, until the relay is told: the other sources may find it out later. 0: nothing.
  std::uint32_t doubled_ = 0;
  // What the last look found at which something came, or had come before everything that was published.
  struct Look {
    std::uint64_t at_ns = 0;
    std::uint64_t known = 0;  // the steps that were published
    std::size_t count = 0;    // those that had come
    std::uint64_t came_ns = 0;
    std::uint64_t patience_ns = 0;
  };
  Look last_look_;
  std::uint64_t unsure_below_ = 0;  // below this ordinal the relay may still have used a smaller share
};

}  // namespace couplet::relay
