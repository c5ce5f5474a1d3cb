// The lock of a run directory (COUPLET_RUN_DIR, /dev/shm/couplet-<uid>): held while runs in it are made or removed.
// Used by node_directory only. Below: os. Invariants: whoever waits for a file that has gone begins again; no wait is
// longer than its deadline, and an interrupt ends it; the file says which process holds it. Tests:
// tests/unit/universe/test_node_directory.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.hpp"
#include "os/descriptor.hpp"

namespace couplet::universe {

// How long somebody waits for the lock: until a time (os::now_ns scale), or until `interrupted` (may be empty) says so.
struct LockWait {
  std::uint64_t deadline_ns = 0;
  std::function<bool()> interrupted{};
};

class BaseLock {
 public:
  // Makes `base` if it does not exist. timeout: another process holds the lock, which the text names; interrupted;
  // system.
  static Result<BaseLock> take(const std::string& base, const LockWait& wait);
  BaseLock(BaseLock&&) noexcept = default;
  BaseLock& operator=(BaseLock&&) noexcept = default;
  BaseLock(const BaseLock&) = delete;
  BaseLock& operator=(const BaseLock&) = delete;
  ~BaseLock() = default;

  static Status make_base(const std::string& base);
  // Removes the lock file, and a base that the library has made by default, if no run is left.
  void tidy() const;

 private:
  BaseLock(std::string base, os::Descriptor file) : base_(std::move(base)), file_(std::move(file)) {}
  static Status wait_for(const os::Descriptor& file, const std::string& path, const LockWait& wait);

  std::string base_;
  os::Descriptor file_;
};

}  // namespace couplet::universe
