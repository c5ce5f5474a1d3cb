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
#include "universe/registry.hpp"

namespace couplet::series {

class Part;
class Window;
enum class AgreementPoint : std::uint8_t;  // series/collective.hpp

enum class Mode : std::uint8_t { hold = COUPLET_HOLD, follow = COUPLET_FOLLOW };
enum class From : std::uint8_t {
  oldest = COUPLET_FROM_OLDEST,
  newest = COUPLET_FROM_NEWEST,
  next = COUPLET_FROM_NEXT,
  step = COUPLET_FROM_STEP
};

// What a reader rank wants of one field.
struct FieldWish {
  std::size_t field = 0;  // in the record, and in a writer's file
  std::vector<layout::Box> boxes;
};

// How one part is to be read (Environment::open_part).
struct PartWish {
  std::vector<FieldWish> fields;
  Mode mode = Mode::hold;
  From from = From::oldest;
  std::int64_t from_step = 0;
  std::uint64_t buffer_bytes = 0;  // local slots, for parts of other nodes
  bool latest = false;             // of a follower: only the newest steps are wanted
};

// What series needs of the process it lives in. The runtime implements it; tests fake it. Called on the user's thread.
class Environment {
 public:
  virtual ~Environment() = default;

  [[nodiscard]] virtual channel::PeerId self() const noexcept = 0;
  [[nodiscard]] virtual std::uint16_t incarnation() const noexcept = 0;  // of this process
  [[nodiscard]] virtual const std::string& program() const noexcept = 0;
  [[nodiscard]] virtual std::uint16_t node() const noexcept = 0;
  [[nodiscard]] virtual const std::string& node_directory() const noexcept = 0;
  // "program 'ocean' rank 1 (universe rank 1) on host n03"
  [[nodiscard]] virtual std::string peer_name(channel::PeerId peer) const = 0;
  // As Membership::setting; empty: not set.
  [[nodiscard]] virtual std::string setting(std::string_view key) const = 0;
  [[nodiscard]] virtual universe::SeriesRegistry& registry() noexcept = 0;

  // ok while that incarnation of the process may still run; peer_lost with its name (also when it left in good order or
  // a newer incarnation is there). At most one system call; called at most every millisecond of a wait.
  virtual Status alive(channel::PeerId peer, std::uint16_t incarnation) = 0;
  // ok while the program has not come yet, or still runs; peer_lost when it was there and is gone; hub_lost: it may
  // run, but will open nothing any more; not_found: the universe has no such program.
  virtual Status program_alive(std::string_view program) = 0;
  // Called between the slices of every wait: moves messages, notices an interrupt. Returns how long the next slice may
  // be (ns; short while requests are outstanding); interrupted ends the wait, and is answered; an error ends it.
  virtual Result<std::uint64_t> between_slices() = 0;
  // Called before the ranks of a reader agree. A failure counts as one of this rank's own work: tests let ranks fail
  // so.
  virtual Status before_agreement(AgreementPoint /*point*/) { return {}; }
  // Of the process; its own where nobody gives others.
  [[nodiscard]] virtual counters::Counters& counters() noexcept { return own_counters_; }
  // How long a wait looks at memory before it sleeps; 0 while more run on this host than it has cores.
  [[nodiscard]] virtual std::uint64_t spin_ns() const noexcept = 0;
  // Calls `sleep`, which blocks; other threads of the process may use the universe meanwhile.
  virtual void sleep_elsewhere(const std::function<void()>& sleep) { sleep(); }
  // The part of a writer on another node, through the relay: local slots that are filled while they are polled.
  // unsupported where there is no relay.
  virtual Result<std::unique_ptr<Part>> open_part(const universe::SeriesRecord& record, std::size_t part,
                                                  const PartWish& wish, std::uint64_t deadline_ns) = 0;
  // Of the MPI job; nullptr: joined without one.
  [[nodiscard]] virtual Window* window() noexcept { return nullptr; }
  // Moves frames until done() or until_ns (both ok); sleeps meanwhile.
  virtual Status wait(const std::function<bool()>& done, std::uint64_t until_ns) = 0;

 private:
  counters::Counters own_counters_;
};

// Longest slice of any wait, whatever the environment says: liveness is looked at that often.
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

// Whom a writer has waited for.
struct Blocker {
  std::uint64_t owner = 0;  // word of his entry in the reader table; 0: nobody
  std::uint64_t program = 0;
};

// How long a writer rank has waited for holders, as in couplet.h.
struct Waits {
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t last_ns = 0;
  std::uint64_t longest_ns = 0;
  Blocker last;
  Blocker longest;
};

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
    std::vector<layout::Box> boxes;  // of this rank; a reader has one
    std::uint64_t step_bytes = 0;    // of these
  };
  std::vector<Field> fields;  // a reader: those that it has chosen
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
