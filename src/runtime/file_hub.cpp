#include "runtime/file_hub.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <utility>

#include "os/directory.hpp"
#include "os/error.hpp"

namespace couplet::runtime {
namespace {

constexpr std::string_view scheme = "file:";
constexpr std::size_t run_digits = 16;

link::FileAddress address_of_hub(const std::string& directory, std::uint64_t run_id) {
  return {directory, run_id, "hub"};
}

// Returns the run that the directory's hub serves, or not_found.
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

Status write_run(const std::string& pointer, std::uint64_t run_id) {
  const std::string making = os::temporary_name(pointer.substr(0, pointer.rfind('/')), "making");
  const os::Descriptor file(::open(making.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const std::string text = fmt::format("{:016x}\n", run_id);
  if (!file || ::write(file.number(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::fsync(file.number()) != 0 || ::rename(making.c_str(), pointer.c_str()) != 0) {
    Status why = os::system_failure(errno, fmt::format("cannot write {}", pointer));
    static_cast<void>(os::remove_file(making));
    return why;
  }
  return {};
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
  const auto other = read_run(directory);
  if (other.ok() && *other != run_id && link::inbox_is_open(address_of_hub(directory, *other))) {
    link::FileBeatWatch watch(address_of_hub(directory, *other).beat_path(), 1);
    if (watch.beats_within(3'000'000'000)) {
      return fail(Code::exists, "the hub of run {:016x} serves the directory {}", *other, directory);
    }
  }
  COUPLET_TRY_VALUE(auto inbox, link::FileInbox::open(address_of_hub(directory, run_id), {}));
  COUPLET_TRY_VALUE(auto bridge, link::FileBridge::serve(std::move(inbox), hub, {}));
  const std::string pointer = directory + "/hub";
  COUPLET_TRY(write_run(pointer, run_id));
  return std::unique_ptr<FileHub>(new FileHub(pointer, std::move(bridge)));
}

FileHub::~FileHub() {
  static_cast<void>(os::remove_file(pointer_));
}

void allow_file_hub(universe::JoinOptions& options) {
  const std::string directory = directory_of_hub(options.hub);
  if (directory.empty()) {
    return;
  }
  options.dial = [dialer = std::make_shared<Dialer>(directory)] { return dialer->dial(); };
}

}  // namespace couplet::runtime
