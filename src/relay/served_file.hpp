// A writer's file as the relay serves it, mapped once for all subscribers, and the thread that sleeps on the words of
// all writers while there is nothing to send.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "os/descriptor.hpp"
#include "os/futex.hpp"
#include "series/series_file.hpp"

namespace couplet::relay {

class Subscription;

// Turns the futexes of series files into one descriptor that can be waited for with others.
class PublicationWatch {
 public:
  // `bell` is an eventfd that is written to when something is there that was asked for. It outlives the watch. Returns
  // limit if there is no thread.
  static Result<std::unique_ptr<PublicationWatch>> open(const os::Descriptor& bell);
  ~PublicationWatch();
  PublicationWatch(const PublicationWatch&) = delete;
  PublicationWatch& operator=(const PublicationWatch&) = delete;

  // Rings once when `target` steps are published, or the series is closed. The lowest of several targets counts, so
  // that a subscriber that waits for a far one delays no other.
  void ask(const std::shared_ptr<series::SeriesFile>& file, std::uint64_t target);

 private:
  struct Wish {
    std::shared_ptr<series::SeriesFile> file;
    std::uint64_t target = 0;
  };
  explicit PublicationWatch(const os::Descriptor& bell) : bell_(bell) {}
  void run();
  // Removes the requests that are fulfilled from the list, and fills sleeps_ for the others. Returns true if there were
  // any.
  bool look();
  void sleep();

  const os::Descriptor& bell_;
  std::mutex mutex_;
  std::unordered_map<const series::SeriesFile*, Wish> wishes_;
  std::atomic<std::uint32_t> changed_ = 0;  // grows when wishes_ or stop_ have changed
  std::atomic<bool> stop_ = false;
  std::vector<std::shared_ptr<series::SeriesFile>> sleeps_;  // used by the thread
  // The word of changed_, and then those of sleeps_.
  std::vector<os::FutexWish> words_;
  std::thread thread_;
};

struct ServedFile {
  // What a poll can see of the writer's progress.
  struct News {
    std::uint64_t published = 0;
    bool closed = false;
    bool writer_gone = false;
    bool operator==(const News&) const = default;
  };
  [[nodiscard]] News news() const;

  std::shared_ptr<series::SeriesFile> file;
  bool writer_gone = false;
  News seen;  // the state when `idle` was last checked
              // Subscriptions that have nothing to send until there is news, credit or room.
  std::unordered_set<Subscription*> idle;
};

}  // namespace couplet::relay
