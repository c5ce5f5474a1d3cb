// Wraps any transport and does, by seed and rate, what a bad network does to dials: it loses them, and delays their
// outcomes. It also wraps the lanes that it opens (fault_lane.hpp).
// Invariants: an outcome may be delayed, but never occurs twice; with all rates 0 it behaves as the wrapped transport.
// Tests: tests/conformance/connecting.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "link/fault/fault_lane.hpp"
#include "link/transport.hpp"

namespace couplet::link {

struct FaultDialOptions {
  double lose = 0;   // a dial ends with peer_lost and never reaches the peer
  double delay = 0;  // an outcome waits for some polls
  std::uint32_t max_delay_polls = 8;
  FaultOptions lane;
};

// Makes the wrapped transport, whose host is `host`.
using MakeTransport = std::function<std::unique_ptr<Transport>(TransportHost& host)>;

[[nodiscard]] std::unique_ptr<Transport> make_fault_transport(TransportHost& host, const MakeTransport& make,
                                                              const FaultDialOptions& options, std::uint64_t seed);

}  // namespace couplet::link
