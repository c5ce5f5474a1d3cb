#include "rounds.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "os/clock.hpp"

namespace couplet::exchange::testing {
namespace {

// Bytes that follow from `random`.
void fill(std::byte* to, std::uint64_t bytes, Random random) {
  while (bytes > 0) {
    const std::uint64_t word = random.next();
    const std::uint64_t piece = std::min<std::uint64_t>(bytes, sizeof word);
    std::memcpy(to, &word, piece);
    to += piece;
    bytes -= piece;
  }
}

}  // namespace

Status Rounds::run(std::uint64_t rounds) {
  for (const std::uint64_t end = next_round_ + rounds; next_round_ < end; ++next_round_) {
    COUPLET_TRY(begin(next_round_));
    COUPLET_TRY(send(next_round_));
    COUPLET_TRY(receive(next_round_));
  }
  return {};
}

Status Rounds::begin(std::uint64_t round) {
  sending_.clear();
  receiving_.clear();
  for (std::uint32_t number = 0; number < ports_.size(); ++number) {
    const Arrow* const out = pattern_.find(rank_, ports_[number].peer);
    const Arrow* const in = pattern_.find(ports_[number].peer, rank_);
    if (out != nullptr && out->takes_part(round)) {
      sending_.push_back(number);
    }
    if (in != nullptr && in->takes_part(round)) {
      receiving_.push_back(number);
    }
  }
  compute();
  return method_.begin(sending_, receiving_);
}

Status Rounds::send(std::uint64_t round) {
  for (const std::uint32_t number : sending_) {
    std::byte* memory = method_.outgoing(number);
    while (memory == nullptr) {
      COUPLET_TRY(poll("a place for a message"));
      memory = method_.outgoing(number);
    }
    if (reinterpret_cast<std::uintptr_t>(memory) % 64 != 0) {
      return fail(Code::internal, "outgoing memory is at {}, which is no multiple of 64", fmt::ptr(memory));
    }
    const Arrow& arrow = *pattern_.find(rank_, ports_[number].peer);
    Random random = randomness_of(pattern_, rank_, ports_[number].peer, round);
    const std::uint64_t bytes = length_of_message(arrow, random);
    fill(memory, bytes, random);
    COUPLET_TRY(method_.send(number, bytes));
  }
  return method_.all_sent();
}

Status Rounds::receive(std::uint64_t round) {
  const auto all_here = [this] {
    return std::all_of(receiving_.begin(), receiving_.end(),
                       [this](std::uint32_t number) { return method_.has_arrived(number); });
  };
  while (!all_here() || !method_.is_complete()) {
    COUPLET_TRY(poll(fmt::format("the messages of round {}", round)));
  }
  for (const std::uint32_t number : receiving_) {
    COUPLET_TRY(check(number, round));
  }
  compute();
  for (const std::uint32_t number : receiving_) {  // a neighbour that is ahead must not have touched it
    COUPLET_TRY(check(number, round));
  }
  messages_ += receiving_.size();
  return method_.end();
}

Status Rounds::check(std::uint32_t number, std::uint64_t round) {
  const std::int32_t from = ports_[number].peer;
  Random random = randomness_of(pattern_, from, rank_, round);
  const std::uint64_t bytes = length_of_message(*pattern_.find(from, rank_), random);
  const auto arrived = method_.incoming(number);
  std::vector<std::byte> expected(bytes);
  fill(expected.data(), bytes, random);
  if (arrived.size() != bytes) {
    return fail(Code::internal, "round {}: {} bytes have arrived from rank {}, and {} were sent", round, arrived.size(),
                from, bytes);
  }
  if (bytes != 0 && std::memcmp(arrived.data(), expected.data(), bytes) != 0) {
    return fail(Code::internal, "round {}: the {} bytes from rank {} are not those that were sent", round, bytes, from);
  }
  if (reinterpret_cast<std::uintptr_t>(arrived.data()) % 64 != 0) {
    return fail(Code::internal, "incoming memory is at {}, which is no multiple of 64", fmt::ptr(arrived.data()));
  }
  return {};
}

Status Rounds::poll(std::string_view aim) {
  COUPLET_TRY(method_.poll());
  if (++polls_ % 16 == 0) {
    Sleep sleep;
    if (method_.before_sleep(sleep)) {
      if (sleep.may_block) {
        return fail(Code::internal, "a method over MPI must not let its caller block outside MPI");
      }
      sched_yield();
    }
    method_.after_sleep();
  }
  if (polls_ % 1024 == 0 && os::now_ns() > deadline_ns_) {
    return fail(Code::timeout, "rank {} waits for {} for too long", rank_, aim);
  }
  return {};
}

Status Rounds::close() {
  for (;;) {
    COUPLET_TRY_VALUE(const bool closed, method_.close());
    if (closed) {
      return {};
    }
    sched_yield();
    if (os::now_ns() > deadline_ns_) {
      return fail(Code::timeout, "rank {} waits for the end of the method for too long", rank_);
    }
  }
}

// Lets this rank fall behind the others now and then.
void Rounds::compute() {
  if (!skew_.chance(0.05)) {
    return;
  }
  const std::uint64_t until_ns = os::now_ns() + skew_.below(200'000);
  while (os::now_ns() < until_ns) {
    os::pause();
  }
}

}  // namespace couplet::exchange::testing
