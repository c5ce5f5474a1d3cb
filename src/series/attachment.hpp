// Attachment: connects one reader rank to one incarnation of a series. It has the fields and boxes of the reader's
// choice, and a source for each writer rank whose boxes they touch. It is made from a record of the register, connects
// its sources one by one (those that were not there in time, in a later call), and gives up its holds when it ends. It
// does not agree with other ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "series/part.hpp"
#include "series/reader_options.hpp"
#include "series/remap.hpp"
#include "series/series.hpp"
#include "series/slot_protocol.hpp"

namespace couplet::series {

// The largest ordinal. A mapped or received control line with a larger number is damaged.
inline constexpr std::uint64_t max_ordinal = (std::uint64_t{1} << 52) - 1;

struct ChosenField {
  std::size_t field = 0;  // its number in the record
  layout::Box box;        // what is delivered to this rank; with weights [0, rows)
  std::uint64_t element_bytes = 0;
  std::uint64_t step_bytes = 0;        // size of what is delivered
  std::vector<ReadBox> reads;          // what is copied: the box itself; with weights boxes around the source points
  std::uint64_t read_bytes = 0;        // size of what is copied
  std::shared_ptr<const Remap> remap;  // nullptr: what is copied is delivered
};

// Where the steps of a chosen field go in a read.
struct Target {
  std::byte* data = nullptr;
  std::int64_t step_stride = 0;
  layout::Strides strides{};
  bool dense = true;
  [[nodiscard]] std::byte* step(std::size_t at) const noexcept {
    return data + static_cast<std::int64_t>(at) * step_stride;
  }
};

// A box of a writer that overlaps this rank's box of a field.
struct Piece {
  std::size_t field = 0;  // its number among the chosen fields
  layout::CopyPlan plan;  // from the slot to the step's array
};

// A writer rank that this rank reads.
struct Source {
  enum class State : std::uint8_t {
    attaching,  // its part is not open yet
    attached,
    lost  // its writer (or its relay) is gone; what it has published stays readable
  };
  State state = State::attaching;
  std::size_t writer = 0;  // rank among the writers
  std::unique_ptr<Part> part;
  SeriesFile* file = nullptr;
  std::vector<Piece> pieces;
  std::vector<Piece> arranged;     // the pieces for this read, if a target is not dense
  std::vector<Fetch::Look> looks;  // for a part that fetches: what became of each ordinal of a copy
  Hold hold;                       // the entry in the reader table, for a holder
};

// Returns how many steps of the source are here, or have passed here.
[[nodiscard]] std::uint64_t published_in(const Source& source) noexcept;

// What all sources together show.
struct Sight {
  std::uint64_t published = 0;  // by all sources
  std::uint64_t oldest = 0;     // the first ordinal that no source's writer has overwritten, if it was asked for
  std::size_t limiting = 0;     // the source that has published least
  bool ended = false;           // that source is closed: no further steps will come
  std::optional<std::size_t> open = {};  // a source that is not closed
  // The source from which something has to come first.
  [[nodiscard]] std::size_t awaited() const noexcept { return ended ? open.value_or(limiting) : limiting; }
};

class Attachment {
 public:
  // Makes an attachment, which is not connected yet. Returns protocol if the record is damaged, and not_found,
  // argument, type or shape if the choice does not fit the series.
  static Result<std::unique_ptr<Attachment>> make(Environment& environment, const ReaderOptions& options,
                                                  universe::SeriesRecord record);
  ~Attachment();
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  // Opens the parts that are not open yet, and takes holds. Returns timeout if a part was not there at the deadline;
  // what was opened stays open for the next call.
  Status connect(From from, std::uint64_t deadline_ns);
  // Returns the first ordinal that this rank can read, and holds from there on.
  Result<std::uint64_t> start(From from);

  // Moves what parts of other nodes have received.
  Status poll();
  // Returns what the sources show. `with_oldest`: also finds out what is overwritten, which holders need not know.
  // Returns protocol if a control line contains what no writer writes there.
  [[nodiscard]] Result<Sight> look(bool with_oldest) const;
  // Returns a source whose writer has ended before it closed or published more than `published` steps; nullptr if there
  // is none.
  [[nodiscard]] const Source* find_lost(std::uint64_t published);
  // Returns evicted if this reader has lost a hold.
  [[nodiscard]] Status check_holds() const;
  // Says which ordinals are still needed.
  void release(NeededSteps needed);
  // Returns the largest ordinal that a writer has claimed so far, plus one.
  [[nodiscard]] std::uint64_t claimed() const noexcept;
  // Returns how many steps all writers have published, as far as this process knows.
  [[nodiscard]] std::uint64_t published() noexcept;
  // Returns the steps that are still there, or not_yet if there is none whose number can be read now.
  [[nodiscard]] Result<Retained> retained(const Sight& sight) const;

  [[nodiscard]] const universe::SeriesRecord& record() const noexcept { return record_; }
  [[nodiscard]] const std::vector<ChosenField>& fields() const noexcept { return fields_; }
  // Return the sizes of what is delivered of a step, and of what is copied, for all fields together.
  [[nodiscard]] std::uint64_t step_bytes() const noexcept { return step_bytes_; }
  [[nodiscard]] std::uint64_t read_bytes() const noexcept { return read_bytes_; }
  [[nodiscard]] std::vector<Source>& sources() noexcept { return sources_; }
  [[nodiscard]] const std::vector<Source>& sources() const noexcept { return sources_; }
  [[nodiscard]] std::uint64_t fewest_slots() const;
  // Plans the copies from the boxes of a writer's file into the targets, which are dense if none are given. With
  // weights, they go into the landings.
  [[nodiscard]] std::vector<Piece> pieces_of(const wire::SeriesGeometry& geometry,
                                             std::span<const Target> targets) const;
  [[nodiscard]] std::string title() const;
  [[nodiscard]] std::string title_of(const ChosenField& field) const;
  [[nodiscard]] Description describe() const;

 private:
  Attachment(Environment& environment, const ReaderOptions& options, universe::SeriesRecord record)
      : environment_(environment), options_(options), record_(std::move(record)) {}

  // attachment_choice.cpp
  [[nodiscard]] Status check_record() const;
  Status choose_fields();
  Status choose_field(std::size_t field, const std::optional<layout::Box>& box, couplet_type type);
  Status choose_points(ChosenField& chosen) const;
  [[nodiscard]] std::vector<ReadBox> boxes_around(std::span<const std::int64_t> points, std::size_t field) const;
  [[nodiscard]] Status check_coverage(const ChosenField& field) const;
  [[nodiscard]] bool reads_part(std::size_t writer) const;

  Result<std::unique_ptr<Part>> open_part(std::size_t writer, From from, std::uint64_t deadline_ns);
  Status open_source(Source& source, From from, std::uint64_t deadline_ns);
  Status take_hold(Source& source);
  Result<std::uint64_t> start_in(Source& source, From from);

  Environment& environment_;
  const ReaderOptions& options_;
  universe::SeriesRecord record_;
  std::vector<ChosenField> fields_;
  std::uint64_t step_bytes_ = 0;
  std::uint64_t read_bytes_ = 0;
  std::vector<Source> sources_;
};

}  // namespace couplet::series
