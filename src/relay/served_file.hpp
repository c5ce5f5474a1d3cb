// A writer's file as the relay serves it, mapped once for all subscribers.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_set>

#include "series/publication_watch.hpp"
#include "series/series_file.hpp"

namespace couplet::relay {

class Subscription;

struct ServedFile {
  // What a poll can see of the writer's progress.
  struct News {
    std::uint64_t published = 0;
    bool closed = false;
    bool writer_gone = false;
    bool operator==(const News&) const = default;
  };
  [[nodiscard]] News news() const;
  [[nodiscard]] std::uint64_t published() const;
  [[nodiscard]] std::uint64_t oldest() const;
  // Returns true if nothing will come beyond what is published now. Call it before published().
  [[nodiscard]] bool ended() const;

  std::shared_ptr<series::SeriesFile> file;
  bool writer_gone = false;
  // The state when `idle` was last checked.
  News seen;
  // Subscriptions that have nothing to send until there is news, credit or room.
  std::unordered_set<Subscription*> idle;
};

}  // namespace couplet::relay
