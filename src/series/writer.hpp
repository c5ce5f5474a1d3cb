// The writing end of a series on one rank. Used by one thread; every call but create and close is local, touches only
// mapped memory, and makes at most one system call when a reader sleeps; it blocks only while holders keep the next
// slot.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "layout/copy.hpp"
#include "message/agree.hpp"
#include "series/series.hpp"
#include "series/series_file.hpp"
#include "series/slot_protocol.hpp"
#include "series/waiting.hpp"

namespace couplet::series {

struct FieldSpecification {
  std::string name;  // may be empty where there is one field
  couplet_type type = COUPLET_BYTE;
  std::vector<std::int64_t> shape;
  std::vector<layout::Box> boxes;  // of this rank; none, or empty ones, are fine
};
struct WriterSpecification {
  WriterSpecification() = default;
  // One field without a name, one box.
  WriterSpecification(std::string series, couplet_type type, std::vector<std::int64_t> shape, const layout::Box& box)
      : name(std::move(series)), fields{{{}, type, std::move(shape), {box}}} {}
  std::string name;
  std::vector<FieldSpecification> fields;
};

// Where a box stands in the user's memory.
struct Array {
  const void* data = nullptr;             // its first element
  const std::int64_t* strides = nullptr;  // bytes from element to element in each dimension; nullptr: dense, in C order
};

// What is not set here is taken from the settings
// series.<name>.{slots,memory_bytes,required_readers,required_timeout_s,
// wait_timeout_s,evict_after_held_s,linger_s,holders,streaming_bytes}.
struct WriterOptions {
  std::uint64_t slots = 0;         // 0: from memory_bytes
  std::uint64_t memory_bytes = 0;  // 0: 256 MiB
  std::optional<std::vector<std::string>> required_readers;
  double required_timeout_s = -1;
  double wait_timeout_s = -1;
  double evict_after_held_s = -1;  // a holder that has kept the writer waiting for so long is released; < 0: never
  std::uint64_t holders = 0;       // entries in the reader table of each writer rank; 0: 64
  bool collective = false;         // put and claim agree: no rank publishes a step that another one could not claim
};

class Writer {
 public:
  // Collective over `team` until deadline_ns. All members get the same answer: argument, shape (a box outside the
  // array, or boxes that overlap, naming the ranks), mismatch (naming the ranks), exists, no_space, limit, peer_lost,
  // timeout. After an error nothing is left behind. environment and the registry outlive the writer, and so does the
  // team if options.collective.
  static Result<std::unique_ptr<Writer>> create(Environment& environment, message::Team& team,
                                                const WriterSpecification& specification, const WriterOptions& options,
                                                std::uint64_t deadline_ns);
  // Closes where close() was not called.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // One box of one field, see below: data in C order; may be null where the box is empty. full (wait_timeout 0),
  // timeout (naming who holds, or the required program that is missing), step (naming both), state (a claim is open).
  // After any of these nothing has happened, and the same step may be tried again.
  Status put(const void* data, std::int64_t step);
  // All boxes of all fields, in order. argument: another number of them.
  Status put(std::span<const Array> arrays, std::int64_t step);
  // The next slot's memory (page aligned; slots follow each other): the boxes stand where pieces() says. Errors as put.
  Result<std::byte*> claim(std::int64_t step);
  // Physical time of the next step that is published. argument: not finite; step: before that of the last one.
  Status set_time(double time);
  // state: nothing was claimed.
  Status publish();
  // Gives a claim back: nothing is published, and the same step or another one may be written next. What the slot held
  // before is gone. state: nothing was claimed.
  Status abandon();
  // Readers get what is left, then the end. A claim that was not published is dropped. Tells the registry.
  Status close(std::uint64_t deadline_ns);

  [[nodiscard]] Statistics count() const;
  [[nodiscard]] const Waits& waits() const noexcept { return waits_; }
  // "program 'nowcast' rank 3 on host n02", "required reader program 'nowcast'", or "".
  [[nodiscard]] std::string name_of(const Blocker& blocker) const;
  // His universe rank; -1: of a program that has not opened, or nobody.
  [[nodiscard]] static std::int32_t rank_of(const Blocker& blocker);
  [[nodiscard]] Result<Retained> retained() const;
  [[nodiscard]] Description describe() const;
  [[nodiscard]] const SeriesFile& file() const noexcept { return *file_; }
  // A box of a field, and where it stands in a slot.
  struct Piece {
    std::size_t field = 0;
    layout::Box box;
    std::uint64_t offset_bytes = 0;
    std::uint64_t bytes = 0;
    std::uint64_t element_bytes = 0;
  };
  // Boxes of all fields, in order.
  [[nodiscard]] const std::vector<Piece>& pieces() const noexcept { return pieces_; }

 private:
  friend class WriterCreation;
  struct Settings {
    std::vector<std::string> required_readers;
    std::uint64_t required_deadline_ns = os::never;
    double required_timeout_s = -1;
    double wait_timeout_s = -1;
    double evict_after_held_s = -1;
    std::uint64_t streaming_bytes = layout::default_streaming_bytes;
    std::uint32_t far_entries = 0;  // of readers that fetch out of an MPI window
  };
  Writer(Environment& environment, std::unique_ptr<SeriesFile> file, Settings settings);

  Status claim_slot(std::int64_t step);
  Status claim_here(std::int64_t step);
  Status agree_on_claim(const Status& own, std::int64_t step);
  // A put that failed before it claimed: the other members are told.
  Status refuse(Status why, std::int64_t step);
  Result<layout::CopyPlan> plan_of(const Piece& piece, const Array& array) const;
  [[nodiscard]] std::string title_of(const Piece& piece) const;
  void publish_slot();
  void add_time(std::uint64_t start_ns, std::uint64_t held_before_ns);
  void count_in_page();
  Status wait_for_holders(std::int64_t step, std::uint64_t deadline_ns);
  // Releases a blocker if it is dead, too slow or overdue; an error if the user has to be told.
  Status examine_blocker(std::uint32_t index);
  Status examine_blockers(std::uint64_t needed);
  [[nodiscard]] std::uint64_t held_up_ns(std::uint32_t index, const Owner& owner, std::uint64_t now_ns);
  // Has the required program opened, as far as the hub has told?
  [[nodiscard]] bool has_opened(const wire::SeriesReaderEntry& reservation) const;
  Status examine_reservation(wire::SeriesReaderEntry& entry);
  [[nodiscard]] std::string describe_blocker(std::uint32_t index) const;
  void note_wait(const Blocker& blocker, std::uint64_t waited_ns);
  [[nodiscard]] std::string required_name(std::uint64_t hash) const;

  Environment& environment_;
  message::Team* team_ = nullptr;  // with which put and claim agree; nullptr: they are local
  std::unique_ptr<SeriesFile> file_;
  Settings settings_;
  layout::CopyMethod method_ = layout::CopyMethod::cached;
  std::uint64_t ordinal_ = 0;  // of the next step
  std::int64_t last_step_ = 0;
  double time_ = std::numeric_limits<double>::quiet_NaN();  // of the next step
  double last_time_ = -std::numeric_limits<double>::infinity();
  std::vector<Piece> pieces_;
  std::uint64_t bytes_ = 0;              // of all of them
  std::vector<layout::CopyPlan> plans_;  // of a put of several arrays
  // Since when the owner of an entry has blocked the slot of an ordinal.
  struct HeldUp {
    std::uint64_t owner = 0;
    std::uint64_t ordinal = 0;
    std::uint64_t since_ns = 0;
  };
  std::vector<HeldUp> held_up_;            // of each entry
  std::uint64_t next_examination_ns_ = 0;  // of a blocker: liveness and deadlines
  std::uint64_t hub_missed_since_ns_ = 0;  // by who waits for a required reader to open; 0: it is there
  std::int64_t claimed_step_ = 0;
  bool claimed_ = false;
  bool closed_ = false;
  Statistics statistics_;
  Statistics told_;  // what the process's counters know
  Waits waits_;
};

}  // namespace couplet::series
