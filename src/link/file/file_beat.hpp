// The heartbeat of a process that is reached through files: a file that changes every second while the process exists,
// and the observer of such a file. It is weaker than what a kernel or a network tells: a process that is stopped does
// not beat, and silence means only that its end cannot be told from its slowness (docs/liveness.md). On a file system
// that only this kernel writes, the owner also locks the file, which proves its life and its end.
// Invariants: the beat comes from a thread of its own, which touches nothing else, so that a process that computes is
// heard; a forked child does not beat for its parent; a lock counts only if the file says that this very file is locked
// on this very kernel.
// Tests: tests/unit/link/file_link_test.cpp, tests/unit/link/file_beat_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/retry.hpp"
#include "base/status.hpp"

namespace couplet::link {

class FileBeat {
 public:
  // Makes the file, and changes it from now on. Returns exists if another process of this host beats there; no_space;
  // and other errors of the file system. After an error there is no file.
  static Result<std::unique_ptr<FileBeat>> start(const std::string& path, std::uint64_t interval_ns);
  // Ends the beat, and removes the file.
  ~FileBeat();
  FileBeat(const FileBeat&) = delete;
  FileBeat& operator=(const FileBeat&) = delete;
  // Returns false in a forked child.
  [[nodiscard]] bool mine() const noexcept;

 private:
  struct State;
  explicit FileBeat(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Observes the heartbeat of another process.
class FileBeatWatch {
 public:
  FileBeatWatch() = default;
  // interval_ns: at most one look in this time.
  FileBeatWatch(std::string path, std::uint64_t interval_ns) : path_(std::move(path)), interval_ns_(interval_ns) {}

  // Looks if the time has come. Returns for how long the beat has not changed while this process was looking. It is 0
  // while a lock proves that the owner lives, even if the owner is stopped.
  std::uint64_t silent_ns(std::uint64_t now_ns);
  // Returns true if a look has proven that the owner has died: its lock is free, and the file is still there.
  [[nodiscard]] bool has_ended() const noexcept { return ended_; }
  // Looks now, and says whether the owner is proven to have died.
  [[nodiscard]] bool owner_has_died();
  // Looks for at most so long, and returns whether the beat has changed or a lock proves that the owner lives.
  // Blocking.
  bool beats_within(std::uint64_t timeout_ns);
  [[nodiscard]] bool watches() const noexcept { return !path_.empty(); }
  // Notes that something else has shown that the process lives: its silence is counted from 0 again.
  void heard() noexcept { silent_ = {}; }

 private:
  // Reads the file. Returns true if its owner has shown a sign of life since the last look.
  bool look();

  std::string path_;
  std::uint64_t interval_ns_ = 0;
  std::uint64_t next_look_ns_ = 0;
  std::string last_;
  LookedTime silent_;
  bool ended_ = false;
};

// Looks once, and returns true if the owner of this heartbeat is proven to have died.
[[nodiscard]] bool owner_has_ended(const std::string& beat_path);

}  // namespace couplet::link
