// The hub on sockets. Turns bytes of connections into calls of HubState, and the outputs of HubState into bytes. One
// thread does all of this; it sleeps in one place and never blocks on a client. Events are written into a file by
// another one (event_writer). Above: runtime/main_hub. Below: hub_state, control_connection, os. Invariants:
// connections that have not proven the secret are bounded, and an honest one always finds a place (channel/unproven); a
// client that reads nothing costs a bounded amount of memory, and stays a member for as long as its system answers; the
// hub is a process of its node, and keeps the node directory in existence. Tests:
// tests/unit/universe/hub_server_test.cpp, tests/universe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/retry.hpp"
#include "base/status.hpp"
#include "channel/identity.hpp"
#include "channel/secret.hpp"
#include "channel/unproven.hpp"
#include "os/doorbell.hpp"
#include "os/socket.hpp"
#include "universe/control_connection.hpp"
#include "universe/hub/event_writer.hpp"
#include "universe/hub/hub_home.hpp"
#include "universe/hub/hub_state.hpp"
#include "universe/hub/roster.hpp"

namespace couplet::universe {

// The time that a connection has to prove the secret, as long as its place is not needed.
inline constexpr std::uint64_t max_unproven_ns = 60'000'000'000;
inline constexpr std::size_t max_unproven = 4096;
// If more bytes than this wait for a client, it is told no further changes. When it reads again, it is told the whole
// state.
inline constexpr std::size_t default_max_behind_bytes = 1U << 20U;

struct HubServerOptions {
  // run_id says which hub is to be replaced if hub.restarted; otherwise the hub chooses it with its key.
  HubSettings hub;
  std::string listen = "127.0.0.1:0";
  channel::Secret secret;
  // The file with the key of this hub; "": it is in the node directory. A hub that is started again reads it.
  std::string key_file;
  channel::SharedCredentials credentials;  // set by HubServer::open()
  LaneMaker make_lane;
  channel::Protection protection = channel::Protection::none;
  std::string run_directory;
  std::string node_name;  // COUPLET_NODE
  std::size_t max_behind_bytes = default_max_behind_bytes;
  std::string events;                            // the file that events are appended to; "": none
  std::function<void(const std::string&)> note;  // receives texts for the user of the hub
};

class HubServer {
 public:
  static Result<std::unique_ptr<HubServer>> open(HubServerOptions options);
  ~HubServer();
  HubServer(const HubServer&) = delete;
  HubServer& operator=(const HubServer&) = delete;

  // The address at which the hub listens.
  [[nodiscard]] const os::Endpoint& endpoint() const noexcept { return endpoint_; }
  [[nodiscard]] std::uint64_t run_id() const noexcept { return run_id_; }
  // Returns how many times a client read so little that changes were left out. Any thread may call this.
  [[nodiscard]] std::uint64_t times_behind() const noexcept { return times_behind_.load(std::memory_order_relaxed); }
  // Works until the universe has ended, or until stop_descriptor (-1: none) can be read. In that case it tells the
  // members, and ends.
  Status run(int stop_descriptor);
  // From now on, `descriptor` (a pipe or socket) shows whether the process that started the hub is there. After the
  // other end was closed, the hub ends as soon as no process is connected.
  Status end_with(int descriptor);
  // Works for one round, and sleeps at most timeout_ns in it. Returns false if the universe has ended and everything
  // was sent.
  bool turn(std::uint64_t timeout_ns);
  void stop(const std::string& why);

 private:
  // What the doorbell watches of a client's connection.
  struct Watch {
    int descriptor = -1;
    bool reading = false;
    bool writing = false;
    bool operator==(const Watch&) const = default;
  };
  struct Client {
    std::unique_ptr<ControlConnection> connection;
    Watch watch;
    bool proven = false;
    bool shut = false;
    bool behind = false;            // it reads too little: see HubState::fell_behind
    std::uint64_t deadline_ns = 0;  // after shut(): the time by which the client has to read what is left
  };

  HubServer(HubServerOptions options, os::Descriptor listener, const os::Endpoint& endpoint);
  void accept_callers(std::uint64_t now_ns);
  void accept_caller(os::Descriptor socket, std::uint64_t now_ns);
  void out_of_descriptors(const Status& why, std::uint64_t now_ns);
  void serve(ConnectionId id, std::uint64_t now_ns);
  void hear(ConnectionId id, Client& client, std::uint64_t now_ns);
  // Ends a connection. may_return: the way in which it ended proves nothing about the process at its other end.
  void drop(ConnectionId id, const std::string& why, std::uint64_t now_ns, bool may_return = false);
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
  std::unique_ptr<HubHome> home_;
  os::Descriptor listener_;
  os::Endpoint endpoint_;
  bool listening_ = false;
  bool orphaned_ = false;
  bool noted_no_descriptor_ = false;
  std::uint64_t deaf_until_ns_ = 0;  // until then no caller is accepted, since no descriptor was left
  std::unique_ptr<HubState> state_;
  os::SleepFlag flag_;
  std::unique_ptr<os::Doorbell> doorbell_;
  EventWriter events_;
  Roster roster_;
  struct Schedule {
    RunningClock clock;  // all times of this object and of the state are its times
    std::uint64_t next_tick_ns = 0;
    std::uint64_t next_lock_look_ns = 0;
    std::uint64_t stop_due_ns = 0;           // 0: it was not told to end
    std::uint64_t next_silence_look_ns = 0;  // when to check `unanswered_` again
    std::uint64_t over_since_ns = 0;
  };
  Schedule schedule_;
  ConnectionId next_id_ = 1;
  channel::Unproven unproven_;
  std::map<ConnectionId, Client> clients_;
  std::map<int, ConnectionId> by_descriptor_;
  std::set<ConnectionId> busy_;        // must be polled again, although no descriptor says so
  std::set<ConnectionId> shut_;        // are to be closed when everything was sent
  std::set<ConnectionId> unanswered_;  // something was sent that their system may not have acknowledged
  ListenerCalls listener_calls_;
  std::atomic<std::uint64_t> times_behind_{0};
};

}  // namespace couplet::universe
