#include "connecting_case.hpp"
#include "link/self/self_transport.hpp"

namespace couplet::conformance {

struct SelfPlace final : Place {
  std::unique_ptr<link::Transport> open(link::TransportHost& /*host*/, const link::Party& self) override {
    return std::make_unique<link::SelfTransport>(self);
  }
  [[nodiscard]] bool alone() const override { return true; }
};

COUPLET_TRANSPORT_CONFORMS(self, [] { return std::unique_ptr<Place>(std::make_unique<SelfPlace>()); });

}  // namespace couplet::conformance
