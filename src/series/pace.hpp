// Pace: how far ahead of the writer's next claim a follower must begin, so that the steps survive until their copies
// end.
#pragma once

#include <cstdint>

namespace couplet::series {

// Counts how many steps the writer claims while this reader makes one copy: of one step, or of all that it fetches
// together. It is pure, and knows no clock.
class Pace {
 public:
  // What happened during the copies of a batch.
  struct Copied {
    std::uint64_t copies = 0;    // copies that were begun
    std::uint64_t claimed = 0;   // steps that the writer claimed meanwhile
    bool overtaken = false;      // a step was replaced before its copy was done
    std::uint64_t together = 1;  // how many steps a copy may have
  };
  void note(const Copied& copied) noexcept;

  // The copies that will probably be whole: they begin `ahead` ordinals behind the oldest one that is there, and are at
  // most `max_steps` steps, `every` ordinals apart.
  struct Advice {
    std::uint64_t ahead = 0;
    std::uint64_t max_steps = UINT64_MAX;
  };
  // slack: the number of ordinals by which the reader is ahead of the oldest one. steps: how many steps it needs at
  // least.
  [[nodiscard]] Advice advise(std::uint64_t slack, std::uint64_t steps, std::uint64_t every) const noexcept;
  // Returns true if one copy takes about as long as the writer needs for all slots, so that only a step that has just
  // come survives.
  [[nodiscard]] bool needs_fresh_step(std::uint64_t slots) const noexcept;
  [[nodiscard]] double claims_per_copy() const noexcept { return claims_per_copy_; }

 private:
  double claims_per_copy_ = 0;
  std::uint64_t together_ = 1;
};

}  // namespace couplet::series
