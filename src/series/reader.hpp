// The reading end of a series on one rank: opens the parts that its box touches, waits for steps, copies them whole, and
// counts what happened to each ordinal. With a team of more than one, open and read are collective.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "layout/copy.hpp"
#include "message/agree.hpp"
#include "os/memory_block.hpp"
#include "series/part.hpp"
#include "series/series.hpp"
#include "series/slot_protocol.hpp"
#include "series/waiting.hpp"

namespace couplet::series {

struct FieldChoice {
  std::string name;
  std::optional<layout::Box> box = std::nullopt;  // of this rank; none: the whole array
  couplet_type type = -1;                         // expected; -1: any
};

struct ReaderOptions {
  std::optional<layout::Box> box;   // of this rank, where `fields` says nothing else; none: the whole array
  std::vector<FieldChoice> fields;  // in this order; none: all
  Mode mode = Mode::hold;
  From from = From::oldest;
  std::int64_t from_step = 0;
  couplet_type type = -1;  // expected of all fields; -1: any
  std::uint64_t buffer_bytes = 0;
  std::uint64_t every = 1;  // of so many ordinals one is delivered, beginning with the first; the others are skipped
  double interval = 0;      // of physical time: the first step of each is delivered, the others are skipped; 0: all
  bool latest = false;      // a read gives the at_least newest steps and skips older ones; followers only
  bool torn = false;        // deliver torn steps, marked
  // Ranks of this program that open for themselves (local reading): the reservation for a required program ends when so
  // many have opened. 0: the team's size.
  std::int32_t openers = 0;
  std::uint64_t streaming_bytes = layout::default_streaming_bytes;
};

// Where the steps of a field go.
struct Out {
  void* data = nullptr;     // the first element of the first step; nullptr: the reader's own memory
  std::uint64_t bytes = 0;  // of the memory, where it is dense
  const std::int64_t* strides =
      nullptr;  // bytes from step to step, then from element to element; nullptr: dense, C order
};

// The steps of one field.
struct FieldData {
  const std::byte* data = nullptr;  // count x box; `out`, or the reader's memory until the next read or close
  std::uint64_t step_bytes = 0;
};

struct Batch {
  std::uint64_t count = 0;
  const std::byte* data = nullptr;    // of the first field
  std::uint64_t step_bytes = 0;       // of the first field
  const FieldData* fields = nullptr;  // in the order of the choice; until the next read
  std::uint64_t field_count = 0;
  const double* times = nullptr;            // NaN where none was said; until the next read
  const std::int64_t* steps = nullptr;      // until the next read
  const std::uint64_t* ordinals = nullptr;  // until the next read
  const std::uint8_t* torn = nullptr;       // 1: the step was replaced while it was copied; until the next read
  std::uint64_t lost = 0;                   // since the last read that delivered
  std::uint64_t incarnation = 0;
};

class Reader {
 public:
  // team: all ranks that read together; a team of one reads for itself (a local reader). It outlives the reader.
  // timeout: the series does not exist at the deadline; shape (a box outside the array, or elements that nobody writes);
  // type; limit (table of holders full); unsupported (another node, no relay); not_found (its steps are gone); argument
  // (also: latest for a holder).
  static Result<std::unique_ptr<Reader>> open(Environment& environment, message::Team& team, const std::string& name,
                                              const ReaderOptions& options, std::uint64_t deadline_ns);
  // Gives up its holds where close() was not called.
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // As couplet_series_read; collective over the team. Answers: not_yet, end, restarted, interrupted. Errors: argument (out too small),
  // limit (at_least exceeds the slots), evicted, peer_lost (by name; what was published has been delivered before),
  // mismatch (writers disagree about the step of an ordinal; names the ranks). After an answer or error nothing was
  // delivered and `batch` is unchanged.
  Status read(std::uint64_t at_least, std::uint64_t up_to, std::uint64_t deadline_ns, void* out,
              std::uint64_t out_bytes, Batch& batch);
  // outs: one for each chosen field, or none.
  Status read(std::uint64_t at_least, std::uint64_t up_to, std::uint64_t deadline_ns, std::span<const Out> outs,
              Batch& batch);
  // Local, a few cache lines. not_yet before the first step.
  [[nodiscard]] Result<Retained> retained();
  // Local; the accounting equation holds at any moment.
  [[nodiscard]] Statistics count();
  [[nodiscard]] Description describe() const;
  [[nodiscard]] std::uint64_t incarnation() const noexcept { return record_.incarnation; }
  // Local: gives up the holds and tells the registry.
  Status close(std::uint64_t deadline_ns);

 private:
  struct Field {            // chosen
    std::size_t field = 0;  // in the record
    layout::Box box;        // of this rank
    std::uint64_t element_bytes = 0;
    std::uint64_t step_bytes = 0;
  };
  struct Piece {            // a box of a writer that overlaps the own one of a field
    std::size_t field = 0;  // in fields_
    layout::CopyPlan plan;  // from the slot to the step's array
  };
  struct Target {  // where the steps of a field go in this read
    std::byte* data = nullptr;
    std::int64_t step_stride = 0;
    layout::Strides strides{};
    bool dense = true;
    [[nodiscard]] std::byte* step(std::size_t at) const noexcept {
      return data + static_cast<std::int64_t>(at) * step_stride;
    }
  };
  struct Source {  // a part that this rank reads
    std::unique_ptr<Part> part;
    SeriesFile* file = nullptr;
    std::size_t writer = 0;  // rank among the writers
    std::vector<Piece> pieces;
    std::vector<Piece> arranged;     // the same for this read, where a target is not dense
    std::vector<Fetch::Look> looks;  // of a part that fetches: what became of each ordinal of a copy
    int entry = -1;                  // in the reader table, for a holder
  };
  // What a look at the sources, or a wait, has found.
  enum class Outlook : std::uint8_t { steps, waiting, ended, lost };
  struct View {
    std::uint64_t published = 0;  // by all sources
    std::size_t limiting = 0;     // the source that has published least
    Outlook outlook = Outlook::waiting;
    bool interrupted = false;
  };
  struct Plan {               // of a read, agreed
    std::uint64_t first = 0;  // ordinal; then every `every`-th
    std::uint64_t count = 0;
    Outlook outlook = Outlook::waiting;
    std::uint64_t at_least = 0;
    std::uint64_t up_to = 0;
  };

  Reader(Environment& environment, message::Team& team, ReaderOptions options);

  // reader_open.cpp
  Status check_choice();
  Status attach(const std::string& name, std::int64_t newer_than, From from, std::uint64_t deadline_ns);
  Status find_record(const std::string& name, std::int64_t newer_than, std::uint64_t deadline_ns);
  Status check_record();
  Status choose_fields();
  Status choose_field(std::size_t field, const std::optional<layout::Box>& box, couplet_type type);
  [[nodiscard]] bool reads_part(std::size_t writer) const;
  [[nodiscard]] std::vector<Piece> pieces_of(const wire::SeriesGeometry& geometry,
                                             std::span<const Target> targets) const;
  Status open_sources(std::uint64_t deadline_ns);
  Status check_coverage(const Field& field) const;
  Status start(From from, std::uint64_t deadline_ns);
  Result<std::uint64_t> start_in(Source& source, From from, std::uint64_t deadline_ns);
  Status take_hold(Source& source);
  [[nodiscard]] Owner owner() const;
  Status release_reservations(std::uint64_t deadline_ns);
  void detach();

  // reader.cpp
  Status check_read(std::uint64_t at_least, std::uint64_t up_to) const;
  Status check_outs(std::uint64_t up_to, std::span<const Out> outs) const;
  Status read_steps(std::uint64_t at_least, std::uint64_t up_to, std::uint64_t deadline_ns, std::span<const Out> outs,
                    std::uint64_t& kept);
  Status check_holds() const;
  [[nodiscard]] std::uint64_t fewest_slots() const;
  [[nodiscard]] View look();
  // The chosen ordinals: the first one >= ordinal, and how many there are in [begin, end).
  [[nodiscard]] std::uint64_t chosen_from(std::uint64_t ordinal) const noexcept;
  [[nodiscard]] std::uint64_t count_chosen(std::uint64_t begin, std::uint64_t end) const noexcept;
  void pass_lost(std::uint64_t next);
  void pass_skipped(std::uint64_t published);
  [[nodiscard]] const Source* gone_writer(std::uint64_t published);
  Result<View> wait_for(std::uint64_t at_least, std::uint64_t deadline_ns);
  Result<Plan> agree_on_plan(const Result<View>& view, std::uint64_t at_least, std::uint64_t up_to);
  Status nothing_left(Outlook outlook);
  Status restart();
  void release_consumed();
  void count_in_page();
  [[nodiscard]] std::string title() const;
  [[nodiscard]] std::string title_of(const Field& field) const;

  // reader_interval.cpp
  [[nodiscard]] std::int64_t window_of(double time) const noexcept;
  Status scan(std::uint64_t published);
  [[nodiscard]] std::vector<std::int64_t> judge(std::uint64_t published) const;
  Result<std::uint64_t> choose_by_time(std::uint64_t published, std::uint64_t up_to);

  // reader_copy.cpp
  static constexpr std::int64_t outcome_whole = 3;
  static constexpr std::int64_t outcome_torn = 2;  // overwritten during the copy
  static constexpr std::int64_t outcome_withheld =
      1;                                           // overwritten while a relay copied it: there is nothing to deliver
  static constexpr std::int64_t outcome_gone = 0;  // overwritten before the copy
  [[nodiscard]] bool delivers(std::int64_t outcome) const noexcept {
    return outcome == outcome_whole || (outcome == outcome_torn && options_.torn);
  }
  // Fills targets_ (once for each call) and arranged pieces. memory: no room.
  Status aim(std::span<const Out> outs, std::uint64_t count);
  Result<std::uint64_t> copy_steps(const Plan& plan, std::uint64_t kept, const Status& room);
  Status fetch_steps(Source& source, std::size_t begin, std::uint64_t count);
  Status copy_step(std::uint64_t ordinal, layout::CopyMethod method, std::size_t at);
  void move_step(std::size_t from, std::size_t to);
  Status combine(const Status& own, std::size_t begin, std::uint64_t count);

  Environment& environment_;
  message::Team& team_;
  ReaderOptions options_;
  universe::SeriesRecord record_;
  std::vector<Field> fields_;
  std::uint64_t step_bytes_ = 0;  // of all fields
  std::vector<Source> sources_;
  std::uint64_t next_ = 0;                  // ordinal to deliver next
  std::optional<std::int64_t> skip_below_;  // steps below are skipped
  std::optional<std::uint64_t> origin_;     // the first ordinal that was chosen
  std::uint64_t scanned_ = 0;               // with an interval: ordinals [next_, scanned_) are not chosen
  std::int64_t window_ = INT64_MIN;         // ... of the last step that was delivered
  std::vector<std::uint64_t> by_time_;      // ... the ordinals of a plan
  std::uint64_t gone_ = 0;                  // ... and how many between them were lost
  std::uint64_t passed_ = 0;                // ordinals of earlier incarnations
  std::uint64_t lost_told_ = 0;
  bool end_told_ = false;
  bool closed_ = false;
  Statistics statistics_;
  Statistics told_;                                        // what the process's counters know
  std::vector<std::unique_ptr<os::MemoryBlock>> buffers_;  // of the fields
  std::vector<Target> targets_;
  bool arranged_ = false;  // some target is not dense
  std::vector<FieldData> data_;
  std::vector<std::int64_t> steps_;
  std::vector<double> times_;
  std::vector<std::uint64_t> ordinals_;
  std::vector<std::uint8_t> torn_;
  std::vector<std::int64_t> outcome_;  // of each step of a copy
  std::vector<std::int64_t> votes_;
};

}  // namespace couplet::series
