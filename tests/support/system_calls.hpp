// Finds out whether code makes system calls.
#pragma once

#include <functional>
#include <optional>

namespace couplet::test {

// Returns the number of system calls that this thread makes in `work`, counted up to the first one; nothing if the
// kernel does not tell. `work` makes no assertions.
[[nodiscard]] std::optional<int> system_calls_of(const std::function<void()>& work);

}  // namespace couplet::test
