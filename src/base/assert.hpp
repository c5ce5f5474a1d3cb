// Checks invariants of our own code, always on. Never used for a user's arguments or for bytes from outside.
#pragma once

namespace couplet {
// Prints the broken invariant and its place to standard error, and ends the process.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line) noexcept;
}  // namespace couplet

#define COUPLET_ASSERT(expression) \
  (static_cast<bool>(expression) ? void(0) : ::couplet::assertion_failed(#expression, __FILE__, __LINE__))
