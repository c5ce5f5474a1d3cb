// The server of a node's series as a source of the engine: in couplet-relay, or in a writer that sends inside its own
// calls.
#pragma once

#include <memory>
#include <string>

#include "base/retry.hpp"
#include "counters/counters.hpp"
#include "engine/engine.hpp"
#include "relay/relay.hpp"
#include "universe/membership.hpp"

namespace couplet::runtime {

// Returns ok while that incarnation of a process may still run, else peer_lost with its name.
Status process_alive(universe::Membership& membership, channel::PeerId peer, std::uint16_t incarnation);

class NodeRelay final : private relay::ServerHost, private engine::Source {
 public:
  // All arguments outlive this object. Channels end before it.
  static Result<std::unique_ptr<NodeRelay>> open(universe::Membership& membership, engine::Engine& engine,
                                                 counters::Counters& counters, const relay::ServerOptions& options);
  ~NodeRelay() override;

  [[nodiscard]] relay::Server& server() noexcept { return *server_; }

 private:
  NodeRelay(universe::Membership& membership, engine::Engine& engine, counters::Counters& counters)
      : membership_(membership), engine_(engine), counters_(counters) {}

  [[nodiscard]] const std::string& node_directory() const override { return membership_.node_directory(); }
  [[nodiscard]] std::string peer_name(channel::PeerId peer) const override { return membership_.peer_name(peer); }
  Status alive(channel::PeerId peer, std::uint16_t incarnation) override {
    return process_alive(membership_, peer, incarnation);
  }
  [[nodiscard]] bool hub_is_away() const override;
  int poll(std::uint64_t now_ns, int budget) override;
  [[nodiscard]] bool ready() const override { return server_->ready(); }
  void tick(std::uint64_t now_ns) override;

  universe::Membership& membership_;
  engine::Engine& engine_;
  counters::Counters& counters_;
  LookedTime hub_missed_;
  std::unique_ptr<relay::Server> server_;
};

}  // namespace couplet::runtime
