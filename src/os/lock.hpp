// A lock that says "this process is alive": the kernel releases it when the process ends, for any reason. It is an open
// file description lock, so two universes of one process see each other's, and a forked child does not keep it.
#pragma once

#include <memory>
#include <string>

#include "base/status.hpp"
#include "os/descriptor.hpp"

namespace couplet::os {

// Takes such a lock on a file that is open for writing. `path` is for texts. Returns exists if it is held already.
// Never waits. The lock ends when the descriptor is closed.
Status take_life_lock(const Descriptor& file, const std::string& path);
// Returns true if such a lock is held by another descriptor, also one of this very process. It also returns true if it
// cannot find out.
[[nodiscard]] bool is_life_locked(const Descriptor& file) noexcept;

class LifeLock {
 public:
  // Locks `path`, which is made with mode 0600 if it does not exist. Returns exists if another LifeLock holds it. Never
  // waits. The lock belongs to the file, not to its name: it stays when the file is renamed, linked or removed.
  static Result<std::unique_ptr<LifeLock>> take(const std::string& path);
  LifeLock(const LifeLock&) = delete;
  LifeLock& operator=(const LifeLock&) = delete;
  ~LifeLock() = default;

 private:
  explicit LifeLock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

// Checks another process's lock. It keeps the file open, so that it can check again, with one system call, after the
// name is gone.
class LockProbe {
 public:
  // Returns not_found if the file does not exist.
  static Result<std::unique_ptr<LockProbe>> open(const std::string& path);
  LockProbe(const LockProbe&) = delete;
  LockProbe& operator=(const LockProbe&) = delete;
  ~LockProbe() = default;

  // Returns true if another process holds the lock, or a LifeLock of this very process. It also returns true if it
  // cannot find out (in a forked child), so that no process is declared dead without proof.
  [[nodiscard]] bool held() const noexcept;

 private:
  explicit LockProbe(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

// Checks once. Also returns false if the file does not exist.
[[nodiscard]] bool is_locked(const std::string& path);

}  // namespace couplet::os
