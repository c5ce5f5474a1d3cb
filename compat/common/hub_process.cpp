#include "hub_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "capi/private.h"
#include "failure.hpp"

extern char** environ;  // NOLINT: POSIX does not declare it

namespace compat {
namespace {

constexpr int secret_in_child = 3;
constexpr int hub_start_ms = 20'000;

std::string system_text(const char* what) {
  return fmt::format("{}: {}", what, std::strerror(errno));
}

// Reads the line COUPLET_HUB=address that the hub prints when it listens. Returns "" if it printed something else, or
// nothing.
std::string read_address(int descriptor) {
  constexpr std::string_view expected = "COUPLET_HUB=";
  std::string said;
  pollfd ready{descriptor, POLLIN, 0};
  while (said.find('\n') == std::string::npos) {
    const int found = ::poll(&ready, 1, hub_start_ms);
    std::array<char, 256> part{};
    const ssize_t count = found > 0 ? ::read(descriptor, part.data(), part.size()) : found;
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      break;
    }
    said.append(part.data(), static_cast<std::size_t>(count));
  }
  const std::string line = said.substr(0, said.find('\n'));
  return line.starts_with(expected) && line.size() < said.size() ? line.substr(expected.size()) : "";
}

// Sets up the child's standard descriptors and the memory of the secret. No other descriptor stays open there.
class Spawning {
 public:
  Spawning(int input, int output, int errors, int secret) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_adddup2(&actions_, input, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, 1);
    if (errors >= 0) {
      posix_spawn_file_actions_adddup2(&actions_, errors, 2);
    }
    if (secret >= 0) {
      posix_spawn_file_actions_adddup2(&actions_, secret, secret_in_child);
    }
    posix_spawn_file_actions_addclosefrom_np(&actions_, secret >= 0 ? secret_in_child + 1 : secret_in_child);
    sigset_t none;
    sigemptyset(&none);
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    // The hub gets a session of its own, so that a launcher which kills the ranks leaves it the time to clean up.
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  }
  ~Spawning() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  Spawning(const Spawning&) = delete;
  Spawning& operator=(const Spawning&) = delete;

  int run(const std::vector<std::string>& command, pid_t* process) const {
    std::vector<char*> words;
    words.reserve(command.size() + 1);
    for (const auto& word : command) {
      words.push_back(const_cast<char*>(word.c_str()));  // NOLINT: posix_spawn does not change them
    }
    words.push_back(nullptr);
    return ::posix_spawn(process, words.front(), &actions_, &attributes_, words.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

// Returns a copy of the descriptor whose number is above those that the child is given.
OwnedDescriptor moved_up(int number) {
  OwnedDescriptor above(number < 0 ? -1 : ::fcntl(number, F_DUPFD_CLOEXEC, min_descriptor));
  if (number >= 0) {
    ::close(number);
  }
  return above;
}

struct Pipe {
  OwnedDescriptor read_end;
  OwnedDescriptor write_end;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw Failure(system_text("no pipe to the hub"));
  }
  Pipe pipe{moved_up(ends[0]), moved_up(ends[1])};
  if (pipe.read_end.number() < 0 || pipe.write_end.number() < 0) {
    throw Failure(system_text("no pipe to the hub"));
  }
  return pipe;
}

// Returns what was written, without its last end of line.
std::string text_of(int descriptor) {
  std::array<char, 1024> text{};
  const ssize_t count = ::pread(descriptor, text.data(), text.size(), 0);
  std::string said(text.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  while (said.ends_with('\n')) {
    said.pop_back();
  }
  return said;
}

}  // namespace

void HubProcess::start(const HubStart& what) {
  std::array<char, 4096> path{};
  if (couplet_private_find_program("couplet-hub", path.data(), path.size()) != COUPLET_OK) {
    throw Failure(couplet_error_text());
  }
  std::vector<std::string> command = {path.data(), "--until-input-ends"};
  command.insert(command.end(), what.options.begin(), what.options.end());
  if (what.secret >= 0) {
    command.insert(command.end(), {"--secret-file", fmt::format("/proc/self/fd/{}", secret_in_child)});
  }
  Pipe input = make_pipe();
  Pipe output = make_pipe();
  // A file, since nobody reads it while the hub runs.
  const OwnedDescriptor errors = moved_up(what.quiet ? ::memfd_create("couplet-hub-errors", MFD_CLOEXEC) : -1);
  const Spawning spawning(input.read_end.number(), output.write_end.number(), errors.number(), what.secret);
  if (const int error = spawning.run(command, &process_); error != 0) {
    process_ = 0;
    throw Failure(fmt::format("cannot start {}: {}", path.data(), std::strerror(error)));
  }
  output.write_end.reset();
  lifeline_ = std::move(input.write_end);
  output_ = std::move(output.read_end);
  address_ = read_address(output_.number());
  if (address_.empty()) {
    ::kill(process_, SIGTERM);
    wait_for_end(-1);
    const std::string said = errors.number() < 0 ? "" : text_of(errors.number());
    throw Failure(said.empty() ? fmt::format("{} did not start", path.data()) : said);
  }
}

bool HubProcess::wait_for_end(int timeout_ms) {
  if (process_ == 0) {
    return true;
  }
  // The hub closes its output when it ends.
  std::array<char, 64> rest{};
  for (ssize_t count = 1; count > 0 || (count < 0 && errno == EINTR);) {
    pollfd ready{output_.number(), POLLIN, 0};
    const int found = ::poll(&ready, 1, timeout_ms);
    if (found == 0) {
      return false;
    }
    count = found < 0 ? -1 : ::read(output_.number(), rest.data(), rest.size());
  }
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = 0;
  lifeline_.reset();
  return true;
}

}  // namespace compat
