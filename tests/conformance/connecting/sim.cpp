#include "connecting_case.hpp"
#include "link/sim/sim_transport.hpp"

namespace couplet::conformance {

struct SimPlace final : Place {
  link::SimNetwork network{4711};
  link::SimExchange exchange{network};
  std::unique_ptr<link::Transport> open(link::TransportHost& host, const link::Party& self) override {
    return std::make_unique<link::SimTransport>(host, exchange, self);
  }
  void pause() override { network.advance_to_next(); }
};

COUPLET_TRANSPORT_CONFORMS(sim, [] { return std::unique_ptr<Place>(std::make_unique<SimPlace>()); });

}  // namespace couplet::conformance
