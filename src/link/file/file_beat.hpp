// The heartbeat of a process that is reached through files: a file that changes every second while the process exists,
// and the observer of such a file. It is weaker than what a kernel or a network tells: a process that is stopped does
// not beat, and silence means only that its end cannot be told from its slowness (docs/liveness.md).
// Invariants: the beat comes from a thread of its own, which touches nothing else, so that a process that computes is
// heard; a forked child does not beat for its parent.
// Tests: tests/unit/link/test_file_link.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/retry.hpp"
#include "base/status.hpp"

namespace couplet::link {

class FileBeat {
 public:
  // Makes the file, and changes it from now on. Returns no_space, and other errors of the file system.
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

  // Looks if the time has come. Returns for how long the beat has not changed while this process was looking.
  std::uint64_t silent_ns(std::uint64_t now_ns);
  // Looks for at most so long, and returns whether the beat has changed. Blocking.
  bool beats_within(std::uint64_t timeout_ns);
  [[nodiscard]] bool watches() const noexcept { return !path_.empty(); }
  // Something else has shown that the process is there.
  void heard() noexcept { silent_ = {}; }

 private:
  std::string path_;
  std::uint64_t interval_ns_ = 0;
  std::uint64_t next_look_ns_ = 0;
  std::string last_;
  LookedTime silent_;
};

}  // namespace couplet::link
