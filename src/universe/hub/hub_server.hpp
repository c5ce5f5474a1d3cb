// The hub on sockets: turns connections into what HubState hears, and what it says into bytes. One thread, one place to
// sleep; never blocks on a client. Above: runtime/main_hub. Below: hub_state, control_connection, os. Invariants:
// connections that have not proven the secret are bounded, and an honest one always finds a place (channel/unproven); a
// client that reads nothing costs a bounded amount and stays, for as long as its system answers; the hub is a process
// of its node and keeps the node directory. Tests: tests/unit/universe/test_hub_server.cpp, tests/universe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "channel/secret.hpp"
#include "channel/unproven.hpp"
#include "os/doorbell.hpp"
#include "os/socket.hpp"
#include "universe/control_connection.hpp"
#include "universe/hub/event_writer.hpp"
#include "universe/hub/hub_state.hpp"
#include "universe/node_directory.hpp"

namespace couplet::universe {

// How long a connection may take to prove the secret, as long as nobody needs its place.
inline constexpr std::uint64_t max_unproven_ns = 60'000'000'000;
inline constexpr std::size_t max_unproven = 4096;
// A client for which more waits is told no more changes; it gets the state anew when it reads again.
inline constexpr std::size_t default_max_behind_bytes = 1U << 20U;

struct HubServerOptions {
  HubSettings hub;  // run_id 0: a random one
  std::string listen = "127.0.0.1:0";
  channel::Secret secret;
  LaneMaker make_lane;
  channel::Protection protection = channel::Protection::none;
  std::string run_directory;
  std::string node_name;  // COUPLET_NODE
  std::size_t max_behind_bytes = default_max_behind_bytes;
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
  // How often a client read so little that changes were kept from it. Any thread may ask.
  [[nodiscard]] std::uint64_t times_behind() const noexcept { return times_behind_.load(std::memory_order_relaxed); }
  // Works until the universe is over, or until stop_descriptor (-1: none) is readable: then tells the members and ends.
  Status run(int stop_descriptor);
  // From now on `descriptor`, a pipe or socket, says whether somebody still wants the universe: after its other end has
  // been closed the hub ends as soon as nobody is connected.
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
    bool behind = false;            // reads too little: see HubState::fell_behind
    std::uint64_t deadline_ns = 0;  // when shut: to take what is left
  };

  HubServer(HubServerOptions options, os::Descriptor listener, const os::Endpoint& endpoint);
  void accept_callers(std::uint64_t now_ns);
  void accept_caller(os::Descriptor socket, std::uint64_t now_ns);
  void out_of_descriptors(const Status& why, std::uint64_t now_ns);
  void serve(ConnectionId id, std::uint64_t now_ns);
  void hear(ConnectionId id, Client& client, std::uint64_t now_ns);
  // reset: which says nothing about the process at its other end.
  void drop(ConnectionId id, const std::string& why, std::uint64_t now_ns, bool reset = false);
  void drop_late(std::uint64_t now_ns);
  void look_for_silence(std::uint64_t now_ns);
  [[nodiscard]] bool held_back(const Client& client) const noexcept;
  void speak(std::uint64_t now_ns);
  void write_events();
  void watch(ConnectionId id, Client& client);
  void look_at_time(std::uint64_t now_ns);
  void look_at_locks(std::uint64_t now_ns);
  void call_cut_off(std::uint64_t now_ns);
  void listen(bool wanted);

  HubServerOptions options_;
  std::uint64_t run_id_ = 0;
  os::Descriptor listener_;
  os::Endpoint endpoint_;
  bool listening_ = false;
  bool orphaned_ = false;
  bool noted_no_descriptor_ = false;
  std::uint64_t deaf_until_ns_ = 0;  // no descriptor was left for a caller
  std::unique_ptr<HubState> state_;
  std::unique_ptr<NodeDirectory> directory_;
  os::SleepFlag flag_;
  std::unique_ptr<os::Doorbell> doorbell_;
  EventWriter events_;
  std::uint64_t next_tick_ns_ = 0;
  std::uint64_t next_lock_look_ns_ = 0;
  ConnectionId next_id_ = 1;
  channel::Unproven unproven_;
  std::map<ConnectionId, Client> clients_;
  std::map<int, ConnectionId> by_descriptor_;
  std::set<ConnectionId> busy_;        // have more to be looked at without their descriptor saying so
  std::set<ConnectionId> shut_;        // have been told to go
  std::set<ConnectionId> unanswered_;  // were sent something that their system may not have acknowledged
  std::uint64_t next_look_ns_ = 0;     // at these
  ListenerCalls listener_calls_;
  std::atomic<std::uint64_t> times_behind_{0};
  std::uint64_t over_since_ns_ = 0;
};

}  // namespace couplet::universe
