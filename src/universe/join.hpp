// Joining: turns options (and the environment) into a membership. Blocks until all required processes are present.
// Tests: tests/universe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "channel/handshake.hpp"
#include "channel/secret.hpp"
#include "os/socket.hpp"
#include "universe/lane_maker.hpp"
#include "universe/membership.hpp"

namespace couplet::universe {

struct JoinOptions {
  std::string hub;  // "host:port", or any text if there is `dial`
  // The run that the hub has to serve, or any_run. It matters because the hub's address may belong to another universe
  // by now.
  std::uint64_t expected_run = channel::any_run;
  channel::Secret secret;
  channel::SharedCredentials credentials;                      // nullptr: joining makes a key
  channel::Protection protection = channel::Protection::none;  // the least protection, even if the hub demands none
  bool relay = false;                                          // if true, identity has no meaning
  // A process has just reached the hub. So if its port refuses connections, the hub has ended, and there is no need to
  // try again.
  bool hub_is_up = false;
  std::uint16_t lowest_version = channel::lowest_protocol_version;
  std::uint16_t highest_version = channel::highest_protocol_version;
  Identity identity;
  double timeout_s = 60;      // < 0: no limit
  std::string run_directory;  // the base of the node directories
  std::string node_name;      // COUPLET_NODE
  // Makes a connected socket to the hub. Empty: `hub` is "host:port", and is connected to over tcp.
  std::function<Result<os::Descriptor>()> dial;
  LaneMaker make_lane;  // makes the lane of the connection to the hub
  // Opens the socket at which peers reach this process, on the local address that reaches the hub, and any port, and
  // returns the contacts of this process. Called once, when `self` knows its place, settings and page. Empty: no
  // process dials this one.
  std::function<Result<link::ContactList>(Membership& self, const os::Endpoint& local)> contacts;
  std::function<bool()> interrupted;  // asks whether to stop (Ctrl-C); join then returns interrupted
  // Receives texts: which processes join waits for, or that the hub is lost.
  std::function<void(const std::string&)> note;
};

// What the caller gives; join_options() completes it. The program "" means COUPLET_PROGRAM. The rank and size -1 mean
// those of the launcher, or 0 of 1 without a launcher. The hub "" means COUPLET_HUB, which has to serve the run
// COUPLET_RUN if that is set. The secret_file "" means COUPLET_SECRET_FILE, or the user's own secret, which is made on
// first use. Without a timeout, COUPLET_JOIN_TIMEOUT counts, or 60 s.
struct JoinRequest {
  std::string program;
  std::int32_t rank = -1;
  std::int32_t size = -1;
  std::string hub;
  std::string secret_file;
  double timeout_s = -1;
  bool timeout_given = false;
  std::function<bool()> interrupted;
};
Result<JoinOptions> join_options(const JoinRequest& request);

// Joins the universe. Errors: timeout (the text names the programs and ranks that are missing); not_found, exists,
// mismatch or argument, if the hub rejects the identity; mismatch, if the hub serves another run; authentication;
// version; hub_lost, if no hub answers at the address, or the hub ends meanwhile; interrupted.
Result<std::unique_ptr<Membership>> join(JoinOptions options);

}  // namespace couplet::universe
