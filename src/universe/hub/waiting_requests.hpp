// Requests that wait for a series or for the relay of a node. They are found by what they wait for, without going
// through all members. Pure; a part of SeriesService.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "universe/control.hpp"
#include "universe/hub/outbox.hpp"

namespace couplet::universe {

inline constexpr std::size_t max_pending_requests = 256;  // for one connection

class WaitingRequests {
 public:
  using Key = std::pair<ConnectionId, RequestId>;

  // Lets a request wait until the series has an incarnation above newer_than. Returns limit if this connection has too
  // many requests.
  Status wait_for_series(const Key& key, const std::string& name, std::int64_t newer_than);
  Status wait_for_relay(const Key& key, std::uint16_t node);
  void cancel(const Key& key);
  void drop(ConnectionId connection);

  // Returns the requests that wait for this incarnation of a series, or for this relay, and removes them.
  [[nodiscard]] std::vector<Key> take_for_series(const std::string& name, std::uint64_t incarnation);
  [[nodiscard]] std::vector<Key> take_for_relay(std::uint16_t node);

 private:
  struct Request {
    std::string series;  // empty: the request waits for a relay
    std::int64_t newer_than = -1;
    std::uint16_t node = 0;
  };
  Status add(const Key& key, Request request);

  std::map<Key, Request> requests_;
  std::map<std::string, std::set<Key>> by_series_;
  std::map<std::uint16_t, std::set<Key>> by_node_;
};

}  // namespace couplet::universe
