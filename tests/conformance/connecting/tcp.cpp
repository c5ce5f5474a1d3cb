#include <unistd.h>

#include "connecting_case.hpp"
#include "hub_of_place.hpp"
#include "runtime/tcp_transport.hpp"

namespace couplet::conformance {

struct TcpPlace final : Place {
  channel::Secret secret;
  HubOfPlace hub;
  std::unique_ptr<link::Transport> open(link::TransportHost& host, const link::Party& self) override {
    channel::HandshakeSelf speaker;
    speaker.id = self.id;
    speaker.incarnation = self.incarnation;
    speaker.run_id = 4711;
    speaker.credentials = hub.credentials_of(self);
    auto listener = link::TcpListener::open(os::resolve("127.0.0.1:0").value()).value();
    return runtime::TcpTransport::open(host, std::move(listener), secret, speaker).value();
  }
  bool show_ticket_of(const link::Party& party) override {
    hub.shown = party;
    return true;
  }
  void pause() override { ::usleep(200); }
};

COUPLET_TRANSPORT_CONFORMS(tcp, [] { return std::unique_ptr<Place>(std::make_unique<TcpPlace>()); });

}  // namespace couplet::conformance
