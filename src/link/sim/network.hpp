// sim: a network in one process that does the same again for the same seed. It turns pushed bytes into bytes that
// arrive later by a virtual clock, with delay, jitter, bandwidth, bounded buffers, partial pushes and reads,
// partitions, and the death of an endpoint. channel and tests use it; it includes wire. One thread; things happen only
// in push, poll and advance.
// Invariants: each direction of a lane is a stream of bytes like TCP's, in order and without losses; the peers of a
// dead endpoint learn of its death after death_notice_ns, when they have taken what had arrived; the traces of two runs
// with the same seed and the same calls are equal.
// Tests: tests/conformance/link, tests/sim, tests/unit/link.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "link/link.hpp"

namespace couplet::link {

struct SimOptions {
  std::string_view name = "sim";  // the name of the link in the lane's traits
  std::uint64_t delay_ns = 10'000;
  std::uint64_t jitter_ns = 5'000;     // added to the delay of each piece, without changing the order
  std::uint64_t bytes_per_us = 1'000;  // for each direction of each lane; 0: no limit
  // Bytes that are under way or wait to be read, in each direction. If they are so many, push takes nothing.
  std::uint64_t buffer_bytes = 64U << 10;
  double partial = 0.2;  // how often push takes only some of the bytes
  std::uint64_t death_notice_ns = 1'000'000;
  std::uint64_t silence_limit_ns = 4'000'000'000;  // endpoints that are parted for so long lose each other
  std::uint32_t largest_payload = 64U << 10;
  std::uint64_t eager_bytes = 16U << 10;
};

class SimNetwork {
 public:
  using Endpoint = int;
  using LanePair = std::pair<std::unique_ptr<Lane>, std::unique_ptr<Lane>>;

  explicit SimNetwork(std::uint64_t seed, SimOptions options = {});
  ~SimNetwork();
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;

  // Makes a lane between two endpoints (any numbers, also the same one twice), and returns first's end and second's
  // end. Lanes may outlive the network; they then find that their peer is gone.
  [[nodiscard]] LanePair connect(Endpoint first, Endpoint second);

  [[nodiscard]] std::uint64_t now_ns() const noexcept;
  void advance(std::uint64_t duration_ns);
  // Advances to the next time at which something arrives (bytes, the end, a notice of death or loss). Returns false if
  // nothing is under way.
  bool advance_to_next();

  // Parts two endpoints: nothing arrives in either direction. What is under way arrives after they are healed.
  void part(Endpoint first, Endpoint second);
  void heal(Endpoint first, Endpoint second);
  // Resets the lanes that exist between the two, as if a connection broke while both live. From some byte on, the bytes
  // under way are lost, and both ends learn of it after they have taken what arrives.
  void cut(Endpoint first, Endpoint second);
  // Kills the endpoint: its lanes return -1 at once, and a part of what it had sent and had not arrived is lost.
  void kill(Endpoint endpoint);
  [[nodiscard]] bool alive(Endpoint endpoint) const;

  // For the decisions of a test, so that one seed decides all.
  [[nodiscard]] Random& random() noexcept;
  // Returns a hash of all events, and below it the lines, if they are kept.
  [[nodiscard]] std::uint64_t trace_hash() const noexcept;
  void keep_trace(bool keep);
  [[nodiscard]] const std::vector<std::string>& trace() const noexcept;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace couplet::link
