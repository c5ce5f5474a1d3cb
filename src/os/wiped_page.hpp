// One page of memory that belongs to this process alone: a process that is forked finds zeros there. What is written to
// it proves, to a process that reads it from outside, that it reads this very process.
// Tests: tests/unit/os/wiped_page_test.cpp.
#pragma once

#include <cstddef>

namespace couplet::os {

class WipedPage {
 public:
  WipedPage() noexcept;
  ~WipedPage();
  WipedPage(const WipedPage&) = delete;
  WipedPage& operator=(const WipedPage&) = delete;

  // Page aligned, zero at first. nullptr if there is no memory.
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  // If false, this system (before Linux 4.14) cannot wipe it, and a forked process has a copy.
  [[nodiscard]] bool is_wiped() const noexcept { return is_wiped_; }

 private:
  std::byte* data_ = nullptr;
  bool is_wiped_ = false;
};

}  // namespace couplet::os
