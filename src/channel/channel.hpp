// channel: turns frames for one peer into an ordered flow over one or more lanes; the only place that queues. Above:
// message, universe (control), relay; each takes the frames of its family. Below: link, wire. Invariants: frames of a
// channel arrive once, in order, undamaged, or the channel fails with a sentence that names the peer and the frame; a
// channel with a session outlives its lanes: what the peer has not acknowledged goes again over the next one; a failed
// channel tells every handler once, always from poll(); over a lane that cannot break nothing is copied or allocated
// here, but for the rest of a small frame that it took in part. Callbacks may send, try_send, fail and shut; they may
// not destroy the channel. A poll from inside one does nothing. Tests: tests/unit/channel, tests/conformance,
// tests/sim. Format: docs/formats/frame.md.
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
#include "channel/receipts.hpp"
#include "channel/reorder.hpp"
#include "channel/sender.hpp"
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
  // As FrameReceiver::place; the header is verified. Not asked for a frame whose payload is checked, too: its header
  // can be trusted only when the payload is there, which then comes in the lane's memory.
  [[nodiscard]] virtual std::byte* place(Channel& channel, const wire::FrameHeader& header) = 0;
  // A frame in order. An error (protocol, limit) fails the channel.
  virtual Status arrived(Channel& channel, const wire::FrameHeader& header, std::span<const std::byte> payload) = 0;
  // The lane broke before the frame that place() was asked for had arrived: that memory is no longer written to. The
  // frame comes again from its start (place() may be asked again), or the channel fails.
  virtual void unplaced(Channel& /*channel*/, const wire::FrameHeader& /*header*/) {}
  // The channel has failed (or ended: code end); called once, after every Outgoing was finished.
  virtual void lost(Channel& channel, const Status& why) = 0;
};
// One handler may serve several families; it is told once. nullptr: a frame of that family is a protocol error.
using Handlers = std::array<FrameHandler*, wire::frame_families>;

// opening: no lane yet; what is sent is queued. broken: it has lost its lanes and waits for another one, which loses
// nothing; what is sent is queued. failed: also after a good end (failure() has code end).
enum class ChannelState : std::uint8_t { opening, open, broken, failed };

// Told when a channel needs a poll that nobody may be about to do: something was queued that its lanes do not take now,
// or it was failed or shut.
class Attention {
 public:
  virtual ~Attention() = default;
  virtual void poll_wanted() noexcept = 0;
};

struct ChannelOptions {
  // Tells this channel from every other one that the peer may have known. 0: the loss of a lane fails the channel.
  std::uint64_t session = 0;
  // Which of several lanes takes a frame.
  LanePolicy policy;
  // Where copies are kept until they are acknowledged; outlives the channel. nullptr: the channel has a pool of its
  // own.
  RetentionPool* retention = nullptr;
  // Outlives the channel. nullptr: whoever uses the channel polls it anyway.
  Attention* attention = nullptr;
};

class Channel final : private link::FrameReceiver {
 public:
  // try_send refuses more than that.
  static constexpr std::size_t try_send_bytes = max_try_send_bytes;

  // peer_name is for sentences: "program 'nowcast' rank 0 on host a". Handlers outlive the channel.
  Channel(PeerId peer, std::string peer_name, const Handlers& handlers, const ChannelOptions& options = {});
  // Finishes what is still queued with code `state`; the lanes end without a goodbye unless shut() had been called and
  // the queue was empty. Tells no handler.
  ~Channel() override;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  [[nodiscard]] PeerId peer() const noexcept { return peer_; }
  [[nodiscard]] const std::string& peer_name() const noexcept { return peer_name_; }
  [[nodiscard]] ChannelState state() const noexcept { return state_; }
  [[nodiscard]] const Status& failure() const noexcept { return failure_; }
  // Of the first lane that it had; a neutral answer while opening.
  [[nodiscard]] const link::LaneTraits& traits() const noexcept { return traits_; }

  // Of the first lane; nullptr: it has none.
  [[nodiscard]] std::atomic<std::uint64_t>* shared_word(link::Way way) const noexcept {
    return lanes_.empty() ? nullptr : lanes_.front()->shared_word(way);
  }

  // Gives the channel a lane, which it owns from here on. The first one opens it; on a broken channel it resumes: what
  // the peer has not received is sent again. One more lane for an open channel shares the work (a session is needed).
  // On a failed channel the lane tells a peer that resumes why, and is shut.
  void attach(std::unique_ptr<link::Lane> lane);
  // The peer has lost the lanes of this channel, although they seem whole from here: the channel breaks. Nothing if it
  // cannot resume.
  void break_lanes(const Status& why);
  [[nodiscard]] bool may_resume() const noexcept { return session_ != 0; }
  // Open, but the peer has not yet said over the new lane where to go on.
  [[nodiscard]] bool resuming() const noexcept;

  // The lane was refused (link::Lane::refusal), so that the peer has taken nothing of it: what went into it returns to
  // the front of the queue, and the channel is opening again. REQUIRES: open, over one lane, and not inside poll().
  void take_back_lane();

  // Fast path: hands the frame to a lane at once; false: it cannot go now and nothing was taken (no lane, no room,
  // others are queued, failed, shut, payload above try_send_bytes). True: header and payload are the caller's again.
  [[nodiscard]] bool try_send(wire::FrameHeader& header, std::span<const std::byte> payload);
  // Sends now or when there is room; finished() may be called before this returns. On a failed channel it is called at
  // once with the failure.
  void send(Outgoing& outgoing);
  // Moves queued frames out and arrived frames up, at most `budget` of the latter; returns the work done.
  int poll(int budget);
  // Second look before sleeping: would poll do something?
  [[nodiscard]] bool ready() const noexcept;
  // Something is queued, or was sent over a lane that may break and is not acknowledged yet.
  [[nodiscard]] bool sending() const noexcept { return sender_.sending(); }
  // Something has not been taken by a lane: it would be lost if this process ended now.
  [[nodiscard]] bool queued() const noexcept { return sender_.busy(); }
  // The peer is to say soon what it has received: for those who wait until nothing is sending() any more.
  void ask_acknowledgement() noexcept;
  // Tells the peer what has arrived, if it was not told yet. Otherwise that is done now and then only.
  void acknowledge() noexcept;
  // While broken: why the last lane was lost.
  [[nodiscard]] const Status& broken_why() const noexcept { return broken_why_; }
  // Fails the channel from above (peer known to be dead, protocol error found by a handler). The next poll tells.
  void fail(const Status& why);
  // Good order: no more frames from here (what is queued still goes); the peer's handlers get `end`, and so do ours
  // when the peer has answered. The end of either side ends the channel for both. To be sure that the peer has
  // everything, poll until state() is failed before destroying the channel.
  void shut() noexcept;
  [[nodiscard]] bool shutting() const noexcept { return shutting_; }
  [[nodiscard]] const std::vector<std::unique_ptr<link::Lane>>& lanes() const noexcept { return lanes_; }
  [[nodiscard]] const std::vector<std::unique_ptr<LaneSlot>>& slots() const noexcept { return sender_.slots(); }
  [[nodiscard]] bool opened() const noexcept { return opened_; }  // also when it has failed since
  [[nodiscard]] std::uint64_t frames_sent() const noexcept { return sender_.next_number(); }
  [[nodiscard]] std::uint64_t frames_received() const noexcept { return next_receive_; }
  // Closes the lanes of a failed channel that has told its handlers, and lanes that have broken; who watches their
  // descriptors does it, after unwatching.
  void release_lanes() noexcept;
  // Some of lanes() has broken.
  [[nodiscard]] bool has_lost_lanes() const noexcept { return lanes_.size() != live_lanes_; }
  // The failure was told to everybody: poll will never again do anything.
  [[nodiscard]] bool settled() const noexcept { return told_; }

 private:
  // Memory of a handler that a lane fills just now.
  struct Placement {
    std::uint32_t lane = Retention::no_lane;
    wire::FrameHeader header;
  };

  std::byte* place(const wire::FrameHeader& header) override;
  bool arrived(const wire::FrameHeader& header, std::span<const std::byte> payload) override;

  [[nodiscard]] std::uint32_t due() const noexcept { return static_cast<std::uint32_t>(next_receive_); }
  bool try_send_otherwise(wire::FrameHeader& header, std::span<const std::byte> payload);
  void want_poll() noexcept;

  bool deliver(const wire::FrameHeader& header, std::span<const std::byte> payload);
  bool arrived_checked(const wire::FrameHeader& header, std::span<const std::byte> payload);
  bool arrived_out_of_order(const wire::FrameHeader& header, std::span<const std::byte> payload, std::int32_t ahead);
  bool deliver_reordered();
  [[nodiscard]] Status verify(const wire::FrameHeader& header, std::span<const std::byte> payload) const;
  bool take_notice(const wire::FrameHeader& header, std::span<const std::byte> payload);
  bool arrived_from_channel(const wire::FrameHeader& header, std::span<const std::byte> payload);
  Status take_session(std::span<const std::byte> payload);
  Status take_acknowledgement(const wire::FrameHeader& header);

  int poll_lanes(int budget);
  void shut_lanes() noexcept;
  void give_receipt();
  [[nodiscard]] wire::SessionImage session_image() const noexcept;
  void lane_ended(LaneSlot& slot);
  void lose_lane(LaneSlot& slot, const Status& why);
  void lanes_changed() noexcept;
  void answer_resuming_peer(link::Lane& lane);
  void fail_here(Code code, std::string_view text);
  void fail_without_memory() noexcept;
  void say_goodbye(LaneSlot& slot);
  void settle();

  std::uint64_t next_receive_ = 0;        // numbered frames that have arrived
  link::Lane* plainly_polled_ = nullptr;  // the only lane, without sessions
  bool plain_ = false;                    // ... and without checks
  ChannelState state_ = ChannelState::opening;
  bool opened_ = false;
  bool told_ = false;
  bool polling_ = false;
  bool shutting_ = false;
  bool end_sent_ = false;  // the goodbye; over a lane that may break: and the peer has it
  bool lanes_shut_ = false;
  bool peer_ended_ = false;   // its goodbye has come
  bool peer_failed_ = false;  // it has given the channel up and said so
  std::size_t told_handlers_ = 0;
  LaneSlot* polled_ = nullptr;  // whose frames are arriving
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
  Outgoing end_;  // the goodbye
};

}  // namespace couplet::channel
