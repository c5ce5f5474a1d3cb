// One connection between the hub and a member, from its socket on: connecting, the handshake, then frames of the family
// control. Used by hub/hub_server and member. Below: channel (handshake, order, check sums), and the lane that runtime
// makes from the socket. Invariants: poll never blocks; nothing is parsed before the other side has proven the secret;
// what is queued in either direction is bounded, and a queue that passes its bound ends the connection. Tests:
// tests/unit/universe/hub_server_test.cpp, tests/universe.
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

inline constexpr std::uint32_t control_payload_bytes = 2U << 20U;  // the largest payload of a frame
inline constexpr std::size_t most_queued_bytes = 256U << 20U;      // the most bytes that are queued for one peer
// The most messages that have arrived and are not yet taken. Nothing further is read while there are so many; what is
// queued is still sent.
inline constexpr std::size_t most_arrived_messages = 1024;
// The same bound in bytes; one message is always allowed.
inline constexpr std::size_t max_arrived_bytes = 4U << 20U;
// The size of the system's buffer in each direction. It is small, since many members may be stopped at the same time.
inline constexpr int control_socket_bytes = 256 << 10;

class ControlConnection final : private channel::FrameHandler {
 public:
  enum class State : std::uint8_t { connecting, handshake, open, ended };
  struct Arrived {
    std::uint8_t kind = control_message;
    std::string payload;
  };

  // Begins a connection. socket: from os::connect_tcp, towards target. make_lane outlives the connection.
  static std::unique_ptr<ControlConnection> initiate(os::Descriptor socket, const os::Endpoint& target,
                                                     const channel::Secret& secret, const channel::HandshakeSelf& self,
                                                     std::string name, const LaneMaker& make_lane);
  // Takes a connection that was accepted. socket: from os::accept_tcp.
  static std::unique_ptr<ControlConnection> accept(os::Descriptor socket, const channel::Secret& secret,
                                                   const channel::HandshakeSelf& self, std::string name,
                                                   const LaneMaker& make_lane);
  ~ControlConnection() override;
  ControlConnection(const ControlConnection&) = delete;
  ControlConnection& operator=(const ControlConnection&) = delete;

  [[nodiscard]] State state() const noexcept { return state_; }
  // Says why the connection has ended: code `end` if the other side has ended it in good order.
  [[nodiscard]] const Status& failure() const noexcept { return failure_; }
  // The process at the other end. REQUIRES: the connection is open.
  [[nodiscard]] const channel::HandshakePeer& peer() const noexcept { return handshake_.peer(); }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // The address of this end, once the socket is connected.
  [[nodiscard]] const os::Endpoint& local() const noexcept { return local_; }

  // The descriptor to watch; -1 if the connection has ended.
  [[nodiscard]] int descriptor() const noexcept;
  [[nodiscard]] bool wants_write() const noexcept;
  // Reads and writes what is possible without blocking, and returns the amount of work done.
  int poll();
  // Would poll do something? To be asked once more before sleeping.
  [[nodiscard]] bool ready() const noexcept;
  // The next message, in order.
  [[nodiscard]] std::optional<Arrived> take();
  // Queues a message. Does nothing if the connection has ended.
  void send(ControlKind kind, std::shared_ptr<const std::string> payload);
  [[nodiscard]] bool sending() const noexcept { return !queue_.empty(); }
  // The bytes that are queued here; those that the system has taken do not count.
  [[nodiscard]] std::size_t queued_bytes() const noexcept { return queued_bytes_; }
  // Has the peer's system not yet acknowledged something that was sent? A caller that asks has to poll() now and then,
  // since only a system call can distinguish a system that is gone from a peer that does not read. Costs one system
  // call.
  [[nodiscard]] bool unanswered() const noexcept;
  // Returns true if so much has arrived that nothing further is read until the owner takes something.
  [[nodiscard]] bool full() const noexcept {
    return arrived_.size() >= most_arrived_messages || arrived_bytes_ >= max_arrived_bytes;
  }
  // During the handshake: has the other end sent anything?
  [[nodiscard]] bool spoke() const noexcept { return handshake_.wanted() != first_wanted_; }
  // Nothing will be sent after this. The connection ends when everything that is queued has been sent.
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
  os::Descriptor socket_;  // empty once the lane owns it
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
  std::size_t first_wanted_;  // number of bytes that the handshake waited for before anything arrived
  std::unique_ptr<channel::Channel> channel_;
};

// Has something arrived that take() has not returned yet, be it the end of the connection? Costs one system call.
[[nodiscard]] bool has_unheard(const ControlConnection& connection) noexcept;
// Does the system know that nothing can be sent any longer? What has arrived can still be taken. Costs one system call.
[[nodiscard]] bool has_broken(const ControlConnection& connection) noexcept;

}  // namespace couplet::universe
