#include "os/file_size_limit.hpp"

#include <sys/resource.h>

namespace couplet::os {

Status check_file_size(const std::string& path, std::uint64_t bytes) {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur) {
    return {};
  }
  return fail(Code::no_space, "{} would have {} bytes, and a file of this process at most {} (RLIMIT_FSIZE, ulimit -f)",
              path, bytes, limit.rlim_cur);
}

}  // namespace couplet::os
