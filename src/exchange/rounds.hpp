// Rounds: carries out the rounds of a frozen plan with one method: packs what goes out into the method's memory, and
// unpacks what comes. It never waits: Exchange does. Tests: tests/conformance/exchange.
// Invariants: what arrives is unpacked only if its length, and the lengths of its variable edges, agree with the plan;
// nothing is allocated in a round.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exchange/buffer.hpp"
#include "exchange/method.hpp"
#include "exchange/plan.hpp"
#include "exchange/routes.hpp"

namespace couplet::exchange {

enum class Progress : std::uint8_t { waiting, done, failed };

// What has moved to and from one neighbour since the plan was frozen.
struct Traffic {
  std::int32_t peer = -1;
  std::uint64_t sent_messages = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_messages = 0;
  std::uint64_t received_bytes = 0;
};

class Rounds {
 public:
  // The edges are simplified and checked, and have these routes. All of it outlives the object.
  Rounds(std::span<const Edge> edges, const Routes& routes, Method& method);
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  // Begins the next round. REQUIRES: none is under way.
  Progress start() noexcept;
  // Does what can be done now. The round has ended if it returns done; failure() says why if it returns failed.
  // A method sends and receives, and that may poll the engine, which polls the exchange: a call inside start() or
  // advance() does nothing.
  Progress advance() noexcept;
  [[nodiscard]] Progress progress() const noexcept { return state_.progress; }
  [[nodiscard]] const Status& failure() const noexcept { return failure_; }
  // How many rounds were begun.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  // Has what the edge receives arrived in the round that is under way, or was the last one?
  [[nodiscard]] bool has_arrived(std::uint32_t edge) const noexcept;
  // The bytes that the edge moves: as given last by the sender, or as arrived last.
  [[nodiscard]] std::uint64_t length(std::uint32_t edge) const noexcept { return lengths_[edge]; }
  void set_length(std::uint32_t edge, std::uint64_t bytes) noexcept { lengths_[edge] = bytes; }
  // How many messages of the round have arrived.
  [[nodiscard]] std::size_t arrived_count() const noexcept { return taken_; }
  // One for each port.
  [[nodiscard]] std::span<const Traffic> traffic() const noexcept { return traffic_; }
  // The ports to which nothing could be sent yet, or from which nothing has come.
  [[nodiscard]] std::vector<std::uint32_t> awaited_ports() const;

 private:
  enum class Arrival : std::uint8_t { none, awaited, here };
  struct State {
    Progress progress = Progress::done;
    bool is_moving = false;  // start() or advance() is at work
  };
  void choose_ports();
  bool send_some();
  bool take_some();
  [[nodiscard]] bool takes_part(std::uint32_t edge) const noexcept { return edges_[edge].takes_part(count_ - 1); }
  std::uint64_t pack_route(const Route& route, std::byte* target) const noexcept;
  Status unpack_route(const Route& route, std::span<const std::byte> message);
  Status take(std::uint32_t port);
  Status copy_own();
  Progress fail_with(Status why) noexcept;

  std::span<const Edge> edges_;
  const Routes& routes_;
  Method& method_;
  std::vector<std::uint64_t> lengths_;  // one for each edge
  Buffer own_message_;                  // from this member to itself
  // The ports of the round, and how many of them are done.
  std::vector<std::uint32_t> sending_;
  std::vector<std::uint32_t> receiving_;
  std::size_t sent_ = 0;
  std::size_t taken_ = 0;
  std::vector<Arrival> arrivals_;       // one for each port
  std::vector<Traffic> traffic_;        // one for each port
  std::vector<std::uint32_t> port_of_;  // one for each edge
  std::uint64_t count_ = 0;
  State state_;
  Status failure_;
};

}  // namespace couplet::exchange
