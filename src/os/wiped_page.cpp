#include "os/wiped_page.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace couplet::os {
namespace {

std::size_t page_bytes() noexcept {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

WipedPage::WipedPage() noexcept {
  void* const page = ::mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    return;
  }
  data_ = static_cast<std::byte*>(page);
#ifdef MADV_WIPEONFORK
  is_wiped_ = ::madvise(page, page_bytes(), MADV_WIPEONFORK) == 0;
#endif
}

WipedPage::~WipedPage() {
  if (data_ != nullptr) {
    ::munmap(data_, page_bytes());
  }
}

}  // namespace couplet::os
