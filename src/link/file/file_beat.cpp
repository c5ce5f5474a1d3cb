#include "link/file/file_beat.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "link/file/file_directory.hpp"
#include "os/clock.hpp"
#include "os/descriptor.hpp"
#include "os/directory.hpp"
#include "os/error.hpp"
#include "os/host.hpp"
#include "os/lock.hpp"

namespace couplet::link {
namespace {

constexpr std::size_t beat_bytes = 21;  // a decimal number of at most 20 digits, and a line end
constexpr std::size_t max_file_bytes = 160;
// A process that removes what a dead owner has left holds the lock for a moment.
constexpr int max_openings = 100;
constexpr auto opening_pause = std::chrono::milliseconds(10);

// Returns the line by which the owner says that it has locked this very file, on this very kernel. Another host, and
// another file system over the same files, see another one.
std::string lock_line(const struct stat& facts) {
  return fmt::format("lock {} {:x} {:x}\n", os::boot_id(), facts.st_dev, facts.st_ino);
}

Status write_text(const os::Descriptor& file, const std::string& path, const std::string& text) {
  if (::pwrite(file.number(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return os::system_failure(errno, fmt::format("cannot write {}", path));
  }
  static_cast<void>(::fdatasync(file.number()));
  return {};
}

std::string beat_text(std::uint64_t count) {
  return fmt::format("{:020}\n", count);
}

// An open heartbeat. line: not empty if it is locked.
struct OpenBeat {
  os::Descriptor file;
  std::string line;
};

// Opens the file, which an owner that has died may have left, and locks it if the file system is local.
Result<OpenBeat> open_beat(const std::string& path) {
  for (int opening = 0;; ++opening) {
    os::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
    if (!file) {
      return os::system_failure(errno, fmt::format("cannot make {}", path));
    }
    if (!is_on_local_file_system(file)) {
      return OpenBeat{std::move(file), ""};
    }
    const Status locked = os::take_life_lock(file, path);
    struct stat facts {};
    if (locked.ok() && ::fstat(file.number(), &facts) == 0 && facts.st_nlink > 0) {
      return OpenBeat{std::move(file), lock_line(facts)};
    }
    if (locked.error() && locked.code() != Code::exists) {
      return OpenBeat{std::move(file), ""};  // a file system without locks
    }
    if (opening == max_openings) {
      return fail(Code::exists, "another process has the heartbeat {}", path);
    }
    std::this_thread::sleep_for(opening_pause);
  }
}

}  // namespace

struct FileBeat::State {
  std::string path;
  os::Descriptor file;
  bool locked = false;
  std::chrono::nanoseconds interval{};
  std::mutex mutex;
  std::condition_variable change;
  bool over = false;
  std::thread thread;

  void run() {
    std::unique_lock lock(mutex);
    for (std::uint64_t count = 1; !change.wait_for(lock, interval, [this] { return over; }); ++count) {
      lock.unlock();
      static_cast<void>(write_text(file, path, beat_text(count)));  // a full file system may have room at the next beat
      lock.lock();
    }
  }
};

FileBeat::FileBeat(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<FileBeat>> FileBeat::start(const std::string& path, std::uint64_t interval_ns) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->interval = std::chrono::nanoseconds(interval_ns);
  COUPLET_TRY_VALUE(OpenBeat opened, open_beat(path));
  state->file = std::move(opened.file);
  state->locked = !opened.line.empty();
  Status started;
  if (::ftruncate(state->file.number(), 0) != 0) {
    started = os::system_failure(errno, fmt::format("cannot empty {}", path));
  } else {
    started = write_text(state->file, path, beat_text(0) + opened.line);
  }
  if (started.error()) {
    static_cast<void>(os::remove_file(path));  // a heartbeat without an owner would look like an open inbox
    return started;
  }
  // The signals of the program are for its own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    state->thread = std::thread([self = state.get()] { self->run(); });
  } catch (const std::exception& why) {
    started = fail(Code::limit, "no thread for the heartbeat {}: {}", path, why.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (started.error()) {
    static_cast<void>(os::remove_file(path));
    return started;
  }
  return std::unique_ptr<FileBeat>(new FileBeat(std::move(state)));
}

bool FileBeat::mine() const noexcept {
  return state_->file.mine();
}

FileBeat::~FileBeat() {
  if (!mine()) {
    // In a forked child the thread does not exist, and its mutex may be locked for ever.
    static_cast<void>(state_.release());
    return;
  }
  {
    const std::lock_guard lock(state_->mutex);
    state_->over = true;
  }
  state_->change.notify_one();
  state_->thread.join();
  // A free lock on a file that is there means death, so the file goes first. Without a lock it goes last: a file that
  // is removed while it is open keeps its directory from being removed on some file systems.
  if (!state_->locked) {
    state_->file.close();
  }
  static_cast<void>(os::remove_file(state_->path));
}

std::uint64_t FileBeatWatch::silent_ns(std::uint64_t now_ns) {
  silent_.look(now_ns);
  if (path_.empty() || now_ns < next_look_ns_) {
    return silent_.total_ns();
  }
  next_look_ns_ = now_ns + interval_ns_;
  if (look()) {
    silent_ = {};
    silent_.look(now_ns);
  }
  return silent_.total_ns();
}

bool FileBeatWatch::look() {
  const os::Descriptor file(::open(path_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
    return true;  // what this process lacks says nothing about the owner
  }
  std::array<char, max_file_bytes> bytes{};
  const ssize_t count = file ? ::pread(file.number(), bytes.data(), bytes.size(), 0) : 0;
  const std::string_view text(bytes.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  struct stat facts {};
  if (text.size() > beat_bytes && ::fstat(file.number(), &facts) == 0 && text.substr(beat_bytes) == lock_line(facts)) {
    if (os::is_life_locked(file)) {
      return true;
    }
    // The owner may have left in good order just now: it removes the file before it unlocks it.
    ended_ = ended_ || (::fstat(file.number(), &facts) == 0 && facts.st_nlink > 0);
  }
  const std::string_view found = text.substr(0, beat_bytes);
  if (found.empty() || found == last_) {
    return false;
  }
  last_ = found;
  return true;
}

bool FileBeatWatch::owner_has_died() {
  if (!ended_ && watches()) {
    static_cast<void>(look());
  }
  return ended_;
}

bool FileBeatWatch::beats_within(std::uint64_t timeout_ns) {
  static_cast<void>(look());
  const std::uint64_t until = os::now_ns() + timeout_ns;
  while (!ended_ && !look()) {
    if (os::now_ns() >= until) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return !ended_;
}

bool owner_has_ended(const std::string& beat_path) {
  return FileBeatWatch(beat_path, 1).owner_has_died();
}

}  // namespace couplet::link
