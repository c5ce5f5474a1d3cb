#include "runtime/file_hub.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <utility>

#include "os/directory.hpp"
#include "os/error.hpp"
#include "os/host.hpp"

namespace couplet::runtime {
namespace {

constexpr std::string_view scheme = "file:";
constexpr std::size_t run_digits = 16;
constexpr int max_claims = 16;
constexpr std::uint64_t max_beating_ns = 3'000'000'000;

link::FileAddress address_of_hub(const std::string& directory, std::uint64_t run_id) {
  return {directory, run_id, "hub"};
}

// Says whether the hub of this run is seen or proven to live. Blocking: up to 3 s.
bool serves(const std::string& directory, std::uint64_t run_id) {
  const link::FileAddress hub = address_of_hub(directory, run_id);
  return link::inbox_is_open(hub) && link::FileBeatWatch(hub.beat_path(), 1).beats_within(max_beating_ns);
}

// Reads the run of the last hub of the directory, which may have died. Returns not_found if there was none.
Result<std::uint64_t> read_run(const std::string& directory) {
  const std::string path = directory + "/hub";
  const os::Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) {
    return os::system_failure(errno, fmt::format("no hub serves the directory {}: {}", directory, path));
  }
  std::array<char, run_digits> text{};
  const ssize_t count = ::pread(file.number(), text.data(), text.size(), 0);
  std::uint64_t run_id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), run_id, 16);
  if (count != static_cast<ssize_t>(run_digits) || error != std::errc() || end != text.data() + text.size()) {
    return fail(Code::not_found, "{} does not contain the number of a run of {} digits", path, run_digits);
  }
  return run_id;
}

// Says which file it is, also after another one has taken its name.
struct FileId {
  dev_t device = 0;
  ino_t number = 0;
  bool operator==(const FileId&) const = default;
};

Result<FileId> id_of(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) {
    return os::system_failure(errno, fmt::format("cannot inspect {}", path));
  }
  return FileId{facts.st_dev, facts.st_ino};
}

// Gives the file the name of the pointer. Returns exists if there is a pointer.
Status name_pointer(const std::string& made, const std::string& pointer) {
  struct stat facts {};
  if (::link(made.c_str(), pointer.c_str()) == 0) {
    return {};
  }
  const int why = errno;
  if (::lstat(made.c_str(), &facts) == 0 && facts.st_nlink == 2) {
    return {};  // a file server has done it, and its answer was lost
  }
  if (why == EPERM || why == EOPNOTSUPP || why == ENOSYS || why == EMLINK) {  // a file system without links
    if (::access(pointer.c_str(), F_OK) == 0) {
      return Code::exists;
    }
    return ::rename(made.c_str(), pointer.c_str()) == 0 ? Status() : os::system_failure(errno, "cannot rename " + made);
  }
  return os::system_failure(why, fmt::format("cannot make {}", pointer));
}

// Removes the pointer, unless it has become another one, which then gets its name back.
void remove_pointer(const std::string& pointer, const FileId& expected) {
  const auto number = os::random_bits();
  const std::string taken = fmt::format("{}-{:016x}", pointer, number.ok() ? *number : 0);
  if (!number.ok() || ::rename(pointer.c_str(), taken.c_str()) != 0) {
    return;
  }
  const auto found = id_of(taken);
  if (found.ok() && !(*found == expected)) {
    static_cast<void>(name_pointer(taken, pointer));
  }
  static_cast<void>(os::remove_file(taken));
}

Status write_file(const std::string& path, const std::string& text) {
  const os::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file || ::write(file.number(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::fsync(file.number()) != 0) {
    return os::system_failure(errno, fmt::format("cannot write {}", path));
  }
  return {};
}

// Makes the pointer. Exactly one of several hubs that start together succeeds; the others return exists.
Status claim_pointer(const std::string& directory, const std::string& made, std::uint64_t run_id) {
  const std::string pointer = directory + "/hub";
  for (int claim = 0; claim < max_claims; ++claim) {
    Status named = name_pointer(made, pointer);
    if (named.code() != Code::exists) {
      return named;
    }
    const auto other = id_of(pointer);  // before it is read, so that what is removed is what was read
    const auto run = read_run(directory);
    if (run.ok() && *run != run_id && serves(directory, *run)) {
      return fail(Code::exists, "the hub of run {:016x} serves the directory {}", *run, directory);
    }
    if (other.ok()) {
      remove_pointer(pointer, *other);
    }
  }
  return fail(Code::exists, "other hubs want to serve the directory {}", directory);
}

// One member's way to the hub. A bridge ends when its socket is closed; the next dial replaces it.
class Dialer {
 public:
  explicit Dialer(std::string directory) : directory_(std::move(directory)) {}

  Result<os::Descriptor> dial() {
    bridge_.reset();
    COUPLET_TRY_VALUE(const std::uint64_t run_id, read_run(directory_));
    const link::FileAddress hub = address_of_hub(directory_, run_id);
    if (!link::inbox_is_open(hub)) {
      return fail(Code::not_found, "the hub of run {:016x} no longer serves the directory {}", run_id, directory_);
    }
    if (link::owner_has_ended(hub.beat_path())) {
      return fail(Code::not_found, "the hub of run {:016x}, which served the directory {}, has died", run_id,
                  directory_);
    }
    COUPLET_TRY_VALUE(auto connection, link::FileConnection::dial(hub.path(), {.run_id = run_id}, {}));
    connection->watch_beat(hub.beat_path());
    COUPLET_TRY_VALUE(auto beat, link::FileBeat::start(fmt::format("{}/{}", connection->path(), link::file_dialer_beat),
                                                       connection->options().beat_interval_ns));
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
      return os::system_failure(errno, "cannot make a pair of sockets");
    }
    os::Descriptor ours(ends[0]);
    COUPLET_TRY_VALUE(bridge_, link::FileBridge::join(std::move(connection), os::Descriptor(ends[1]), std::move(beat)));
    return ours;
  }

 private:
  std::string directory_;
  std::unique_ptr<link::FileBridge> bridge_;
};

}  // namespace

std::string directory_of_hub(std::string_view hub) {
  return hub.starts_with(scheme) ? std::string(hub.substr(scheme.size())) : std::string();
}

Result<std::unique_ptr<FileHub>> FileHub::open(const std::string& directory, std::uint64_t run_id,
                                               const os::Endpoint& hub) {
  // A hub that is started again finds the inbox of its predecessor, which must have ended.
  if (serves(directory, run_id)) {
    return fail(Code::exists, "another hub of run {:016x} serves the directory {}", run_id, directory);
  }
  COUPLET_TRY_VALUE(auto inbox, link::FileInbox::open(address_of_hub(directory, run_id), {}));
  const std::string made = os::temporary_name(inbox->address().path(), "pointer");
  COUPLET_TRY(write_file(made, fmt::format("{:016x}\n", run_id)));
  const auto id = id_of(made);
  const Status claimed = id.ok() ? claim_pointer(directory, made, run_id) : id.status();
  static_cast<void>(os::remove_file(made));
  COUPLET_TRY(claimed);
  const std::string pointer = directory + "/hub";
  auto bridge = link::FileBridge::serve(std::move(inbox), hub, {});
  if (!bridge.ok()) {
    remove_pointer(pointer, *id);
    return bridge.status();
  }
  return std::unique_ptr<FileHub>(
      new FileHub([pointer, id = *id] { remove_pointer(pointer, id); }, std::move(*bridge)));
}

FileHub::~FileHub() {
  remove_pointer_();
}

void allow_file_hub(universe::JoinOptions& options) {
  const std::string directory = directory_of_hub(options.hub);
  if (directory.empty()) {
    return;
  }
  options.dial = [dialer = std::make_shared<Dialer>(directory)] { return dialer->dial(); };
}

}  // namespace couplet::runtime
