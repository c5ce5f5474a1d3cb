// Sleeps on words of shared memory.
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>
#include <span>

namespace couplet::os {

enum class FutexWait { woken, changed, timed_out, interrupted };

// Sleeps while `word` is `expected`, at most timeout_ns (os::never: for ever). Returns `changed` if it was not
// `expected` any longer. It may wake up without a reason: check the word again. The word may be in a read-only mapping.
FutexWait futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, std::uint64_t timeout_ns) noexcept;
// One of several words on which a thread sleeps.
struct FutexWord {
  const std::atomic<std::uint32_t>* word = nullptr;
  std::uint32_t expected = 0;
};
// The largest number of words on which the kernel sleeps at once.
inline constexpr std::size_t max_futex_waits = 128;
// Sleeps while each word is as expected, at most timeout_ns (not os::never). Kernels before 5.16 cannot sleep on
// several words: this function then sleeps for at most a millisecond. Check all words again, whatever has ended the
// sleep.
void futex_wait_any(std::span<const FutexWord> waits, std::uint64_t timeout_ns) noexcept;
// Wakes up to `most` sleepers in all processes, and returns how many it has woken.
int futex_wake(std::atomic<std::uint32_t>& word, int most = INT_MAX) noexcept;

}  // namespace couplet::os
