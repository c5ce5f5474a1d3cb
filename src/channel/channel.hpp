// channel: turns frames for one peer into an ordered flow over one or more lanes. Frames are queued only here. message,
// universe (control) and relay are above it, and each receives the frames of its family; link and wire are below it.
// Invariants: the frames of a channel arrive once, in order and undamaged, or the channel fails with a text that names
// the peer and the frame. A channel with a session outlives its lanes: what the peer has not acknowledged is sent again
// over the next lane. A failed channel tells every handler once, always from poll(). Over a lane that cannot break,
// nothing is copied or allocated here, except for the rest of a small frame of which the lane took a part.
// Callbacks may call send, try_send, fail and shut; they must not destroy the channel. A poll() from inside a callback
// does nothing.
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
#include "channel/outgoing.hpp"
#include "channel/placement.hpp"
#include "channel/receipts.hpp"
#include "channel/reorder.hpp"
#include "channel/sender.hpp"
#include "link/link.hpp"
#include "wire/frame.hpp"

namespace couplet::channel {

// The universe rank of a process, or the number of the hub or of a node's relay.
using PeerId = std::uint32_t;
inline constexpr PeerId hub_peer = 0xFFFFFFFF;
inline constexpr PeerId first_relay_peer = 0x80000000;  // + node index

class Channel;

// Receives the frames of one family.
class FrameHandler {
 public:
  virtual ~FrameHandler() = default;
  // Returns memory for the payload of a frame, as FrameReceiver::place does; the header is verified. It is not called
  // for a frame whose payload is checked, too: the header of such a frame can be trusted only when its payload has
  // arrived, so that payload is given to arrived() in the lane's memory.
  [[nodiscard]] virtual std::byte* place(Channel& channel, const wire::FrameHeader& header) = 0;
  // Receives the next frame in order. An error (protocol, limit) fails the channel.
  virtual Status arrived(Channel& channel, const wire::FrameHeader& header, std::span<const std::byte> payload) = 0;
  // The lane broke before the payload for which place() was called had arrived. That memory is no longer written to.
  // The frame arrives again from its start (place() may be called again), or the channel fails.
  virtual void unplaced(Channel& /*channel*/, const wire::FrameHeader& /*header*/) {}
  // The channel has failed, or has ended in good order (code end). Called once, after every Outgoing was finished.
  virtual void lost(Channel& channel, const Status& why) = 0;
};
// One handler may serve several families; it is told of the end once. nullptr: a frame of that family is a protocol
// error.
using Handlers = std::array<FrameHandler*, wire::frame_families>;

// opening: there is no lane yet, and what is sent is queued. broken: the channel has lost its lanes and waits for
// another one; nothing is lost, and what is sent is queued. failed: also after an end in good order (then failure() has
// code end).
enum class ChannelState : std::uint8_t { opening, open, broken, failed };

// Is told when a channel has to be polled although its lanes do not show it: something was queued that its lanes do not
// take now, or the channel was failed or shut.
class Attention {
 public:
  virtual ~Attention() = default;
  virtual void poll_wanted() noexcept = 0;
};

struct ChannelOptions {
  // A random number that distinguishes this channel from all earlier ones to the peer. 0: the channel fails when it
  // loses its lane.
  std::uint64_t session = 0;
  // Says which of several lanes takes a frame.
  LanePolicy policy;
  // Keeps the copies of frames until they are acknowledged; outlives the channel. nullptr: the channel has a pool of
  // its own.
  RetentionPool* retention = nullptr;
  // Outlives the channel. nullptr: the user of the channel polls it in any case.
  Attention* attention = nullptr;
};

class Channel final : private link::FrameReceiver {
 public:
  // try_send refuses larger payloads.
  static constexpr std::size_t try_send_bytes = max_try_send_bytes;

  // peer_name is used in texts, for example "program 'nowcast' rank 0 on host a". The handlers outlive the channel.
  Channel(PeerId peer, std::string peer_name, const Handlers& handlers, const ChannelOptions& options = {});
  // Finishes what is still queued with code `state`. Its lanes end without a goodbye, unless shut() was called and the
  // queue was empty. Tells no handler.
  ~Channel() override;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  [[nodiscard]] PeerId peer() const noexcept { return peer_; }
  [[nodiscard]] const std::string& peer_name() const noexcept { return peer_name_; }
  [[nodiscard]] ChannelState state() const noexcept { return state_; }
  [[nodiscard]] const Status& failure() const noexcept { return failure_; }
  // The traits of the first lane; neutral values while the channel is opening.
  [[nodiscard]] const link::LaneTraits& traits() const noexcept { return traits_; }

  // The shared word of the first lane; nullptr: it has none.
  [[nodiscard]] std::atomic<std::uint64_t>* shared_word(link::Way way) const noexcept {
    return lanes_.empty() ? nullptr : lanes_.front()->shared_word(way);
  }

  // Gives the channel a lane, which the channel owns from now on. The first lane opens it. A broken channel resumes
  // over the lane: what the peer has not received is sent again. An open channel shares its frames among its lanes
  // (this needs a session). A failed channel uses the lane only to tell the peer, if it resumes, why the channel has
  // failed, and then shuts the lane.
  void attach(std::unique_ptr<link::Lane> lane);
  // The peer has lost the lanes of this channel, although they seem whole here: the channel breaks. Does nothing if the
  // channel cannot resume.
  // only: this is about one lane. If others serve, it retires: it is shut, and what was sent over it is sent again over
  // the others, but what has arrived over it, or is on the way, is still taken, since the peer would send that again in
  // its next call only.
  void break_lanes(const Status& why, const link::Lane* only = nullptr);
  [[nodiscard]] bool may_resume() const noexcept { return session_ != 0; }
  // The channel is open, but the peer has not yet said over the new lane which frames it has received.
  [[nodiscard]] bool resuming() const noexcept;

  // The peer has refused the lane (link::Lane::refusal), and has taken nothing from it. What was sent over it returns
  // to the front of the queue, and the channel is opening again. REQUIRES: the channel is open with one lane, and
  // poll() is not running.
  void take_back_lane();

  // Gives the frame to a lane at once, and returns true; header and payload then belong to the caller again. Returns
  // false, and takes nothing, if the frame cannot be sent now: there is no lane or no room, other frames are queued,
  // the channel has failed or was shut, or the payload is larger than try_send_bytes.
  [[nodiscard]] bool try_send(wire::FrameHeader& header, std::span<const std::byte> payload);
  // Sends the frame now, or when there is room. finished() may be called before this returns. If the channel has
  // failed, finished() is called at once with the failure.
  void send(Outgoing& outgoing);
  // Memory of the caller is moved, which payloads of frames that are being sent or are arriving may use.
  void relocate(const link::Relocation& memory) noexcept {
    sender_.relocate(memory);
    for (const auto& lane : lanes_) lane->relocate(memory);
  }
  // Sends queued frames and delivers at most `budget` arrived ones; returns the work done. If `budget`
  // is 0, it only sends.
  int poll(int budget);
  // Would poll do something? To be asked once more before sleeping.
  [[nodiscard]] bool ready() const noexcept;
  // Is something queued, or sent over a lane that may break and not acknowledged yet?
  [[nodiscard]] bool sending() const noexcept { return sender_.sending(); }
  // Is there something that no lane has taken? It would be lost if this process ended now.
  [[nodiscard]] bool queued() const noexcept { return sender_.busy(); }
  // Asks the peer to acknowledge soon. For callers that wait until sending() is false.
  void ask_acknowledgement() noexcept;
  // Tells the peer what has arrived, if it was not told yet. Without this call, the peer is told only now and then.
  void acknowledge() noexcept;
  // Why the last lane was lost. REQUIRES: the channel is broken.
  [[nodiscard]] const Status& broken_why() const noexcept { return broken_why_; }
  // Fails the channel, because the peer is known to be dead, or because a handler has found a protocol error. The next
  // poll tells the handlers.
  void fail(const Status& why);
  // Ends the channel in good order: nothing further is sent except for what is queued. The peer's handlers are told
  // `end`, and the handlers here when the peer has answered. The end of either side ends the channel for both. To be
  // sure that the peer has received everything, poll until state() is failed before you destroy the channel.
  void shut() noexcept;
  // The peer has ended, and what it sent before is still arriving. From now on nothing is sent, not even an
  // acknowledgement: the peer's system would answer it by a reset, which destroys what is on its way. Nor does silence
  // end a lane: of several on a slow network, one may have nothing for long while the others have.
  void mute() noexcept;
  [[nodiscard]] bool shutting() const noexcept { return shutting_; }
  [[nodiscard]] const std::vector<std::unique_ptr<link::Lane>>& lanes() const noexcept { return lanes_; }
  [[nodiscard]] const Sender& sender() const noexcept { return sender_; }
  [[nodiscard]] bool opened() const noexcept { return opened_; }  // also if it has failed since
  [[nodiscard]] std::uint64_t frames_sent() const noexcept { return sender_.next_number(); }
  [[nodiscard]] std::uint64_t frames_received() const noexcept { return next_receive_; }
  // Closes the lanes of a failed channel that has told its handlers, and lanes that have broken. The owner of the
  // watches of their descriptors calls this, after it has removed the watches.
  void release_lanes() noexcept;
  // Has one of lanes() broken?
  [[nodiscard]] bool has_lost_lanes() const noexcept { return lanes_.size() != live_lanes_; }
  // Have all handlers been told of the failure? Then poll has nothing left to do.
  [[nodiscard]] bool settled() const noexcept { return told_; }

 private:
  std::byte* place(const wire::FrameHeader& header) override;
  bool arrived(const wire::FrameHeader& header, std::span<const std::byte> payload) override;

  [[nodiscard]] std::uint32_t due() const noexcept { return static_cast<std::uint32_t>(next_receive_); }
  bool try_send_otherwise(wire::FrameHeader& header, std::span<const std::byte> payload);
  void want_poll() noexcept;

  bool deliver(const wire::FrameHeader& header, std::span<const std::byte> payload);
  bool arrived_checked(const wire::FrameHeader& header, std::span<const std::byte> payload);
  bool arrived_out_of_order(const wire::FrameHeader& header, std::span<const std::byte> payload, std::int32_t ahead);
  bool take_notice(const wire::FrameHeader& header, std::span<const std::byte> payload);
  bool arrived_from_channel(const wire::FrameHeader& header, std::span<const std::byte> payload);
  Status take_session(std::span<const std::byte> payload);

  int poll_lanes(int budget);
  void shut_lanes() noexcept;
  [[nodiscard]] wire::SessionImage session_image() const noexcept;
  void lane_ended(LaneSlot& slot);
  void lose_lane(LaneSlot& slot, const Status& why);
  bool lose_stale_lane();
  void lanes_changed() noexcept;
  void answer_resuming_peer(link::Lane& lane);
  void fail_here(Code code, std::string_view text);
  void fail_without_memory() noexcept;
  void end_lane(LaneSlot& slot);
  void settle();

  std::uint64_t next_receive_ = 0;        // number of numbered frames that have arrived
  link::Lane* plainly_polled_ = nullptr;  // the only lane, without sessions
  bool plain_ = false;                    // that lane has no checks either
  ChannelState state_ = ChannelState::opening;
  bool opened_ = false;
  bool told_ = false;
  bool polling_ = false;
  bool shutting_ = false;
  bool end_sent_ = false;  // the goodbye was sent and, over a lane that may break, also acknowledged
  bool lanes_shut_ = false;
  bool peer_ended_ = false;   // its goodbye has arrived
  bool peer_failed_ = false;  // it has said that it has given the channel up
  std::size_t told_handlers_ = 0;
  LaneSlot* polled_ = nullptr;  // the lane whose frames are arriving
  const Handlers handlers_;
  std::unique_ptr<RetentionPool> own_pool_;
  Sender sender_;
  std::vector<std::unique_ptr<link::Lane>> lanes_;
  std::size_t live_lanes_ = 0;
  link::LaneTraits traits_;
  PeerId peer_;
  std::string peer_name_;
  Status failure_;
  Status broken_why_;
  std::uint64_t session_;
  std::uint64_t peer_session_ = 0;
  Attention* attention_;
  Receipts receipts_;
  Placement placement_;
  Reorder reorder_;
  Outgoing end_;  // carries the goodbye
};

}  // namespace couplet::channel
