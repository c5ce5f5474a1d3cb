#include "relay/remote_part.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/types.hpp"
#include "message/swap.hpp"
#include "os/clock.hpp"
#include "series/slot_protocol.hpp"

namespace couplet::relay {

using wire::RelayKind;

namespace {

constexpr int most_rounds = 8;  // in one poll
constexpr int round_budget = 64;

wire::FrameHeader header_of(RelayKind kind, std::uint32_t number) {
  wire::FrameHeader header;
  header.kind = wire::relay_frame_kind(kind);
  header.context = number;
  return header;
}

}  // namespace

RemotePart::RemotePart(Remote& remote, std::uint32_t number, channel::PeerId server, Source source,
                       std::unique_ptr<series::SeriesFile> file)
    : remote_(remote),
      number_(number),
      source_(std::move(source)),
      file_(std::move(file)),
      line_(remote.channels_, server, remote.options_.patience_ns),
      step_bytes_(file_->geometry().step_bytes) {
  remote_.parts_[number_] = this;
}

RemotePart::~RemotePart() {
  if (state_ == State::broken && holds()) {
    static_cast<void>(remote_.environment_.wait(
        [this] {
          ask();
          return state_ != State::broken || line_.given_up();
        },
        os::now_ns() + remote_.options_.patience_ns));
  }
  remote_.parts_.erase(number_);
  if (line_.channel() != nullptr && state_ != State::refused) {
    remote_.post(*line_.channel(), header_of(RelayKind::unsubscribe, number_));
  }
}

// ---- asking ----

Status RemotePart::open(std::uint64_t deadline_ns) {
  const auto decided = [this] {
    ask();
    return state_ != State::asking || line_.given_up();
  };
  COUPLET_TRY(remote_.environment_.wait(decided, deadline_ns));
  if (state_ != State::asking) {
    return why_;
  }
  if (line_.channel() == nullptr) {
    return fail(Code::peer_lost, "{}: {}", source_.title, line_.why().text());
  }
  return fail(Code::timeout, "{}: {} has not answered", source_.title, remote_.environment_.peer_name(line_.server()));
}

void RemotePart::ask() {
  if (!line_.connect()) {
    return;
  }
  if (state_ == State::broken) {  // the hold has stayed valid meanwhile
    in_step_ = false;
    receiving_ = 0;
    source_.wish.again = true;
    source_.wish.next = arrived_end();
    source_.wish.window = granted_ - source_.wish.next;
  }
  remote_.post(*line_.channel(), header_of(RelayKind::subscribe, number_), wire::encode_subscribe(source_.wish));
}

void RemotePart::lost(const channel::Channel& channel, const Status& why) {
  if (&channel == line_.channel()) {
    line_.lost(why);
    state_ = state_ == State::open ? State::broken : state_;
  }
}

Status RemotePart::alive() {
  switch (state_) {
    case State::open:
      break;
    case State::asking:
      return {};
    case State::refused:
      return why_;
    case State::broken:
      return line_.given_up() ? fail(Code::peer_lost, "{}: the connection to {} is lost: {}", source_.title,
                                     remote_.environment_.peer_name(line_.server()), line_.why().text())
                              : Status();
  }
  if (!writer_gone_) {
    return {};
  }
  if (Status writer = remote_.environment_.alive(source_.writer, writer_incarnation_); !writer.ok()) {
    return writer;
  }
  return fail(Code::peer_lost, "{} is gone", remote_.environment_.peer_name(source_.writer));
}

// ---- the calls of series ----

Status RemotePart::poll() {
  if (state_ == State::broken) {
    ask();
  }
  for (int round = 0; line_.channel() != nullptr && round < most_rounds; ++round) {
    if (line_.channel()->poll(round_budget) == 0) {
      break;
    }
  }
  send_credit();
  return {};
}

std::uint64_t RemotePart::arrived_end() const {
  return file_->control().published.published.load(std::memory_order_relaxed);
}

std::uint64_t RemotePart::published() noexcept {
  return std::max(known_published_, arrived_end());
}

void RemotePart::released(std::uint64_t consumed) {
  consumed_ = std::max(consumed_, consumed);
  send_credit();
}

// Sends credit. For a holder, the relay may send as many ordinals as slots are read; for a follower, as many as fit
// into the slots, over the oldest ones.
void RemotePart::send_credit() {
  if (state_ != State::open || line_.channel() == nullptr) {
    return;
  }
  const std::uint64_t slots = file_->slots();
  const std::uint64_t end = arrived_end();
  std::uint64_t limit = std::max(granted_, (holds() ? consumed_ : std::max(end, consumed_)) + slots);
  const bool due = holds() ? consumed_ > told_consumed_ : limit - granted_ >= (slots + 1) / 2 || consumed_ > end;
  if (!due || (limit == granted_ && consumed_ == told_consumed_)) {
    return;
  }
  auto header = header_of(RelayKind::credit, number_);
  header.first = limit;
  header.second = consumed_;
  granted_ = limit;
  told_consumed_ = consumed_;
  remote_.post(*line_.channel(), header);
}

Status RemotePart::sleep(series::Waiting& waiting, std::uint64_t target) {
  const State before = state_;
  const bool gone_before = writer_gone_;  // what is known already is no reason to wake up
  const auto& control = file_->control().published;
  return waiting.sleep([this, before, gone_before, target, &control] {
    return control.published.load(std::memory_order_relaxed) >= target ||
           control.closed.load(std::memory_order_relaxed) != 0 || state_ != before || writer_gone_ != gone_before;
  });
}

// ---- frames ----

Status RemotePart::check_piece(const wire::FrameHeader& header, std::uint64_t offset, std::uint64_t bytes) const {
  const std::uint64_t end = arrived_end();
  const bool due = in_step_ ? header.first == receiving_ordinal_
                            : header.first == end || (header.first > end && header.first <= told_consumed_);
  if (!due || header.first >= granted_ || offset != receiving_ || bytes > step_bytes_ - offset) {
    return fail(Code::protocol, "{}: {} bytes at {} of ordinal {}, but ordinal {} has come up to {} of {} bytes",
                source_.title, bytes, offset, header.first, end, receiving_, step_bytes_);
  }
  return {};
}

void RemotePart::begin_step(std::uint64_t ordinal) {
  file_->control().claimed.claimed.store(ordinal + 1, std::memory_order_relaxed);
  series::begin_write(file_->slot_header(ordinal), ordinal);
  in_step_ = true;
  receiving_ordinal_ = ordinal;
}

std::byte* RemotePart::place(const wire::FrameHeader& header) {
  const RelayKind kind = wire::relay_kind_of(header);
  const std::uint64_t offset = kind == RelayKind::step ? receiving_ : header.second;
  if (state_ != State::open || (kind != RelayKind::piece && kind != RelayKind::step) ||
      !check_piece(header, offset, header.payload_bytes).ok()) {
    return nullptr;  // arrived() says what is wrong, if anything
  }
  if (!in_step_) {
    begin_step(header.first);
  }
  return file_->slot(header.first) + offset;
}

Status RemotePart::arrived(const wire::FrameHeader& header, std::span<const std::byte> payload) {
  const RelayKind kind = wire::relay_kind_of(header);
  if (kind == RelayKind::accepted) {
    return take_accepted(header, payload);
  }
  if (kind == RelayKind::refused) {
    const std::string text(reinterpret_cast<const char*>(payload.data()),
                           std::min(payload.size(), wire::longest_relay_text));
    why_ = {static_cast<Code>(header.tag), fmt::format("{}: {}", source_.title, text)};
    if (!why_.error()) {
      why_ = {Code::protocol, why_.text()};
    }
    state_ = State::refused;
    return {};
  }
  if (state_ != State::open) {
    return fail(Code::protocol, "{}: kind 0x{:02x} before the subscription was accepted", source_.title, header.kind);
  }
  switch (kind) {
    case RelayKind::piece:
      return take_piece(header, payload, false);
    case RelayKind::step:
      return take_piece(header, payload, true);
    case RelayKind::time:
      return take_time(header);
    case RelayKind::lost:
      return take_lost(header);
    case RelayKind::news:
      known_published_ = std::max(known_published_, header.first);
      return {};
    case RelayKind::ended:
      return take_ended(header);
    case RelayKind::evicted:
      return take_evicted();
    default:
      return fail(Code::protocol, "{}: kind 0x{:02x}, which no relay sends to a reader", source_.title, header.kind);
  }
}

Status RemotePart::take_accepted(const wire::FrameHeader& header, std::span<const std::byte> payload) {
  COUPLET_TRY_VALUE(const auto accepted, wire::decode_accepted(payload));
  const bool again = source_.wish.again;
  if ((again ? state_ != State::broken : state_ != State::asking) || accepted.step_bytes != step_bytes_ ||
      (again && header.first != arrived_end()) || header.first > wire::largest_ordinal) {
    return fail(Code::protocol, "{}: an answer that does not fit: first ordinal {}, steps of {} bytes", source_.title,
                header.first, accepted.step_bytes);
  }
  state_ = State::open;
  line_.answered();
  swap_ = accepted.big_endian != (std::endian::native == std::endian::big);
  known_published_ = std::max(known_published_, accepted.published);
  writer_incarnation_ = accepted.writer_incarnation;
  if (again) {
    told_consumed_ = 0;  // the new relay was told nothing yet
    return {};
  }
  first_ = header.first;
  consumed_ = told_consumed_ = first_;
  granted_ = first_ + source_.wish.window;
  auto& control = file_->control();
  control.claimed.claimed.store(first_, std::memory_order_relaxed);
  publish(first_);
  return {};
}

Status RemotePart::take_piece(const wire::FrameHeader& header, std::span<const std::byte> payload, bool last) {
  const std::uint64_t offset = last ? receiving_ : header.second;
  COUPLET_TRY(check_piece(header, offset, payload.size()));
  if (last && offset + payload.size() != step_bytes_) {
    return fail(Code::protocol, "{}: ordinal {} has {} bytes instead of {}", source_.title, header.first,
                offset + payload.size(), step_bytes_);
  }
  if (!in_step_) {
    begin_step(header.first);
  }
  std::byte* const slot = file_->slot(header.first);
  if (!payload.empty() && payload.data() != slot + offset) {
    std::memcpy(slot + offset, payload.data(), payload.size());
  }
  receiving_ = offset + payload.size();
  if (!last) {
    return {};
  }
  if (swap_) {
    turn_numbers(slot);
  }
  receiving_ = 0;
  in_step_ = false;
  series::end_write(file_->slot_header(header.first), header.first, static_cast<std::int64_t>(header.second),
                    timed_ordinal_ == header.first ? time_bits_ : wire::no_time);
  publish(header.first + 1);
  known_published_ = std::max(known_published_, header.first + 1 + static_cast<std::uint32_t>(header.tag));
  return {};
}

void RemotePart::turn_numbers(std::byte* slot) const {
  for (const auto& field : file_->geometry().fields) {
    message::swap_numbers(slot + field.offset_bytes, field.bytes, find_type(field.type)->swap_bytes);
  }
}

Status RemotePart::take_time(const wire::FrameHeader& header) {
  COUPLET_TRY(check_piece(header, 0, 0));
  timed_ordinal_ = header.first;
  time_bits_ = wire::time_bits_of(std::bit_cast<double>(header.second));
  return {};
}

// Handles ordinals that will never come. The stamp of a torn one says so (see series::torn_before).
Status RemotePart::take_lost(const wire::FrameHeader& header) {
  const std::uint64_t end = arrived_end();
  const bool torn = header.tag != 0;
  if (header.first < end || header.second <= header.first || header.second > wire::largest_ordinal ||
      (torn && header.second != header.first + 1)) {
    return fail(Code::protocol, "{}: ordinals {} to {} are said to be lost, {} were due", source_.title, header.first,
                header.second, end);
  }
  if (torn) {
    begin_step(header.first);
  }
  in_step_ = false;
  receiving_ = 0;
  file_->control().claimed.claimed.store(header.second, std::memory_order_relaxed);
  publish(header.second);
  return {};
}

Status RemotePart::take_ended(const wire::FrameHeader& header) {
  known_published_ = std::max(known_published_, header.first);
  if (header.tag == 0) {
    series::close(file_->control().published);
  } else {
    writer_gone_ = true;
  }
  return {};
}

Status RemotePart::take_evicted() {
  for (std::uint32_t index = 0; index < file_->reader_entries(); ++index) {
    auto& entry = file_->readers()[index];
    series::Owner owner = series::owner_of(entry);
    if (owner.state == wire::ReaderState::holding) {
      const series::Owner seen = owner;
      owner.state = wire::ReaderState::evicted;
      static_cast<void>(series::replace_owner(entry, seen, series::pack(owner)));
    }
  }
  return {};
}

void RemotePart::publish(std::uint64_t end) {
  static_cast<void>(series::publish(file_->control().published, end));
}

}  // namespace couplet::relay
