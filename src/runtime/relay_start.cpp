#include "runtime/relay_start.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "os/error.hpp"
#include "runtime/settings.hpp"
#include "universe/control.hpp"

extern char** environ;  // NOLINT: POSIX does not declare it

namespace couplet::runtime {
namespace {

constexpr int most_starts = 8;
constexpr int number_of_end = 3;  // the number of the pipe's other end in the relay and in its keeper

using universe::PeerState;

// Returns the folders in which the helper programs of this library may be.
std::vector<std::string> helper_folders() {
  std::vector<std::string> folders;
  if (const std::string told = environment_text("COUPLET_LIBEXEC"); !told.empty()) {
    folders.push_back(told);
  }
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&couplet_join), &info) != 0 && info.dli_fname != nullptr) {
    const std::string library = info.dli_fname;
    const auto slash = library.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : library.substr(0, slash);
    for (const char* way : {COUPLET_LIBEXEC_FROM_LIB, "../libexec/couplet", "../libexec", "libexec/couplet"}) {
      folders.push_back(folder + "/" + way);
    }
  }
  return folders;
}

}  // namespace

Result<std::string> find_helper(const std::string& name) {
  const auto folders = helper_folders();
  for (const auto& folder : folders) {
    const std::string path = fmt::format("{}/{}", folder, name);
    if (::access(path.c_str(), X_OK) == 0) {
      return path;
    }
  }
  return fail(Code::not_found,
              "{} is not part of this installation (looked in {}); set COUPLET_LIBEXEC to the folder that has it", name,
              fmt::join(folders, ", "));
}

namespace {

// Returns the environment with some variables replaced.
std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> result;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string text = *each;
    const std::string name = text.substr(0, text.find('='));
    bool replaced = false;
    for (const auto& [key, value] : changes) {
      replaced = replaced || key == name;
    }
    if (!replaced) {
      result.push_back(text);
    }
  }
  for (const auto& [key, value] : changes) {
    result.push_back(fmt::format("{}={}", key, value));
  }
  return result;
}

struct SpawnSettings {
  // The program inherits `kept`, under the number number_of_end, and no other descriptor.
  explicit SpawnSettings(int kept) {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, kept, number_of_end);
    for (const int number : {0, 1, 2}) {
      posix_spawn_file_actions_addopen(&actions, number, "/dev/null", number == 0 ? O_RDONLY : O_WRONLY, 0);
    }
    posix_spawn_file_actions_addclosefrom_np(&actions, number_of_end + 1);
    sigset_t none;
    sigemptyset(&none);
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  }
  ~SpawnSettings() {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

// Runs a program that detaches itself, and waits until it has. Returns the end of a pipe of which the program and its
// children have the other end.
Result<os::Descriptor> run_detaching(const std::string& path, std::vector<std::string> environment) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return os::system_failure(errno, fmt::format("cannot make a pipe for {}", path));
  }
  os::Descriptor own_end(ends[0]);
  os::Descriptor other_end(ends[1]);
  std::string program = path;
  std::string option = "--detach";
  std::array<char*, 3> arguments = {program.data(), option.data(), nullptr};
  std::vector<char*> words;
  words.reserve(environment.size() + 1);
  for (auto& each : environment) {
    words.push_back(each.data());
  }
  words.push_back(nullptr);
  const SpawnSettings settings(other_end.number());
  pid_t child = 0;
  if (const int error =
          ::posix_spawn(&child, path.c_str(), &settings.actions, &settings.attributes, arguments.data(), words.data());
      error != 0) {
    return os::system_failure(error, fmt::format("cannot start {}", path));
  }
  other_end.close();  // before a child that another thread forks can inherit it, and keep it open
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return own_end;
}

// Returns true if no process has the other end of this pipe.
bool is_closed_elsewhere(const os::Descriptor& end) {
  pollfd polled{.fd = end.number(), .events = 0, .revents = 0};
  return ::poll(&polled, 1, 0) == 1 && (polled.revents & POLLHUP) != 0;
}

bool loopback(const std::string& hub) {
  return hub.starts_with("127.") || hub.starts_with("localhost") || hub.starts_with("[::1]");
}

}  // namespace

Result<RelayMode> relay_mode(const universe::Membership& membership) {
  const std::string text = membership.setting("relay");
  if (text.empty() || text == "auto") {
    return RelayMode::automatic;
  }
  if (text == "external" || text == "in_calls" || text == "none") {
    return text == "external" ? RelayMode::external : text == "none" ? RelayMode::none : RelayMode::in_calls;
  }
  return fail(Code::config, "setting 'relay' is '{}'; it has to be auto, external, in_calls or none", text);
}

RelayStart::RelayStart(universe::Membership& membership, engine::Engine& engine, universe::JoinRequest request,
                       Note note)
    : membership_(membership), engine_(engine), request_(std::move(request)), note_(note) {
  const std::string hub = request_.hub.empty() ? environment_text("COUPLET_HUB") : request_.hub;
  expects_others_ = !loopback(hub) || !environment_text("COUPLET_NODE").empty();
  engine_.add(*this, engine::Rate::seldom);
}

RelayStart::~RelayStart() {
  engine_.remove(*this);
}

bool RelayStart::is_present(channel::PeerId peer) const {
  return membership_.peer(peer).state == PeerState::present;
}

// Returns true if a relay serves this node.
bool RelayStart::present() const {
  return is_present(channel::first_relay_peer + membership_.node());
}

// Returns true if a process is on another node, or may still come there.
bool RelayStart::needed() const {
  bool elsewhere = false;
  bool missing = false;
  for (std::int32_t rank = 0; rank < membership_.size(); ++rank) {
    const auto& info = membership_.peer(static_cast<channel::PeerId>(rank));
    const bool other_node = info.node != membership_.node() && info.node != universe::unknown_node;
    missing = missing || info.state == PeerState::absent;
    elsewhere = elsewhere || (info.state == PeerState::present && other_node);
  }
  return elsewhere || (missing && expects_others_);
}

// Is this process the first one of those on its node that write a series with it and are still there?
bool RelayStart::is_first() const {
  return std::any_of(earlier_.begin(), earlier_.end(), [this](const auto& writers) {
    return std::none_of(writers.begin(), writers.end(), [this](auto peer) { return is_present(peer); });
  });
}

Status RelayStart::for_writers(const message::Group& writers) {
  COUPLET_TRY_VALUE(const RelayMode mode, relay_mode(membership_));
  if (mode != RelayMode::automatic) {
    return {};
  }
  std::vector<channel::PeerId> earlier;
  for (std::int32_t rank = 0; rank < writers.rank(); ++rank) {
    if (membership_.peer(writers.peer(rank)).node == membership_.node()) {
      earlier.push_back(writers.peer(rank));
    }
  }
  earlier_.insert(std::move(earlier));
  return lacks_first() ? start() : Status();
}

// Is it up to this process to start a relay, is there none, and is one needed now?
bool RelayStart::lacks_first() const {
  return !earlier_.empty() && started_ == 0 && !lacks_something_ && membership_.hub().ok() && !present() &&
         is_first() && needed();
}

Status RelayStart::again(channel::PeerId lost) {
  if (started_ == 0 || started_ >= most_starts || lost != channel::first_relay_peer + membership_.node()) {
    return {};
  }
  return start();
}

void RelayStart::tick(std::uint64_t /*now_ns*/) {
  if (lacks_first()) {  // a process has come to another node
    if (const Status started = start(); !started.ok()) {
      note_(started.within("readers on other nodes have no relay").text());
      if (!lacks_something_) {
        earlier_.clear();  // it will never be possible
      }
    }
    return;
  }
  if (!pipe_end_ && !lacks_something_) {
    return;
  }
  if (present()) {
    pipe_end_.close();  // the hub says when it is lost
    lacks_something_ = false;
    return;
  }
  if (lacks_something_) {
    static_cast<void>(start());
    return;
  }
  // Another relay may have come first, so that this one has ended. By the next tick, the hub's message about that one
  // has arrived.
  if (!is_closed_elsewhere(pipe_end_) || !std::exchange(has_ended_, true)) {
    return;
  }
  if (started_ == most_starts) {
    pipe_end_.close();
  } else {
    static_cast<void>(start());
  }
}

bool RelayStart::awaited() const {
  return pipe_end_ && membership_.hub().ok() && !present();
}

Status RelayStart::start() {
  COUPLET_TRY_VALUE(const std::string path, find_helper("couplet-relay"));
  std::vector<std::pair<std::string, std::string>> changes = {
      {"COUPLET_RUN", fmt::format("{:016x}", membership_.run_id())}};
  if (!request_.hub.empty()) {
    changes.emplace_back("COUPLET_HUB", request_.hub);
  }
  if (!request_.secret_file.empty()) {
    changes.emplace_back("COUPLET_SECRET_FILE", request_.secret_file);
  }
  lacks_something_ = true;
  COUPLET_TRY_VALUE(pipe_end_, run_detaching(path, environment_with(changes)));
  lacks_something_ = false;
  has_ended_ = false;
  ++started_;
  return {};
}

}  // namespace couplet::runtime
