// Turns errno into a Status.
#pragma once

#include <cerrno>
#include <string>

#include "base/status.hpp"

namespace couplet::os {

// Returns, for example, "<what>: No such file or directory". The codes are no_space (ENOSPC, EDQUOT; EFBIG: no
// file can be that large), not_found (ENOENT), exists (EEXIST), memory (ENOMEM), limit (EMFILE, ENFILE: open files),
// unsupported (ENOSYS, EOPNOTSUPP), and otherwise system.
[[nodiscard]] Status system_failure(int error, const std::string& what);

// Makes the call again for as long as signals interrupt it.
template <typename Call>
auto retry_interrupted(Call&& call) noexcept(noexcept(call())) {
  auto result = call();
  while (result < 0 && errno == EINTR) {
    result = call();
  }
  return result;
}

}  // namespace couplet::os
