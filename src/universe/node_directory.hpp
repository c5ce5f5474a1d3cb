// The directory <base>/<run id, 16 hexadecimal digits>[-<name>]/, mode 0700, that the processes of a universe share on
// one node. Turns a run id into a directory that is removed with its last process, and says which left-over directories
// are dead. Used by member, hub_server, relay and couplet-clean. Below: os (locks, files). Invariants: a process that
// is in a directory holds a lock in it (a page, or `keeper-<pid>-<n>`); entering, leaving and cleaning are serialised
// by the base's lock file, so that no process removes a directory that another one is about to enter; a directory is
// never touched if it is in use, or if its file `node` does not prove that a process of this user has made it for that
// run. Tests: tests/unit/universe/node_directory_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "os/lock.hpp"
#include "universe/base_lock.hpp"

namespace couplet::universe {

// The files of the hub in its node directory. A directory that has one of them is the home of a hub that has not ended
// in order, and may be started again. It is kept if members of the hub may live on other nodes.
inline constexpr const char* hub_key_file = "hub-key";
inline constexpr const char* roster_file = "roster";
[[nodiscard]] std::string hub_key_path(const std::string& directory);
[[nodiscard]] bool is_home_of_hub(const std::string& directory);

// How long, and for how many hubs, the home of a hub that has died is kept. The oldest go first.
inline constexpr std::int64_t max_kept_home_s = 7 * 24 * 3600;
inline constexpr std::size_t max_kept_homes = 64;

class NodeDirectory {
 public:
  // Enters the directory of the run. Makes base and directory if they do not exist, removes the keepers of processes
  // that were killed, and holds a keeper's lock until the end. base: os::run_directory(). name: COUPLET_NODE, if
  // several "nodes" are on one host. Errors: system, if another user owns or can read the base; exists, if something
  // else has the directory's name; timeout or interrupted, if another process holds the lock of the base.
  static Result<std::unique_ptr<NodeDirectory>> enter(const std::string& base, std::uint64_t run_id,
                                                      const std::string& name, const LockWait& wait);
  // Removes the keeper, and every dead directory, including this one if no other process is in it. Of the home of a hub
  // that has died, only what is needed to start it again is kept. Does nothing in a forked child.
  ~NodeDirectory();
  NodeDirectory(const NodeDirectory&) = delete;
  NodeDirectory& operator=(const NodeDirectory&) = delete;

  // Returns the paths that the directory of a run may have on this host. None has to exist, and nothing is made.
  [[nodiscard]] static std::vector<std::string> paths(const std::string& base, std::uint64_t run_id,
                                                      const std::string& name);
  // If true, the end removes the keeper, and nothing else.
  void leave_as_it_is(bool wanted) noexcept { leaves_as_it_is_ = wanted; }
  // Removes the files of a hub that will not be started again.
  void forget_hub() const;
  // Waits until no other process is in the directory, for at most a fifth of a second. When a process ends, the system
  // closes its connection before it gives back its lock.
  void await_the_dying() const;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // A text that is the same for all processes that share this directory, and different for any other directory on any
  // host.
  [[nodiscard]] const std::string& key() const noexcept { return key_; }

 private:
  NodeDirectory(std::string base, std::string path, std::string key, std::string keeper_path,
                std::unique_ptr<os::LifeLock> keeper);
  std::string base_;
  std::string path_;
  std::string key_;
  std::string keeper_path_;
  std::unique_ptr<os::LifeLock> keeper_;
  std::uint64_t generation_;
  bool leaves_as_it_is_ = false;
};

struct Leftover {
  std::string path;
  std::string why;  // "its processes have ended", "from before the last boot of host a"
};

struct CleanReport {
  std::vector<Leftover> removed;  // in a dry run: what would be removed
  std::vector<std::string> kept;  // directories in which processes live, or whose run lives in another one
};

// Removes the node directories of this user in which no lock is held, unless another host may still use them, or
// processes of the same run live in another directory of `base`. It also removes the homes of hubs that have died,
// which can then not be started again; `why` says so. Other entries of `base` are neither touched nor
// reported. Returns ok with an empty report if `base` does not exist; timeout or interrupted if another process holds
// the lock of the base.
Result<CleanReport> clean(const std::string& base, bool dry_run, const LockWait& wait);

}  // namespace couplet::universe
