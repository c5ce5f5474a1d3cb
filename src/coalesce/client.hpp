// coalesce: turns many clients of one communication pattern into one exchange per phase of a round. capi is above it;
// exchange, collective, message and os are below it. Each client says once what it sends and receives. In each round
// the StepManager calls its clients, stage by stage, and the CommunicationsManager moves what all of them have asked
// for: one message for each neighbour, one wait for each phase. Invariants: clients are called in the order of
// registration, which is the same at all ranks that have them; memory of clients is touched only between fill and use;
// what an error in one client ends is ended at all ranks that could wait for it. The switches change the number of
// messages and waits, and no bit of what arrives. Decision: docs/decisions/0036. Tests: tests/unit/coalesce,
// tests/conformance/coalesce.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "exchange/plan.hpp"

namespace couplet::coalesce {

// When and for what a client is called.
struct Moment {
  std::uint64_t round = 0;
  int phase = 0;
  std::int32_t peer = -1;  // for arrived(): the rank from which all that it sends in this phase is here
};

// What a client sends or receives. The tag is one of its own; other clients may use the same.
struct Request {
  int phase = 0;
  // The sender decides in each fill whether it sends in this round. If not, the receiver's memory stays as it is.
  bool is_optional = false;
  exchange::Edge edge{};
};

// The number of a request: 0, 1, 2, ... in the order in which this rank has declared them.
using RequestId = std::uint32_t;

// The stages in which a client has something to do. In the others it is not called.
struct Stages {
  bool fill = true;
  bool overlap = true;
  bool use = true;
  bool end_round = true;
};

// A part of a program that communicates in rounds. All calls are made by the thread that runs the round; they must not
// run a round themselves. An error ends the rounds of all ranks.
class Client {
 public:
  Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  virtual ~Client() = default;

  // The same at all ranks that have the client.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  // Asked once, when the client is added.
  [[nodiscard]] virtual Stages stages() const noexcept { return {}; }
  // What is sent in this phase is written, and lengths are set.
  virtual Status fill(const Moment& moment) = 0;
  // Everything is under way: computes what needs nothing of it.
  virtual Status overlap(const Moment& moment) = 0;
  // Does it want to hear of each peer as it comes?
  [[nodiscard]] virtual bool hears_arrivals() const noexcept { return false; }
  // What `moment.peer` sends to this client in this phase has arrived.
  virtual Status arrived(const Moment& /*moment*/) { return {}; }
  // Everything has arrived.
  virtual Status use(const Moment& moment) = 0;
  // The last phase is over.
  virtual Status end_round(std::uint64_t round) = 0;
};

}  // namespace couplet::coalesce
