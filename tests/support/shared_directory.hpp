// A fresh private directory in shared memory, gone with all that is in it at the end of the process that made it; where
// that is killed, at the start of the next test (the kernel gives the directory's lock back).
#pragma once

#include <sys/types.h>

#include <string>

namespace couplet::test {

class SharedDirectory {
 public:
  // Stops the program where there is no shared memory: no test could go on.
  SharedDirectory();
  // In a forked child: does nothing.
  ~SharedDirectory();
  SharedDirectory(const SharedDirectory&) = delete;
  SharedDirectory& operator=(const SharedDirectory&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  pid_t owner_;
  std::string path_;
  int lock_ = -1;
};

}  // namespace couplet::test
