#include "link/sim/network.hpp"
#include "link_case.hpp"

namespace couplet::conformance {

struct SimConnection final : Connection {
  link::SimNetwork network{4711};
  SimConnection() { std::tie(first, second) = network.connect(0, 1); }
  void pause() override { network.advance_to_next(); }
};
std::unique_ptr<Connection> connect_sim() {
  return std::make_unique<SimConnection>();
}
COUPLET_LINK_CONFORMS(sim, connect_sim);

}  // namespace couplet::conformance
