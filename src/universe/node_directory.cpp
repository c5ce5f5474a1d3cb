#include "universe/node_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "os/descriptor.hpp"
#include "os/directory.hpp"
#include "os/error.hpp"
#include "os/fork.hpp"
#include "os/host.hpp"

namespace couplet::universe {
namespace {

using Json = nlohmann::json;
constexpr const char* node_file = "node";  // who made the directory
constexpr std::size_t run_id_digits = 16;

// Held while the contents of the base change. The file goes with the last run; whoever waits for a file that has gone
// begins again.
class BaseLock {
 public:
  static Result<BaseLock> take(const std::string& base) {
    const auto path = base + "/lock";
    while (true) {
      os::Descriptor file(
          os::retry_interrupted([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600); }));
      if (!file && errno == ENOENT) {  // the base itself has just gone
        COUPLET_TRY(make_base(base));
        continue;
      }
      if (!file) {
        return os::system_failure(errno, fmt::format("cannot open {}", path));
      }
      if (os::retry_interrupted([&] { return ::flock(file.number(), LOCK_EX); }) != 0) {
        return os::system_failure(errno, fmt::format("cannot lock {}", path));
      }
      struct stat held {};
      struct stat named {};
      if (::fstat(file.number(), &held) == 0 && ::stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
          held.st_dev == named.st_dev) {
        return BaseLock(base, std::move(file));
      }
    }
  }
  static Status make_base(const std::string& base) {
    if (::mkdir(base.c_str(), 0700) != 0 && errno != EEXIST) {
      return os::system_failure(errno, fmt::format("cannot make the run directory {}", base));
    }
    return {};
  }
  // While the lock is held: removes the lock file, and a base that we have made by default, when no run is left.
  void tidy() const {
    const auto names = os::list_directory(base_);
    if (!names.ok() || *names != std::vector<std::string>{"lock"}) {
      return;
    }
    ::unlink((base_ + "/lock").c_str());
    if (os::run_directory() == base_ && ::getenv("COUPLET_RUN_DIR") == nullptr) {
      ::rmdir(base_.c_str());
    }
  }

 private:
  BaseLock(std::string base, os::Descriptor file) : base_(std::move(base)), file_(std::move(file)) {}
  std::string base_;
  os::Descriptor file_;
};

struct NodeFacts {
  std::string boot_id;
  std::string host;
  std::string key;
};

Result<NodeFacts> read_facts(const std::string& directory) {
  std::ifstream file(directory + "/" + node_file);
  std::string text(4096, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  const auto json = Json::parse(text, nullptr, false);
  const auto word = [&](const char* field) {
    const auto found = json.is_object() ? json.find(field) : json.end();
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  NodeFacts facts{word("boot_id"), word("host"), word("key")};
  if (facts.boot_id.empty() || facts.key.empty()) {
    return fail(Code::protocol, "{} holds no file 'node' of a run", directory);
  }
  return facts;
}

Status write_facts(const std::string& directory, const NodeFacts& facts) {
  const auto path = directory + "/" + node_file;
  const auto text = Json({{"boot_id", facts.boot_id}, {"host", facts.host}, {"key", facts.key}}).dump() + "\n";
  os::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file || ::write(file.number(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return os::system_failure(errno, fmt::format("cannot write {}", path));
  }
  return {};
}

bool lockable(const std::string& name) {
  return name.starts_with("page-") || name.starts_with("keeper-");
}

// Does any process hold a lock in this directory?
bool inhabited(const std::string& directory) {
  const auto names = os::list_directory(directory);
  return names.ok() && std::any_of(names->begin(), names->end(), [&](const std::string& name) {
           return lockable(name) && os::is_locked(directory + "/" + name);
         });
}

bool run_directory_name(const std::string& name) {
  const auto hexadecimal = [](char each) { return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'f'); };
  return name.size() >= run_id_digits && std::all_of(name.begin(), name.begin() + run_id_digits, hexadecimal) &&
         (name.size() == run_id_digits || name[run_id_digits] == '-');
}

// Why the directory is dead; empty: it is not, or cannot be told.
std::string why_dead(const std::string& directory) {
  const auto facts = read_facts(directory);
  if (facts.ok() && facts->boot_id != os::boot_id()) {
    // Another boot id on another host is a live neighbour on a shared file system.
    return facts->host == os::host_name() ? fmt::format("from before the last boot of host {}", facts->host) : "";
  }
  return inhabited(directory) ? std::string() : std::string("its processes have ended");
}

std::string new_keeper_path(const std::string& directory) {
  return os::temporary_name(directory, "keeper");
}

// Under the base's lock: what other runs have left here. A failure is no reason not to start.
CleanReport clean_locked(const std::string& base, bool dry_run) {
  CleanReport report;
  const auto names = os::list_directory(base);
  if (!names.ok()) {
    return report;
  }
  for (const auto& name : *names) {
    const auto path = fmt::format("{}/{}", base, name);
    struct stat facts {};
    if (!run_directory_name(name) || ::lstat(path.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode) ||
        facts.st_uid != ::geteuid()) {
      continue;
    }
    const auto why = why_dead(path);
    if (why.empty()) {
      report.kept.push_back(path);
    } else if (dry_run || os::remove_directory(path).ok()) {
      report.removed.push_back({path, why});
    }
  }
  return report;
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
                                                            const std::string& name) {
  if (name.size() > 64 || name.find('/') != std::string::npos) {
    return fail(Code::config, "COUPLET_NODE is '{}': at most 64 characters and no '/'", name);
  }
  COUPLET_TRY(BaseLock::make_base(base));
  if (base == os::run_directory() && ::getenv("COUPLET_RUN_DIR") == nullptr) {
    COUPLET_TRY(os::make_private_directory(base));  // nobody else may have made it for us
  }
  COUPLET_TRY_VALUE(const auto lock, BaseLock::take(base));
  clean_locked(base, false);
  auto path = fmt::format("{}/{:016x}{}{}", base, run_id, name.empty() ? "" : "-", name);
  COUPLET_TRY(os::make_private_directory(path));
  auto facts = read_facts(path);
  if (facts.ok() &&
      facts->boot_id != os::boot_id()) {  // a shared file system: another host's directory of the same run
    path += "-" + os::boot_id().substr(0, 8);
    COUPLET_TRY(os::make_private_directory(path));
    facts = read_facts(path);
  }
  if (!facts.ok()) {
    COUPLET_TRY_VALUE(const auto random, os::random_bits());
    facts = NodeFacts{os::boot_id(), os::host_name(), fmt::format("{}/{:016x}/{}", os::boot_id(), random, name)};
    COUPLET_TRY(write_facts(path, *facts));
  }
  auto keeper_path = new_keeper_path(path);
  COUPLET_TRY_VALUE(auto keeper, os::LifeLock::take(keeper_path));
  return std::unique_ptr<NodeDirectory>(
      new NodeDirectory(base, std::move(path), facts->key, std::move(keeper_path), std::move(keeper)));
}

NodeDirectory::~NodeDirectory() {
  if (generation_ != os::fork_generation()) {
    return;
  }
  const auto lock = BaseLock::take(base_);
  static_cast<void>(os::remove_file(keeper_path_));
  keeper_.reset();
  if (lock.ok()) {
    clean_locked(base_, false);  // this directory where nobody else is in it, and what others have left
    lock->tidy();
  }
}

Result<CleanReport> clean(const std::string& base, bool dry_run) {
  struct stat facts {};
  if (::stat(base.c_str(), &facts) != 0 && errno == ENOENT) {
    return CleanReport{};
  }
  COUPLET_TRY_VALUE(const auto lock, BaseLock::take(base));
  auto report = clean_locked(base, dry_run);
  lock.tidy();
  return report;
}

}  // namespace couplet::universe
