// Who waits at the door: turns callers that have not proven the secret into an order in which they are sent away. Pure.
// Used by universe/hub (the hub's port) and by whoever accepts connections between members. Below: nothing. Invariants:
// a caller is sent away only if its place or its descriptor is needed; those that have said nothing go before those
// that have; of these the oldest of the source with the most of them, so that a flood from one address displaces itself
// and nobody else. A caller that has just come is not displaced, since many honest ones may come at once. Tests:
// tests/unit/channel/unproven_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace couplet::channel {

struct UnprovenLimits {
  std::size_t max_callers = 4096;
  // A caller that came less than this ago is not displaced: it may just not have been given a processor yet.
  std::uint64_t min_stay_ns = 1'000'000'000;
};

class Unproven {
 public:
  using Id = std::uint64_t;
  // IPv6, or IPv4 as ::ffff:a.b.c.d. One IPv6 network of 64 bits counts as one source.
  using Address = std::array<std::uint8_t, 16>;

  explicit Unproven(const UnprovenLimits& limits = {}) noexcept : limits_(limits) {}

  // Can a caller be accepted now? False: all places are taken, and nobody has been there for long enough to be
  // displaced.
  [[nodiscard]] bool has_room(std::uint64_t now_ns) const;
  // Takes a caller in. Returns the caller that has to be closed and removed for it. REQUIRES: has_room(now_ns).
  [[nodiscard]] std::optional<Id> admit(Id id, const Address& address, std::uint64_t now_ns);
  // The caller has sent something. May be called again.
  void spoke(Id id);
  // It has proven the secret, or has gone. ok for an id that is not here.
  void remove(Id id);
  // Who has to go if something that everybody needs (a descriptor) has run out, however short its stay was.
  [[nodiscard]] std::optional<Id> victim() const;
  [[nodiscard]] std::size_t size() const noexcept { return callers_.size(); }
  // Of those still here, when did the one come that came first? UINT64_MAX: nobody is here.
  [[nodiscard]] std::uint64_t oldest_since_ns() const noexcept;
  [[nodiscard]] std::optional<Id> oldest() const;

 private:
  using Source = std::array<std::uint8_t, 16>;
  using Order = std::uint64_t;  // of coming
  struct Caller {
    Source source{};
    Order order = 0;
    std::uint64_t since_ns = 0;
    bool silent = true;
  };
  // Those that are silent, or those that are not.
  class Crowd {
   public:
    void add(const Source& source, Order order, Id id);
    void remove(const Source& source, Order order);
    // The oldest of the largest source.
    [[nodiscard]] std::optional<Id> first() const;

   private:
    std::map<Source, std::map<Order, Id>> by_source_;
    std::set<std::pair<std::size_t, Source>> by_size_;
  };

  [[nodiscard]] std::optional<Id> displaceable(std::uint64_t now_ns) const;

  UnprovenLimits limits_;
  Order next_order_ = 0;
  std::map<Id, Caller> callers_;
  std::map<Order, Id> by_order_;
  Crowd silent_;
  Crowd spoken_;
};

}  // namespace couplet::channel
