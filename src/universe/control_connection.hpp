// One connection between the hub and a member, from the socket on: connecting, handshake, then frames of family
// control. Used by hub/hub_server and member. Below: channel (handshake, order, check sums), and the lanes that runtime
// gives. Invariants: poll never blocks; nothing is parsed before the other side has proven the secret; what is queued
// in either direction is bounded, and passing the bound ends the connection. Tests:
// tests/unit/universe/test_hub_server.cpp, tests/universe.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "base/status.hpp"
#include "channel/channel.hpp"
#include "channel/handshake.hpp"
#include "os/socket.hpp"
#include "universe/control.hpp"
#include "universe/lane_maker.hpp"

namespace couplet::universe {

inline constexpr std::uint32_t control_payload_bytes = 2U << 20U;  // largest frame
inline constexpr std::size_t most_queued_bytes = 256U << 20U;      // to one peer
inline constexpr std::size_t most_arrived_messages = 1024;         // not yet taken; no more are read then
inline constexpr std::size_t max_arrived_bytes = 4U << 20U;        // likewise; at least one message
// Of the system's buffer in each direction: many members may be stopped at the same time.
inline constexpr int control_socket_bytes = 256 << 10;

class ControlConnection final : private channel::FrameHandler {
 public:
  enum class State : std::uint8_t { connecting, handshake, open, ended };
  struct Arrived {
    std::uint8_t kind = control_message;
    std::string payload;
  };

  // socket: from os::connect_tcp towards target. make_lane outlives the connection.
  static std::unique_ptr<ControlConnection> initiate(os::Descriptor socket, const os::Endpoint& target,
                                                     const channel::Secret& secret, const channel::HandshakeSelf& self,
                                                     std::string name, const LaneMaker& make_lane);
  // socket: from os::accept_tcp.
  static std::unique_ptr<ControlConnection> accept(os::Descriptor socket, const channel::Secret& secret,
                                                   const channel::HandshakeSelf& self, std::string name,
                                                   const LaneMaker& make_lane);
  ~ControlConnection() override;
  ControlConnection(const ControlConnection&) = delete;
  ControlConnection& operator=(const ControlConnection&) = delete;

  [[nodiscard]] State state() const noexcept { return state_; }
  // Why it ended: code `end` where the other side has shut it in good order.
  [[nodiscard]] const Status& failure() const noexcept { return failure_; }
  // While open: who it is.
  [[nodiscard]] const channel::HandshakePeer& peer() const noexcept { return handshake_.peer(); }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // Of this end, once connected.
  [[nodiscard]] const os::Endpoint& local() const noexcept { return local_; }

  // -1 when ended.
  [[nodiscard]] int descriptor() const noexcept;
  [[nodiscard]] bool wants_write() const noexcept;
  // Moves what can be moved; returns the work done.
  int poll();
  // The second look before sleeping.
  [[nodiscard]] bool ready() const noexcept;
  // The next message, in order.
  [[nodiscard]] std::optional<Arrived> take();
  // Queues a message; ignored when ended.
  void send(ControlKind kind, std::shared_ptr<const std::string> payload);
  [[nodiscard]] bool sending() const noexcept { return !queue_.empty(); }
  // What is queued here, without what the system has taken.
  [[nodiscard]] std::size_t queued_bytes() const noexcept { return queued_bytes_; }
  // Does the peer's system still owe an answer to something that was sent? Whoever asks has to poll() now and then,
  // since only a look can tell a system that is gone from a peer that does not read. One system call.
  [[nodiscard]] bool unanswered() const noexcept;
  // Nothing more is read before something has been taken.
  [[nodiscard]] bool full() const noexcept {
    return arrived_.size() >= most_arrived_messages || arrived_bytes_ >= max_arrived_bytes;
  }
  // While in the handshake: has the other end said anything?
  [[nodiscard]] bool spoke() const noexcept { return handshake_.wanted() != first_wanted_; }
  // No more will be sent; the connection ends when everything queued has gone.
  void shut() noexcept;
  void fail(const Status& why);

 private:
  struct Queued {
    channel::Outgoing outgoing;
    std::shared_ptr<const std::string> payload;
    ControlConnection* connection;
    std::list<Queued>::iterator place;
  };
  ControlConnection(os::Descriptor socket, const os::Endpoint& target, channel::Handshake handshake, std::string name,
                    const LaneMaker& make_lane, State state);

  int poll_connecting();
  int poll_handshake();
  void open_channel();
  static void sent(channel::Outgoing& outgoing, const Status& status);

  std::byte* place(channel::Channel& channel, const wire::FrameHeader& header) override;
  Status arrived(channel::Channel& channel, const wire::FrameHeader& header,
                 std::span<const std::byte> payload) override;
  void lost(channel::Channel& channel, const Status& why) override;

  State state_;
  os::Descriptor socket_;  // until the lane has it
  os::Endpoint target_;
  os::Endpoint local_;
  channel::Handshake handshake_;
  std::string name_;
  const LaneMaker& make_lane_;
  Status failure_;
  channel::Handlers handlers_{};
  std::list<Queued> queue_;
  std::size_t queued_bytes_ = 0;
  std::deque<Arrived> arrived_;
  std::size_t arrived_bytes_ = 0;
  std::size_t first_wanted_;  // by the handshake, before anything has come
  std::unique_ptr<channel::Channel> channel_;
};

}  // namespace couplet::universe
