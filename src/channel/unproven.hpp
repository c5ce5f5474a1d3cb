// The connections that have not proven the secret yet ("callers"), in the order in which they are closed if places run
// out. Pure. Used by universe/hub (the hub's port) and by runtime (connections between members). Below: nothing.
// Invariants: a caller is closed only if its place or its descriptor is needed; those that have sent nothing are closed
// before those that have; of these, the oldest one of the address with the most callers is closed first, so that a
// flood from one address displaces only itself. A caller that has just come is not displaced, since many honest ones
// may come at once. Tests: tests/unit/channel/unproven_test.cpp.
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
  // A caller that came less than this ago is not displaced: perhaps its process has not run since.
  std::uint64_t min_stay_ns = 1'000'000'000;
};

class Unproven {
 public:
  using Id = std::uint64_t;
  // IPv6, or IPv4 as ::ffff:a.b.c.d. One IPv6 network of 64 bits counts as one source.
  using Address = std::array<std::uint8_t, 16>;

  explicit Unproven(const UnprovenLimits& limits = {}) noexcept : limits_(limits) {}

  // Can a caller be accepted now? Returns false if all places are taken, and no caller is old enough to be displaced.
  [[nodiscard]] bool has_room(std::uint64_t now_ns) const;
  // Takes a caller in. Returns the caller that has to be closed and removed for it. REQUIRES: has_room(now_ns).
  [[nodiscard]] std::optional<Id> admit(Id id, const Address& address, std::uint64_t now_ns);
  // Notes that the caller has sent something. May be called again.
  void spoke(Id id);
  // Removes a caller that has proven the secret or is gone. Does nothing if the id is not here.
  void remove(Id id);
  // Returns the caller to close if something that all need (a descriptor) has run out, however short its stay was.
  [[nodiscard]] std::optional<Id> victim() const;
  [[nodiscard]] std::size_t size() const noexcept { return callers_.size(); }
  // Returns when the oldest caller that is still here has come. UINT64_MAX: there is none.
  [[nodiscard]] std::uint64_t oldest_since_ns() const noexcept;
  [[nodiscard]] std::optional<Id> oldest() const;

 private:
  using Source = std::array<std::uint8_t, 16>;
  using Order = std::uint64_t;  // the order of arrival
  struct Caller {
    Source source{};
    Order order = 0;
    std::uint64_t since_ns = 0;
    bool silent = true;
  };
  // Either the silent callers, or those that have sent something.
  class Crowd {
   public:
    void add(const Source& source, Order order, Id id);
    void remove(const Source& source, Order order);
    // Returns the oldest caller of the address that has the most callers.
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
