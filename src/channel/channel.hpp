// channel: turns frames for one peer into an ordered flow over one or more lanes; the only place that queues.
// Above: message, universe (control), relay; each takes the frames of its family. Below: link, wire.
// Invariants: frames of a channel arrive once, in order, undamaged, or the channel fails with a sentence that names the
// peer; a failed channel tells every handler once; what is queued belongs to the caller (Outgoing), so that nothing is
// copied or allocated here.
// Tests: tests/unit/channel, tests/conformance, tests/sim.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "link/link.hpp"
#include "wire/frame.hpp"

namespace couplet::channel {

// Universe rank, or one of the services: the hub, the relay of a node.
using PeerId = std::uint32_t;
inline constexpr PeerId hub_peer = 0xFFFFFFFF;
inline constexpr PeerId first_relay_peer = 0x80000000;  // + node index

class Channel;

// Who takes the frames of one family.
class FrameHandler {
 public:
  virtual ~FrameHandler() = default;
  // As FrameReceiver::place; the header is verified.
  [[nodiscard]] virtual std::byte* place(Channel& channel, const wire::FrameHeader& header) = 0;
  // A frame in order. An error (protocol, limit) fails the channel.
  virtual Status arrived(Channel& channel, const wire::FrameHeader& header, std::span<const std::byte> payload) = 0;
  // The channel has failed (or ended: code end); called once.
  virtual void lost(Channel& channel, const Status& why) = 0;
};
using Handlers = std::array<FrameHandler*, wire::frame_families>;

// A frame on its way that did not go at once. The caller keeps it and its payload alive until finished() was called.
struct Outgoing {
  wire::FrameHeader header;
  std::span<const std::byte> payload;
  std::uint64_t taken = 0;
  Outgoing* next = nullptr;
  void (*finished)(Outgoing& outgoing, const Status& status) = nullptr;  // all bytes taken, or the channel failed
  void* owner = nullptr;
};

enum class ChannelState : std::uint8_t { opening, open, failed };

class Channel final : private link::FrameReceiver {
 public:
  // peer_name is for sentences: "program 'nowcast' rank 0 on host a". Handlers outlive the channel.
  Channel(PeerId peer, std::string peer_name, const Handlers& handlers);
  ~Channel() override;

  [[nodiscard]] PeerId peer() const noexcept { return peer_; }
  [[nodiscard]] const std::string& peer_name() const noexcept { return peer_name_; }
  [[nodiscard]] ChannelState state() const noexcept { return state_; }
  [[nodiscard]] const Status& failure() const noexcept { return failure_; }
  // Of the first lane; a neutral answer while opening.
  [[nodiscard]] const link::LaneTraits& traits() const noexcept;

  // Gives the channel a lane (the first one opens it). Owned from here on.
  void attach(std::unique_ptr<link::Lane> lane);

  // Fast path: hands the frame to a lane at once and whole; false: it cannot go now and nothing was taken. Sets sequence
  // and check of the header.
  [[nodiscard]] bool try_send(wire::FrameHeader& header, std::span<const std::byte> payload);
  // Sends now or when there is room; finished() may be called before this returns.
  void send(Outgoing& outgoing);
  // Moves queued frames out and arrived frames up, at most `budget` of the latter; returns the work done.
  int poll(int budget);
  // Second look before sleeping.
  [[nodiscard]] bool ready() const noexcept;
  [[nodiscard]] bool sending() const noexcept { return first_outgoing_ != nullptr; }
  // Fails the channel from above (peer known to be dead, protocol error found by a handler).
  void fail(const Status& why);
  // Good order: no more frames from here; the peer's handlers get `end`.
  void shut() noexcept;
  [[nodiscard]] const std::vector<std::unique_ptr<link::Lane>>& lanes() const noexcept { return lanes_; }

 private:
  std::byte* place(const wire::FrameHeader& header) override;
  bool arrived(const wire::FrameHeader& header, std::span<const std::byte> payload) override;

  PeerId peer_;
  ChannelState state_ = ChannelState::opening;
  std::uint32_t next_send_ = 0;
  std::uint32_t next_receive_ = 0;
  Outgoing* first_outgoing_ = nullptr;
  Outgoing* last_outgoing_ = nullptr;
  const Handlers& handlers_;
  std::vector<std::unique_ptr<link::Lane>> lanes_;
  std::string peer_name_;
  Status failure_;
};

}  // namespace couplet::channel
