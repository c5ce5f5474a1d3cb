#include "exchange/mpi/flagged.hpp"

#include <algorithm>

#include "exchange/mpi/call.hpp"

namespace couplet::exchange {
namespace {

// If puts need no call of MPI at their target, MPI is called only so often while this member waits.
constexpr std::uint32_t polls_per_progress = 16;

constexpr std::size_t half_of(std::uint64_t message) noexcept {
  return message % Window::most_halves;
}

}  // namespace

Result<std::vector<std::string>> Flagged::prepare() {
  COUPLET_TRY(out_.reserve(team(), Way::out));
  COUPLET_TRY(window_.open(team(), Window::most_halves, Window::Flags::each_half));
  ports_.resize(port_count());
  COUPLET_TRY(start());
  return window_.places();
}

Status Flagged::begin(std::span<const std::uint32_t> sending, std::span<const std::uint32_t> receiving) {
  COUPLET_TRY(team().check_open());
  sending_ = sending;
  receiving_ = receiving;
  for (const std::uint32_t number : receiving) {
    ports_[number].has_arrived = false;
  }
  awaited_ = receiving.size();
  state_ = State::filling;
  return {};
}

std::byte* Flagged::outgoing(std::uint32_t number) {
  const PortState& one = ports_[number];
  const bool is_free = port(number).is_paired || one.sent < one.credit + Window::most_halves;
  return is_free ? out_.payload(number) : nullptr;
}

Status Flagged::send(std::uint32_t number, std::uint64_t bytes) {
  set_length(out_.payload(number), bytes);
  ++ports_[number].sent;
  return blocks() ? Status() : put(number);
}

Status Flagged::put(std::uint32_t number) {
  std::byte* const payload = out_.payload(number);
  COUPLET_TRY(enter(team().rank_of(number)));
  return window_.put(number, half_of(ports_[number].sent - 1), payload, length_of(payload));
}

Status Flagged::all_sent() {
  state_ = State::filled;
  return blocks() ? Status() : deliver();
}

// Every message first, then each flag: the flushes of the first messages give time to the others.
Status Flagged::deliver() {
  if (blocks()) {
    for (const std::uint32_t number : sending_) {
      COUPLET_TRY(put(number));
    }
  }
  for (const std::uint32_t number : sending_) {
    const int rank = team().rank_of(number);
    const std::uint64_t message = ports_[number].sent - 1;
    COUPLET_TRY(check_mpi(MPI_Win_flush(rank, window_.get()), "MPI_Win_flush"));
    COUPLET_TRY(window_.set_flag(number, half_of(message), message + 1));
    COUPLET_TRY(leave(rank));
  }
  state_ = State::delivered;
  return {};
}

Status Flagged::poll() {
  if (state_ == State::filled) {
    COUPLET_TRY(deliver());
  }
  const std::size_t before = awaited_;
  if (state_ != State::idle) {
    COUPLET_TRY(look());
  }
  if (awaited_ < before) {
    fruitless_polls_ = 0;
  } else if (!window_.is_direct() || ++fruitless_polls_ % polls_per_progress == 0) {
    team().progress();
  }
  return {};
}

Status Flagged::look() {
  COUPLET_TRY(enter_own());
  Status status;
  for (auto number = receiving_.begin(); number != receiving_.end() && status.ok(); ++number) {
    status = ports_[*number].has_arrived ? Status() : look_at(*number);
  }
  for (const std::uint32_t number : sending_) {
    if (!port(number).is_paired) {
      ports_[number].credit = window_.credit(number);
    }
  }
  const Status left = leave_own();
  return status.ok() ? left : status;
}

Status Flagged::look_at(std::uint32_t number) {
  PortState& one = ports_[number];
  const std::uint64_t expected = one.consumed + 1;
  const std::size_t half = half_of(one.consumed);
  const std::uint64_t found = window_.flag(number, half);
  if (found < expected) {
    return {};
  }
  window_.sync();
  one.length = length_of(window_.payload(number, half));
  if (found > expected || one.length > port(number).in_bytes) {
    return fail(Code::protocol,
                "{}: member {} has sent message {} with {} bytes, but message {} with at most {} is due", name(),
                port(number).peer, found - 1, one.length, expected - 1, port(number).in_bytes);
  }
  one.has_arrived = true;
  --awaited_;
  return {};
}

std::span<const std::byte> Flagged::incoming(std::uint32_t number) const {
  const PortState& one = ports_[number];
  return {window_.payload(number, half_of(one.consumed)), one.length};
}

Status Flagged::end() {
  state_ = State::idle;
  for (const std::uint32_t number : receiving_) {
    ++ports_[number].consumed;
    if (port(number).is_paired) {
      continue;
    }
    const int rank = team().rank_of(number);
    COUPLET_TRY(enter(rank));
    COUPLET_TRY(window_.set_credit(number, ports_[number].consumed));
    COUPLET_TRY(leave(rank));
  }
  return {};
}

}  // namespace couplet::exchange
