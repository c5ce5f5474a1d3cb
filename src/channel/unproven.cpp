#include "channel/unproven.hpp"

#include <algorithm>

namespace couplet::channel {
namespace {

constexpr std::array<std::uint8_t, 12> ipv4_prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
constexpr std::size_t network_bytes = 8;  // the part of an IPv6 address that names a network; the rest names a host

Unproven::Address source_of(const Unproven::Address& address) noexcept {
  if (std::equal(ipv4_prefix.begin(), ipv4_prefix.end(), address.begin())) {
    return address;
  }
  Unproven::Address network{};
  std::copy_n(address.begin(), network_bytes, network.begin());
  return network;
}

}  // namespace

void Unproven::Crowd::add(const Source& source, Order order, Id id) {
  auto& callers = by_source_[source];
  by_size_.erase({callers.size(), source});
  callers.emplace(order, id);
  by_size_.emplace(callers.size(), source);
}

void Unproven::Crowd::remove(const Source& source, Order order) {
  const auto found = by_source_.find(source);
  by_size_.erase({found->second.size(), source});
  found->second.erase(order);
  if (found->second.empty()) {
    by_source_.erase(found);
  } else {
    by_size_.emplace(found->second.size(), source);
  }
}

std::optional<Unproven::Id> Unproven::Crowd::first() const {
  if (by_size_.empty()) {
    return std::nullopt;
  }
  return by_source_.at(by_size_.rbegin()->second).begin()->second;
}

std::optional<Unproven::Id> Unproven::displaceable(std::uint64_t now_ns) const {
  for (const auto& each : {silent_.first(), spoken_.first(), oldest()}) {
    if (each && now_ns >= callers_.at(*each).since_ns + limits_.min_stay_ns) {
      return each;
    }
  }
  return std::nullopt;
}

bool Unproven::has_room(std::uint64_t now_ns) const {
  return callers_.size() < limits_.max_callers || displaceable(now_ns);
}

std::optional<Unproven::Id> Unproven::admit(Id id, const Address& address, std::uint64_t now_ns) {
  std::optional<Id> displaced;
  if (callers_.size() >= limits_.max_callers) {
    displaced = displaceable(now_ns);
  }
  const Caller caller{.source = source_of(address), .order = next_order_++, .since_ns = now_ns};
  callers_.emplace(id, caller);
  by_order_.emplace(caller.order, id);
  silent_.add(caller.source, caller.order, id);
  return displaced;
}

void Unproven::spoke(Id id) {
  const auto found = callers_.find(id);
  if (found == callers_.end() || !found->second.silent) {
    return;
  }
  auto& caller = found->second;
  silent_.remove(caller.source, caller.order);
  spoken_.add(caller.source, caller.order, id);
  caller.silent = false;
}

void Unproven::remove(Id id) {
  const auto found = callers_.find(id);
  if (found == callers_.end()) {
    return;
  }
  const auto& caller = found->second;
  (caller.silent ? silent_ : spoken_).remove(caller.source, caller.order);
  by_order_.erase(caller.order);
  callers_.erase(found);
}

std::optional<Unproven::Id> Unproven::victim() const {
  const auto silent = silent_.first();
  return silent ? silent : spoken_.first();
}

std::uint64_t Unproven::oldest_since_ns() const noexcept {
  return by_order_.empty() ? UINT64_MAX : callers_.find(by_order_.begin()->second)->second.since_ns;
}

std::optional<Unproven::Id> Unproven::oldest() const {
  return by_order_.empty() ? std::nullopt : std::optional<Id>(by_order_.begin()->second);
}

}  // namespace couplet::channel
