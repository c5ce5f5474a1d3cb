// A fresh private directory in shared memory. The process that made it removes it at its end, with everything in it. If
// that process is killed, the next test removes it, since the kernel has released the directory's lock.
#pragma once

#include <sys/types.h>

#include <string>

namespace couplet::test {

class SharedDirectory {
 public:
  // Stops the program if there is no shared memory, since no test could run.
  SharedDirectory();
  // Does nothing in a forked child.
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
