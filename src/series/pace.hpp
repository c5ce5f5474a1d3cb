// How far ahead of the writer's next claim a follower has to begin, so that what it copies is still there at the end.
#pragma once

#include <cstdint>

namespace couplet::series {

// Counts how many steps the writer claims while this reader copies one. Pure: it knows no clock.
class Pace {
 public:
  // Of the copies of a batch.
  struct Copied {
    std::uint64_t steps = 0;    // that were begun
    std::uint64_t claimed = 0;  // by the writer meanwhile
    bool overtaken = false;     // a step was replaced before its copy was done
  };
  void note(const Copied& copied) noexcept;

  // What can be copied whole, as far as is known: beginning `ahead` ordinals behind the oldest one that is there, and
  // so many steps at most, `every` ordinals apart.
  struct Advice {
    std::uint64_t ahead = 0;
    std::uint64_t max_steps = UINT64_MAX;
  };
  // slack: how many ordinals the reader is ahead of the oldest one. steps: how many it has to have at least.
  [[nodiscard]] Advice advise(std::uint64_t slack, std::uint64_t steps, std::uint64_t every) const noexcept;
  // The copy of one step takes about as long as the writer needs for all slots: only a step that has just come survives
  // it.
  [[nodiscard]] bool needs_fresh_step(std::uint64_t slots) const noexcept;
  [[nodiscard]] double claims_per_copy() const noexcept { return claims_per_copy_; }

 private:
  double claims_per_copy_ = 0;
};

}  // namespace couplet::series
