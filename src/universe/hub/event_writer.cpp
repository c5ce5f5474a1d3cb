#include "universe/hub/event_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/error.hpp"

namespace couplet::universe {

Status EventWriter::open(const std::string& path) {
  if (path.empty()) {
    return {};
  }
  struct stat facts {};
  const bool pipe = ::stat(path.c_str(), &facts) == 0 && S_ISFIFO(facts.st_mode);
  // A pipe that is opened for both directions can be opened before it has a reader, and stays open when its reader
  // ends.
  const int direction = pipe ? O_RDWR : O_WRONLY;
  file_ = os::Descriptor(::open(path.c_str(), direction | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!file_) {
    return os::system_failure(errno, fmt::format("cannot open {} for events", path));
  }
  return {};
}

void EventWriter::add(const HubEvent& event, double with_time_s) {
  if (!file_) {
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
