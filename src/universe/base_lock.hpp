// The lock of a run directory (COUPLET_RUN_DIR, /dev/shm/couplet-<uid>). A process holds it while it makes or removes
// directories of runs there. Used by node_directory only. Below: os. Invariants: if the lock file was removed while a
// process waited for it, the process begins again; no wait is longer than its deadline, and an interrupt ends it; the
// file names the process that holds the lock. Tests: tests/unit/universe/node_directory_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.hpp"
#include "os/descriptor.hpp"

namespace couplet::universe {

// How long to wait for the lock: until a time (os::now_ns scale), or until `interrupted` (may be empty) returns true.
struct LockWait {
  std::uint64_t deadline_ns = 0;
  std::function<bool()> interrupted{};
};

class BaseLock {
 public:
  // Takes the lock. Makes `base` if it does not exist. Errors: timeout, if another process holds the lock (the text
  // names it); interrupted; system.
  static Result<BaseLock> take(const std::string& base, const LockWait& wait);
  BaseLock(BaseLock&&) noexcept = default;
  BaseLock& operator=(BaseLock&&) noexcept = default;
  BaseLock(const BaseLock&) = delete;
  BaseLock& operator=(const BaseLock&) = delete;
  ~BaseLock() = default;

  static Status make_base(const std::string& base);
  // Removes the lock file if no run is left in the base, and also the base if the library has made it by default.
  void tidy() const;

 private:
  BaseLock(std::string base, os::Descriptor file) : base_(std::move(base)), file_(std::move(file)) {}
  static Status wait_for(const os::Descriptor& file, const std::string& path, const LockWait& wait);

  std::string base_;
  os::Descriptor file_;
};

}  // namespace couplet::universe
