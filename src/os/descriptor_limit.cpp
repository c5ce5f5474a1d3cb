#include "os/descriptor_limit.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <vector>

#include "os/descriptor.hpp"

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

bool are_descriptors_left(std::size_t count) {
  std::vector<Descriptor> opened;
  opened.reserve(count);
  while (opened.size() < count) {
    const int number =
        opened.empty() ? ::open("/dev/null", O_RDONLY | O_CLOEXEC) : ::fcntl(opened[0].number(), F_DUPFD_CLOEXEC, 0);
    if (number < 0) {
      return false;
    }
    opened.emplace_back(number);
  }
  return true;
}

}  // namespace couplet::os
