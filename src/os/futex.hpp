// Sleeping on a word of shared memory.
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>

namespace couplet::os {

enum class FutexWait { woken, changed, timed_out, interrupted };

// Sleeps while `word` is `expected`, at most timeout_ns (os::never: for ever). `changed`: it was not `expected` any more.
// Wakes up for no reason now and then: look at the word again. The word may be in a read-only mapping.
FutexWait futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, std::uint64_t timeout_ns) noexcept;
// Wakes up to `most` sleepers in all processes; returns how many.
int futex_wake(std::atomic<std::uint32_t>& word, int most = INT_MAX) noexcept;

}  // namespace couplet::os
