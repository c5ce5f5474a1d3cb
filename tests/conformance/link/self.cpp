#include "link/self/self_lane.hpp"
#include "link_case.hpp"

namespace couplet::conformance {

std::unique_ptr<Connection> connect_self() {
  auto connection = std::make_unique<Connection>();
  connection->first = link::make_self_lane().value();
  return connection;
}
COUPLET_LINK_CONFORMS(self, connect_self);

}  // namespace couplet::conformance
