#include "channel/channel.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.hpp"

namespace couplet::channel {

namespace {

constexpr std::uint8_t kind_end = wire::frame_kind(wire::FrameFamily::channel, 0);
constexpr std::uint8_t kind_failed = wire::frame_kind(wire::FrameFamily::channel, 1);
constexpr std::size_t longest_reason_bytes = 1024;
constexpr int drain_budget = 64;  // frames moved out in one go

const link::LaneTraits opening_traits{.name = "opening", .largest_payload = 16U << 10, .eager_bytes = 16U << 10};

// What the peer says is shown to the user: nothing but printable characters.
[[nodiscard]] std::string printable(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    const auto character = std::to_integer<unsigned char>(byte);
    text += character < 0x20 || character == 0x7F ? '?' : static_cast<char>(character);
  }
  return text;
}

}  // namespace

Channel::Channel(PeerId peer, std::string peer_name, const Handlers& handlers, const ChannelOptions& /*options*/)
    : handlers_(handlers), peer_(peer), peer_name_(std::move(peer_name)) {
  COUPLET_ASSERT(handlers_[static_cast<std::size_t>(wire::FrameFamily::channel)] == nullptr);
  end_.owner = this;
  end_.header.kind = kind_end;
  end_.finished = [](Outgoing& outgoing, const Status& status) {
    static_cast<Channel*>(outgoing.owner)->end_sent_ = status.ok();
  };
  rest_.finished = [](Outgoing&, const Status&) {};
}

Channel::~Channel() {
  COUPLET_ASSERT(!polling_);
  state_ = ChannelState::failed;
  const Status closed(Code::state, fmt::format("the channel to {} was closed", peer_name_));
  while (Outgoing* outgoing = take_first()) {
    outgoing->finished(*outgoing, closed);
  }
}

const link::LaneTraits& Channel::traits() const noexcept {
  return lanes_.empty() ? opening_traits : lanes_.front()->traits();
}

void Channel::attach(std::unique_ptr<link::Lane> lane) {
  if (state_ == ChannelState::failed) {
    lane->shut();
    return;
  }
  lanes_.push_back(std::move(lane));
  if (state_ == ChannelState::opening) {
    state_ = ChannelState::open;
    opened_ = true;
    checked_ = traits().checked;
    checked_payload_bytes_ = traits().checked_payload_bytes;
    update_clear_lane();
  }
}

namespace {

// A frame that a refused lane has given back; it ends itself when it was sent.
struct Returned {
  Outgoing outgoing;
  std::vector<std::byte> payload;
};

}  // namespace

void Channel::take_back_lane() {
  COUPLET_ASSERT(state_ == ChannelState::open && lanes_.size() == 1 && !polling_);
  std::vector<std::unique_ptr<Returned>> frames;
  lanes_.front()->take_back([&frames](const wire::FrameHeader& header, std::span<const std::byte> payload) {
    if (header.kind != kind_end) {
      auto& frame = *frames.emplace_back(std::make_unique<Returned>());
      frame.outgoing.header = header;
      frame.payload.assign(payload.begin(), payload.end());
    }
  });
  lanes_.clear();
  state_ = ChannelState::opening;
  opened_ = push_failed_ = lane_shut_ = false;
  next_send_ = 0;
  sealed_ = nullptr;
  if (first_outgoing_ != nullptr) {
    first_outgoing_->taken = 0;  // the part of it that the lane had
  }
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    Returned* const returned = frame->release();
    returned->outgoing.payload = returned->payload;
    returned->outgoing.owner = returned;
    returned->outgoing.finished = [](Outgoing& outgoing, const Status& /*status*/) {
      delete static_cast<Returned*>(outgoing.owner);
    };
    returned->outgoing.next = first_outgoing_;
    first_outgoing_ = &returned->outgoing;
    last_outgoing_ = last_outgoing_ == nullptr || returned->outgoing.next == nullptr ? first_outgoing_ : last_outgoing_;
  }
  if (std::exchange(end_sent_, false)) {
    append(end_);
  }
  update_clear_lane();
}

// Sending.

void Channel::update_clear_lane() noexcept {
  const bool clear = state_ == ChannelState::open && first_outgoing_ == nullptr && !shutting_ && !push_failed_;
  clear_lane_ = clear ? lanes_.front().get() : nullptr;
}

void Channel::fill_header(wire::FrameHeader& header, std::span<const std::byte> payload) const noexcept {
  header.magic = wire::frame_magic;
  header.version = wire::frame_version;
  header.sequence = static_cast<std::uint32_t>(next_send_);
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  if (checked_) {
    wire::seal_frame(header, payload, !payload.empty() && payload.size() <= checked_payload_bytes_);
  } else {
    header.flags = 0;
    header.check = 0;
  }
}

bool Channel::try_send(wire::FrameHeader& header, std::span<const std::byte> payload) {
  link::Lane* const lane = clear_lane_;
  if (lane == nullptr || payload.size() > try_send_bytes) [[unlikely]] {
    return false;
  }
  fill_header(header, payload);
  const std::int64_t taken = lane->push(header, payload, 0);
  if (taken == static_cast<std::int64_t>(wire::frame_header_bytes + payload.size())) [[likely]] {
    ++next_send_;
    return true;
  }
  return push_ended(header, payload, taken);
}

// try_send's lane did not take the whole frame: keeps a copy of what was taken in part.
bool Channel::push_ended(wire::FrameHeader& header, std::span<const std::byte> payload, std::int64_t taken) {
  if (taken <= 0) {
    push_failed_ = taken < 0;
    update_clear_lane();
    return false;
  }
  if (!rest_copy_) {
    rest_copy_ = std::make_unique<std::byte[]>(try_send_bytes);
  }
  if (!payload.empty()) {
    std::memcpy(rest_copy_.get(), payload.data(), payload.size());
  }
  rest_.header = header;
  rest_.payload = {rest_copy_.get(), payload.size()};
  rest_.taken = static_cast<std::uint64_t>(taken);
  sealed_ = &rest_;
  ++next_send_;
  append(rest_);
  return true;
}

void Channel::append(Outgoing& outgoing) noexcept {
  outgoing.next = nullptr;
  (first_outgoing_ == nullptr ? first_outgoing_ : last_outgoing_->next) = &outgoing;
  last_outgoing_ = &outgoing;
  clear_lane_ = nullptr;
}

Outgoing* Channel::take_first() noexcept {
  Outgoing* const outgoing = first_outgoing_;
  if (outgoing != nullptr) {
    first_outgoing_ = outgoing->next;
    outgoing->next = nullptr;
    sealed_ = nullptr;
    update_clear_lane();
  }
  return outgoing;
}

void Channel::send(Outgoing& outgoing) {
  COUPLET_ASSERT(outgoing.finished != nullptr && outgoing.payload.size() <= UINT32_MAX);
  if (state_ == ChannelState::failed) {
    outgoing.finished(outgoing, failure_);
    return;
  }
  if (shutting_) {
    outgoing.finished(outgoing, couplet::fail(Code::state, "the channel to {} was shut already", peer_name_));
    return;
  }
  outgoing.taken = 0;
  append(outgoing);
  drain();
}

// True: whole.
bool Channel::push_rest(Outgoing& outgoing) {
  if (sealed_ != &outgoing) {
    fill_header(outgoing.header, outgoing.payload);
    sealed_ = &outgoing;
  }
  const std::int64_t taken = lanes_.front()->push(outgoing.header, outgoing.payload, outgoing.taken);
  if (taken < 0) {
    push_failed_ = true;
    return false;
  }
  if (outgoing.taken == 0 && taken > 0) {
    ++next_send_;
  }
  outgoing.taken += static_cast<std::uint64_t>(taken);
  return outgoing.taken == wire::frame_header_bytes + outgoing.payload.size();
}

// Moves queued frames out. Not entered again from finished(): what is sent there is appended and goes in the same loop.
int Channel::drain() {
  if (draining_ || state_ != ChannelState::open) {
    return 0;
  }
  draining_ = true;
  int moved = 0;
  while (first_outgoing_ != nullptr && state_ == ChannelState::open && !push_failed_ && moved < drain_budget) {
    const std::uint64_t before = first_outgoing_->taken;
    if (!push_rest(*first_outgoing_)) {
      moved += first_outgoing_->taken > before ? 1 : 0;
      break;
    }
    ++moved;
    Outgoing* const outgoing = take_first();
    outgoing->finished(*outgoing, {});
  }
  draining_ = false;
  return moved;
}

void Channel::shut() noexcept {
  if (state_ == ChannelState::failed || shutting_) {
    return;
  }
  shutting_ = true;
  end_.taken = 0;
  append(end_);
  drain();
}

// Receiving.

Status Channel::verify(const wire::FrameHeader& header, std::span<const std::byte> payload) const {
  COUPLET_TRY(wire::verify_header(header));
  if (checked_ && (header.flags & wire::frame_checked) == 0) {
    return couplet::fail(Code::protocol, "a frame without the check that this link demands");
  }
  COUPLET_TRY(wire::verify_payload(header, payload));
  const auto ahead = static_cast<std::int32_t>(header.sequence - due());
  if (ahead > 0) {
    return couplet::fail(Code::protocol, "frame {} came instead: {} frame(s) were lost on the way", header.sequence,
                         ahead);
  }
  if (ahead < 0) {
    return couplet::fail(Code::protocol, "frame {} came instead, which was here before", header.sequence);
  }
  return {};
}

std::byte* Channel::place(const wire::FrameHeader& header) {
  FrameHandler* const handler = handlers_[header.kind >> 4];
  if (state_ != ChannelState::open || handler == nullptr || header.sequence != due() ||
      (header.flags & wire::frame_payload_checked) != 0 || (checked_ && (header.flags & wire::frame_checked) == 0) ||
      !wire::verify_header(header).ok()) {
    return nullptr;  // arrived() says what is wrong, if anything is
  }
  return handler->place(*this, header);
}

bool Channel::arrived(const wire::FrameHeader& header, std::span<const std::byte> payload) {
  if (state_ != ChannelState::open) {
    return false;
  }
  const bool plain = !checked_ && header.magic == wire::frame_magic && header.version == wire::frame_version &&
                     header.flags == 0 && header.sequence == due() && header.payload_bytes == payload.size();
  if (!plain) {
    if (const Status status = verify(header, payload); !status.ok()) {
      fail_here(status.code(), status.text());
      return false;
    }
  }
  FrameHandler* const handler = handlers_[header.kind >> 4];
  if (handler == nullptr) [[unlikely]] {
    return arrived_from_channel(header, payload);
  }
  const Status status = handler->arrived(*this, header, payload);
  if (status.error() && state_ == ChannelState::open) [[unlikely]] {
    fail_here(status.code(), status.text());
  }
  ++next_receive_;
  return state_ == ChannelState::open;
}

bool Channel::arrived_from_channel(const wire::FrameHeader& header, std::span<const std::byte> payload) {
  if (header.kind == kind_end) {
    failure_ = couplet::fail(Code::end, "{} has ended the connection", peer_name_);
    state_ = ChannelState::failed;
    update_clear_lane();
    return false;
  }
  if (header.kind == kind_failed && payload.size() <= longest_reason_bytes) {
    failure_ = couplet::fail(Code::protocol, "{} gave the connection up: {}", peer_name_, printable(payload));
    state_ = ChannelState::failed;
    update_clear_lane();
    return false;
  }
  fail_here(Code::protocol, fmt::format("kind 0x{:02x}, which nobody here reads", header.kind));
  return false;
}

int Channel::poll(int budget) {
  if (polling_) {
    return 0;
  }
  polling_ = true;
  int work = 0;
  if (state_ == ChannelState::open) [[likely]] {
    if (first_outgoing_ != nullptr) {
      work += drain();
    }
    const int taken = lanes_.front()->poll(*this, budget);
    if (taken > 0) {
      work += taken;
    } else if ((taken < 0 || push_failed_) && state_ == ChannelState::open) {
      lane_failed();
    }
    if (end_sent_ && !lane_shut_) {
      lanes_.front()->shut();
      lane_shut_ = true;
    }
  }
  if (state_ == ChannelState::failed && !told_) {
    settle();
    ++work;
  }
  polling_ = false;
  return work;
}

bool Channel::ready() const noexcept {
  switch (state_) {
    case ChannelState::open:
      return lanes_.front()->readable() || push_failed_ || (end_sent_ && !lane_shut_) ||
             (first_outgoing_ != nullptr && lanes_.front()->writable());
    case ChannelState::failed:
      return !told_;
    case ChannelState::opening:
    case ChannelState::broken:
      break;
  }
  return false;
}

// Failing.

void Channel::fail(const Status& why) {
  COUPLET_ASSERT(!why.ok());
  if (state_ != ChannelState::failed) {
    failure_ = why;
    state_ = ChannelState::failed;
    update_clear_lane();
  }
}

void Channel::fail_here(Code code, std::string_view text) {
  fail({code, fmt::format("{} over {}: frame {} was due: {}", peer_name_, traits().name, due(), text)});
}

// The lane has nothing more to give.
void Channel::lane_failed() {
  const Status& why = lanes_.front()->failure();
  if (end_sent_ && (why.code() == Code::end || why.code() == Code::peer_lost)) {
    fail({Code::end, fmt::format("the connection to {} was ended from here", peer_name_)});
  } else if (why.code() == Code::end) {
    fail({Code::peer_lost, fmt::format("{} over {}: the connection ended after frame {} without a goodbye", peer_name_,
                                       traits().name, due())});
  } else {
    fail({why.code(), fmt::format("{} over {}: {}", peer_name_, traits().name, why.text())});
  }
}

// Tells the peer why there will be no more, if a frame can go now.
void Channel::say_goodbye(link::Lane& lane) {
  const bool in_frame = first_outgoing_ != nullptr && first_outgoing_->taken > 0;
  if (in_frame || push_failed_ || end_sent_ || failure_.code() == Code::peer_lost) {
    return;
  }
  const std::string text = failure_.text().substr(0, longest_reason_bytes);
  wire::FrameHeader header;
  header.kind = failure_.code() == Code::end ? kind_end : kind_failed;
  const std::span<const char> reason = failure_.code() == Code::end ? std::span<const char>() : std::span(text);
  fill_header(header, std::as_bytes(reason));
  if (lane.push(header, std::as_bytes(reason), 0) > 0) {
    ++next_send_;
  }
}

void Channel::settle() {
  told_ = true;
  if (!lanes_.empty()) {
    say_goodbye(*lanes_.front());
    for (const auto& lane : lanes_) {
      if (!lane_shut_) {
        lane->shut();
      }
    }
    lane_shut_ = true;
  }
  while (Outgoing* outgoing = take_first()) {
    outgoing->finished(*outgoing, failure_);
  }
  for (auto handler = handlers_.begin(); handler != handlers_.end(); ++handler) {
    if (*handler != nullptr && std::find(handlers_.begin(), handler, *handler) == handler) {
      (*handler)->lost(*this, failure_);
    }
  }
}

void Channel::release_lanes() noexcept {
  COUPLET_ASSERT(told_ && !polling_);
  lanes_.clear();
}

}  // namespace couplet::channel
