// One writer's file as the relay serves it: mapped once for all subscribers, and a thread that sleeps on the writer's word
// while nobody has anything to push.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "os/descriptor.hpp"
#include "series/series_file.hpp"

namespace couplet::relay {

// Turns the futex of a series file into a descriptor that can be waited for with others.
class PublicationWatch {
 public:
  // bell: an eventfd, written to when what was asked for is there. All outlive the watch. limit: no thread.
  static Result<std::unique_ptr<PublicationWatch>> open(wire::SeriesPublished& control, const os::Descriptor& bell);
  ~PublicationWatch();
  PublicationWatch(const PublicationWatch&) = delete;
  PublicationWatch& operator=(const PublicationWatch&) = delete;

  // Rings once when `target` steps are published, or the series is closed.
  void ask(std::uint64_t target);

 private:
  PublicationWatch(wire::SeriesPublished& control, const os::Descriptor& bell) : control_(control), bell_(bell) {}
  void run();
  bool sleep(std::uint64_t target);

  wire::SeriesPublished& control_;
  const os::Descriptor& bell_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t target_ = 0;  // 0: nothing is asked for
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

struct ServedFile {
  std::unique_ptr<series::SeriesFile> file;
  std::unique_ptr<PublicationWatch> watch;  // nullptr: whoever polls looks for himself
  bool writer_gone = false;
};

}  // namespace couplet::relay
