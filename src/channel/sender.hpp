// The sending half of a channel: the queue, the choice of the lane for each frame, and sending again what was lost with
// a broken lane. Above: channel. Below: retention, lane_policy, link. Invariants: a frame gets its number when its
// first byte is taken; frames never mix on a lane; a frame whose sending has begun over a lane that may break is kept
// until the peer has acknowledged it; an Outgoing is finished exactly once, and never while a lane still reads its
// payload. Tests: tests/unit/channel, tests/sim.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "channel/lane_policy.hpp"
#include "channel/outgoing.hpp"
#include "channel/reorder.hpp"
#include "channel/retention.hpp"
#include "link/link.hpp"
#include "wire/frame.hpp"
#include "wire/session.hpp"

namespace couplet::channel {

inline constexpr std::size_t max_lanes = 16;
// try_send refuses larger payloads.
inline constexpr std::size_t max_try_send_bytes = max_copied_bytes;

enum class LaneStage : std::uint8_t {
  awaiting,  // the peer's session frame has not arrived; no numbered frame may be sent
  // The peer's session frame has not arrived, but this is the first lane of the channel: numbered frames may be sent.
  early,
  working,
  // Nothing further is sent over it, and what was sent over it is sent again over other lanes. What has arrived is
  // still taken from it, until it ends.
  retiring,
  lost,
};

// A numbered frame of which a lane has taken a part. header == nullptr: there is none.
struct Push {
  const wire::FrameHeader* header = nullptr;
  std::span<const std::byte> payload;
  std::uint64_t number = 0;
  std::uint64_t taken = 0;
  Outgoing* outgoing = nullptr;  // to be finished when the frame is sent; nullptr: the frame is retained
};

// A frame that is not numbered, such as a session frame or an acknowledgement.
struct Notice {
  wire::FrameHeader header;
  wire::SessionImage payload{};
  std::size_t payload_bytes = 0;
  std::uint64_t taken = 0;
  bool pending = false;
};

// A lane of a channel, and what is being sent over it.
struct LaneSlot {
  link::Lane* lane = nullptr;
  std::uint32_t id = 0;  // unique in the channel, and never Retention::no_lane
  LaneStage stage = LaneStage::working;
  bool session = false;      // a session frame begins it in each direction
  bool retains = false;      // its frames are kept until they are acknowledged
  bool push_failed = false;  // it takes no further frame, but what has arrived is still read from it
  bool full = false;         // it has refused a frame in this round
  LaneUse use = LaneUse::all;
  std::uint64_t given_bytes = 0;
  Push push;
  Notice notice;

  [[nodiscard]] bool works() const noexcept {
    return (stage == LaneStage::working || stage == LaneStage::early) && !push_failed;
  }
  [[nodiscard]] bool idle() const noexcept { return push.header == nullptr && !notice.pending; }
  // Has the peer's session frame arrived over this lane, if there has to be one?
  [[nodiscard]] bool takes_frames() const noexcept {
    return !session || stage == LaneStage::working || stage == LaneStage::retiring;
  }
  // It is used now, or will be when the peer has answered.
  [[nodiscard]] bool serves() const noexcept { return stage != LaneStage::retiring && stage != LaneStage::lost; }
};

using LaneSlots = std::vector<std::unique_ptr<LaneSlot>>;

[[nodiscard]] inline std::size_t serving(const LaneSlots& slots) noexcept {
  std::size_t count = 0;
  for (const auto& slot : slots) {
    count += slot->serves() ? 1U : 0U;
  }
  return count;
}

// Frames are likely over the other lanes than this one: those look soon.
inline void let_others_look(const LaneSlots& slots, const LaneSlot& used) noexcept {
  for (const auto& other : slots) {
    if (other.get() != &used && other->stage != LaneStage::lost) {
      other->lane->look_soon();
    }
  }
}

class Sender {
 public:
  Sender(RetentionPool& pool, const LanePolicy& policy) noexcept : retention_(pool), policy_(policy) {}
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  // The only lane, if it keeps nothing and nothing is queued before it; else nullptr. A frame is then sent over it
  // directly (number_plain, begun_plain).
  [[nodiscard]] link::Lane* plain_lane() const noexcept { return plain_lane_; }
  // Sets magic, version, number and check.
  void number_plain(wire::FrameHeader& header, std::span<const std::byte> payload) const noexcept {
    fill_header(header, payload, next_number_, checked_, checked_bytes_, 0);
  }
  void sent_plain() noexcept { ++next_number_; }
  // Called if the plain lane has taken only `taken` bytes of a frame, or failed. Returns true if the rest will be sent,
  // and false if nothing was taken.
  bool begun_plain(const wire::FrameHeader& header, std::span<const std::byte> payload, std::int64_t taken) noexcept;
  // Channel::try_send for a channel that has no plain lane at present.
  bool try_send(wire::FrameHeader& header, std::span<const std::byte> payload);

  void append(Outgoing& outgoing) noexcept;
  // Sends what can be sent; returns the work done. Called from inside finished(), it does nothing: the outer call sends
  // what was appended.
  int drain();
  // Is drain() needed?
  [[nodiscard]] bool busy() const noexcept { return busy_; }
  // Would drain() send something? To be asked once more before sleeping.
  [[nodiscard]] bool ready() const noexcept;
  [[nodiscard]] bool sending() const noexcept { return busy_ || !retention_.empty(); }
  [[nodiscard]] const Retention& retention() const noexcept { return retention_; }
  [[nodiscard]] std::uint64_t next_number() const noexcept { return next_number_; }
  // From now on try_send refuses every frame.
  void close() noexcept;

  // Completes the header as the slot's lane requires.
  static void fill_for(const LaneSlot& slot, wire::FrameHeader& header, std::span<const std::byte> payload,
                       std::uint64_t number, std::uint8_t flags) noexcept;

  [[nodiscard]] const LanePolicy& policy() const noexcept { return policy_; }
  // Lanes for long payloads come after the others.
  LaneSlot& add_lane(link::Lane& lane, LaneStage stage, bool session);
  // Removes the lanes that have broken.
  void remove_lost_lanes() noexcept;
  [[nodiscard]] const LaneSlots& slots() const noexcept { return slots_; }
  [[nodiscard]] bool several() const noexcept { return several_; }
  // To be called when the stage of a slot has changed.
  void update() noexcept;
  // Memory that payloads use is moved.
  void relocate(const link::Relocation& memory) noexcept;
  // The lane has broken, or is retiring: its frames will be sent again over another lane.
  void give_up(LaneSlot& slot, LaneStage stage) noexcept;
  // The peer has refused the only lane (link::Lane::refusal). What was sent over it returns to the front of the queue,
  // and is numbered from 0 when it is sent again. The goodbye (channel_end) is left out, since the channel queues it
  // itself. REQUIRES: the lane keeps nothing, and drain() is not running.
  void take_back_lane();
  // Sends a frame that is not numbered, before the next numbered one. REQUIRES: no such frame is waiting in the slot.
  void post(LaneSlot& slot, const wire::FrameHeader& header, std::span<const std::byte> payload) noexcept;
  // Notes that the peer has received all frames below that number. Returns protocol if so many were never sent.
  Status acknowledged(std::uint64_t number);
  [[nodiscard]] std::uint64_t acknowledged() const noexcept { return acknowledged_.applied; }
  // Finishes every Outgoing that was not finished.
  void finish_all(const Status& status);

 private:
  static void fill_header(wire::FrameHeader& header, std::span<const std::byte> payload, std::uint64_t number,
                          bool checked, std::uint32_t checked_payload_bytes, std::uint8_t flags) noexcept {
    header.magic = wire::frame_magic;
    header.version = wire::frame_version;
    header.sequence = static_cast<std::uint32_t>(number);
    header.payload_bytes = static_cast<std::uint32_t>(payload.size());
    if (checked) {
      wire::seal_frame(header, payload, !payload.empty() && payload.size() <= checked_payload_bytes, flags);
    } else {
      header.flags = flags;
      header.check = 0;
    }
  }
  [[nodiscard]] LaneSlot* choose(const FrameSize& frame) const noexcept;
  [[nodiscard]] bool window_is_full(std::uint64_t payload_bytes) const noexcept;
  LaneSlot* begin(wire::FrameHeader& header, std::span<const std::byte> payload, std::uint64_t number,
                  std::uint8_t flags, std::uint64_t& taken, bool of_long_message = false);
  bool send_again();
  bool send_next();
  int push_notice(LaneSlot& slot);
  int continue_push(LaneSlot& slot);
  void apply_acknowledged();

  link::Lane* plain_lane_ = nullptr;
  LaneSlot* keeping_slot_ = nullptr;  // the only lane, if it keeps its frames and nothing is queued before it
  std::uint64_t next_number_ = 0;
  // What the only lane demands of frames, if nothing is queued before it.
  std::uint32_t checked_bytes_ = 0;
  bool checked_ = false;
  bool busy_ = false;
  bool draining_ = false;
  bool closed_ = false;
  bool several_ = false;  // the channel has or had several lanes, so all frames are retained
  struct Acknowledged {
    std::uint64_t applied = 0;
    std::uint64_t claimed = 0;  // what the peer says that it has; more than applied while a lane reads such a frame
  };
  Acknowledged acknowledged_;
  std::uint32_t last_lane_ = Retention::no_lane;
  OutgoingQueue queue_;
  Retention retention_;
  LanePolicy policy_;
  LaneSlots slots_;
  Outgoing rest_;                           // the rest of a frame of which a plain lane took a part
  std::unique_ptr<std::byte[]> rest_copy_;  // the payload of that rest
};

}  // namespace couplet::channel
