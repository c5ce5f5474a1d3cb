// The limit of the size of the files that this process makes (RLIMIT_FSIZE, `ulimit -f`). The system ends a process
// with SIGXFSZ if it makes or writes a file beyond it, so the limit is checked before. Tests:
// tests/unit/os/files_test.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace couplet::os {

// Returns how many bytes a file of this process may have; the largest number if there is no limit.
[[nodiscard]] std::uint64_t file_size_limit() noexcept;

// Returns ok if the file may have so many bytes, or no_space, which names the file and the limit.
[[nodiscard]] Status check_file_size(const std::string& path, std::uint64_t bytes);

}  // namespace couplet::os
