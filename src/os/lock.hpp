// A lock that says "this process lives": the kernel releases it when the process ends, however it ends.
// Open file description locks: two universes of one process see each other's, and a forked child does not keep them.
#pragma once

#include <memory>
#include <string>

#include "base/status.hpp"
#include "os/descriptor.hpp"

namespace couplet::os {

class LifeLock {
 public:
  // Locks `path` (made with mode 0600 where it does not exist). exists: another LifeLock holds it. Never waits.
  // The lock belongs to the file, not to its name: it stays when the file is renamed, linked or removed.
  static Result<std::unique_ptr<LifeLock>> take(const std::string& path);
  LifeLock(const LifeLock&) = delete;
  LifeLock& operator=(const LifeLock&) = delete;
  ~LifeLock() = default;

 private:
  explicit LifeLock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

// Looks at somebody's lock; keeps the file open, so that it can look again (one system call) when the name is gone.
class LockProbe {
 public:
  // not_found where the file does not exist.
  static Result<std::unique_ptr<LockProbe>> open(const std::string& path);
  LockProbe(const LockProbe&) = delete;
  LockProbe& operator=(const LockProbe&) = delete;
  ~LockProbe() = default;

  // Does anybody else hold the lock? Counts a LifeLock of this very process. True also when it cannot be found out (a
  // forked child): nobody is declared dead for lack of knowledge.
  [[nodiscard]] bool held() const noexcept;

 private:
  explicit LockProbe(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

// One look: false also where the file does not exist.
[[nodiscard]] bool is_locked(const std::string& path);

}  // namespace couplet::os
