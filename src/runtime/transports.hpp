// The transports of this build, in one list: how each is made, and the contact that it publishes. A new transport is
// added here.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "connections/connections.hpp"
#include "link/shm/shm_transport.hpp"
#include "link/ucx/ucx_worker.hpp"
#include "runtime/file_transport.hpp"
#include "runtime/tcp_transport.hpp"
#include "universe/membership.hpp"

namespace couplet::runtime {

// One link of the setting `links`. A list of them is in the order in which the links are tried. Links that the setting
// does not name are made, too, so that a peer that dials over one of them is told that it is switched off.
struct LinkChoice {
  std::string_view name;
  bool in_use = true;
};

struct TransportOptions {
  std::vector<LinkChoice> links = {{"self"}, {"shm"}, {"tcp"}, {"file"}};
  link::ShmOptions shm;
  TcpTransportOptions tcp;
  std::string file_directory;  // the directory of the transport file; empty: it is not made
  FileTransportOptions file;
  link::UcxOptions ucx;
  // The worker, if open_ucx() has opened it; or why there is none although the link ucx is in use.
  std::shared_ptr<link::UcxWorker> ucx_worker;
  Status no_ucx;
  connections::WalkOptions walk;
  connections::LanePlan lanes;
  channel::LanePolicy policy;  // which of the lanes takes a frame
};

// Returns the contacts that a process publishes: one for each transport by which others dial it. `listener` is where it
// is dialed by tcp, or nullptr; file_directory is "" if there is no link `file`.
[[nodiscard]] Result<link::ContactList> published_contacts(universe::Membership& self,
                                                           const link::TcpListener* listener,
                                                           const std::string& file_directory);

// Opens the worker of UCX if `links` names ucx. Returns config if it cannot be opened with the transports that the user
// has named; what else is missing is said by the connections that cannot be made.
Status open_ucx(TransportOptions& options);

// Returns the connections over all transports. `listener` is where this process is dialed by tcp; nullptr: it cannot be
// dialed.
Result<std::unique_ptr<connections::Connections>> open_connections(universe::Membership& membership,
                                                                   engine::Engine& engine,
                                                                   std::unique_ptr<link::TcpListener> listener,
                                                                   const TransportOptions& options,
                                                                   counters::Counters& counters);

// Returns the UCX worker; nullptr if the link ucx is not in use, or UCX is not available.
[[nodiscard]] std::shared_ptr<link::UcxWorker> ucx_worker_of(const connections::Connections& connections);

}  // namespace couplet::runtime
