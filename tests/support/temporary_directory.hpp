// A fresh private directory in shared memory, gone with all that is in it at the end of the test.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "os/directory.hpp"

namespace couplet::test {

class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_(os::temporary_name("/dev/shm", "couplet-test")) {
    const Status made = os::make_private_directory(path_);
    EXPECT_TRUE(made.ok()) << made.text();
  }
  ~TemporaryDirectory() {
    const Status removed = os::remove_directory(path_);
    EXPECT_TRUE(removed.ok()) << removed.text();
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace couplet::test
