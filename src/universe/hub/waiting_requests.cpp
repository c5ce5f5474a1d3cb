#include "universe/hub/waiting_requests.hpp"

#include <iterator>

namespace couplet::universe {

Status WaitingRequests::add(const Key& key, Request request) {
  const auto begin = requests_.lower_bound({key.first, 0});
  const auto end = requests_.lower_bound({key.first + 1, 0});
  if (std::distance(begin, end) >= static_cast<std::ptrdiff_t>(max_pending_requests)) {
    return fail(Code::limit, "{} requests are waiting at the hub already", max_pending_requests);
  }
  cancel(key);
  requests_.emplace(key, std::move(request));
  return {};
}

Status WaitingRequests::wait_for_series(const Key& key, const std::string& name, std::int64_t newer_than) {
  COUPLET_TRY(add(key, {name, newer_than, 0}));
  by_series_[name].insert(key);
  return {};
}

Status WaitingRequests::wait_for_relay(const Key& key, std::uint16_t node) {
  COUPLET_TRY(add(key, {{}, -1, node}));
  by_node_[node].insert(key);
  return {};
}

void WaitingRequests::cancel(const Key& key) {
  const auto found = requests_.find(key);
  if (found == requests_.end()) {
    return;
  }
  if (found->second.series.empty()) {
    by_node_[found->second.node].erase(key);
  } else if (const auto waiting = by_series_.find(found->second.series); waiting != by_series_.end()) {
    waiting->second.erase(key);
    if (waiting->second.empty()) {
      by_series_.erase(waiting);
    }
  }
  requests_.erase(found);
}

void WaitingRequests::drop(ConnectionId connection) {
  for (auto each = requests_.lower_bound({connection, 0}); each != requests_.end() && each->first.first == connection;
       each = requests_.lower_bound({connection, 0})) {
    cancel(Key(each->first));
  }
}

std::vector<WaitingRequests::Key> WaitingRequests::take_for_series(const std::string& name, std::uint64_t incarnation) {
  std::vector<Key> keys;
  const auto found = by_series_.find(name);
  if (found == by_series_.end()) {
    return keys;
  }
  for (const auto& key : found->second) {
    const auto newer_than = requests_.at(key).newer_than;
    if (newer_than < 0 || incarnation > static_cast<std::uint64_t>(newer_than)) {
      keys.push_back(key);
    }
  }
  for (const auto& key : keys) {
    cancel(key);
  }
  return keys;
}

std::vector<WaitingRequests::Key> WaitingRequests::take_for_relay(std::uint16_t node) {
  const auto found = by_node_.find(node);
  if (found == by_node_.end()) {
    return {};
  }
  std::vector<Key> keys(found->second.begin(), found->second.end());
  for (const auto& key : keys) {
    cancel(key);
  }
  return keys;
}

}  // namespace couplet::universe
