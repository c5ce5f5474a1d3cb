#include "universe/node_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "os/clock.hpp"
#include "os/descriptor.hpp"
#include "os/directory.hpp"
#include "os/fork.hpp"
#include "os/host.hpp"
#include "universe/hub/roster.hpp"
#include "universe/node_facts.hpp"
#include "universe/node_marks.hpp"

namespace couplet::universe {
namespace {

// Processes of unlike byte orders on one host, of which some run in an emulator, map no memory of each other: each byte
// order is a node of its own.
constexpr const char* byte_order_suffix = std::endian::native == std::endian::big ? "-big-endian" : "";
// How long leaving waits for others to release the lock of the base.
constexpr std::uint64_t max_tidy_wait_ns = 5'000'000'000;
// How long a hub waits for the locks of processes that are ending, and how often it looks.
constexpr std::uint64_t max_dying_wait_ns = 200'000'000;
constexpr std::chrono::milliseconds dying_nap(2);

constexpr std::string_view keeper_prefix = "keeper-";
// The mark of the home of a hub that was found dead, with the time in seconds since 1970.
constexpr std::string_view died_prefix = "died-";
constexpr std::size_t died_digits = 16;

bool lockable(const std::string& name) {
  return name.starts_with("page-") || name.starts_with(keeper_prefix);
}

// Returns true if a process holds a lock in this directory, other than the keeper's lock at the path `own_keeper`, or
// if that cannot be found out.
bool inhabited(const std::string& directory, const std::string& own_keeper = {}) {
  const auto names = os::list_directory(directory);
  return !names.ok() || std::any_of(names->begin(), names->end(), [&](const std::string& name) {
    const std::string path = directory + "/" + name;
    if (!lockable(name) || path == own_keeper) {
      return false;
    }
    const auto probe = os::LockProbe::open(path);
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

// Is a file of this name kept in the home of a dead hub? It is what the next hub of the run reads.
bool is_kept_for_hub(const std::string& name) {
  return name == node_facts_file || name == hub_key_file || name == roster_file || name.starts_with(died_prefix) ||
         name.starts_with("epoch-") || name.starts_with("number-") || name.starts_with("left-");
}

std::int64_t seconds_since_1970() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Returns when it was noticed that the hub of this directory has died, or nothing if it was not yet.
std::optional<std::int64_t> noticed_death(const std::string& directory) {
  const auto names = os::list_directory(directory);
  for (const auto& name : names.ok() ? *names : std::vector<std::string>()) {
    std::int64_t seconds = 0;
    const auto digits = std::string_view(name).substr(std::min(died_prefix.size(), name.size()));
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds, 16);
    if (name.starts_with(died_prefix) && digits.size() == died_digits && error == std::errc() &&
        end == digits.data() + digits.size()) {
      return seconds;
    }
  }
  return std::nullopt;
}

// May a member of the hub of this directory live on another node? All others have a page or a mark here.
bool has_members_elsewhere(const std::string& directory) {
  const auto present = Roster::present(directory);
  if (!present) {
    return true;
  }
  std::set<channel::PeerId> here;
  for (const auto& run : seen_on_node(directory, *present)) {
    here.insert(run.first);
  }
  return here.size() < present->size();
}

// Removes everything that only processes on this node have used.
void keep_for_hub(const std::string& directory, std::int64_t now_s) {
  const auto names = os::list_directory(directory);
  for (const auto& name : names.ok() ? *names : std::vector<std::string>()) {
    if (!is_kept_for_hub(name)) {
      static_cast<void>(os::remove_directory(fmt::format("{}/{}", directory, name)));
    }
  }
  if (!noticed_death(directory)) {
    const auto path = fmt::format("{}/{}{:016x}", directory, died_prefix, now_s);
    const os::Descriptor mark(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  }
}

// A process lives in the directory again.
void remove_marks_of_death(const std::string& directory) {
  const auto names = os::list_directory(directory);
  for (const auto& name : names.ok() ? *names : std::vector<std::string>()) {
    if (name.starts_with(died_prefix)) {
      static_cast<void>(os::remove_file(fmt::format("{}/{}", directory, name)));
    }
  }
}

// Keeps the homes of the hubs that died last, and removes the others.
void keep_homes(const std::vector<std::string>& homes, CleanReport& report) {
  const auto now_s = seconds_since_1970();
  std::vector<std::pair<std::int64_t, std::string>> by_age;
  by_age.reserve(homes.size());
  for (const auto& path : homes) {
    by_age.emplace_back(now_s - noticed_death(path).value_or(now_s), path);
  }
  std::sort(by_age.begin(), by_age.end());
  for (std::size_t index = 0; index < by_age.size(); ++index) {
    const auto& [age_s, path] = by_age[index];
    if (index < max_kept_homes && age_s < max_kept_home_s) {
      keep_for_hub(path, now_s);
      report.kept.push_back(path);
    } else if (remove_run(path).ok()) {
      report.removed.push_back({path, "its hub has died long ago, or many others have died since"});
    }
  }
}

// What the caller of clean_locked() is about to do.
struct Caller {
  bool removes_homes = false;               // of hubs that have died
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
  std::vector<std::string> homes;
  for (const auto& [path, facts] : directories) {
    auto why = why_dead(path, facts);
    const bool home = is_home_of_hub(path) && has_members_elsewhere(path);
    const bool run_lives = facts.boot_id == os::boot_id() && living.contains(facts.run_id);
    if (why.empty() || (run_lives && (home || path != caller.leaves))) {
      report.kept.push_back(path);
      continue;
    }
    if (home && !caller.removes_homes) {
      homes.push_back(path);
      continue;
    }
    why += home ? ", and its hub, which has not ended in order, can no longer be started again" : "";
    if (dry_run || remove_run(path).ok()) {
      report.removed.push_back({path, why});
    }
  }
  keep_homes(homes, report);
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

std::string hub_key_path(const std::string& directory) {
  return fmt::format("{}/{}", directory, hub_key_file);
}

bool is_home_of_hub(const std::string& directory) {
  struct stat facts {};
  return ::lstat(hub_key_path(directory).c_str(), &facts) == 0 ||
         ::lstat(fmt::format("{}/{}", directory, roster_file).c_str(), &facts) == 0;
}

std::vector<std::string> NodeDirectory::paths(const std::string& base, std::uint64_t run_id, const std::string& name) {
  auto path = fmt::format("{}/{:016x}{}{}{}", base, run_id, name.empty() ? "" : "-", name, byte_order_suffix);
  auto of_this_boot = path + "-" + os::boot_id().substr(0, 8);
  return {std::move(path), std::move(of_this_boot)};
}

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
  clean_locked(base, false, {.enters_run = run_id});
  const auto possible = paths(base, run_id, name);
  auto path = possible.front();
  COUPLET_TRY(os::make_private_directory(path));
  COUPLET_TRY_VALUE(auto facts, facts_for(path, run_id, name));
  if (facts.boot_id != os::boot_id()) {  // a file system that hosts share: another host has this directory of the run
    path = possible.back();
    COUPLET_TRY(os::make_private_directory(path));
    COUPLET_TRY_VALUE(facts, facts_for(path, run_id, name));
  }
  remove_dead_keepers(path);
  remove_marks_of_death(path);
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
    if (!leaves_as_it_is_) {
      clean_locked(base_, false, {.leaves = path_});
    }
    lock->tidy();
  }
}

void NodeDirectory::await_the_dying() const {
  const std::uint64_t until_ns = os::now_ns() + max_dying_wait_ns;
  while (inhabited(path_, keeper_path_) && os::now_ns() < until_ns) {
    std::this_thread::sleep_for(dying_nap);
  }
}

void NodeDirectory::forget_hub() const {
  static_cast<void>(os::remove_file(hub_key_path(path_)));
  static_cast<void>(os::remove_file(fmt::format("{}/{}", path_, roster_file)));
}

Result<CleanReport> clean(const std::string& base, bool dry_run, const LockWait& wait) {
  struct stat facts {};
  if (::stat(base.c_str(), &facts) != 0 && errno == ENOENT) {
    return CleanReport{};
  }
  COUPLET_TRY_VALUE(const auto lock, BaseLock::take(base, wait));
  auto report = clean_locked(base, dry_run, {.removes_homes = true});
  lock.tidy();
  return report;
}

}  // namespace couplet::universe
