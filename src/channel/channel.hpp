// channel: turns frames for one peer into an ordered flow over one or more lanes; the only place that queues.
// Above: message, universe (control), relay; each takes the frames of its family. Below: link, wire.
// Invariants: frames of a channel arrive once, in order, undamaged, or the channel fails with a sentence that names the
// peer and the frame; a failed channel tells every handler once, always from poll(); what is queued belongs to the caller
// (Outgoing), so that nothing is copied or allocated here, but for the rest of a small frame that a lane took in part.
// Callbacks may send, try_send, fail and shut; they may not destroy the channel. A poll from inside one does nothing.
// Tests: tests/unit/channel, tests/conformance, tests/sim. Format: docs/formats/frame.md.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
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
  // As FrameReceiver::place; the header is verified. Not asked for a frame whose payload is checked, too: its header can be
  // trusted only when the payload is there, which then comes in the lane's memory.
  [[nodiscard]] virtual std::byte* place(Channel& channel, const wire::FrameHeader& header) = 0;
  // A frame in order. An error (protocol, limit) fails the channel.
  virtual Status arrived(Channel& channel, const wire::FrameHeader& header, std::span<const std::byte> payload) = 0;
  // The lane broke before the frame that place() was asked for had arrived: that memory is no longer written to. The frame comes
  // again from its start (place() may be asked again), or the channel fails.
  virtual void unplaced(Channel& /*channel*/, const wire::FrameHeader& /*header*/) {}
  // The channel has failed (or ended: code end); called once, after every Outgoing was finished.
  virtual void lost(Channel& channel, const Status& why) = 0;
};
// One handler may serve several families; it is told once. nullptr: a frame of that family is a protocol error.
using Handlers = std::array<FrameHandler*, wire::frame_families>;

// A frame on its way that did not go at once. The caller keeps it and its payload alive, and the payload unchanged, until
// finished() was called. The caller sets kind, tag, context, first and second of the header; the rest is set here.
struct Outgoing {
  wire::FrameHeader header;
  std::span<const std::byte> payload;
  std::uint64_t taken = 0;
  Outgoing* next = nullptr;
  // All bytes were taken (ok), or the channel failed. The Outgoing is free then, also to be sent again from inside.
  void (*finished)(Outgoing& outgoing, const Status& status) = nullptr;
  void* owner = nullptr;
};

// opening: no lane yet; what is sent is queued. broken: it has lost its lanes and waits for another one, which loses nothing;
// what is sent is queued. failed: also after a good end (failure() has code end).
enum class ChannelState : std::uint8_t { opening, open, broken, failed };

struct ChannelOptions {
  // Tells this channel from every other one that the peer may have known. 0: the loss of a lane fails the channel.
  std::uint64_t session = 0;
};

class Channel final : private link::FrameReceiver {
 public:
  // try_send refuses more than that.
  static constexpr std::size_t try_send_bytes = std::size_t{64} << 10;

  // peer_name is for sentences: "program 'nowcast' rank 0 on host a". Handlers outlive the channel.
  Channel(PeerId peer, std::string peer_name, const Handlers& handlers, const ChannelOptions& options = {});
  // Finishes what is still queued with code `state`; the lanes end without a goodbye unless shut() had been called and the
  // queue was empty. Tells no handler.
  ~Channel() override;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  [[nodiscard]] PeerId peer() const noexcept { return peer_; }
  [[nodiscard]] const std::string& peer_name() const noexcept { return peer_name_; }
  [[nodiscard]] ChannelState state() const noexcept { return state_; }
  [[nodiscard]] const Status& failure() const noexcept { return failure_; }
  // Of the first lane; a neutral answer while opening.
  [[nodiscard]] const link::LaneTraits& traits() const noexcept;

  // Of the first lane; nullptr: it has none.
  [[nodiscard]] std::atomic<std::uint64_t>* shared_word(link::Way way) const noexcept {
    return lanes_.empty() ? nullptr : lanes_.front()->shared_word(way);
  }

  // Gives the channel a lane (the first one opens it). Owned from here on. On a failed channel the lane is shut.
  void attach(std::unique_ptr<link::Lane> lane);

  // The lane was refused (link::Lane::refusal), so that the peer has taken nothing of it: what went into it returns to the
  // front of the queue, and the channel is opening again. REQUIRES: open, over one lane, and not inside poll().
  void take_back_lane();

  // Fast path: hands the frame to a lane at once; false: it cannot go now and nothing was taken (no lane, no room, others
  // are queued, failed, shut, payload above try_send_bytes). True: header and payload are the caller's again.
  [[nodiscard]] bool try_send(wire::FrameHeader& header, std::span<const std::byte> payload);
  // Sends now or when there is room; finished() may be called before this returns. On a failed channel it is called at
  // once with the failure.
  void send(Outgoing& outgoing);
  // Moves queued frames out and arrived frames up, at most `budget` of the latter; returns the work done.
  int poll(int budget);
  // Second look before sleeping: would poll do something?
  [[nodiscard]] bool ready() const noexcept;
  // Something is queued, or was sent over a lane that may break and is not acknowledged yet.
  [[nodiscard]] bool sending() const noexcept { return first_outgoing_ != nullptr; }
  // The peer is to say soon what it has received: for those who wait until nothing is sending() any more.
  void ask_acknowledgement() noexcept {}
  // While broken: why the last lane was lost.
  [[nodiscard]] const Status& broken_why() const noexcept { return broken_why_; }
  // Fails the channel from above (peer known to be dead, protocol error found by a handler). The next poll tells.
  void fail(const Status& why);
  // Good order: no more frames from here (what is queued still goes); the peer's handlers get `end`, and so do ours when the
  // peer has answered. The end of either side ends the channel for both. To be sure that the peer has everything, poll
  // until state() is failed before destroying the channel.
  void shut() noexcept;
  [[nodiscard]] bool shutting() const noexcept { return shutting_; }
  [[nodiscard]] const std::vector<std::unique_ptr<link::Lane>>& lanes() const noexcept { return lanes_; }
  [[nodiscard]] bool opened() const noexcept { return opened_; }  // also when it has failed since
  [[nodiscard]] std::uint64_t frames_sent() const noexcept { return next_send_; }
  [[nodiscard]] std::uint64_t frames_received() const noexcept { return next_receive_; }
  // Closes the lanes of a failed channel that has told its handlers; who watches their descriptors does it, after unwatching.
  void release_lanes() noexcept;
  // The failure was told to everybody: poll will never again do anything.
  [[nodiscard]] bool settled() const noexcept { return told_; }

 private:
  std::byte* place(const wire::FrameHeader& header) override;
  bool arrived(const wire::FrameHeader& header, std::span<const std::byte> payload) override;

  [[nodiscard]] std::uint32_t due() const noexcept { return static_cast<std::uint32_t>(next_receive_); }
  void fill_header(wire::FrameHeader& header, std::span<const std::byte> payload) const noexcept;
  bool push_ended(wire::FrameHeader& header, std::span<const std::byte> payload, std::int64_t taken);
  bool push_rest(Outgoing& outgoing);
  int drain();
  void append(Outgoing& outgoing) noexcept;
  Outgoing* take_first() noexcept;
  void update_clear_lane() noexcept;
  [[nodiscard]] Status verify(const wire::FrameHeader& header, std::span<const std::byte> payload) const;
  bool arrived_from_channel(const wire::FrameHeader& header, std::span<const std::byte> payload);
  void fail_here(Code code, std::string_view text);
  void lane_failed();
  void say_goodbye(link::Lane& lane);
  void settle();

  link::Lane* clear_lane_ = nullptr;  // not null: open, nothing queued, not shut: a frame may go straight to it
  std::uint64_t next_send_ = 0;       // numbers of frames; a header has the lower half
  std::uint64_t next_receive_ = 0;
  std::uint32_t checked_payload_bytes_ = 0;
  bool checked_ = true;  // the lane may damage bytes: frames are sealed, and those that are not are refused
  ChannelState state_ = ChannelState::opening;
  bool opened_ = false;
  bool told_ = false;
  bool polling_ = false;
  bool draining_ = false;
  bool shutting_ = false;
  bool end_sent_ = false;
  bool lane_shut_ = false;
  bool push_failed_ = false;  // the lane takes no more; what has arrived is still taken from it
  const Outgoing* sealed_ = nullptr;
  Outgoing* first_outgoing_ = nullptr;
  Outgoing* last_outgoing_ = nullptr;
  const Handlers handlers_;
  std::vector<std::unique_ptr<link::Lane>> lanes_;
  PeerId peer_;
  std::string peer_name_;
  Status failure_;
  Status broken_why_;
  Outgoing end_;                            // the goodbye
  Outgoing rest_;                           // of a frame that try_send gave and the lane took in part
  std::unique_ptr<std::byte[]> rest_copy_;  // its payload; made when first needed
};

}  // namespace couplet::channel
