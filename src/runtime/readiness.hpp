// Waits for any of several series, messages, requests and tasks, in a call (wait) or in an event loop (descriptor,
// arm). It consumes nothing. capi is above it; series, message and task say what is ready, and the engine waits.
// Invariants: entries that are ready have their turn, one after the other; a universe in which nothing is waited for in
// this way has neither a thread nor a descriptor for it; no wake-up between arm() and poll(2) is lost.
// Decision: docs/decisions/0026. Tests: tests/unit/runtime/readiness_test.cpp, tests/universe/test_waiting_for_any.py.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "base/status.hpp"
#include "engine/engine.hpp"
#include "message/message.hpp"
#include "os/descriptor.hpp"
#include "os/doorbell.hpp"
#include "series/publication_watch.hpp"
#include "series/reader.hpp"
#include "task/requester.hpp"

namespace couplet::runtime {

// One thing that is waited for. One of the pointers is set.
struct Awaited {
  series::Reader* reader = nullptr;
  message::Group* group = nullptr;  // the group in which a message is awaited
  const message::Request* request = nullptr;
  const task::Task* task = nullptr;
  std::uint64_t at_least = 1;  // number of steps, with a reader
  std::int32_t source = 0;
  std::int32_t tag = 0;
};

// Remembers where the next search begins, for each of the arrays that were searched last.
class Rotation {
 public:
  struct Start {
    std::size_t array = 0;
    std::size_t place = 0;
  };
  // Says where the search in this array begins. Arrays that differ only in requests and tasks, whose
  // handles change whenever one has ended, count as the same.
  [[nodiscard]] Start start(std::span<const Awaited> awaited) noexcept;
  // Notes that a search with this start has found the entry at `place`.
  void found(Start start, std::size_t place) noexcept { recent_[start.array].next = place + 1; }

 private:
  struct Entry {
    std::uint64_t key = 0;
    std::size_t next = 0;
    std::uint64_t used = 0;  // number of its last use; 0: never used
  };
  std::array<Entry, 16> recent_{};
  std::size_t last_ = 0;
  std::uint64_t uses_ = 0;
};

class Readiness final : private engine::Source {
 public:
  // The armed descriptor becomes readable after this time at the latest, since no descriptor announces a death.
  static constexpr std::uint64_t usual_alarm_ns = 100'000'000;

  // All references outlive this object.
  Readiness(engine::Engine& engine, os::Doorbell& doorbell, message::Messenger& messenger,
            std::uint64_t alarm_ns = usual_alarm_ns)
      : engine_(engine), doorbell_(doorbell), messenger_(messenger), alarm_ns_(alarm_ns) {}
  ~Readiness() override;
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;

  // Waits until an entry is ready, and gives its place. `message` is written if the entry is a message. Returns not_yet
  // at the deadline, interrupted, or limit if the thread that watches series cannot be started. REQUIRES: there are
  // entries, and Probe::check() has accepted the messages.
  Status wait(std::span<const Awaited> awaited, std::uint64_t deadline_ns, std::int32_t& index,
              couplet_message& message);

  // Returns the descriptor, which is made by the first call. Errors: system, limit.
  Result<int> descriptor();
  // Searches once. If nothing is ready, arms the descriptor and returns not_yet. Returns state if descriptor() was not
  // called before.
  Status arm(std::span<const Awaited> awaited, std::int32_t& index, couplet_message& message);
  [[nodiscard]] bool armed() const noexcept { return armed_; }
  // Makes the armed descriptor readable: another call may take in what it was armed for.
  void rouse() noexcept;

 private:
  class Call;  // the source of one call that waits

  int poll(std::uint64_t now_ns, int budget) override;
  int woken(int descriptor, int budget) override;
  [[nodiscard]] bool ready() const override { return false; }

  [[nodiscard]] bool losses_due() noexcept;
  [[nodiscard]] bool is_ready(const Awaited& one, bool losses, couplet_message& message);
  // Returns the place of the first entry that is ready, from the start on and around, or -1.
  [[nodiscard]] std::int32_t find(std::span<const Awaited> awaited, Rotation::Start start, couplet_message& message);
  // Moves data once, and searches.
  [[nodiscard]] std::int32_t look(std::span<const Awaited> awaited, Rotation::Start start, couplet_message& message);
  Status watch(std::span<const Awaited> awaited);
  void ask(std::span<const Awaited> awaited);
  void disarm() noexcept;

  engine::Engine& engine_;
  os::Doorbell& doorbell_;
  message::Messenger& messenger_;
  std::uint64_t alarm_ns_;
  Rotation rotation_;
  os::Descriptor bell_;  // rung by the thread that watches series
  std::unique_ptr<series::PublicationWatch> watch_;
  os::Descriptor outer_;  // the descriptor that is given away: an epoll set with the doorbell, alarm_ and call_
  os::Descriptor alarm_;  // a timer
  os::Descriptor call_;   // an eventfd: another call was made
  std::uint64_t looked_ticks_ = 0;  // the time of the last check for deaths
  bool armed_ = false;
};

}  // namespace couplet::runtime
