#include "channel/sender.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "base/raised_flag.hpp"

namespace couplet::channel {
namespace {

constexpr int drain_budget = 64;  // the most frames that are sent in one call of drain()

[[nodiscard]] std::uint64_t frame_bytes(std::span<const std::byte> payload) noexcept {
  return wire::frame_header_bytes + payload.size();
}

// A frame that a refused lane has given back. It deletes itself when it was sent.
struct ReturnedFrame {
  ReturnedFrame(const wire::FrameHeader& header, std::span<const std::byte> bytes)
      : payload(bytes.begin(), bytes.end()) {
    outgoing.header = header;
    outgoing.payload = payload;
    outgoing.owner = this;
    outgoing.finished = [](Outgoing& sent, const Status& /*status*/) {
      delete static_cast<ReturnedFrame*>(sent.owner);
    };
  }
  ReturnedFrame(const ReturnedFrame&) = delete;
  ReturnedFrame& operator=(const ReturnedFrame&) = delete;

  Outgoing outgoing;
  std::vector<std::byte> payload;
};

}  // namespace

// ---- lanes ----------------------------------------------------------------------------------------------------------

LaneSlot& Sender::add_lane(link::Lane& lane, LaneStage stage, bool session) {
  COUPLET_ASSERT(slots_.size() < max_lanes);
  auto slot = std::make_unique<LaneSlot>();
  slot->lane = &lane;
  slot->id = ++last_lane_;
  slot->stage = stage;
  slot->session = session;
  slot->retains = session;
  slot->use = lane_use(policy_, lane.traits().name);
  // The memory is not touched before it is needed. If there is none, frames are sent through the queue.
  if (!session && !rest_copy_) {
    rest_copy_.reset(new (std::nothrow) std::byte[max_try_send_bytes]);
  }
  const auto behind = slot->use == LaneUse::long_ones
                          ? slots_.end()
                          : std::find_if(slots_.begin(), slots_.end(),
                                         [](const auto& other) { return other->use == LaneUse::long_ones; });
  LaneSlot& added = **slots_.insert(behind, std::move(slot));
  if (std::count_if(slots_.begin(), slots_.end(), [](const auto& other) { return other->stage != LaneStage::lost; }) >
      1) {
    several_ = true;
  }
  if (several_) {
    for (const auto& other : slots_) {
      other->retains = true;
    }
  }
  update();
  return added;
}

void Sender::remove_lost_lanes() noexcept {
  std::erase_if(slots_, [](const auto& slot) { return slot->stage == LaneStage::lost; });
  if (closed_ && slots_.empty()) {
    rest_copy_.reset();
  }
}

void Sender::give_up(LaneSlot& slot, LaneStage stage) noexcept {
  slot.stage = stage;
  slot.push = {};
  slot.notice.pending = false;
  retention_.lose_lane(slot.id);
  update();
}

void Sender::take_back_lane() {
  COUPLET_ASSERT(!draining_ && slots_.size() == 1 && retention_.empty());
  LaneSlot& slot = *slots_.front();
  std::vector<std::unique_ptr<ReturnedFrame>> frames;
  const auto keep = [&frames](const wire::FrameHeader& header, std::span<const std::byte> payload) {
    if (header.kind != wire::channel_end) {
      frames.push_back(std::make_unique<ReturnedFrame>(header, payload));
    }
  };
  slot.lane->take_back(keep);
  const Push begun = std::exchange(slot.push, {});
  if (begun.outgoing != nullptr) {
    queue_.prepend(*begun.outgoing);
  } else if (begun.header != nullptr) {
    keep(*begun.header, begun.payload);
  }
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    queue_.prepend(frame->release()->outgoing);
  }
  slots_.clear();
  next_number_ = 0;
  acknowledged_ = {};
  update();
}

void Sender::update() noexcept {
  busy_ = !queue_.empty() || retention_.any_to_send_again() ||
          std::any_of(slots_.begin(), slots_.end(), [](const auto& slot) { return !slot->idle(); });
  LaneSlot* const only = slots_.size() == 1 ? slots_.front().get() : nullptr;
  const bool free = only != nullptr && only->works() && !busy_ && !closed_;
  plain_lane_ = free && !only->retains && rest_copy_ ? only->lane : nullptr;
  keeping_slot_ = free && only->retains && !several_ ? only : nullptr;
  if (free) {
    checked_ = only->lane->traits().checked;
    checked_bytes_ = only->lane->traits().checked_payload_bytes;
  }
}

void Sender::close() noexcept {
  closed_ = true;
  update();
}

void Sender::fill_for(const LaneSlot& slot, wire::FrameHeader& header, std::span<const std::byte> payload,
                      std::uint64_t number, std::uint8_t flags) noexcept {
  const link::LaneTraits& traits = slot.lane->traits();
  fill_header(header, payload, number, traits.checked, traits.checked_payload_bytes, flags);
}

void Sender::relocate(const link::Relocation& memory) noexcept {
  queue_.relocate(memory);
  retention_.relocate(memory);
  for (const auto& slot : slots_) {
    Push& push = slot->push;
    push.payload = relocated(memory, push.payload);
    if (push.outgoing != nullptr) push.outgoing->payload = relocated(memory, push.outgoing->payload);
  }
}

LaneSlot* Sender::choose(const FrameSize& frame) const noexcept {
  if (slots_.size() == 1) [[likely]] {
    LaneSlot& slot = *slots_.front();
    return slot.works() && slot.idle() && !slot.full ? &slot : nullptr;
  }
  std::array<LaneLoad, max_lanes> loads;
  for (std::size_t index = 0; index < slots_.size(); ++index) {
    const LaneSlot& slot = *slots_[index];
    loads[index] = {.works = slot.works(),
                    .free = slot.idle() && !slot.full,
                    .largest_payload = slot.lane->traits().largest_payload,
                    .given_bytes = slot.given_bytes,
                    .use = slot.use};
  }
  const std::size_t index = choose_lane(policy_, frame, std::span(loads).first(slots_.size()));
  return index == no_lane_now ? nullptr : slots_[index].get();
}

// With several lanes, the receiver keeps frames that arrive early. This bounds how much it may have to keep.
bool Sender::window_is_full(std::uint64_t payload_bytes) const noexcept {
  return several_ && !retention_.empty() && retention_.bytes() + payload_bytes > max_unacknowledged_bytes;
}

// ---- frames that are sent at once -----------------------------------------------------------------------------------

bool Sender::begun_plain(const wire::FrameHeader& header, std::span<const std::byte> payload,
                         std::int64_t taken) noexcept {
  LaneSlot& slot = *slots_.front();
  if (taken <= 0) {
    slot.push_failed = taken < 0;
    update();
    return false;
  }
  if (!payload.empty()) {
    std::memcpy(rest_copy_.get(), payload.data(), payload.size());
  }
  rest_.header = header;
  rest_.payload = {rest_copy_.get(), payload.size()};
  slot.push = {.header = &rest_.header,
               .payload = rest_.payload,
               .number = next_number_++,
               .taken = static_cast<std::uint64_t>(taken)};
  update();
  return true;
}

bool Sender::try_send(wire::FrameHeader& header, std::span<const std::byte> payload) {
  LaneSlot* slot = keeping_slot_;
  std::uint64_t taken = 0;
  if (slot != nullptr && retention_.has_room(payload.size())) [[likely]] {
    fill_header(header, payload, next_number_, checked_, checked_bytes_, 0);
    const std::int64_t answer = slot->lane->push(header, payload, 0);
    if (answer <= 0) [[unlikely]] {
      slot->push_failed = answer < 0;
      update();
      return false;
    }
    taken = static_cast<std::uint64_t>(answer);
    slot->given_bytes += frame_bytes(payload);
  } else {
    if (busy_ || closed_ || payload.size() > max_try_send_bytes || window_is_full(payload.size())) {
      return false;
    }
    slot = choose({.payload_bytes = payload.size()});
    if (slot == nullptr || !slot->retains || !retention_.make_room(payload.size())) {
      return false;
    }
    slot = begin(header, payload, next_number_, 0, taken);
    if (slot == nullptr) {
      update();
      return false;
    }
  }
  const RetainedFrame frame = retention_.copy(header, payload, next_number_, slot->id);
  if (taken < frame_bytes(payload)) {
    slot->push = {.header = frame.header, .payload = frame.payload, .number = next_number_, .taken = taken};
    update();
  }
  ++next_number_;
  return true;
}

// Gives the frame to the lane that the policy chooses, or to another one if that lane takes nothing. Returns the lane
// that has taken something, or nullptr if the frame cannot be sent now.
LaneSlot* Sender::begin(wire::FrameHeader& header, std::span<const std::byte> payload, std::uint64_t number,
                        std::uint8_t flags, std::uint64_t& taken, bool of_long_message) {
  const FrameSize frame{.payload_bytes = payload.size(), .of_long_message = of_long_message};
  LaneSlot* refused = nullptr;
  LaneSlot* slot = choose(frame);
  for (; slot != nullptr; slot = choose(frame)) {
    fill_for(*slot, header, payload, number, flags);
    const std::int64_t answer = slot->lane->push(header, payload, 0);
    if (answer > 0) {
      taken = static_cast<std::uint64_t>(answer);
      slot->given_bytes += frame_bytes(payload);
      if (slots_.size() > 1 && payload.empty()) {  // such as the request for a long message
        let_others_look(slots_, *slot);
      }
      break;
    }
    slot->push_failed = answer < 0;
    slot->full = true;
    refused = slot;
  }
  if (refused != nullptr && !draining_) {
    for (const auto& other : slots_) {
      other->full = false;
    }
  }
  return slot;
}

// ---- queued frames --------------------------------------------------------------------------------------------------

void Sender::append(Outgoing& outgoing) noexcept {
  queue_.append(outgoing);
  busy_ = true;
  plain_lane_ = nullptr;
  keeping_slot_ = nullptr;
}

int Sender::drain() {
  if (draining_) {
    return 0;
  }
  int moved = 0;
  {
    const RaisedFlag draining(draining_);
    for (std::size_t index = 0; index < slots_.size(); ++index) {  // finished() may add lanes
      LaneSlot& slot = *slots_[index];
      slot.full = false;
      if (slot.stage != LaneStage::lost && !slot.push_failed) {
        moved += continue_push(slot) + push_notice(slot);
      }
    }
    if (acknowledged_.claimed > acknowledged_.applied) {
      // A lane that was still reading an acknowledged frame may have broken, so that the frame can be freed.
      apply_acknowledged();
    }
    while (moved < drain_budget && (retention_.any_to_send_again() ? send_again() : send_next())) {
      ++moved;
    }
  }
  for (const auto& slot : slots_) {
    slot->full = false;
  }
  update();
  return moved;
}

bool Sender::ready() const noexcept {
  if (!busy_) {
    return false;
  }
  const bool more =
      retention_.any_to_send_again() || (!queue_.empty() && !window_is_full(queue_.first()->payload.size()));
  return std::any_of(slots_.begin(), slots_.end(), [more](const auto& slot) {
    const bool wants = !slot->idle() || (more && slot->works());
    return slot->stage != LaneStage::lost && !slot->push_failed && wants && slot->lane->writable();
  });
}

// Sends a retained frame again. Returns true if a lane has taken something.
bool Sender::send_again() {
  const RetainedFrame frame = retention_.first_to_send_again();
  const std::uint8_t flags = frame.header->flags & wire::frame_acknowledge;
  std::uint64_t taken = 0;
  LaneSlot* const slot = begin(*frame.header, frame.payload, frame.number, flags, taken);
  if (slot == nullptr) {
    return false;
  }
  retention_.send_again_over(frame, slot->id);
  if (taken < frame_bytes(frame.payload)) {
    slot->push = {.header = frame.header, .payload = frame.payload, .number = frame.number, .taken = taken};
  }
  return true;
}

bool Sender::send_next() {
  Outgoing* const outgoing = queue_.first();
  if (outgoing == nullptr || window_is_full(outgoing->payload.size())) {
    return false;
  }
  const LaneSlot* const possible =
      choose({.payload_bytes = outgoing->payload.size(), .of_long_message = outgoing->of_long_message});
  if (possible == nullptr) {
    return false;
  }
  const bool retained = several_ || possible->retains;
  const bool copied = retained && !outgoing->until_acknowledged && retention_.make_room(outgoing->payload.size());
  std::uint64_t taken = 0;
  LaneSlot* const slot = begin(outgoing->header, outgoing->payload, next_number_,
                               retained && !copied ? std::uint8_t{wire::frame_acknowledge} : std::uint8_t{0}, taken,
                               outgoing->of_long_message);
  if (slot == nullptr) {
    return false;
  }
  outgoing->number = next_number_++;
  outgoing->lane = slot->id;
  static_cast<void>(queue_.take_first());
  const bool whole = taken == frame_bytes(outgoing->payload);
  Push push{.header = &outgoing->header, .payload = outgoing->payload, .number = outgoing->number, .taken = taken};
  if (copied) {
    const RetainedFrame frame = retention_.copy(outgoing->header, outgoing->payload, outgoing->number, slot->id);
    push.header = frame.header;
    push.payload = frame.payload;
  } else if (retained) {
    retention_.keep(*outgoing);
  } else if (!whole) {
    push.outgoing = outgoing;
  }
  if (!whole) {
    slot->push = push;
  }
  if (copied || (!retained && whole)) {
    update();  // finished() may call try_send
    outgoing->finished(*outgoing, {});
  }
  return true;
}

int Sender::push_notice(LaneSlot& slot) {
  Notice& notice = slot.notice;
  if (!notice.pending || slot.push.header != nullptr || slot.push_failed) {
    return 0;
  }
  const auto payload = std::span<const std::byte>(notice.payload).first(notice.payload_bytes);
  const std::int64_t taken = slot.lane->push(notice.header, payload, notice.taken);
  if (taken < 0) {
    slot.push_failed = true;
    return 0;
  }
  notice.taken += static_cast<std::uint64_t>(taken);
  notice.pending = notice.taken < frame_bytes(payload);
  return taken > 0 ? 1 : 0;
}

int Sender::continue_push(LaneSlot& slot) {
  Push& push = slot.push;
  if (push.header == nullptr) {
    return 0;
  }
  const std::int64_t taken = slot.lane->push(*push.header, push.payload, push.taken);
  if (taken < 0) {
    slot.push_failed = true;
    return 0;
  }
  push.taken += static_cast<std::uint64_t>(taken);
  if (push.taken == frame_bytes(push.payload)) {
    Outgoing* const outgoing = push.outgoing;
    push = {};
    if (outgoing != nullptr) {
      outgoing->finished(*outgoing, {});
    }
  }
  return taken > 0 ? 1 : 0;
}

void Sender::post(LaneSlot& slot, const wire::FrameHeader& header, std::span<const std::byte> payload) noexcept {
  Notice& notice = slot.notice;
  COUPLET_ASSERT(!notice.pending && payload.size() <= notice.payload.size());
  notice.header = header;
  std::copy(payload.begin(), payload.end(), notice.payload.begin());
  notice.payload_bytes = payload.size();
  notice.taken = 0;
  notice.pending = true;
  fill_for(slot, notice.header, std::span<const std::byte>(notice.payload).first(payload.size()), 0, 0);
  busy_ = true;
  plain_lane_ = nullptr;
  keeping_slot_ = nullptr;
}

// ---- acknowledgements -----------------------------------------------------------------------------------------------

Status Sender::acknowledged(std::uint64_t number) {
  if (number > next_number_) {
    return fail(Code::protocol, "{} frames are acknowledged, but only {} were sent", number, next_number_);
  }
  acknowledged_.claimed = std::max(acknowledged_.claimed, number);
  if (acknowledged_.claimed > acknowledged_.applied) {
    apply_acknowledged();
  }
  return {};
}

// Frees the frames that the peer has. A frame that a lane still reads is kept, although it has arrived over another
// lane.
void Sender::apply_acknowledged() {
  std::uint64_t number = acknowledged_.claimed;
  for (const auto& slot : slots_) {
    if (slot->push.header != nullptr && slot->push.outgoing == nullptr) {
      number = std::min(number, slot->push.number);
    }
  }
  acknowledged_.applied = std::max(acknowledged_.applied, number);
  retention_.drop_copies_below(number);
  while (Outgoing* const outgoing = retention_.take_kept_below(number)) {
    outgoing->finished(*outgoing, {});
  }
  update();
}

void Sender::finish_all(const Status& status) {
  closed_ = true;
  for (const auto& slot : slots_) {
    Outgoing* const outgoing = std::exchange(slot->push, {}).outgoing;
    slot->notice.pending = false;
    if (outgoing != nullptr) {
      outgoing->finished(*outgoing, status);
    }
  }
  retention_.drop_copies_below(UINT64_MAX);
  while (Outgoing* const outgoing = retention_.take_kept_below(acknowledged_.claimed)) {
    outgoing->finished(*outgoing, {});
  }
  while (Outgoing* const outgoing = retention_.take_kept_below(UINT64_MAX)) {
    outgoing->finished(*outgoing, status);
  }
  while (Outgoing* const outgoing = queue_.take_first()) {
    outgoing->finished(*outgoing, status);
  }
  update();
}

}  // namespace couplet::channel
