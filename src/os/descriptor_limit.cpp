#include "os/descriptor_limit.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace couplet::os {

void raise_descriptor_limit() noexcept {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) {
    return;
  }
  const rlim_t wanted = std::min<rlim_t>(files.rlim_max, max_raised_descriptors);
  if (wanted > files.rlim_cur) {
    files.rlim_cur = wanted;
    static_cast<void>(::setrlimit(RLIMIT_NOFILE, &files));
  }
}

}  // namespace couplet::os
