#include "relay/remote_part.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "base/swap.hpp"
#include "base/types.hpp"
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

bool writer_lives(series::Environment& environment, const RemotePart::Source& source) {
  return source.writer_incarnation ? environment.alive(source.writer, *source.writer_incarnation).ok()
                                   : environment.program_alive(source.program).code() != Code::peer_lost;
}

// Returns true if the relay cannot be reached, or if none has come for so long that the reader is told.
bool is_given_up(const Line& line, const RemoteOptions& options, series::Environment& environment,
                 const RemotePart::Source& source) {
  const bool late = line.missed_ns() >= options.patience_ns &&
                    (line.missed_ns() >= options.restart_patience_ns || !writer_lives(environment, source));
  return line.hopeless() || late;
}

// Waits until a relay has confirmed the end, but not longer than a read would wait for a relay. An end that is not
// confirmed by then is told to the next relay when this process makes a call.
void wait_for_end(OwedEnds& ends, std::uint32_t number, const RemoteOptions& options, series::Environment& environment,
                  const RemotePart::Source& source) {
  const auto decided = [&] {
    ends.send();
    const auto owed = ends.owed(number);  // all holds of a relay wait together
    if (!owed || owed->unanswered_ns >= options.patience_ns || !writer_lives(environment, source)) {
      return true;
    }
    const bool another_comes =
        owed->line.missed_ns() < options.patience_ns || environment.program_alive(source.program).ok();
    return !another_comes || is_given_up(owed->line, options, environment, source);
  };
  if (!decided()) {
    static_cast<void>(environment.wait(decided, os::never));
  }
}

template <typename Body>
bool has_memory_for(const Body& body) {
  try {
    body();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void evict_holders(series::SeriesFile& file) {
  for (std::uint32_t index = 0; index < file.reader_entries(); ++index) {
    auto& entry = file.readers()[index];
    series::Owner owner = series::owner_of(entry);
    if (owner.state == wire::ReaderState::holding) {
      const series::Owner seen = owner;
      owner.state = wire::ReaderState::evicted;
      static_cast<void>(series::replace_owner(entry, seen, series::pack(owner)));
    }
  }
}

Status refusal_of(const wire::FrameHeader& header, std::span<const std::byte> payload, const std::string& title) {
  const std::string text(reinterpret_cast<const char*>(payload.data()),
                         std::min(payload.size(), wire::longest_relay_text));
  Status why(static_cast<Code>(header.tag), fmt::format("{}: {}", title, text));
  return why.error() ? why : Status(Code::protocol, why.text());
}

void turn_numbers(const wire::SeriesGeometry& geometry, std::byte* slot) {
  for (const auto& field : geometry.fields) {
    swap_numbers(slot + field.offset_bytes, field.bytes, find_type(field.type)->swap_bytes);
  }
}

}  // namespace

Result<std::unique_ptr<LocalSlots>> LocalSlots::make(wire::SeriesGeometry geometry, const std::string& title) {
  auto made = std::make_unique<LocalSlots>();
  COUPLET_TRY(wire::place_series(geometry));
  auto memory = made->memory_.reserve(geometry.file_bytes);
  if (!memory) {
    return memory.status().within(fmt::format("{}: local slots", title));
  }
  const std::span<std::byte> bytes(*memory, geometry.file_bytes);
  COUPLET_TRY_VALUE(made->file_, series::SeriesFile::create_in(bytes, std::move(geometry)));
  return made;
}

RemotePart::RemotePart(Remote& remote, std::uint32_t number, channel::PeerId server, Source source,
                       std::unique_ptr<LocalSlots> slots)
    : remote_(remote),
      number_(number),
      source_(std::move(source)),
      slots_(std::move(slots)),
      line_(remote.channels_, server),
      step_bytes_(slots_.file().geometry().step_bytes),
      carried_(source_.retained),
      relayed_{source_.selection.reader, server, wire::whole_share, wire::whole_share, 0} {
  remote_.parts_[number_] = this;
}

RemotePart::~RemotePart() {
  if (state_ == State::open && holds()) {
    // A process that computes does not hear that its relay was started again.
    static_cast<void>(remote_.environment_.between_slices());
  }
  const bool has_ended = slots_.file().control().published.closed.load(std::memory_order_relaxed) != 0;
  const bool may_hold =
      told_.asked && holds() && (state_ != State::refused || source_.selection.again || told_.asked_before);
  channel::Channel* const channel = line_.channel();
  remote_.parts_.erase(number_);
  slots_.leave_to(remote_.left_, number_, channel);
  if (may_hold) {
    remote_.owed_ends_.add(std::move(line_), *source_.end);
  }
  const auto tell = [&] {
    if (may_hold) {
      remote_.owed_ends_.send();
    }
    if (may_hold && state_ == State::broken && !has_ended) {
      wait_for_end(remote_.owed_ends_, number_, remote_.options_, remote_.environment_, source_);
    } else if (!may_hold && channel != nullptr && state_ != State::refused) {
      remote_.posts_.send(*channel, header_of(RelayKind::unsubscribe, number_));
    }
  };
  static_cast<void>(has_memory_for(tell));  // if it has none, the relay of a hold is told later
}

// ---- asking ----

Status RemotePart::finish_opening(std::uint64_t deadline_ns) {
  const auto decided = [this] {
    ask();
    return state_ != State::asking || is_given_up(line_, remote_.options_, remote_.environment_, source_);
  };
  COUPLET_TRY(remote_.environment_.wait(decided, deadline_ns));
  if (state_ != State::asking) {
    return why_;
  }
  if (line_.channel() == nullptr) {
    return fail(is_given_up(line_, remote_.options_, remote_.environment_, source_) ? Code::peer_lost : Code::timeout,
                "{}: {}", source_.title, line_.missing());
  }
  return fail(Code::timeout, "{}: {} has not answered within the timeout of this call", source_.title,
              remote_.environment_.peer_name(line_.server()));
}

void RemotePart::ask() {
  if (!line_.connect()) {
    return;
  }
  told_.asked = true;
  if (state_ == State::broken) {  // the hold is still valid: continue where the lost relay has stopped
    in_step_ = false;
    receiving_ = 0;
    source_.selection.again = true;
    source_.selection.next = arrived_end();
    if (!holds()) {
      told_.granted = std::max(told_.granted, source_.selection.next + slots_.file().slots());
    }
    source_.selection.window = told_.granted - std::min(told_.granted, source_.selection.next);
  }
  remote_.posts_.send(*line_.channel(), header_of(RelayKind::subscribe, number_),
                      wire::encode_subscribe(source_.selection));
}

void RemotePart::lost(const channel::Channel& channel, const Status& why) {
  if (&channel == line_.channel()) {
    slots_.end_filling();
    line_.lost(why);
    told_.asked_before = told_.asked_before || told_.asked;
    state_ = state_ == State::open ? State::broken : state_;
  }
}

std::string RemotePart::hindered() {
  return state_ == State::broken && line_.channel() == nullptr ? fmt::format("{}: {}", source_.title, line_.missing())
                                                               : std::string();
}

Status RemotePart::alive() {
  if (state_ == State::asking) {
    return {};
  }
  if (state_ == State::refused) {
    return why_;
  }
  series::Environment& environment = remote_.environment_;
  const bool serves_itself = line_.server() == source_.writer;  // then no relay says that it is gone
  writer_gone_ = writer_gone_ || (state_ == State::broken && serves_itself && !writer_lives(environment, source_));
  if (!writer_gone_) {
    return state_ == State::broken && is_given_up(line_, remote_.options_, environment, source_)
               ? fail(Code::peer_lost, "{}: {}", source_.title, line_.missing())
               : Status();
  }
  if (Status writer = environment.alive(source_.writer, *source_.writer_incarnation); !writer.ok()) {
    return writer;
  }
  return fail(Code::peer_lost, "{} is gone", environment.peer_name(source_.writer));
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

series::Relayed* RemotePart::relayed() noexcept {
  carried_.look(os::now_ns(), published(), arrived_end(), in_step_);
  relayed_.writer_gone = writer_gone_;
  relayed_.possible_share = holds() ? wire::whole_share : carried_.share();
  return &relayed_;
}

std::uint64_t RemotePart::arrived_end() const {
  return slots_.file().control().published.published.load(std::memory_order_relaxed);
}

std::uint64_t RemotePart::published() noexcept {
  return std::max(known_published_, arrived_end());
}

void RemotePart::released(const series::NeededSteps& needed) {
  needed_ = needed.from >= needed_.from ? needed : needed_;
  send_credit();
}

// Sends credit. For a holder, the relay may send as many ordinals as slots are read; for a follower, as many as fit
// into the slots, over the oldest ones, beginning with the next one that it takes: the relay waits for credit for that
// one, also if it has told of the loss of ordinals before it. What the other links have yet to bring is not overwritten
// while the links wait for each other.
void RemotePart::send_credit() {
  if (state_ != State::open || line_.channel() == nullptr) {
    return;
  }
  const std::uint64_t slots = slots_.file().slots();
  const std::uint64_t end = arrived_end();
  const std::uint64_t kept = std::min(end, std::max(relayed_.kept_from, needed_.from));
  const std::uint64_t next = holds() ? needed_.from : std::min(needed_.first(kept), wire::largest_ordinal);
  const std::uint64_t limit = std::max(told_.granted, next + slots);
  const std::uint32_t share = holds() ? wire::whole_share : relayed_.wanted_share;
  const bool due =
      holds() ? needed_.from > told_.needed.from : limit - told_.granted >= (slots + 1) / 2 || needed_.from > end;
  const bool news = limit != told_.granted || needed_.from != told_.needed.from;
  if ((!due || !news) && share == carried_.told() && needed_.every == told_.needed.every) {
    return;
  }
  auto header = header_of(RelayKind::credit, number_);
  header.first = limit;
  header.second = needed_.from;
  header.tag = wire::encode_wanted({share, needed_.every});
  told_.granted = limit;
  told_.needed = needed_;
  carried_.tell(share, published());
  remote_.posts_.send(*line_.channel(), header);
}

Status RemotePart::sleep(series::Waiting& waiting, std::uint64_t target) {
  const State before = state_;
  const bool gone_before = writer_gone_;  // what is known already is no reason to wake up
  const auto& control = slots_.file().control().published;
  return waiting.sleep([this, before, gone_before, target, &control] {
    return control.published.load(std::memory_order_relaxed) >= target ||
           control.closed.load(std::memory_order_relaxed) != 0 || state_ != before || writer_gone_ != gone_before;
  });
}

// ---- frames ----

Status RemotePart::check_piece(const wire::FrameHeader& header, std::uint64_t offset, std::uint64_t bytes) const {
  const std::uint64_t end = arrived_end();
  const bool passed = header.first > end && header.first <= told_.needed.from;
  const bool due = in_step_ ? header.first == receiving_ordinal_
                            : header.first == end || passed || header.first == told_.needed.first(end);
  if (!due || header.first >= std::max(told_.granted, told_.jumped) || offset != receiving_ ||
      bytes > step_bytes_ - offset) {
    return fail(Code::protocol, "{}: {} bytes at {} of ordinal {}, but ordinal {} has come up to {} of {} bytes",
                source_.title, bytes, offset, header.first, end, receiving_, step_bytes_);
  }
  return {};
}

void RemotePart::begin_step(std::uint64_t ordinal) {
  slots_.file().control().claimed.claimed.store(ordinal + 1, std::memory_order_relaxed);
  series::begin_write(slots_.file().slot_header(ordinal), ordinal);
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
  slots_.begin_filling();
  return slots_.file().slot(header.first) + offset;
}

Status RemotePart::arrived(const wire::FrameHeader& header, std::span<const std::byte> payload) {
  slots_.end_filling();
  const RelayKind kind = wire::relay_kind_of(header);
  if (kind == RelayKind::accepted) {
    return take_accepted(header, payload);
  }
  if (kind == RelayKind::refused) {
    Status why = refusal_of(header, payload, source_.title);
    if (why.code() == Code::protocol && source_.selection.reader != 0 && state_ != State::open) {
      // A relay of an earlier release refuses what it does not know. It serves a subscription without a number.
      source_.selection.reader = 0;
      source_.selection.jumps = false;
      remote_.posts_.send(*line_.channel(), header_of(RelayKind::subscribe, number_),
                          wire::encode_subscribe(source_.selection));
      return {};
    }
    if (why.code() == Code::evicted) {  // no relay was there when it happened
      evict_holders(slots_.file());
    }
    why_ = std::move(why);
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
      evict_holders(slots_.file());
      return {};
    default:
      return fail(Code::protocol, "{}: kind 0x{:02x}, which no relay sends to a reader", source_.title, header.kind);
  }
}

Status RemotePart::take_accepted(const wire::FrameHeader& header, std::span<const std::byte> payload) {
  COUPLET_TRY_VALUE(const auto accepted, wire::decode_accepted(payload));
  const bool again = source_.selection.again;
  if ((again ? state_ != State::broken : state_ != State::asking) || accepted.step_bytes != step_bytes_ ||
      (again && header.first != arrived_end()) || header.first > wire::largest_ordinal) {
    return fail(Code::protocol, "{}: the relay's answer does not fit the request: first ordinal {}, steps of {} bytes",
                source_.title, header.first, accepted.step_bytes);
  }
  state_ = State::open;
  swap_ = accepted.big_endian != (std::endian::native == std::endian::big);
  known_published_ = std::max(known_published_, accepted.published);
  source_.writer_incarnation = accepted.writer_incarnation;
  if (again) {
    told_.needed = {};  // the new relay has not heard what is needed, and sends all steps
    carried_.tell(wire::whole_share, published());
    return {};
  }
  first_ = header.first;
  needed_ = told_.needed = {first_};
  told_.granted = first_ + source_.selection.window;
  auto& control = slots_.file().control();
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
  std::byte* const slot = slots_.file().slot(header.first);
  if (!payload.empty() && payload.data() != slot + offset) {
    std::memcpy(slot + offset, payload.data(), payload.size());
  }
  receiving_ = offset + payload.size();
  if (!last) {
    return {};
  }
  if (swap_) {
    turn_numbers(slots_.file().geometry(), slot);
  }
  receiving_ = 0;
  in_step_ = false;
  series::end_write(slots_.file().slot_header(header.first), header.first, static_cast<std::int64_t>(header.second),
                    time_.ordinal == header.first ? time_.bits : wire::no_time);
  publish(header.first + 1);
  const std::uint64_t there = header.first + 1 + static_cast<std::uint32_t>(header.tag);
  known_published_ = std::max(known_published_, there);
  carried_.step_came(header.first, there, std::max(relayed_.known, known_published_));
  return {};
}

Status RemotePart::take_time(const wire::FrameHeader& header) {
  COUPLET_TRY(check_piece(header, 0, 0));
  time_ = {header.first, wire::time_bits_of(std::bit_cast<double>(header.second))};
  return {};
}

// Handles ordinals that will never come. The stamp of a torn one says so (see series::torn_before).
Status RemotePart::take_lost(const wire::FrameHeader& header) {
  const std::uint64_t end = arrived_end();
  const bool torn = header.tag != 0;
  if (header.first < end || header.second <= header.first || header.second > wire::largest_ordinal ||
      (torn && header.second != header.first + 1)) {
    return fail(Code::protocol, "{}: the relay says that ordinals {} to {} are lost, but ordinal {} was due",
                source_.title, header.first, header.second, end);
  }
  if (torn) {
    begin_step(header.first);
  } else if (in_step_) {  // the relay has given it up, since it is of no use to this reader
    series::give_up_write(slots_.file().slot_header(receiving_ordinal_));
  }
  in_step_ = false;
  receiving_ = 0;
  carried_.steps_were_lost(header.first, header.second, std::max(relayed_.known, known_published_));
  if (source_.selection.jumps) {
    told_.jumped = std::max(told_.jumped, header.second + told_.needed.every - 1 + source_.selection.window);
  }
  slots_.file().control().claimed.claimed.store(header.second, std::memory_order_relaxed);
  publish(header.second);
  return {};
}

// The relay sends nothing further: neither steps nor notes of loss for the last ordinals if this reader does not need
// them. They count as published here, too, so that the reader can pass over them.
Status RemotePart::take_ended(const wire::FrameHeader& header) {
  if (header.first > arrived_end()) {
    auto passed = header_of(RelayKind::lost, number_);
    passed.first = arrived_end();
    passed.second = header.first;
    COUPLET_TRY(take_lost(passed));
  }
  known_published_ = std::max(known_published_, header.first);
  if (header.tag == 0) {
    series::close(slots_.file().control().published);
  } else {
    writer_gone_ = true;
  }
  return {};
}

void RemotePart::publish(std::uint64_t end) {
  static_cast<void>(series::publish(slots_.file().control().published, end));
}

}  // namespace couplet::relay
