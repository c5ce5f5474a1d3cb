// One writer rank's slots as a reader sees them. Implementations: mapped (the writer's own file, on this node); the
// relay's (local slots in a file of the same format, filled by what the relay pushes); window (fetched, inside an MPI
// job).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "layout/copy_plan.hpp"
#include "series/series.hpp"
#include "series/series_file.hpp"
#include "series/waiting.hpp"

namespace couplet::series {

// What is copied of several ordinals from slots that are not mapped here, and what became of each.
struct Fetch {
  struct Piece {
    const layout::CopyPlan* plan = nullptr;  // from a slot
    std::byte* target = nullptr;             // of the first ordinal
    std::int64_t target_step = 0;
  };
  struct Look {
    std::uint64_t stamp_before = 0;
    std::uint64_t stamp_after = 0;
    std::int64_t step = 0;
    std::uint64_t time_bits = 0;
  };
  std::span<const std::uint64_t> ordinals;  // ascending
  std::span<const Piece> pieces;
  std::span<Look> looks;  // of each ordinal
};

class Part {
 public:
  Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  virtual ~Part() = default;

  // "mapped", "relay" or "window".
  [[nodiscard]] virtual const char* route() const noexcept = 0;
  // The slots to read from and, for a holder, to hold in. Fields have the record's names; there may be fewer and less
  // of them.
  [[nodiscard]] virtual SeriesFile& file() noexcept = 0;
  // Of the slots; file() has those unless the part fetches.
  [[nodiscard]] virtual const wire::SeriesGeometry& geometry() noexcept { return file().geometry(); }
  // file() has no slots: steps are copied by fetch(). What was not there before the copy is not copied.
  [[nodiscard]] virtual bool fetches() const noexcept { return false; }
  virtual Status fetch(const Fetch& /*fetch*/) { return Code::internal; }
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

// What a file holds that has of these fields what the wishes overlap: a field for each wish, the boxes in order. Each
// wish names a field that is there, and has its dimensions.
[[nodiscard]] std::vector<wire::SeriesField> cut_fields(const std::vector<wire::SeriesField>& fields,
                                                        const std::vector<FieldWish>& wishes);

// protocol: these are not the slots that the record describes.
[[nodiscard]] Status check_described(const wire::SeriesGeometry& geometry, const universe::SeriesRecord& record,
                                     std::size_t part, const std::string& where);

// Of slots that are mapped here.
[[nodiscard]] std::unique_ptr<Part> make_mapped_part(Environment& environment, std::unique_ptr<SeriesFile> file,
                                                     const char* route);

// Maps the file of a part on this node. not_found: its steps are gone; protocol: the file is not what the record says.
Result<std::unique_ptr<Part>> open_mapped_part(Environment& environment, const universe::SeriesRecord& record,
                                               std::size_t part);

}  // namespace couplet::series
