// A directory of one test in shared memory.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "os/directory.hpp"
#include "support/shared_directory.hpp"

namespace couplet::test {

class TemporaryDirectory {
 public:
  [[nodiscard]] const std::string& path() const noexcept { return directory_.path(); }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path() + "/" + name; }

 private:
  SharedDirectory directory_;
};

}  // namespace couplet::test
