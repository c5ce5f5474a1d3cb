#include "os/file_size_limit.hpp"

#include <sys/resource.h>

namespace couplet::os {

std::uint64_t file_size_limit() noexcept {
  struct rlimit limit {};
  const bool is_limited = ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return is_limited ? limit.rlim_cur : UINT64_MAX;
}

Status check_file_size(const std::string& path, std::uint64_t bytes) {
  const std::uint64_t limit = file_size_limit();
  if (bytes <= limit) {
    return {};
  }
  return fail(Code::no_space, "{} would have {} bytes, and a file of this process at most {} (RLIMIT_FSIZE, ulimit -f)",
              path, bytes, limit);
}

}  // namespace couplet::os
