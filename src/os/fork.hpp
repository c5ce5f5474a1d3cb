// Handles forks: our descriptors are closed in the child, so that a child never keeps its parent's locks and
// connections alive. Handles can tell that they belong to the parent.
#pragma once

#include <atomic>
#include <cstdint>

namespace couplet::os {

namespace detail {
extern std::atomic<std::uint64_t> fork_generation_word;
}

// Returns 0 at first, and one more in each forked child. A handle remembers the number, and answers `forked` if it has
// changed. It counts only after the first Descriptor (or watch_forks()) of the process. It costs one load.
[[nodiscard]] inline std::uint64_t fork_generation() noexcept {
  return detail::fork_generation_word.load(std::memory_order_relaxed);
}
// Installs the handlers. Every Descriptor calls it.
void watch_forks();

}  // namespace couplet::os
