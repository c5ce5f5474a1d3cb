#include "runtime/transports.hpp"

#include <sodium.h>

#include <algorithm>
#include <utility>

#include "link/self/self_transport.hpp"
#include "link/tcp_contact.hpp"
#include "runtime/ucx_transport.hpp"

namespace couplet::runtime {
namespace {

channel::HandshakeSelf handshake_self(const universe::Membership& membership) {
  channel::HandshakeSelf self;
  self.id = membership.id();
  self.role = self.id >= channel::first_relay_peer ? wire::Role::relay : wire::Role::rank;
  self.incarnation = membership.peer(self.id).incarnation;
  self.run_id = membership.run_id();
  self.credentials = membership.security().credentials;
  self.features = channel::feature_cma | channel::features_of(membership.security().protection);
  if (crypto_aead_aes256gcm_is_available() != 0) {
    self.features |= channel::feature_aes256_gcm;
  }
  return self;
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
    COUPLET_TRY_VALUE(
        auto made,
        link::ShmTransport::open(host, membership.page(), membership.node_directory(),
                                 {membership.id(), own.incarnation, membership.page().memory_nonce()}, options.shm));
    return std::unique_ptr<link::Transport>(std::move(made));
  }
  if (name == "file") {
    COUPLET_TRY_VALUE(auto made, FileTransport::open(host, options.file_directory, membership.security().secret,
                                                     handshake_self(membership), options.file));
    return std::unique_ptr<link::Transport>(std::move(made));
  }
  COUPLET_TRY_VALUE(auto made, TcpTransport::open(host, std::move(listener), membership.security().secret,
                                                  handshake_self(membership), options.tcp));
  return std::unique_ptr<link::Transport>(std::move(made));
}

bool uses_ucx(const TransportOptions& options) {
  return std::any_of(options.links.begin(), options.links.end(),
                     [](const LinkChoice& link) { return link.name == "ucx" && link.in_use; });
}

// Makes the transport ucx, if it is in use.
Result<std::unique_ptr<UcxTransport>> make_ucx(link::TransportHost& host, universe::Membership& membership,
                                               const TransportOptions& options) {
  if (!uses_ucx(options)) {
    return std::unique_ptr<UcxTransport>();
  }
  const os::Endpoint own = link::tcp_listener(membership.peer(membership.id()).contacts);
  using Worker = std::shared_ptr<link::UcxWorker>;
  return UcxTransport::open(host, options.ucx_worker ? Result<Worker>(options.ucx_worker) : options.no_ucx,
                            membership.security().secret, handshake_self(membership), own);
}

}  // namespace

Result<link::ContactList> published_contacts(universe::Membership& self, const link::TcpListener* listener,
                                             const std::string& file_directory) {
  link::ContactList contacts;
  if (listener != nullptr) {
    contacts.add(link::tcp_transport_name, link::tcp_contact(listener->endpoint()));
  }
  contacts.add("shm", link::ShmTransport::contact_of(self.page().memory_nonce()));
  if (!file_directory.empty()) {
    contacts.add("file", FileTransport::contact_of({self.id(), self.peer(self.id()).incarnation}));
  }
  return contacts;
}

Status open_ucx(TransportOptions& options) {
  if (!uses_ucx(options)) {
    return {};
  }
  auto worker = link::UcxWorker::open(options.ucx);
  if (worker.ok()) {
    options.ucx_worker = std::move(*worker);
  } else if (worker.code() == Code::config) {
    return fail(Code::config, "setting 'ucx_tls' is '{}': {}", options.ucx.transports, worker.status().text());
  } else {
    options.no_ucx = worker.status();
  }
  return {};
}

Result<std::unique_ptr<connections::Connections>> open_connections(universe::Membership& membership,
                                                                   engine::Engine& engine,
                                                                   std::unique_ptr<link::TcpListener> listener,
                                                                   const TransportOptions& options,
                                                                   counters::Counters& counters) {
  connections::ConnectionsOptions how;
  how.walk = options.walk;
  how.lanes = options.lanes;
  how.policy = options.policy;
  auto made = std::make_unique<connections::Connections>(membership, engine, how, counters);
  COUPLET_TRY_VALUE(auto ucx, make_ucx(made->host(), membership, options));
  TransportOptions all = options;
  all.tcp.guests = ucx.get();
  for (const LinkChoice& link : options.links) {
    if (link.name == "ucx") {
      if (ucx) {
        made->add(std::move(ucx), true);
      }
      continue;
    }
    if (link.name == "shm" && !link.in_use) {
      membership.page().refuse_links(wire::page_refuses_rings);
    }
    if ((link.name == "tcp" && !listener) || (link.name == "file" && options.file_directory.empty())) {
      continue;
    }
    COUPLET_TRY_VALUE(auto transport, make_transport(link.name, membership, made->host(), listener, all));
    made->add(std::move(transport), link.in_use);
  }
  return made;
}

std::shared_ptr<link::UcxWorker> ucx_worker_of(const connections::Connections& connections) {
  for (std::size_t index = 0; index < connections.count(); ++index) {
    if (const auto* const ucx = dynamic_cast<const UcxTransport*>(&connections.at(index))) {
      return ucx->worker();
    }
  }
  return nullptr;
}

}  // namespace couplet::runtime
