// Writes the hub's events into a file, a pipe or a terminal. add and flush never block: what cannot be written now
// waits in a bounded queue, and what does not fit into the queue is left out and counted. A regular file is written by
// a thread of its own, since a file system may delay a write without limit. Used by hub_server. Below: os.
// Invariants: only whole lines are left out, except after a write error, for example on a full disk; a line "dropped"
// with their number follows as soon as there is room.
// Tests: tests/unit/universe/event_writer_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "os/descriptor.hpp"
#include "universe/hub/hub_event.hpp"

namespace couplet::universe {

// Of the queue, and of what a thread has yet to write.
inline constexpr std::size_t max_queued_event_bytes = 1U << 20U;

class EventWriter {
 public:
  EventWriter();
  // Waits at most 5 s until the thread has written what is left.
  ~EventWriter();
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  // Opens `path` for appending. It may be a named pipe that has no reader yet. If it is "", all events are thrown away.
  Status open(const std::string& path);
  void add(const HubEvent& event, double with_time_s);
  // Writes what can be written without blocking, or hands it to the thread.
  void flush();
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  class FileThread;

  os::Descriptor file_;                 // a pipe or a terminal
  std::shared_ptr<FileThread> thread_;  // writes a regular file; lives on after this object if a write has not returned
  std::string queue_;
  std::size_t written_ = 0;  // bytes of the queue that are written
  std::uint64_t dropped_ = 0;
  std::uint64_t untold_ = 0;  // lines that were left out, and that no line "dropped" has counted yet
};

}  // namespace couplet::universe
