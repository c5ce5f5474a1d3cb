// One writer rank's slots as a reader sees them. Implementations: mapped (the writer's own file, on this node); the relay's
// (local slots in a file of the same format, filled by what the relay pushes). The reader treats both alike.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "series/series.hpp"
#include "series/series_file.hpp"
#include "series/waiting.hpp"

namespace couplet::series {

class Part {
 public:
  Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  virtual ~Part() = default;

  // "mapped" or "relay".
  [[nodiscard]] virtual const char* route() const noexcept = 0;
  // The slots to read from and, for a holder, to hold in. Fields have the record's names; there may be fewer and less of them.
  [[nodiscard]] virtual SeriesFile& file() noexcept = 0;
  // Moves what has to be moved for new steps to appear; never blocks. Called whenever the reader looks for steps.
  virtual Status poll() { return {}; }
  // ok while more may come; peer_lost naming the writer (or the relay). What is published stays readable.
  virtual Status alive() = 0;
  // Ordinals below were never in this file (a subscription that began in the middle).
  [[nodiscard]] virtual std::uint64_t first_ordinal() const noexcept { return 0; }
  // How many steps the writer has published, as far as is known here; at least what file() says.
  [[nodiscard]] virtual std::uint64_t published() noexcept {
    return file().control().published.published.load(std::memory_order_acquire);
  }
  // The reader needs ordinals below `consumed` no more. Never blocks.
  virtual void released(std::uint64_t /*consumed*/) {}
  // Sleeps one slice, or until `target` steps are published in file(), or something else is to be looked at.
  virtual Status sleep(Waiting& waiting, std::uint64_t target);
};

// What a file holds that has of these fields what the wishes overlap: a field for each wish, the boxes in order. Each wish
// names a field that is there, and has its dimensions.
[[nodiscard]] std::vector<wire::SeriesField> cut_fields(const std::vector<wire::SeriesField>& fields,
                                                        const std::vector<FieldWish>& wishes);

// Maps the file of a part on this node. not_found: its steps are gone; protocol: the file is not what the record says.
Result<std::unique_ptr<Part>> open_mapped_part(Environment& environment, const universe::SeriesRecord& record,
                                               std::size_t part);

}  // namespace couplet::series
