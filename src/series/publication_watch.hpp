// The thread that sleeps on the published words of several series files, and rings an eventfd. The relay uses it for
// the files that it serves, and runtime for calls that wait for several series. Tests:
// tests/unit/series/publication_watch_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

#include "os/descriptor.hpp"
#include "os/futex.hpp"
#include "series/series_file.hpp"

namespace couplet::series {

// Turns the futexes of series files into one descriptor that can be waited for with others.
class PublicationWatch {
 public:
  // `bell` is an eventfd, which is written to when steps are there that were asked for. It outlives the watch. Returns
  // limit if no thread can be started.
  static Result<std::unique_ptr<PublicationWatch>> open(const os::Descriptor& bell);
  ~PublicationWatch();
  PublicationWatch(const PublicationWatch&) = delete;
  PublicationWatch& operator=(const PublicationWatch&) = delete;

  // Asks to ring once when `target` steps are published, or the series is closed. Of several targets for one file the
  // lowest counts, so that a subscriber with a far target delays no other.
  void ask(const std::shared_ptr<SeriesFile>& file, std::uint64_t target);

 private:
  struct Wanted {
    std::shared_ptr<SeriesFile> file;
    std::uint64_t target = 0;
  };
  explicit PublicationWatch(const os::Descriptor& bell) : bell_(bell) {}
  void run();
  // Removes the requests that are fulfilled from the list, and fills sleeps_ for the others. Returns true if there were
  // any.
  bool look();
  void sleep();
  void ring() noexcept;

  const os::Descriptor& bell_;
  std::mutex mutex_;
  std::unordered_map<const SeriesFile*, Wanted> wanted_;
  std::atomic<std::uint32_t> changed_ = 0;  // grows when wanted_ or stop_ have changed
  std::atomic<bool> stop_ = false;
  std::vector<std::shared_ptr<SeriesFile>> sleeps_;  // used by the thread
  // The word of changed_, and then those of sleeps_.
  std::vector<os::FutexWord> words_;
  std::thread thread_;
};

}  // namespace couplet::series
