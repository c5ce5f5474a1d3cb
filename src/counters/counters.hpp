// counters: what one process has done, as 64-bit numbers at fixed places. It turns events of all layers into a page
// that a tool reads from a running process without disturbing it. The layers that count (message, series, relay)
// include it; it includes only base; os/process_page maps the memory.
// Invariants: one process writes, with one thread at a time; any process reads; a slot never changes its meaning, and a
// new one is added at the end; counting is a load and a store, never a locked instruction or a call.
// Tests: tests/unit/counters. Format: docs/formats/page.md.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace couplet::counters {

// The order is part of the format.
enum class Counter : std::uint16_t {
  messages_sent_self,
  messages_sent_shm,
  messages_sent_tcp,
  messages_sent_other,
  messages_received_self,
  messages_received_shm,
  messages_received_tcp,
  messages_received_other,
  message_bytes_sent_self,
  message_bytes_sent_shm,
  message_bytes_sent_tcp,
  message_bytes_sent_other,
  message_bytes_received_self,
  message_bytes_received_shm,
  message_bytes_received_tcp,
  message_bytes_received_other,
  messages_eager,
  messages_rendezvous,
  message_bytes_read_directly,  // by process_vm_readv
  messages_unexpected,          // they arrived before a receive was posted
  message_wait_ns,              // the time blocked in wait, recv and send
  frames_sent,
  frames_received,
  connections_opened,
  connections_lost,
  series_steps_written,
  series_bytes_written,
  series_steps_delivered,
  series_bytes_delivered,
  series_steps_lost,
  series_steps_skipped,
  series_steps_torn,
  series_write_ns,  // time in put, claim and publish, without series_held_ns
  series_held_ns,   // the time for which a writer waited for holding readers
  series_read_ns,   // time in read, copying and waiting
  series_read_wait_ns,
  relay_steps_pushed,
  relay_bytes_pushed,
  relay_subscribers,  // the present number
  polls,
  sleeps,
  slept_ns,
  message_bytes_written_directly,  // by process_vm_writev, if the sender shares the copying
  count_,
};
inline constexpr std::size_t counter_count = static_cast<std::size_t>(Counter::count_);

// Returns the name in the enumeration, for example "series_steps_written".
[[nodiscard]] std::string_view counter_name(Counter counter) noexcept;

// The kinds of links, in the order of the message counters, so that sent = messages_sent_self + kind.
enum class LinkKind : std::uint16_t { self, shm, tcp, other };
[[nodiscard]] LinkKind link_kind(std::string_view lane_name) noexcept;
[[nodiscard]] constexpr Counter of_link(Counter of_self, LinkKind kind) noexcept {
  return static_cast<Counter>(static_cast<std::uint16_t>(of_self) + static_cast<std::uint16_t>(kind));
}

// The writer's view. Without memory of a page, it counts in memory of its own, so that no caller has to check whether
// there is a page.
class Counters {
 public:
  Counters() noexcept : slots_(own_.data()) {}
  // `slots` has at least counter_count numbers, and outlives this object.
  explicit Counters(std::span<std::atomic<std::uint64_t>> slots) noexcept
      : slots_(slots.size() >= counter_count ? slots.data() : own_.data()) {}
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  void add(Counter counter, std::uint64_t amount = 1) noexcept {
    auto& slot = slots_[static_cast<std::size_t>(counter)];
    slot.store(slot.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  void set(Counter counter, std::uint64_t value) noexcept {
    slots_[static_cast<std::size_t>(counter)].store(value, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t get(Counter counter) const noexcept {
    return slots_[static_cast<std::size_t>(counter)].load(std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<std::uint64_t>, counter_count> own_{};
  std::atomic<std::uint64_t>* slots_;
};

}  // namespace couplet::counters
