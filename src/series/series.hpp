// series: time steps of a distributed array, from one program into others, through slots in mapped memory. Turns (step,
// box) of writer ranks into batches of steps of a reader's box, without the writer's help. Above: relay, runtime.
// Below: message (agreement), universe (registry), layout (copies), wire (the file), os (mapping). Invariants: a
// delivered step is whole; published - first = delivered + lost + skipped + pending; the writer waits for holders only;
// the writer touches only mapped memory and makes at most one wake-up call; docs/guide/series.md. Tests:
// tests/unit/series, tests/conformance/series_suite.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "channel/channel.hpp"
#include "counters/counters.hpp"
#include "layout/box.hpp"
#include "series/superseded.hpp"
#include "universe/registry.hpp"

namespace couplet::series {

class Part;
class Window;
enum class AgreementPoint : std::uint8_t;  // series/collective.hpp

enum class Mode : std::uint8_t { hold = COUPLET_SERIES_HOLD, follow = COUPLET_SERIES_FOLLOW };
enum class From : std::uint8_t {
  oldest = COUPLET_SERIES_FROM_OLDEST,
  newest = COUPLET_SERIES_FROM_NEWEST,
  next = COUPLET_SERIES_FROM_NEXT,
  step = COUPLET_SERIES_FROM_STEP
};

// The field and the boxes of it that a reader rank wants.
struct FieldSelection {
  std::size_t field = 0;  // its number in the record, and in a writer's file
  std::vector<layout::Box> boxes;
};

// How the slots of one writer rank are to be read (Environment::open_part).
struct PartSelection {
  std::vector<FieldSelection> fields;
  Mode mode = Mode::hold;
  From from = From::oldest;
  std::int64_t from_step = 0;
  std::uint64_t buffer_bytes = 0;  // size of the local slots, for writers on other nodes
  bool latest = false;             // for a follower: only the newest steps are wanted
  std::uint32_t reader = 0;        // Part::reader() of a part of the same reader that was opened before, else 0
};

// The services that series needs from its process. runtime implements them, and tests replace them. They are called on
// the user's thread.
class Environment {
 public:
  virtual ~Environment() = default;

  [[nodiscard]] virtual channel::PeerId self() const noexcept = 0;
  // The incarnation of this process.
  [[nodiscard]] virtual std::uint16_t incarnation() const noexcept = 0;
  [[nodiscard]] virtual const std::string& program() const noexcept = 0;
  [[nodiscard]] virtual std::uint16_t node() const noexcept = 0;
  [[nodiscard]] virtual const std::string& node_directory() const noexcept = 0;
  // Returns a name such as "program 'ocean' rank 1 (universe rank 1) on host n03".
  [[nodiscard]] virtual std::string peer_name(channel::PeerId peer) const = 0;
  // Returns the value of a setting, as Membership::setting; an empty text if it is not set.
  [[nodiscard]] virtual std::string setting(std::string_view key) const = 0;
  // Returns the key of the setting whose value setting(key) returns: another one may count if that is not set.
  [[nodiscard]] virtual std::string_view setting_read(std::string_view key) const { return key; }
  [[nodiscard]] virtual universe::SeriesRegistry& registry() noexcept = 0;

  // Returns ok while that incarnation of the process may still run, or peer_lost, with its name, if it has died or left
  // or if a newer incarnation has joined. At most one system call. A wait calls it at most once in a millisecond.
  virtual Status alive(channel::PeerId peer, std::uint16_t incarnation) = 0;
  // Returns ok while the program has not joined yet, or still runs; peer_lost if it has joined and has ended; hub_lost
  // if it may run, but cannot open anything, since the hub has been away for longer than calls wait for it; not_found
  // if the universe has no such program.
  virtual Status program_alive(std::string_view program) = 0;
  // Called between the slices of every wait: moves messages, and notices an interrupt. Returns the largest length of
  // the next slice in nanoseconds, which is short while requests are pending. interrupted, or an error, ends the wait.
  virtual Result<std::uint64_t> between_slices() = 0;
  // Called before the ranks of a reader agree. A failure counts as a failure of this rank: tests use it to let ranks
  // fail.
  virtual Status before_agreement(AgreementPoint /*point*/) { return {}; }
  // Returns the counters of the process; by default, counters of this object.
  [[nodiscard]] virtual counters::Counters& counters() noexcept { return own_counters_; }
  // Returns for how long a wait checks memory before it sleeps; 0 while more processes run on this host than it has
  // cores.
  [[nodiscard]] virtual std::uint64_t spin_ns() const noexcept = 0;
  // Calls `sleep`, which blocks. Other threads of the process may use the universe meanwhile.
  virtual void sleep_elsewhere(const std::function<void()>& sleep) { sleep(); }
  // Begins to open the slots of a writer rank on another node through the relay: local slots that are filled while they
  // are polled. Call Part::finish_opening() before any other use. Returns timeout if the relay has not come, and
  // unsupported if there will be none.
  virtual Result<std::unique_ptr<Part>> open_part(const universe::SeriesRecord& record, std::size_t part,
                                                  const PartSelection& selection, std::uint64_t deadline_ns) = 0;
  // The files of superseded incarnations that this process knows.
  [[nodiscard]] Superseded& superseded() noexcept { return superseded_; }
  // Returns the window of the MPI job; nullptr if this process has joined without one.
  [[nodiscard]] virtual Window* window() noexcept { return nullptr; }
  // Moves frames, and sleeps meanwhile, until done() returns true or the time is until_ns. Returns ok in both cases.
  virtual Status wait(const std::function<bool()>& done, std::uint64_t until_ns) = 0;

 private:
  counters::Counters own_counters_;
  Superseded superseded_;
};

// The longest slice of any wait, whatever the environment says: liveness is checked that often.
inline constexpr std::uint64_t longest_slice_ns = 50'000'000;

// The accounting of one rank, as in couplet.h.
struct Statistics {
  std::uint64_t published = 0;
  std::uint64_t first = 0;
  std::uint64_t delivered = 0;
  std::uint64_t lost = 0;
  std::uint64_t lost_torn = 0;
  std::uint64_t skipped = 0;
  std::uint64_t pending = 0;
  std::uint64_t delivered_torn = 0;
  std::uint64_t calls = 0;
  std::uint64_t largest_batch = 0;
  std::uint64_t bytes = 0;
  std::uint64_t copy_ns = 0;
  std::uint64_t held_ns = 0;
  std::uint64_t library_ns = 0;
};

// The reader for which a writer has waited.
struct Blocker {
  std::uint64_t owner = 0;    // the owner word of its entry in the reader table; 0: none
  std::uint64_t program = 0;  // hash of the name of its program
};
// Returns its universe rank; -1 for a program that has not opened the series, or if there is none.
[[nodiscard]] std::int32_t rank_of(const Blocker& blocker);

// How long a writer rank has waited for holders, as in couplet.h.
struct Waits {
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t last_ns = 0;
  std::uint64_t longest_ns = 0;
  Blocker last;
  Blocker longest;
};

// The steps that are still in their slots: ordinals [first, end).
struct Retained {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  std::int64_t newest_step = 0;
};

// What a series is, for couplet_series_describe.
struct Description {
  std::string name;
  std::string program;
  std::string route;  // "writer", "mapped", "relay" or "window"
  struct Field {
    std::string name;
    couplet_type type = COUPLET_BYTE;
    std::vector<std::int64_t> shape;
    std::vector<layout::Box> boxes;  // this rank's boxes; a reader has one
    std::uint64_t step_bytes = 0;    // size of these boxes
  };
  std::vector<Field> fields;  // for a reader, those that it has chosen
  std::uint64_t slots = 0;
  std::int32_t writers = 0;
};

// Program names are compared by this hash in the reader table (FNV-1a, 64 bits).
[[nodiscard]] constexpr std::uint64_t name_hash(std::string_view name) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : name) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  }
  return hash;
}

}  // namespace couplet::series
