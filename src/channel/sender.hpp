// The sending half of a channel: the queue, which lane takes which frame, and sending again what a broken lane has
// lost. Above: channel. Below: retention, lane_policy, link. Invariants: frames are numbered when their first byte is
// taken; on one lane frames never mix; a frame that was begun over a lane that may break is kept until the peer has
// acknowledged it; an Outgoing is finished exactly once, and never while a lane still reads its payload. Tests:
// tests/unit/channel, tests/sim.
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
// try_send refuses more than that.
inline constexpr std::size_t max_try_send_bytes = max_copied_bytes;

enum class LaneStage : std::uint8_t {
  awaiting,  // the peer's session frame is awaited: no numbered frame goes
  early,     // it is awaited, but this is the first lane of the channel: numbered frames go already
  working,
  lost,
};

// A numbered frame that a lane has taken in part. header == nullptr: there is none.
struct Push {
  const wire::FrameHeader* header = nullptr;
  std::span<const std::byte> payload;
  std::uint64_t number = 0;
  std::uint64_t taken = 0;
  Outgoing* outgoing = nullptr;  // to be finished when it is whole; nullptr: it is retained
};

// A frame that is not numbered: the session, an acknowledgement.
struct Notice {
  wire::FrameHeader header;
  wire::SessionImage payload{};
  std::size_t payload_bytes = 0;
  std::uint64_t taken = 0;
  bool pending = false;
};

// A lane of a channel, and what is under way on it.
struct LaneSlot {
  link::Lane* lane = nullptr;
  std::uint32_t id = 0;  // never given twice in one channel, never Retention::no_lane
  LaneStage stage = LaneStage::working;
  bool session = false;      // it begins with a session frame in each direction
  bool retains = false;      // its frames are kept until they are acknowledged
  bool push_failed = false;  // it takes no more; what has arrived is still taken from it
  bool full = false;         // it has refused a frame in this round
  std::uint64_t given_bytes = 0;
  Push push;
  Notice notice;

  [[nodiscard]] bool works() const noexcept {
    return (stage == LaneStage::working || stage == LaneStage::early) && !push_failed;
  }
  [[nodiscard]] bool idle() const noexcept { return push.header == nullptr && !notice.pending; }
};

class Sender {
 public:
  Sender(RetentionPool& pool, const LanePolicy& policy) noexcept
      : several_(policy.rule != LaneRule::first), retention_(pool), policy_(policy) {}
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  // Not null: one lane that keeps nothing, and nothing before it: a frame goes straight to it (number_plain,
  // begun_plain).
  [[nodiscard]] link::Lane* plain_lane() const noexcept { return plain_lane_; }
  // Sets magic, version, number and check.
  void number_plain(wire::FrameHeader& header, std::span<const std::byte> payload) const noexcept {
    fill_header(header, payload, next_number_, plain_checked_, plain_checked_bytes_, 0);
  }
  void sent_plain() noexcept { ++next_number_; }
  // The plain lane has not taken the whole frame but `taken` bytes. True: the frame goes; false: nothing was taken.
  bool begun_plain(const wire::FrameHeader& header, std::span<const std::byte> payload, std::int64_t taken) noexcept;
  // Channel::try_send where there is no plain lane.
  bool try_send(wire::FrameHeader& header, std::span<const std::byte> payload);

  void append(Outgoing& outgoing) noexcept;
  // Moves frames out; returns the work done. From inside finished(): nothing, what was appended goes in the outer call.
  int drain();
  // drain() is needed.
  [[nodiscard]] bool busy() const noexcept { return busy_; }
  // Second look before sleeping: would drain() move something?
  [[nodiscard]] bool ready() const noexcept;
  [[nodiscard]] bool sending() const noexcept { return busy_ || !retention_.empty(); }
  [[nodiscard]] bool unacknowledged() const noexcept { return !retention_.empty(); }
  [[nodiscard]] std::uint64_t next_number() const noexcept { return next_number_; }
  // No try_send goes any more.
  void close() noexcept;

  // As the lane of the slot wants it.
  static void fill_for(const LaneSlot& slot, wire::FrameHeader& header, std::span<const std::byte> payload,
                       std::uint64_t number, std::uint8_t flags) noexcept;

  LaneSlot& add_lane(link::Lane& lane, LaneStage stage, bool session);
  // Forgets the lanes that are lost.
  void remove_lost_lanes() noexcept;
  [[nodiscard]] const std::vector<std::unique_ptr<LaneSlot>>& slots() const noexcept { return slots_; }
  [[nodiscard]] bool several() const noexcept { return several_; }
  // The slot's stage has changed.
  void stage_changed() noexcept { update(); }
  // Its frames go again, over another lane.
  void lose(LaneSlot& slot) noexcept;
  // Its only lane was refused (link::Lane::refusal): what went into it is queued again, in front, and numbered from 0
  // when it goes. The goodbye (channel_end) is left out: the channel queues it itself. REQUIRES: the lane keeps
  // nothing, and not inside drain().
  void take_back_lane();
  // A frame that is not numbered; it goes before the next numbered one. REQUIRES: none is pending there.
  void post(LaneSlot& slot, const wire::FrameHeader& header, std::span<const std::byte> payload) noexcept;
  // The peer has received all frames below that number. protocol: so many were never sent.
  Status acknowledged(std::uint64_t number);
  [[nodiscard]] std::uint64_t acknowledged() const noexcept { return acknowledged_; }
  // Finishes everything that was not finished.
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
  [[nodiscard]] LaneSlot* choose(std::uint64_t payload_bytes) const noexcept;
  [[nodiscard]] bool window_is_full(std::uint64_t payload_bytes) const noexcept;
  LaneSlot* begin(wire::FrameHeader& header, std::span<const std::byte> payload, std::uint64_t number,
                  std::uint8_t flags, std::uint64_t& taken);
  bool send_again();
  bool send_next();
  bool copies(const Outgoing& outgoing) noexcept;
  int push_notice(LaneSlot& slot);
  int continue_push(LaneSlot& slot);
  void apply_acknowledged();
  void update() noexcept;

  link::Lane* plain_lane_ = nullptr;
  std::uint64_t next_number_ = 0;
  std::uint32_t plain_checked_bytes_ = 0;
  bool plain_checked_ = false;
  bool busy_ = false;
  bool draining_ = false;
  bool closed_ = false;
  bool several_ = false;  // may have several lanes: all frames are retained
  std::uint64_t acknowledged_ = 0;
  std::uint64_t claimed_ =
      0;  // what the peer says that it has; more than acknowledged_ while a lane reads such a frame
  std::uint32_t last_lane_ = Retention::no_lane;
  OutgoingQueue queue_;
  Retention retention_;
  LanePolicy policy_;
  std::vector<std::unique_ptr<LaneSlot>> slots_;
  Outgoing rest_;                           // of a frame that a plain lane took in part
  std::unique_ptr<std::byte[]> rest_copy_;  // its payload
};

}  // namespace couplet::channel
