#include "link/file/file_beat.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>
#include <utility>

#include "os/clock.hpp"
#include "os/descriptor.hpp"
#include "os/directory.hpp"
#include "os/error.hpp"

namespace couplet::link {
namespace {

constexpr std::size_t beat_bytes = 21;  // a decimal number of at most 20 digits, and a line end

Status write_beat(const os::Descriptor& file, const std::string& path, std::uint64_t count) {
  const std::string text = fmt::format("{:020}\n", count);
  if (::pwrite(file.number(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return os::system_failure(errno, fmt::format("cannot write {}", path));
  }
  static_cast<void>(::fdatasync(file.number()));
  return {};
}

}  // namespace

struct FileBeat::State {
  std::string path;
  os::Descriptor file;
  std::chrono::nanoseconds interval{};
  std::mutex mutex;
  std::condition_variable change;
  bool over = false;
  std::thread thread;

  void run() {
    std::unique_lock lock(mutex);
    for (std::uint64_t count = 1; !change.wait_for(lock, interval, [this] { return over; }); ++count) {
      lock.unlock();
      static_cast<void>(write_beat(file, path, count));  // a full file system may have room again at the next beat
      lock.lock();
    }
  }
};

FileBeat::FileBeat(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<FileBeat>> FileBeat::start(const std::string& path, std::uint64_t interval_ns) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->interval = std::chrono::nanoseconds(interval_ns);
  state->file = os::Descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!state->file) {
    return os::system_failure(errno, fmt::format("cannot make {}", path));
  }
  COUPLET_TRY(write_beat(state->file, path, 0));
  // The signals of the program are for its own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Status started;
  try {
    state->thread = std::thread([self = state.get()] { self->run(); });
  } catch (const std::exception& why) {
    started = fail(Code::limit, "no thread for the heartbeat {}: {}", path, why.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  COUPLET_TRY(started);
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
  static_cast<void>(os::remove_file(state_->path));
}

std::uint64_t FileBeatWatch::silent_ns(std::uint64_t now_ns) {
  silent_.look(now_ns);
  if (path_.empty() || now_ns < next_look_ns_) {
    return silent_.total_ns();
  }
  next_look_ns_ = now_ns + interval_ns_;
  const os::Descriptor file(::open(path_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  std::array<char, beat_bytes> bytes{};
  const ssize_t count = file ? ::pread(file.number(), bytes.data(), bytes.size(), 0) : 0;
  std::string found(bytes.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  if (!found.empty() && found != last_) {
    last_ = std::move(found);
    silent_ = {};
    silent_.look(now_ns);
  }
  return silent_.total_ns();
}

bool FileBeatWatch::beats_within(std::uint64_t timeout_ns) {
  static_cast<void>(silent_ns(os::now_ns()));
  const std::string first = last_;
  for (const std::uint64_t until = os::now_ns() + timeout_ns; os::now_ns() < until && last_ == first;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    static_cast<void>(silent_ns(os::now_ns()));
  }
  return last_ != first;
}

}  // namespace couplet::link
