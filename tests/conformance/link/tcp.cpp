#include "link/tcp/tcp_lane.hpp"
#include "link_case.hpp"
#include "support/child.hpp"

namespace couplet::conformance {

namespace {

std::unique_ptr<Connection> connect(const std::optional<link::SessionKeys>& keys) {
  auto connection = std::make_unique<Connection>();
  auto listener = link::TcpListener::open(os::resolve("127.0.0.1:0").value()).value();
  auto connector = link::TcpConnector::open(listener->endpoint()).value();
  os::Descriptor ends[2];
  const auto try_for = [](os::Descriptor& end, Result<os::Descriptor> socket) {
    if (socket.ok()) {
      end = std::move(*socket);
    }
    return static_cast<bool>(end);
  };
  EXPECT_TRUE(test::eventually([&] { return try_for(ends[0], connector->poll()); }));
  EXPECT_TRUE(test::eventually([&] { return try_for(ends[1], listener->accept()); }));
  auto reversed = keys;
  if (reversed) {
    std::swap(reversed->send, reversed->receive);
  }
  connection->first = link::make_tcp_lane(std::move(ends[0]), {}, keys).value();
  connection->second = link::make_tcp_lane(std::move(ends[1]), {}, reversed).value();
  return connection;
}

std::unique_ptr<Connection> connect_sealed(wire::Cipher cipher) {
  link::SessionKeys keys{.cipher = cipher};
  keys.send.fill(1);
  keys.receive.fill(2);
  return connect(keys);
}

std::unique_ptr<Connection> connect_encrypted() {
  return connect_sealed(wire::Cipher::chacha20_poly1305);
}

std::unique_ptr<Connection> connect_authenticated() {
  const bool available = wire::cipher_available(wire::Cipher::aes256_gmac);
  return connect_sealed(available ? wire::Cipher::aes256_gmac : wire::Cipher::chacha20_poly1305);
}

}  // namespace

std::unique_ptr<Connection> connect_tcp() {
  return connect({});
}

COUPLET_LINK_CONFORMS(tcp, connect_tcp);
COUPLET_LINK_CONFORMS(tcp_encrypted, connect_encrypted);
COUPLET_LINK_CONFORMS(tcp_authenticated, connect_authenticated);

}  // namespace couplet::conformance
