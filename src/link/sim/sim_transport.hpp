// Opens lanes over a simulated network. Dialing and refusing depend on the network's virtual time and partitions as
// little as possible: they take one poll of each side, and a side that is dead, or partitioned off, does not answer.
// Invariants: one thread; the same calls lead to the same outcomes.
// Tests: tests/conformance/connecting, tests/sim.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>

#include "link/sim/network.hpp"
#include "link/transport.hpp"

namespace couplet::link {

class SimTransport;

// The processes that can dial each other. It outlives their transports.
class SimExchange {
 public:
  explicit SimExchange(SimNetwork& network) : network_(network) {}
  [[nodiscard]] SimNetwork& network() noexcept { return network_; }

 private:
  friend class SimTransport;
  SimNetwork& network_;
  std::map<std::uint32_t, SimTransport*> transports_;
};

class SimTransport final : public Transport {
 public:
  SimTransport(TransportHost& host, SimExchange& exchange, const Party& own);
  ~SimTransport() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "sim"; }
  [[nodiscard]] Contact contact() const override { return Contact(std::as_bytes(std::span(&own_.id, 1))); }
  [[nodiscard]] bool may_break() const noexcept override { return true; }
  [[nodiscard]] Result<std::unique_ptr<Lane>> dial(const Address& peer, Purpose purpose) override;
  void cancel(std::uint32_t peer) override { dials_.erase(peer); }
  int poll(std::uint64_t now_ns) override;
  [[nodiscard]] bool ready() const override { return !offers_.empty() || !outcomes_.empty(); }
  void tick(std::uint64_t now_ns) override { poll(now_ns); }

 private:
  struct Dial {
    Party peer;
    Purpose purpose = Purpose::first;
    std::uint64_t number = 0;
  };
  // A dial, as the dialed side has it.
  struct Incoming {
    Offer offer;
    Party target;
    std::uint64_t number = 0;
  };
  struct Outcome {
    std::uint32_t peer = 0;
    std::uint64_t number = 0;
    std::unique_ptr<Lane> lane;
    Status why;
  };
  // Returns false if the host does not know the peer yet.
  bool answer(const Incoming& incoming);
  void tell(Outcome outcome);

  TransportHost& host_;
  SimExchange& exchange_;
  Party own_;
  std::uint64_t next_number_ = 1;
  std::map<std::uint32_t, Dial> dials_;
  std::deque<Incoming> offers_;
  std::deque<Outcome> outcomes_;
};

}  // namespace couplet::link
