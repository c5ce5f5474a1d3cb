#include "os/populate.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace couplet::os {

// Uses the kernel's call if it has one (Linux 5.14), else one access for each page.
void populate_pages(std::byte* data, std::size_t bytes, bool write) {
  if (bytes == 0) {
    return;
  }
  const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t before = reinterpret_cast<std::uintptr_t>(data) % page_bytes;
  data -= before;
  bytes = (bytes + before + page_bytes - 1) / page_bytes * page_bytes;
#ifdef MADV_POPULATE_WRITE
  if (::madvise(data, bytes, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0) {
    return;
  }
#endif
  for (std::size_t offset = 0; offset < bytes; offset += page_bytes) {
    auto* const touched = reinterpret_cast<volatile char*>(data + offset);
    if (write) {
      __atomic_fetch_or(touched, char{0}, __ATOMIC_RELAXED);
    } else {
      static_cast<void>(*touched);
    }
  }
}

}  // namespace couplet::os
