// The clients of a rank and what they have declared. CommunicationsManager makes plans of it. Invariants: a client and
// a request keep their numbers, and no other one gets them; what was removed keeps its memory as long as a plan has it.
// Tests: tests/conformance/coalesce.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "coalesce/plan.hpp"
#include "coalesce/statistics.hpp"

namespace couplet::coalesce {

class ClientList {
 public:
  // Adds a client, and returns its place: 0, 1, 2, ... Errors: argument, exists, limit.
  Result<std::size_t> add(std::string name, bool hears_arrivals);
  // not_found: there is none at that place.
  Status remove(std::size_t client);
  // Adds a request, which was checked. exists: the client has one of the same phase, direction, peer and tag.
  Result<RequestId> add(std::size_t client, Request request);
  // Gives back what was removed and is not one of these clients, which the plan has.
  void give_back_others(std::span<const std::size_t> plan_clients);
  // Clients that were given back since the last call: the caller may destroy them.
  [[nodiscard]] std::vector<std::size_t> take_given_back() { return std::exchange(given_back_, {}); }

  // Is there a client at that place which was not removed?
  [[nodiscard]] bool has(std::size_t client) const noexcept {
    return client < clients_.size() && !clients_[client].is_gone;
  }
  // -1: there is none.
  [[nodiscard]] std::ptrdiff_t place_of(const std::string& name) const;
  // Those that were not removed, in order of registration.
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] bool hears_arrivals(std::size_t client) const { return clients_[client].hears_arrivals; }
  [[nodiscard]] std::span<const RequestId> requests_of(std::size_t client) const { return clients_[client].requests; }
  // By number; nullptr: it was given back.
  [[nodiscard]] std::span<const std::unique_ptr<Declared>> requests() const noexcept { return requests_; }
  // REQUIRES: a plan has it.
  [[nodiscard]] const Declared& request(RequestId id) const { return *requests_[id]; }
  // That of a client that was not given back.
  [[nodiscard]] ClientCounts& counts_of(std::size_t client) { return counts_[client]; }
  // Those of all clients, and the sums over those that were given back.
  [[nodiscard]] std::vector<ClientCounts> counts() const;

 private:
  struct Registered {
    bool is_gone = false;  // it was removed; the plan may have it still
    bool hears_arrivals = false;
    std::vector<RequestId> requests{};
  };
  // What names a request: its client, phase, direction, peer and tag.
  using RequestName = std::tuple<std::size_t, int, exchange::Direction, std::int32_t, std::int64_t>;
  [[nodiscard]] static RequestName name_of(std::size_t client, const Request& request);

  std::vector<Registered> clients_;                         // by place
  std::vector<ClientCounts> counts_;                        // by place; without a name: it was given back
  ClientCounts removed_counts_;                             // the sums over these; no name: there was none
  std::map<std::string, std::size_t, std::less<>> places_;  // those of clients that are not removed, by name
  std::vector<std::unique_ptr<Declared>> requests_;
  std::set<RequestName> request_names_;  // those of clients that are not removed
  std::vector<std::size_t> removed_;     // clients that are to be given back
  std::vector<std::size_t> given_back_;
};

}  // namespace couplet::coalesce
