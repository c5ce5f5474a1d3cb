// Sleeping on a word of shared memory.
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>
#include <span>

namespace couplet::os {

enum class FutexWait { woken, changed, timed_out, interrupted };

// Sleeps while `word` is `expected`, at most timeout_ns (os::never: for ever). `changed`: it was not `expected` any more.
// Wakes up for no reason now and then: look at the word again. The word may be in a read-only mapping.
FutexWait futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, std::uint64_t timeout_ns) noexcept;
// One of several words that a thread sleeps on.
struct FutexWish {
  const std::atomic<std::uint32_t>* word = nullptr;
  std::uint32_t expected = 0;
};
// The kernel sleeps on no more words at once.
inline constexpr std::size_t max_futex_wishes = 128;
// Sleeps while each word is as expected, at most timeout_ns (not os::never). A kernel that cannot sleep on several words (before
// 5.16) lets this sleep for at most a millisecond. Look at all words again, whatever has ended it.
void futex_wait_any(std::span<const FutexWish> wishes, std::uint64_t timeout_ns) noexcept;
// Wakes up to `most` sleepers in all processes; returns how many.
int futex_wake(std::atomic<std::uint32_t>& word, int most = INT_MAX) noexcept;

}  // namespace couplet::os
