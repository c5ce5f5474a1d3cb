#include "channel/channel.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "base/raised_flag.hpp"
#include "channel/goodbye.hpp"
#include "channel/receipt_slot.hpp"
#include "channel/verify.hpp"

namespace couplet::channel {

namespace {

const link::LaneTraits opening_traits{.name = "opening", .largest_payload = 16U << 10, .eager_bytes = 16U << 10};

}  // namespace

Channel::Channel(PeerId peer, std::string peer_name, const Handlers& handlers, const ChannelOptions& options)
    : handlers_(handlers),
      own_pool_(options.retention == nullptr ? std::make_unique<RetentionPool>() : nullptr),
      sender_(options.retention == nullptr ? *own_pool_ : *options.retention, options.policy),
      traits_(opening_traits),
      peer_(peer),
      peer_name_(std::move(peer_name)),
      session_(options.session),
      attention_(options.attention) {
  COUPLET_ASSERT(handlers_[static_cast<std::size_t>(wire::FrameFamily::channel)] == nullptr);
  end_.owner = this;
  end_.header.kind = wire::channel_end;
  end_.until_acknowledged = true;
  end_.finished = [](Outgoing& outgoing, const Status& status) {
    static_cast<Channel*>(outgoing.owner)->end_sent_ = status.ok();
  };
}

Channel::~Channel() {
  COUPLET_ASSERT(!polling_);
  state_ = ChannelState::failed;
  failure_ = couplet::fail(Code::state, "the channel to {} was closed", peer_name_);
  sender_.finish_all(failure_);
}

void Channel::attach(std::unique_ptr<link::Lane> lane) {
  if (state_ == ChannelState::failed) {
    answer_resuming_peer(*lane);
    return;
  }
  for (const auto& slot : sender_.slots()) {
    if (slot->stage == LaneStage::retiring && lanes_.size() == max_lanes) {
      lose_lane(*slot, {Code::limit, "there is room for so many lanes only"});
    }
  }
  if (has_lost_lanes() && !polling_) {
    release_lanes();
  }
  COUPLET_ASSERT(!opened_ || session_ != 0);
  const link::LaneTraits& traits = lane->traits();
  if (opened_ && traits.largest_payload < traits_.largest_payload) {
    lane->shut();
    fail(couplet::fail(Code::mismatch, "{}: link {} takes frames of {} bytes, the connection began with {}", peer_name_,
                       traits.name, traits.largest_payload, traits_.largest_payload));
    return;
  }
  if (lanes_.size() == max_lanes) {
    lane->shut();
    return;
  }
  const bool session = session_ != 0 && (traits.may_break || opened_);
  const LaneStage stage = !session ? LaneStage::working : opened_ ? LaneStage::awaiting : LaneStage::early;
  LaneSlot& slot = sender_.add_lane(*lane, stage, session);
  if (!opened_) {
    traits_ = traits;
  }
  lanes_.push_back(std::move(lane));
  opened_ = true;
  state_ = ChannelState::open;
  lanes_changed();
  if (session) {
    sender_.post(slot, {.kind = wire::channel_session}, session_image());
    receipts_.told(next_receive_);
    sender_.drain();
  }
  want_poll();
}

bool Channel::resuming() const noexcept {
  return state_ == ChannelState::open &&
         std::none_of(sender_.slots().begin(), sender_.slots().end(), [](const auto& slot) {
           return slot->stage == LaneStage::working || slot->stage == LaneStage::early;
         });
}

void Channel::lanes_changed() noexcept {
  const auto& slots = sender_.slots();
  live_lanes_ = static_cast<std::size_t>(
      std::count_if(slots.begin(), slots.end(), [](const auto& slot) { return slot->stage != LaneStage::lost; }));
  const bool plainly = slots.size() == 1 && !slots.front()->retains;
  plainly_polled_ = plainly ? slots.front()->lane : nullptr;
  plain_ = plainly && !plainly_polled_->traits().checked;
  if (!polling_) {
    polled_ = slots.empty() ? nullptr : slots.front().get();
  }
}

// Retiring lanes alone do not keep the channel open: they end with the last lane that serves.
void Channel::lose_lane(LaneSlot& slot, const Status& why) {
  broken_why_ = why.within(fmt::format("{} over {}", peer_name_, slot.lane->traits().name));
  sender_.give_up(slot, LaneStage::lost);
  receipts_.lane_lost(next_receive_);
  lanes_changed();
  state_ = live_lanes_ == 0 ? ChannelState::broken : state_;
  if (placement_.end(slot.id)) {
    handlers_[placement_.header.kind >> 4]->unplaced(*this, placement_.header);
  }
  if (serving(sender_.slots()) == 0) {
    for (const auto& other : sender_.slots()) {
      if (other->stage == LaneStage::retiring) {
        lose_lane(*other, why);
      }
    }
  }
}

// The frame that is due arrives over the polled lane. A lane that the peer has given up must no longer write into the
// handler's memory. Returns false if the channel has broken.
bool Channel::lose_stale_lane() {
  if (!placement_.is_over_another(polled_->id)) [[likely]] {
    return true;
  }
  for (const auto& slot : sender_.slots()) {
    if (placement_.is_over_another(polled_->id) && placement_.lane == slot->id) {
      lose_lane(*slot, {Code::peer_lost, "the peer has sent again what it had begun to send over this lane"});
    }
  }
  return state_ == ChannelState::open;
}

void Channel::break_lanes(const Status& why, const link::Lane* only) {
  if (state_ != ChannelState::open || polling_) {
    return;
  }
  for (const auto& slot : sender_.slots()) {
    if (!slot->session || slot->stage == LaneStage::lost || (only != nullptr && slot->lane != only)) {
      continue;
    }
    const bool may_retire = slot->works() && slot->stage == LaneStage::working && lanes_.size() < max_lanes;
    if (only != nullptr && may_retire && serving(sender_.slots()) > 1) {
      sender_.give_up(*slot, LaneStage::retiring);
      receipts_.lane_lost(next_receive_);
      slot->lane->shut();
    } else {
      lose_lane(*slot, why);
    }
  }
  want_poll();
}

void Channel::release_lanes() noexcept {
  COUPLET_ASSERT(!polling_ && (told_ || has_lost_lanes()));
  for (const auto& slot : sender_.slots()) {
    if (told_ && slot->stage != LaneStage::lost) {
      sender_.give_up(*slot, LaneStage::lost);
    }
    if (slot->stage == LaneStage::lost) {
      std::erase_if(lanes_, [&slot](const auto& lane) { return lane.get() == slot->lane; });
    }
  }
  sender_.remove_lost_lanes();
  if (told_) {
    reorder_ = {};  // this object stays, see ChannelTable
  }
  lanes_changed();
}

void Channel::take_back_lane() {
  COUPLET_ASSERT(state_ == ChannelState::open && lanes_.size() == 1 && !polling_);
  sender_.take_back_lane();
  lanes_.clear();
  traits_ = opening_traits;
  state_ = ChannelState::opening;
  opened_ = lanes_shut_ = false;
  if (std::exchange(end_sent_, false)) {
    sender_.append(end_);
  }
  lanes_changed();
}

wire::SessionImage Channel::session_image() const noexcept {
  return wire::encode_session({.session = session_, .peer_session = peer_session_, .received = next_receive_});
}

// Tells a peer that resumes a channel which has failed here what has arrived, and why there will be nothing further.
void Channel::answer_resuming_peer(link::Lane& lane) {
  if (session_ != 0 && lane.traits().may_break) {
    LaneSlot slot{.lane = &lane};
    wire::FrameHeader header{.kind = wire::channel_session};
    const wire::SessionImage image = session_image();
    Sender::fill_for(slot, header, image, 0, 0);
    if (lane.push(header, image, 0) == static_cast<std::int64_t>(wire::frame_header_bytes + image.size())) {
      end_lane(slot);
    }
  }
  lane.shut();
}

// ---- sending --------------------------------------------------------------------------------------------------------

bool Channel::try_send(wire::FrameHeader& header, std::span<const std::byte> payload) {
  link::Lane* const lane = sender_.plain_lane();
  if (lane == nullptr || payload.size() > try_send_bytes) [[unlikely]] {
    return try_send_otherwise(header, payload);
  }
  sender_.number_plain(header, payload);
  const std::int64_t taken = lane->push(header, payload, 0);
  if (taken == static_cast<std::int64_t>(wire::frame_header_bytes + payload.size())) [[likely]] {
    sender_.sent_plain();
    return true;
  }
  const bool begun = sender_.begun_plain(header, payload, taken);
  want_poll();
  return begun;
}

bool Channel::try_send_otherwise(wire::FrameHeader& header, std::span<const std::byte> payload) {
  if (state_ != ChannelState::open || shutting_) {
    return false;
  }
  const bool taken = sender_.try_send(header, payload);
  if (sender_.busy()) {
    want_poll();
  }
  return taken;
}

void Channel::want_poll() noexcept {
  if (attention_ != nullptr) {
    attention_->poll_wanted();
  }
}

void Channel::send(Outgoing& outgoing) {
  COUPLET_ASSERT(outgoing.finished != nullptr && outgoing.payload.size() <= UINT32_MAX);
  if (state_ == ChannelState::failed || shutting_) {
    outgoing.finished(outgoing, state_ == ChannelState::failed
                                    ? failure_
                                    : couplet::fail(Code::state, "the channel to {} was shut already", peer_name_));
    return;
  }
  sender_.append(outgoing);
  if (state_ == ChannelState::open && !lanes_shut_) {
    sender_.drain();
  }
  if (sender_.busy()) {
    want_poll();
  }
}

void Channel::shut() noexcept {
  if (state_ == ChannelState::failed || shutting_) {
    return;
  }
  shutting_ = true;
  end_.header.first = session_ == 0 ? 0 : next_receive_;  // acknowledges what the peer has sent so far
  sender_.close();
  sender_.append(end_);
  if (state_ == ChannelState::open && !lanes_shut_) {
    sender_.drain();
  }
  want_poll();
}

void Channel::ask_acknowledgement() noexcept {
  if (!sender_.retention().empty() && receipts_.ask(sender_.next_number())) {
    want_poll();
  }
}

void Channel::acknowledge() noexcept {
  if (session_ != 0 && receipts_.tell_now(next_receive_)) {
    want_poll();
  }
}

// ---- receiving ------------------------------------------------------------------------------------------------------

std::byte* Channel::place(const wire::FrameHeader& header) {
  FrameHandler* const handler = handlers_[header.kind >> 4];
  const bool checked = polled_->lane->traits().checked;
  if (state_ != ChannelState::open || handler == nullptr || header.sequence != due() ||
      (header.flags & wire::frame_payload_checked) != 0 || (checked && (header.flags & wire::frame_checked) == 0) ||
      !polled_->takes_frames() || !wire::verify_header(header).ok()) {
    return nullptr;  // arrived() reports what is wrong, if anything is
  }
  try {
    std::byte* const memory = lose_stale_lane() ? handler->place(*this, header) : nullptr;
    if (memory != nullptr && polled_->session) {
      placement_ = {.lane = polled_->id, .header = header};
    }
    return memory;
  } catch (const std::bad_alloc&) {
    fail_without_memory();
    return nullptr;
  }
}

bool Channel::arrived(const wire::FrameHeader& header, std::span<const std::byte> payload) {
  if (state_ != ChannelState::open) {
    return false;
  }
  const bool plain = plain_ && header.magic == wire::frame_magic && header.version == wire::frame_version &&
                     header.flags == 0 && header.sequence == due() && header.payload_bytes == payload.size();
  return plain ? deliver(header, payload) : arrived_checked(header, payload);
}

// Delivers the next frame in order. A handler that throws fails the channel, since the lane is still at work below.
[[gnu::always_inline]] inline bool Channel::deliver(const wire::FrameHeader& header,
                                                    std::span<const std::byte> payload) {
  FrameHandler* const handler = handlers_[header.kind >> 4];
  if (handler == nullptr) [[unlikely]] {
    return arrived_from_channel(header, payload);
  }
  try {
    const Status status = handler->arrived(*this, header, payload);
    if (status.error() && state_ == ChannelState::open) [[unlikely]] {
      fail_here(status.code(), status.text());
    }
  } catch (const std::bad_alloc&) {
    fail_without_memory();
  }
  ++next_receive_;
  return state_ == ChannelState::open;
}

bool Channel::arrived_checked(const wire::FrameHeader& header, std::span<const std::byte> payload) {
  placement_.end(polled_->id);
  if (const Status status = verify(header, payload, *polled_, session_ != 0); !status.ok()) {
    fail_here(status.code(), status.text());
    return false;
  }
  if (header.kind == wire::channel_failed || header.kind == wire::channel_session ||
      header.kind == wire::channel_acknowledge) {
    return take_notice(header, payload);
  }
  if (!polled_->takes_frames()) {
    fail_here(Code::protocol, "a numbered frame arrived before the session frame");
    return false;
  }
  if (const auto ahead = static_cast<std::int32_t>(header.sequence - due()); ahead != 0) {
    return arrived_out_of_order(header, payload, ahead);
  }
  if (!lose_stale_lane() || !deliver(header, payload)) {
    return false;
  }
  receipts_.arrived(header, payload.size(), next_receive_);
  while (!reorder_.empty()) {
    const auto frame = reorder_.take(next_receive_);
    if (!frame) {
      break;
    }
    if (!deliver(frame->header, frame->payload)) {
      return false;
    }
    receipts_.arrived(frame->header, frame->payload.size(), next_receive_);
  }
  return true;
}

bool Channel::arrived_out_of_order(const wire::FrameHeader& header, std::span<const std::byte> payload,
                                   std::int32_t ahead) {
  if (!sender_.several()) {
    fail_here(Code::protocol,
              ahead > 0 ? fmt::format("frame {} came instead: {} frame(s) were lost on the way", header.sequence, ahead)
                        : fmt::format("frame {} came instead, for the second time", header.sequence));
    return false;
  }
  if (ahead < 0) {
    return true;  // it arrived before, over a lane that has broken
  }
  let_others_look(sender_.slots(), *polled_);  // one of them has the frame that is due
  try {
    const std::uint64_t number = next_receive_ + static_cast<std::uint64_t>(ahead);
    if (const Status status = reorder_.keep(number, header, payload); !status.ok()) {
      fail_here(status.code(), status.text());
    }
  } catch (const std::bad_alloc&) {
    fail_without_memory();
  }
  return state_ == ChannelState::open;
}

// Takes a frame of the channel itself that is not numbered.
bool Channel::take_notice(const wire::FrameHeader& header, std::span<const std::byte> payload) {
  if (header.kind == wire::channel_failed) {
    return arrived_from_channel(header, payload);
  }
  if (session_ == 0) {
    fail_here(Code::protocol, fmt::format("frame of kind 0x{:02x} without a session", header.kind));
    return false;
  }
  if (header.kind != wire::channel_session) {
    receipts_.peer_asks(header);
  }
  const Status status =
      header.kind == wire::channel_session ? take_session(payload) : sender_.acknowledged(header.first);
  if (!status.ok()) {
    fail_here(status.code(), status.text());
  }
  return state_ == ChannelState::open;
}

Status Channel::take_session(std::span<const std::byte> payload) {
  LaneSlot& slot = *polled_;
  if (slot.takes_frames()) {
    return couplet::fail(Code::protocol, "a session frame arrived that is not the first frame of its lane");
  }
  COUPLET_TRY_VALUE(const wire::SessionNotice notice, wire::decode_session(payload));
  if (peer_session_ != 0 && notice.session != peer_session_) {
    return couplet::fail(Code::peer_lost, "it has given up this connection and begins another one");
  }
  if (notice.peer_session != 0 && notice.peer_session != session_) {
    return couplet::fail(Code::peer_lost, "it resumes a connection that has ended here");
  }
  // The peer has written this when it attached the lane. It may have acknowledged more since, over others.
  peer_session_ = notice.session;
  slot.stage = LaneStage::working;
  sender_.update();
  receipts_.resumed();
  return sender_.acknowledged(notice.received);
}

bool Channel::arrived_from_channel(const wire::FrameHeader& header, std::span<const std::byte> payload) {
  if (header.kind == wire::channel_end) {
    ++next_receive_;
    peer_ended_ = true;
    if (session_ != 0 && header.first <= sender_.next_number()) {
      static_cast<void>(sender_.acknowledged(header.first));
    }
    fail(couplet::fail(Code::end, "{} has ended the connection", peer_name_));
    return false;
  }
  if (header.kind == wire::channel_failed && payload.size() <= wire::max_reason_bytes) {
    fail(couplet::fail(Code::protocol, "{} gave up the connection: {}", peer_name_, wire::printable_reason(payload)));
    peer_failed_ = true;
    return false;
  }
  fail_here(Code::protocol, fmt::format("unexpected frame of kind 0x{:02x}", header.kind));
  return false;
}

[[gnu::always_inline]] inline int Channel::poll_lanes(int budget) {
  if (plainly_polled_ != nullptr) [[likely]] {
    const int taken = plainly_polled_->poll(*this, budget);
    if (taken > 0) [[likely]] {
      return taken;
    }
    if ((taken < 0 || polled_->push_failed) && state_ == ChannelState::open) {
      lane_ended(*polled_);
    }
    return 0;
  }
  int work = 0;
  const auto& slots = sender_.slots();
  for (std::size_t index = 0; index < slots.size() && state_ == ChannelState::open; ++index) {
    LaneSlot& slot = *slots[index];
    if (slot.stage == LaneStage::lost) {
      continue;
    }
    polled_ = &slot;
    const int taken = slot.lane->poll(*this, budget);
    if (taken > 0) {
      work += taken;
    } else if ((taken < 0 || slot.push_failed) && state_ == ChannelState::open) {
      lane_ended(slot);
      ++work;
    }
  }
  if (state_ == ChannelState::open && !lanes_shut_) {
    LaneSlot* const slot = session_ != 0 && receipts_.due() ? slot_for_receipt(sender_) : nullptr;
    if (slot != nullptr) {
      sender_.post(*slot, receipts_.take(next_receive_), {});
    }
    if (sender_.busy()) {
      work += sender_.drain();
    }
  }
  return work;
}

int Channel::poll(int budget) {
  if (polling_) {
    return 0;
  }
  const RaisedFlag polling(polling_);
  int work = 0;
  if (state_ == ChannelState::open) [[likely]] {
    if (sender_.busy() && !lanes_shut_) {
      work += sender_.drain();
    }
    work += budget > 0 ? poll_lanes(budget) : 0;
    if (end_sent_ && !lanes_shut_) {
      shut_lanes();
    }
  }
  if (state_ == ChannelState::failed && !told_) {
    settle();
    ++work;
  }
  return work;
}

bool Channel::ready() const noexcept {
  if (state_ != ChannelState::open) {
    return state_ == ChannelState::failed && !told_;
  }
  const bool receipt_waits = session_ != 0 && receipts_.due() && slot_for_receipt(sender_) != nullptr;
  return (!lanes_shut_ && (sender_.ready() || end_sent_ || receipt_waits)) ||
         std::any_of(sender_.slots().begin(), sender_.slots().end(), [](const auto& slot) {
           return slot->stage != LaneStage::lost && (slot->push_failed || slot->lane->readable());
         });
}

void Channel::fail(const Status& why) {
  COUPLET_ASSERT(!why.ok());
  if (state_ != ChannelState::failed) {
    failure_ = why;
    state_ = ChannelState::failed;
    sender_.close();
    want_poll();
  }
}

void Channel::fail_here(Code code, std::string_view text) {
  fail({code, fmt::format("{} over {}: frame {} was due: {}", peer_name_, traits().name, due(), text)});
}

void Channel::fail_without_memory() noexcept {
  try {
    fail_here(Code::memory, "there was no memory for a frame that arrived");
  } catch (const std::bad_alloc&) {
    fail(Code::memory);
  }
}

void Channel::lane_ended(LaneSlot& slot) {
  const Status& why = slot.lane->failure();
  if (end_sent_ && why.code() != Code::protocol) {
    fail({Code::end, fmt::format("this process has ended the connection to {}", peer_name_)});
  } else if (slot.session && is_break(why.code())) {
    lose_lane(slot, why);
  } else {
    const bool ended = why.code() == Code::end;
    const std::string text =
        ended ? fmt::format("the connection ended after frame {} without a goodbye", due()) : why.text();
    fail({ended ? Code::peer_lost : why.code(), fmt::format("{} over {}: {}", peer_name_, traits().name, text)});
  }
}

void Channel::end_lane(LaneSlot& slot) {
  if (!end_sent_ && !peer_failed_) {
    say_goodbye(slot, {.why = failure_,
                       .has_session = session_ != 0,
                       .peer_ended = peer_ended_,
                       .received = next_receive_,
                       .next_number = sender_.next_number()});
  }
}

void Channel::shut_lanes() noexcept {
  for (const auto& slot : sender_.slots()) {
    if (slot->stage != LaneStage::lost) {
      slot->lane->shut();
    }
  }
  lanes_shut_ = true;
}

void Channel::settle() {
  if (!lanes_shut_) {
    for (const auto& slot : sender_.slots()) {
      end_lane(*slot);
    }
    shut_lanes();
  }
  sender_.finish_all(failure_);
  while (told_handlers_ < handlers_.size()) {  // if a handler throws, the next poll continues after it
    const auto handler = handlers_.begin() + static_cast<std::ptrdiff_t>(told_handlers_++);
    if (*handler != nullptr && std::find(handlers_.begin(), handler, *handler) == handler) {
      (*handler)->lost(*this, failure_);
    }
  }
  told_ = true;
}

}  // namespace couplet::channel
