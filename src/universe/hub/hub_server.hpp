// The hub on sockets: turns connections into what HubState hears, and what it says into bytes. One thread, one place to
// sleep; never blocks on a client.
// Above: runtime/main_hub. Below: hub_state, control_connection, os.
// Invariants: at most most_unproven connections that have not proven the secret, each for at most unproven_ns; a client that
// takes nothing is dropped when its queue is full; the hub is a process of its node and keeps the node directory.
// Tests: tests/unit/universe/test_hub_server.cpp, tests/universe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "channel/secret.hpp"
#include "os/doorbell.hpp"
#include "os/socket.hpp"
#include "universe/control_connection.hpp"
#include "universe/hub/hub_state.hpp"
#include "universe/node_directory.hpp"

namespace couplet::universe {

inline constexpr std::size_t most_unproven = 64;
inline constexpr std::uint64_t unproven_ns = 5'000'000'000;

struct HubServerOptions {
  HubSettings hub;  // run_id 0: a random one
  std::string listen = "127.0.0.1:0";
  channel::Secret secret;
  LaneMaker make_lane;
  bool encrypt = false;
  std::string run_directory;
  std::string node_name;                         // COUPLET_NODE
  std::string events;                            // file that events are appended to; "": none
  std::function<void(const std::string&)> note;  // what whoever runs the hub should know
};

class HubServer {
 public:
  static Result<std::unique_ptr<HubServer>> open(HubServerOptions options);
  ~HubServer();
  HubServer(const HubServer&) = delete;
  HubServer& operator=(const HubServer&) = delete;

  // Where it listens.
  [[nodiscard]] const os::Endpoint& endpoint() const noexcept { return endpoint_; }
  [[nodiscard]] std::uint64_t run_id() const noexcept { return run_id_; }
  // Works until the universe is over, or until stop_descriptor (-1: none) is readable: then tells the members and ends.
  Status run(int stop_descriptor);
  // From now on `descriptor`, a pipe or socket, says whether somebody still wants the universe: after its other end has been
  // closed the hub ends as soon as nobody is connected.
  Status end_with(int descriptor);
  // One round: sleeps at most timeout_ns. False: over, and everything is said.
  bool turn(std::uint64_t timeout_ns);
  void stop(const std::string& why);

 private:
  struct Client {
    std::unique_ptr<ControlConnection> connection;
    int descriptor = -1;
    bool watched_write = false;
    bool proven = false;
    bool shut = false;
    std::uint64_t deadline_ns = 0;  // to prove itself, or, when shut, to take what is left
  };

  HubServer(HubServerOptions options, os::Descriptor listener, const os::Endpoint& endpoint);
  Status open_events();
  void accept_all(std::uint64_t now_ns);
  void serve(ConnectionId id, std::uint64_t now_ns);
  void hear(ConnectionId id, Client& client, std::uint64_t now_ns);
  void drop(ConnectionId id, const std::string& why, std::uint64_t now_ns);
  void speak(std::uint64_t now_ns);
  void write_events();
  void watch(ConnectionId id, Client& client);
  void look_at_time(std::uint64_t now_ns);
  void listen(bool wanted);

  HubServerOptions options_;
  std::uint64_t run_id_ = 0;
  os::Descriptor listener_;
  os::Endpoint endpoint_;
  bool listening_ = false;
  bool orphaned_ = false;
  std::uint64_t deaf_until_ns_ = 0;  // no descriptor was left for a caller
  std::unique_ptr<HubState> state_;
  std::unique_ptr<NodeDirectory> directory_;
  os::SleepFlag flag_;
  std::unique_ptr<os::Doorbell> doorbell_;
  os::Descriptor events_;
  ConnectionId next_id_ = 1;
  std::size_t unproven_ = 0;
  std::map<ConnectionId, Client> clients_;
  std::map<int, ConnectionId> by_descriptor_;
  std::set<ConnectionId> busy_;  // have more to be looked at without their descriptor saying so
  std::uint64_t over_since_ns_ = 0;
};

}  // namespace couplet::universe
