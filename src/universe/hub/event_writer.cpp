#include "universe/hub/event_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "os/error.hpp"

namespace couplet::universe {
namespace {

constexpr std::chrono::seconds last_write_s{5};  // how long an EventWriter that ends waits for its thread

// Writes all of it, and gives up at an error: a full disk does not end the universe.
void write_all(const os::Descriptor& file, const std::string& text) {
  for (std::size_t written = 0; written < text.size();) {
    const auto count = ::write(file.number(), text.data() + written, text.size() - written);
    if (count == 0 || (count < 0 && errno != EINTR)) {
      return;
    }
    written += count > 0 ? static_cast<std::size_t>(count) : 0;
  }
}

}  // namespace

class EventWriter::FileThread {
 public:
  // Returns nullptr, and leaves the file, if no thread can be made.
  static std::shared_ptr<FileThread> begin(os::Descriptor& file) {
    auto made = std::make_shared<FileThread>();
    try {
      std::thread([made] { made->run(); }).detach();
    } catch (const std::system_error&) {
      return nullptr;
    }
    const std::lock_guard lock(made->mutex_);
    made->file_ = std::move(file);
    return made;
  }

  // Takes the text if there is room for it.
  bool take(std::string& text) {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() + text.size() > max_queued_event_bytes) {
      return false;
    }
    waiting_ += std::exchange(text, {});
    changed_.notify_all();
    return true;
  }
  void end(const std::string& last_words) {
    std::unique_lock lock(mutex_);
    waiting_ += last_words;
    ends_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, last_write_s, [this] { return ended_; });
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!ends_ || !waiting_.empty()) {
      changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
      const std::string text = std::exchange(waiting_, {});
      lock.unlock();
      write_all(file_, text);
      lock.lock();
    }
    ended_ = true;
    changed_.notify_all();
  }

  os::Descriptor file_;  // set before there is anything to write
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_;
  bool ends_ = false;
  bool ended_ = false;
};

EventWriter::EventWriter() = default;

EventWriter::~EventWriter() {
  if (thread_ != nullptr) {
    thread_->end(queue_);
  }
}

Status EventWriter::open(const std::string& path) {
  if (path.empty()) {
    return {};
  }
  struct stat facts {};
  const bool pipe = ::stat(path.c_str(), &facts) == 0 && S_ISFIFO(facts.st_mode);
  // A pipe that is opened for both directions can be opened before it has a reader, and stays open when its reader
  // ends.
  const int direction = pipe ? O_RDWR : O_WRONLY;
  os::Descriptor file(::open(path.c_str(), direction | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!file) {
    return os::system_failure(errno, fmt::format("cannot open {} for events", path));
  }
  if (::fstat(file.number(), &facts) == 0 && S_ISREG(facts.st_mode)) {
    thread_ = FileThread::begin(file);
  }
  if (thread_ == nullptr) {
    file_ = std::move(file);
  }
  return {};
}

void EventWriter::add(const HubEvent& event, double with_time_s) {
  if (!file_ && thread_ == nullptr) {
    return;
  }
  std::string line;
  if (untold_ > 0) {
    line =
        event_json({.name = "dropped", .text = fmt::format("{} events were not written", untold_)}, with_time_s) + "\n";
  }
  line += event_json(event, with_time_s) + "\n";
  if (queue_.size() - written_ + line.size() > max_queued_event_bytes) {
    ++dropped_;
    ++untold_;
    return;
  }
  untold_ = 0;
  queue_ += line;
}

void EventWriter::flush() {
  if (thread_ != nullptr) {
    if (!queue_.empty()) {
      static_cast<void>(thread_->take(queue_));
    }
    return;
  }
  while (written_ < queue_.size()) {
    const auto count = ::write(file_.number(), queue_.data() + written_, queue_.size() - written_);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      if (errno != EAGAIN) {  // a full disk does not end the universe
        queue_.clear();
        written_ = 0;
      }
      return;
    }
    written_ += static_cast<std::size_t>(count);
  }
  queue_.clear();
  written_ = 0;
}

}  // namespace couplet::universe
