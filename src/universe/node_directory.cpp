#include "universe/node_directory.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "os/clock.hpp"
#include "os/directory.hpp"
#include "os/fork.hpp"
#include "os/host.hpp"
#include "universe/node_facts.hpp"

namespace couplet::universe {
namespace {

// Processes of unlike byte orders on one host, of which some run in an emulator, map no memory of each other: each byte
// order is a node of its own.
constexpr const char* byte_order_suffix = std::endian::native == std::endian::big ? "-big-endian" : "";
// How long leaving waits for others to release the lock of the base.
constexpr std::uint64_t max_tidy_wait_ns = 5'000'000'000;

constexpr std::string_view keeper_prefix = "keeper-";

bool lockable(const std::string& name) {
  return name.starts_with("page-") || name.starts_with(keeper_prefix);
}

// Does any process hold a lock in this directory? Also returns true if that cannot be found out.
bool inhabited(const std::string& directory) {
  const auto names = os::list_directory(directory);
  return !names.ok() || std::any_of(names->begin(), names->end(), [&](const std::string& name) {
    if (!lockable(name)) {
      return false;
    }
    const auto probe = os::LockProbe::open(directory + "/" + name);
    return probe.ok() ? (*probe)->held() : probe.code() != Code::not_found;
  });
}

// Returns the run in a name "<run id, 16 hexadecimal digits>" or "<run id>-<more>", or nothing if the name has another
// form.
std::optional<std::uint64_t> run_of(const std::string& name) {
  std::uint64_t run_id = 0;
  if (name.size() < run_id_digits || (name.size() > run_id_digits && name[run_id_digits] != '-')) {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(name.data(), name.data() + run_id_digits, run_id, 16);
  const auto digits = std::string_view(name).substr(0, run_id_digits);
  if (error != std::errc() || end != name.data() + run_id_digits || digits != fmt::format("{:016x}", run_id)) {
    return std::nullopt;
  }
  return run_id;
}

// Returns the facts of a node directory that a process of this user has made. Returns nothing for anything else, which
// is never touched.
std::optional<NodeFacts> facts_of_ours(const std::string& base, const std::string& name) {
  const auto run_id = run_of(name);
  const auto path = fmt::format("{}/{}", base, name);
  struct stat facts {};
  if (!run_id || ::lstat(path.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode) || facts.st_uid != ::geteuid()) {
    return std::nullopt;
  }
  auto node = read_node_facts(path);
  if (!node.ok() || node->run_id != *run_id) {
    return std::nullopt;
  }
  return std::move(*node);
}

// Returns why the directory is dead; "" if it is not, or if that cannot be found out.
std::string why_dead(const std::string& directory, const NodeFacts& facts) {
  if (inhabited(directory)) {
    return {};
  }
  if (facts.boot_id == os::boot_id()) {
    return "its processes have ended";
  }
  // If the boot id and the host are both different, another host that shares this file system has made the directory.
  // Its locks may not be visible here.
  return facts.host == os::host_name() ? fmt::format("from before the last boot of host {}", facts.host) : "";
}

std::string new_keeper_path(const std::string& directory) {
  return os::temporary_name(directory, "keeper");
}

// Removes a directory. The file that proves that it is ours is removed last, so that the next join can remove what a
// crash has left.
Status remove_run(const std::string& directory) {
  COUPLET_TRY_VALUE(const auto names, os::list_directory(directory));
  for (const auto& name : names) {
    if (name != node_facts_file) {
      COUPLET_TRY(os::remove_directory(fmt::format("{}/{}", directory, name)));
    }
  }
  return os::remove_directory(directory);
}

// What the caller of clean_locked() is about to do.
struct Caller {
  std::optional<std::uint64_t> enters_run;  // this run lives, also if no lock of it is held here
  std::string leaves;                       // this directory is removed if it is dead, also if its run lives
};

// Removes what other runs have left here. The caller holds the lock of the base. A failure does not prevent joining. A
// directory whose processes have all died is kept while its run lives in another one: its pages prove to a hub that was
// started again that these processes are dead.
CleanReport clean_locked(const std::string& base, bool dry_run, const Caller& caller = {}) {
  CleanReport report;
  const auto names = os::list_directory(base);
  if (!names.ok()) {
    return report;
  }
  std::vector<std::pair<std::string, NodeFacts>> directories;
  std::set<std::uint64_t> living;
  if (caller.enters_run) {
    living.insert(*caller.enters_run);
  }
  for (const auto& name : *names) {
    if (auto facts = facts_of_ours(base, name)) {
      directories.emplace_back(fmt::format("{}/{}", base, name), std::move(*facts));
      const auto& [path, known] = directories.back();
      if (known.boot_id == os::boot_id() && inhabited(path)) {
        living.insert(known.run_id);
      }
    }
  }
  for (const auto& [path, facts] : directories) {
    const auto why = why_dead(path, facts);
    const bool proves = facts.boot_id == os::boot_id() && living.contains(facts.run_id) && path != caller.leaves;
    if (why.empty() || proves) {
      report.kept.push_back(path);
    } else if (dry_run || remove_run(path).ok()) {
      report.removed.push_back({path, why});
    }
  }
  return report;
}

// Removes the keepers of processes that were killed. The caller holds the lock of the base, so none is being made. The
// lock of each is looked at only if this system knows no process with the number in its name.
void remove_dead_keepers(const std::string& directory) {
  const auto names = os::list_directory(directory);
  for (std::size_t index = 0; names.ok() && index < names->size(); ++index) {
    const std::string_view name = (*names)[index];
    if (!name.starts_with(keeper_prefix)) {
      continue;
    }
    pid_t process = 0;
    const auto number = name.substr(keeper_prefix.size());
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), process);
    if (error != std::errc() || process <= 0 || ::kill(process, 0) == 0 || errno != ESRCH) {
      continue;
    }
    const auto path = fmt::format("{}/{}", directory, name);
    const auto probe = os::LockProbe::open(path);
    if (probe.ok() && !(*probe)->held()) {
      static_cast<void>(os::remove_file(path));
    }
  }
}

// Returns the facts of the node directory of this run, or writes new ones into a directory that is empty. Returns
// exists if the directory has other contents.
Result<NodeFacts> facts_for(const std::string& path, std::uint64_t run_id, const std::string& name) {
  auto facts = read_node_facts(path);
  if (facts.ok() && facts->run_id == run_id) {
    return facts;
  }
  COUPLET_TRY_VALUE(const auto names, os::list_directory(path));
  if (!names.empty()) {
    return fail(Code::exists, "{} cannot be used: it is not the node directory of this run, and it is not empty", path);
  }
  COUPLET_TRY_VALUE(const auto random, os::random_bits());
  NodeFacts made{run_id, os::boot_id(), os::host_name(), fmt::format("{}/{:016x}/{}", os::boot_id(), random, name)};
  if (const auto written = write_node_facts(path, made); !written.ok()) {
    ::rmdir(path.c_str());
    return written;
  }
  return made;
}

}  // namespace

NodeDirectory::NodeDirectory(std::string base, std::string path, std::string key, std::string keeper_path,
                             std::unique_ptr<os::LifeLock> keeper)
    : base_(std::move(base)),
      path_(std::move(path)),
      key_(std::move(key)),
      keeper_path_(std::move(keeper_path)),
      keeper_(std::move(keeper)),
      generation_(os::fork_generation()) {}

Result<std::unique_ptr<NodeDirectory>> NodeDirectory::enter(const std::string& base, std::uint64_t run_id,
                                                            const std::string& name, const LockWait& wait) {
  if (name.size() > 64 || name.find('/') != std::string::npos || name == "." || name == "..") {
    return fail(Code::config, "COUPLET_NODE is '{}': it must be a name of at most 64 characters without '/'", name);
  }
  COUPLET_TRY(BaseLock::make_base(base));
  if (base == os::run_directory() && ::getenv("COUPLET_RUN_DIR") == nullptr) {
    COUPLET_TRY(os::make_private_directory(base));  // fails if another user has made it
  }
  COUPLET_TRY_VALUE(const auto lock, BaseLock::take(base, wait));
  clean_locked(base, false, {.enters_run = run_id, .leaves = {}});
  auto path = fmt::format("{}/{:016x}{}{}{}", base, run_id, name.empty() ? "" : "-", name, byte_order_suffix);
  COUPLET_TRY(os::make_private_directory(path));
  COUPLET_TRY_VALUE(auto facts, facts_for(path, run_id, name));
  if (facts.boot_id != os::boot_id()) {  // a file system that hosts share: another host has this directory of the run
    path += "-" + os::boot_id().substr(0, 8);
    COUPLET_TRY(os::make_private_directory(path));
    COUPLET_TRY_VALUE(facts, facts_for(path, run_id, name));
  }
  remove_dead_keepers(path);
  auto keeper_path = new_keeper_path(path);
  COUPLET_TRY_VALUE(auto keeper, os::LifeLock::take(keeper_path));
  return std::unique_ptr<NodeDirectory>(
      new NodeDirectory(base, std::move(path), facts.key, std::move(keeper_path), std::move(keeper)));
}

NodeDirectory::~NodeDirectory() {
  if (generation_ != os::fork_generation()) {
    return;
  }
  const auto lock = BaseLock::take(base_, {os::now_ns() + max_tidy_wait_ns});
  static_cast<void>(os::remove_file(keeper_path_));
  keeper_.reset();
  if (lock.ok()) {
    // This removes this directory if no other process is in it, and what others have left.
    clean_locked(base_, false, {.enters_run = std::nullopt, .leaves = path_});
    lock->tidy();
  }
}

Result<CleanReport> clean(const std::string& base, bool dry_run, const LockWait& wait) {
  struct stat facts {};
  if (::stat(base.c_str(), &facts) != 0 && errno == ENOENT) {
    return CleanReport{};
  }
  COUPLET_TRY_VALUE(const auto lock, BaseLock::take(base, wait));
  auto report = clean_locked(base, dry_run);
  lock.tidy();
  return report;
}

}  // namespace couplet::universe
