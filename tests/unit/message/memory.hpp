// The memory of this test program: counts allocations, and lets a chosen one fail.
#pragma once

#include <atomic>
#include <cstdint>

namespace couplet::test {

// Calls of operator new since the program began.
[[nodiscard]] std::uint64_t allocation_count() noexcept;

// Of the calling thread: the allocation that is to fail, counted from 1 over all stretches in which one is live.
struct FailingAllocation {
  std::uint64_t number = 0;
  std::uint64_t seen = 0;
  [[nodiscard]] bool failed() const noexcept { return seen >= number; }
};

// While it lives, allocations of the calling thread count for `failing`.
class Armed {
 public:
  explicit Armed(FailingAllocation& failing) noexcept;
  ~Armed();
  Armed(const Armed&) = delete;
  Armed& operator=(const Armed&) = delete;

 private:
  FailingAllocation* previous_;
};

// While it lives, other threads than the one that made it get no memory. One lives at a time.
class NoMemoryElsewhere {
 public:
  NoMemoryElsewhere() noexcept;
  ~NoMemoryElsewhere();
  NoMemoryElsewhere(const NoMemoryElsewhere&) = delete;
  NoMemoryElsewhere& operator=(const NoMemoryElsewhere&) = delete;
};

}  // namespace couplet::test
