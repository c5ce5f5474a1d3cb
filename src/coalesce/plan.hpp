// Plan: the requests of all clients as exchanges, for the rounds from one on. With merged messages a phase is one
// exchange; otherwise each client has one of its own in it. With merged waits all exchanges of a phase are awaited
// together; otherwise one after the other. Above: CommunicationsManager. Tests: tests/conformance/coalesce.
// Invariants: all ranks make the same exchanges in the same order; a request keeps its number from plan to plan; it
// takes part in the same rounds whatever plan carries it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "coalesce/client.hpp"
#include "exchange/exchange.hpp"

namespace couplet::coalesce {

// Which merges are made. Clients cannot share messages that are not awaited together.
struct Switches {
  bool merges_waits = true;
  bool merges_messages = true;

  [[nodiscard]] bool shares_messages() const noexcept { return merges_waits && merges_messages; }
};

// A request as it was declared. The title of its edge is title_of() of what the client gave.
struct Declared {
  std::size_t client = 0;  // place in the list of this rank's clients
  Request request;
  bool is_gone = false;  // its client was removed
};

// One exchange of a plan.
struct Wave {
  // The requests by which a client receives from one peer.
  struct Receiver {
    std::size_t client = 0;
    std::int32_t peer = -1;
    std::vector<RequestId> requests;
  };
  // What one client moves in it: the requests that move the same bytes in each round, and the others.
  struct Tally {
    std::size_t client = 0;
    std::uint64_t sent_parts = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t received_parts = 0;
    std::uint64_t received_bytes = 0;
    std::vector<RequestId> others{};
  };
  std::unique_ptr<exchange::Exchange> exchange;
  std::vector<RequestId> requests;
  std::vector<Receiver> receivers;
  std::vector<Tally> tallies;           // one for each client that has requests in it
  bool hears_arrivals = false;          // one of its clients does
  std::size_t arrived_count = 0;        // messages of the round
  bool is_over = true;                  // the round is
  std::vector<std::uint64_t> counts;    // messages that have come, one for each port
  std::vector<std::uint64_t> waits_ns;  // one for each port
};

// What is started and awaited together.
struct Sync {
  std::vector<std::size_t> clients;  // that are called while it is under way
  std::vector<Wave> waves;
};

// Where a request is in a plan.
struct Place {
  exchange::Exchange* exchange = nullptr;  // nullptr: it is not in the plan
  std::uint32_t edge = 0;
};

struct Plan {
  std::uint64_t from_round = 0;
  std::vector<std::vector<Sync>> phases;
  std::vector<Place> places;                     // by the number of the request
  std::vector<std::vector<RequestId>> variable;  // by phase: those whose length this rank gives
};

// What a plan is made from.
struct PlanSource {
  std::function<Result<std::unique_ptr<exchange::Exchange>>(const std::string& name)> make_exchange;
  std::string name;
  std::uint64_t number = 0;  // plans are counted, so that exchanges of two plans have different names
  std::uint64_t from_round = 0;
  int phase_count = 1;
  Switches switches;
  std::int32_t rank = 0;
  std::span<const std::unique_ptr<Declared>> requests;                        // nullptr: it was given back
  std::function<std::span<const RequestId>(std::size_t client)> requests_of;  // in order of their numbers
  std::span<const std::string> order;                                         // all clients of all ranks
  std::function<std::ptrdiff_t(const std::string&)> at;  // the place of a client here; -1: this rank does not have it
  std::function<bool(std::size_t client)> hears_arrivals;
};

inline constexpr std::int64_t max_client_tag = INT32_MAX;

// "client 'kernel', tag 3, 'face +x'": what error texts of an exchange call a request.
[[nodiscard]] std::string title_of(std::string_view client, const exchange::Edge& edge);
// Returns the edge that carries a request of the client `number` in a plan that begins with the round `from_round`.
[[nodiscard]] exchange::Edge edge_of(const Request& request, std::size_t number, std::uint64_t from_round);
// Returns argument, with both names, if two requests of one phase receive into the same memory.
[[nodiscard]] Status check_apart(std::span<const std::unique_ptr<Declared>> requests, int phase_count,
                                 std::int32_t rank);
// Collective: makes and freezes the exchanges. If it fails, `plan` has those that were made, and they must be closed.
Status make_plan(const PlanSource& source, Plan& plan);

}  // namespace couplet::coalesce
