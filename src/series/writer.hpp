// Writer: the writing end of a series on one rank, used by one thread. Every call except create and close is local and
// touches only mapped memory; with options.collective, put and claim are collective. A call makes a system call only to
// wake a sleeping reader or to wait. It waits only while a holding or required reader still needs the next slot.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/retry.hpp"
#include "layout/copy.hpp"
#include "message/agree.hpp"
#include "series/series.hpp"
#include "series/series_file.hpp"
#include "series/slot_protocol.hpp"
#include "series/waiting.hpp"

namespace couplet::series {

struct FieldSpecification {
  std::string name;  // may be empty if there is one field
  couplet_type type = COUPLET_BYTE;
  std::vector<std::int64_t> shape;
  std::vector<layout::Box> boxes;  // the boxes that this rank writes; there may be none, and they may be empty
};
struct WriterSpecification {
  WriterSpecification() = default;
  // One field without a name, one box.
  WriterSpecification(std::string series, couplet_type type, std::vector<std::int64_t> shape, const layout::Box& box)
      : name(std::move(series)), fields{{{}, type, std::move(shape), {box}}} {}
  std::string name;
  std::vector<FieldSpecification> fields;
};

// The memory of the user that contains a box.
struct Array {
  const void* data = nullptr;             // the first element of the box
  const std::int64_t* strides = nullptr;  // bytes from element to element in each dimension; nullptr: dense, in C order
};

// An option that is not set here is taken from the setting series.<name>.<option>. The settings linger_s,
// streaming_bytes and window exist only there.
struct WriterOptions {
  std::uint64_t slots = 0;         // 0: from memory_bytes
  std::uint64_t memory_bytes = 0;  // 0: 256 MiB
  std::optional<std::vector<std::string>> required_readers;
  double required_timeout_s = -1;
  double wait_timeout_s = -1;
  double evict_after_held_s = -1;  // a holder that has kept the writer waiting for this time is released; < 0: never
  std::uint64_t holders = 0;       // entries in the reader table of each writer rank; 0: 64
  bool collective = false;         // put and claim agree: no rank publishes a step that another one could not claim
};

class Writer {
 public:
  // Creates the series. Collective over `team` until deadline_ns; all members get the same result. `refusal` is an
  // error if the caller of this rank has made a mistake. After an error nothing is left behind: argument; shape if a
  // box is outside the array, or boxes overlap (with the ranks); mismatch if the ranks do not agree (with the ranks);
  // exists; no_space; limit; peer_lost; timeout. environment and its registry outlive the writer, and so does the team
  // if options.collective.
  static Result<std::unique_ptr<Writer>> create(Environment& environment, message::Team& team,
                                                const WriterSpecification& specification, const WriterOptions& options,
                                                std::uint64_t deadline_ns, const Status& refusal = {});
  // Closes if close() was not called.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Copies the data of a series with one box into the next slot, and publishes it. `data` is in C order, and may be
  // null if the box is empty. Returns full if wait_timeout_s is 0 and a holder keeps the slot; timeout, with the holder
  // or the required program that is missing, after wait_timeout_s; step if `step` is not greater than the last one;
  // state if a claim is open or the series is closed; with options.collective also mismatch if the ranks give different
  // steps, and the error of another rank. After any of these nothing has happened, and the same step may be tried
  // again.
  Status put(const void* data, std::int64_t step);
  // Does the same with one array for each box of each field, in order. Returns argument if their number is wrong.
  Status put(std::span<const Array> arrays, std::int64_t step);
  // Returns the next slot's memory, in which pieces() says where the boxes are. It is page aligned, and slots follow
  // each other. Errors as put.
  Result<std::byte*> claim(std::int64_t step);
  // Sets the physical time of the next step that is published. Returns argument if it is not finite, and step if it is
  // before that of an earlier step.
  Status set_time(double time);
  // Takes the place of a put or claim that cannot be made, because its caller has made a mistake. If the members agree
  // on each step, the others are told. Returns `why`.
  Status refuse(const Status& why, std::int64_t step);
  // Publishes the claimed slot. Returns state if nothing is claimed.
  Status publish();
  // Gives a claim back: nothing is published, and the same step or another one may be written next. The old contents of
  // the slot are lost. Returns state if nothing is claimed.
  Status abandon();
  // Ends the series, and tells the registry. Readers get the steps that are left, and then the end. A claim that was
  // not published is dropped.
  Status close(std::uint64_t deadline_ns);

  [[nodiscard]] Statistics count() const;
  // Returns when the last put, claim or publish ended.
  [[nodiscard]] std::uint64_t last_call_ns() const noexcept { return last_call_ns_; }
  [[nodiscard]] const Waits& waits() const noexcept { return waits_; }
  // Returns, for example, "program 'nowcast' rank 3 on host n02" or "required reader program 'nowcast'"; "" if there is
  // none.
  [[nodiscard]] std::string name_of(const Blocker& blocker) const;
  [[nodiscard]] Result<Retained> retained() const;
  [[nodiscard]] Description describe() const;
  [[nodiscard]] const SeriesFile& file() const noexcept { return *file_; }
  // A box of a field, and its place in a slot.
  struct Piece {
    std::size_t field = 0;
    layout::Box box;
    std::uint64_t offset_bytes = 0;
    std::uint64_t bytes = 0;
    std::uint64_t element_bytes = 0;
  };
  // Returns the boxes of all fields, in order.
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
    std::uint32_t far_entries = 0;  // number of entries for readers that fetch from an MPI window
  };
  Writer(Environment& environment, std::unique_ptr<SeriesFile> file, Settings settings);

  Status claim_slot(std::int64_t step);
  Status claim_here(std::int64_t step);
  Status agree_on_claim(const Status& own, std::int64_t step, std::uint64_t deadline_ns);
  Result<layout::CopyPlan> plan_of(const Piece& piece, const Array& array) const;
  [[nodiscard]] std::string title_of(const Piece& piece) const;
  void publish_slot();
  void add_time(std::uint64_t start_ns, std::uint64_t held_before_ns);
  void count_in_page();
  Status wait_for_holders(std::int64_t step, std::uint64_t deadline_ns);
  // Releases a blocking reader if it is dead, too slow or overdue. Returns an error if the user must be told.
  Status examine_blocker(std::uint32_t index);
  Status examine_blockers(std::uint64_t needed);
  [[nodiscard]] std::uint64_t held_up_ns(std::uint32_t index, const Owner& owner, std::uint64_t now_ns);
  // Returns true if the hub has told this process that the required program has opened the series.
  [[nodiscard]] bool has_opened(const wire::SeriesReaderEntry& reservation) const;
  Status examine_reservation(wire::SeriesReaderEntry& entry);
  [[nodiscard]] std::string describe_blocker(std::uint32_t index) const;
  void note_wait(const Blocker& blocker, std::uint64_t waited_ns);
  [[nodiscard]] std::string required_name(std::uint64_t hash) const;

  Environment& environment_;
  message::Team* team_ = nullptr;  // the ranks with which put and claim agree; nullptr: they are local
  std::unique_ptr<SeriesFile> file_;
  Settings settings_;
  layout::CopyMethod method_ = layout::CopyMethod::cached;
  std::uint64_t ordinal_ = 0;  // the next step's
  std::int64_t last_step_ = 0;
  double time_ = std::numeric_limits<double>::quiet_NaN();  // the next step's
  double last_time_ = -std::numeric_limits<double>::infinity();
  std::vector<Piece> pieces_;
  std::uint64_t bytes_ = 0;              // size of all pieces
  std::vector<layout::CopyPlan> plans_;  // for a put of several arrays
  // The time since which the owner of an entry has blocked the slot of an ordinal.
  struct HeldUp {
    std::uint64_t owner = 0;
    std::uint64_t ordinal = 0;
    std::uint64_t since_ns = 0;
  };
  std::vector<HeldUp> held_up_;            // one for each entry
  std::uint64_t next_examination_ns_ = 0;  // time of the next check of blockers: liveness and deadlines
  LookedTime hub_missed_;              // how long calls do not wait for the hub to tell of required readers any more
  std::optional<std::int64_t> claim_;  // the step of the claim that is open
  bool closed_ = false;
  Statistics statistics_;
  std::uint64_t last_call_ns_ = 0;
  Statistics told_;  // what was added to the counters of the process
  Waits waits_;
};

}  // namespace couplet::series
