// Joining: turns options (and the environment) into a membership. Blocks until everybody who is needed is there.
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
  std::string hub;  // "host:port"
  // The run that the hub has to serve; any_run: whichever it serves. A hub's address may be that of another universe by
  // now.
  std::uint64_t expected_run = channel::any_run;
  channel::Secret secret;
  channel::Protection protection = channel::Protection::none;  // at least this, whatever the hub says
  bool relay = false;                                          // identity then means nothing
  bool hub_is_up = false;  // it was there a moment ago: where nobody listens, nobody will
  std::uint16_t lowest_version = channel::lowest_protocol_version;
  std::uint16_t highest_version = channel::highest_protocol_version;
  Identity identity;
  double timeout_s = 60;      // < 0: for ever
  std::string run_directory;  // base of the node directories
  std::string node_name;      // COUPLET_NODE
  LaneMaker make_lane;        // for the connection to the hub
  // Opens the socket on which peers reach this process; local: the address that reaches the hub, port 0. Called once.
  std::function<Result<os::Endpoint>(const os::Endpoint& local)> listen;
  std::function<bool()> interrupted;             // Ctrl-C: join ends with interrupted
  std::function<void(const std::string&)> note;  // who is being waited for; the hub is lost
};

// What the environment says where the caller has said nothing: program "" is COUPLET_PROGRAM, rank and size -1 are the
// launcher's (else 0 of 1), hub "" is COUPLET_HUB (and COUPLET_RUN, if it is set, is the run that it has to serve),
// secret_file "" is COUPLET_SECRET_FILE or the user's own (made on first use), no timeout given is COUPLET_JOIN_TIMEOUT
// (else 60). config error that says what is missing.
struct JoinWishes {
  std::string program;
  std::int32_t rank = -1;
  std::int32_t size = -1;
  std::string hub;
  std::string secret_file;
  double timeout_s = -1;
  bool timeout_given = false;
  std::function<bool()> interrupted;
};
Result<JoinOptions> join_options(const JoinWishes& wishes);

// timeout: names the programs and ranks that are missing; not_found, exists, mismatch, argument: what the hub does not
// like about the identity; mismatch: the hub serves another run; authentication; version; hub_lost: nobody answers
// there, or no more; interrupted.
Result<std::unique_ptr<Membership>> join(JoinOptions options);

}  // namespace couplet::universe
