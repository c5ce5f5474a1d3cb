#include "runtime/transports.hpp"

#include <sodium.h>

#include <utility>

#include "link/self/self_transport.hpp"

namespace couplet::runtime {
namespace {

channel::HandshakeSelf handshake_self(const universe::Membership& membership) {
  channel::HandshakeSelf self;
  self.id = membership.id();
  self.role = self.id >= channel::first_relay_peer ? wire::Role::relay : wire::Role::rank;
  self.incarnation = membership.peer(self.id).incarnation;
  self.run_id = membership.run_id();
  self.features = channel::feature_cma | channel::features_of(membership.protection());
  if (crypto_aead_aes256gcm_is_available() != 0) {
    self.features |= channel::feature_aes256_gcm;
  }
  return self;
}

link::Contact contact_of(const universe::Membership& membership, std::string_view transport, channel::PeerId id,
                         const universe::PeerInfo& peer) {
  if (transport == "self") {
    return id == membership.id() ? link::SelfTransport::contact_of(id) : link::Contact();
  }
  if (transport == "shm" && peer.node == membership.node()) {
    return link::ShmTransport::contact_of(peer.memory_nonce);
  }
  if (transport == "file") {
    return FileTransport::contact_of({id, peer.incarnation});
  }
  if (transport == "tcp") {
    os::Endpoint endpoint;
    endpoint.address = peer.address;
    endpoint.port = peer.port;
    return TcpTransport::contact_of(endpoint);
  }
  return {};
}

Result<std::unique_ptr<link::Transport>> make_transport(std::string_view name, universe::Membership& membership,
                                                        link::TransportHost& host,
                                                        std::unique_ptr<link::TcpListener>& listener,
                                                        const TransportOptions& options) {
  const auto& own = membership.peer(membership.id());
  if (name == "self") {
    return std::unique_ptr<link::Transport>(
        std::make_unique<link::SelfTransport>(link::Party{membership.id(), own.incarnation}));
  }
  if (name == "shm") {
    COUPLET_TRY_VALUE(auto made,
                      link::ShmTransport::open(host, membership.page(), membership.node_directory(),
                                               {membership.id(), own.incarnation, own.memory_nonce}, options.shm));
    return std::unique_ptr<link::Transport>(std::move(made));
  }
  if (name == "file") {
    COUPLET_TRY_VALUE(auto made, FileTransport::open(host, options.file_directory, membership.secret(),
                                                     handshake_self(membership), options.file));
    return std::unique_ptr<link::Transport>(std::move(made));
  }
  COUPLET_TRY_VALUE(auto made, TcpTransport::open(host, std::move(listener), membership.secret(),
                                                  handshake_self(membership), options.tcp));
  return std::unique_ptr<link::Transport>(std::move(made));
}

}  // namespace

Result<std::unique_ptr<connections::Connections>> open_connections(universe::Membership& membership,
                                                                   engine::Engine& engine,
                                                                   std::unique_ptr<link::TcpListener> listener,
                                                                   const TransportOptions& options,
                                                                   counters::Counters& counters) {
  connections::ConnectionsOptions how;
  how.walk = options.walk;
  how.lanes = options.lanes;
  how.policy = options.policy;
  how.contact_of = [&membership](std::string_view transport, channel::PeerId id, const universe::PeerInfo& peer) {
    return contact_of(membership, transport, id, peer);
  };
  auto made = std::make_unique<connections::Connections>(membership, engine, how, counters);
  for (const LinkWish& wish : options.links) {
    if (wish.name == "shm" && !wish.in_use) {
      membership.page().refuse_links(wire::page_refuses_rings);
    }
    if ((wish.name == "tcp" && !listener) || (wish.name == "file" && options.file_directory.empty())) {
      continue;
    }
    COUPLET_TRY_VALUE(auto transport, make_transport(wish.name, membership, made->host(), listener, options));
    made->add(std::move(transport), wish.in_use);
  }
  return made;
}

}  // namespace couplet::runtime
