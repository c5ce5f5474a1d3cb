// What a fork means: descriptors of ours are closed in the child, so that a child never keeps its parent's locks and
// connections alive, and handles can tell that they belong to the parent.
#pragma once

#include <atomic>
#include <cstdint>

namespace couplet::os {

namespace detail {
extern std::atomic<std::uint64_t> fork_generation_word;
}

// 0 at first, one more in each forked child. A handle remembers it, and answers `forked` where it has changed.
// Counts only after the first Descriptor (or watch_forks()) of the process; cheap: one load.
[[nodiscard]] inline std::uint64_t fork_generation() noexcept {
  return detail::fork_generation_word.load(std::memory_order_relaxed);
}
// Installs the handlers; every Descriptor does it.
void watch_forks();

}  // namespace couplet::os
