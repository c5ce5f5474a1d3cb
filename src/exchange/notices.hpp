// Notices: how the neighbours of an exchange hear that it has failed or was closed at one of them, and that one of them
// is lost. Exchange owns it. Invariants: what a member finds out is told to all its neighbours once, so that it reaches
// every member that could wait for it; it has a copy of the group, so that its requests are none of the user's; memory
// that messages still refer to is freed only when is_idle() returns true, or after the messenger.
// Tests: tests/conformance/exchange/failures_test.cpp.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "message/courier.hpp"
#include "wire/exchange.hpp"

namespace couplet::exchange {

class Notices {
 public:
  Notices(message::Messenger& messenger, message::Group& group) : courier_(messenger), group_(group) {}
  Notices(const Notices&) = delete;
  Notices& operator=(const Notices&) = delete;

  // Hears the neighbours from now on.
  void open(std::uint32_t context, std::span<const std::int32_t> neighbors);
  // Tells all neighbours, once: later calls do nothing.
  void tell(const wire::ExchangeNotice& notice) noexcept;
  // Returns an error if a neighbour is lost or has failed, or if one has closed the exchange and has not begun `rounds`
  // rounds. While the exchange is frozen, that is 0: a neighbour that has ended its freeze may close it. One that has
  // left in good order is no error here: what it has sent before may be all that is needed of it.
  [[nodiscard]] Status look(std::uint64_t rounds) noexcept;
  // Did a neighbour say what the last look has returned? It explains more than what this member has found itself. Later
  // looks return the same.
  [[nodiscard]] bool was_told() const noexcept { return was_told_; }
  // Has anything come since the last look, or has a neighbour closed the exchange without having begun `rounds` rounds?
  [[nodiscard]] bool has_news(std::uint64_t rounds) const noexcept;
  // Has any neighbour left in good order without having said that it closes the exchange?
  [[nodiscard]] bool has_departed() const noexcept { return has_departed_; }
  // Returns peer_lost, with its name, if that neighbour is one of them.
  [[nodiscard]] Status departure_of(std::int32_t rank) const;
  // The death of a neighbour is noticed, also without a hub.
  void watch() noexcept;
  // "rank 2 (program 'ocean' rank 2 on host n03)"
  [[nodiscard]] std::string name_of(std::int32_t rank) const;
  // Hears nothing any more.
  void close() noexcept;
  // Can the group and this object be destroyed now?
  [[nodiscard]] bool is_idle() const noexcept { return group_.pending == 0; }

 private:
  struct Neighbor {
    std::int32_t rank = -1;
    message::Request* request = nullptr;
    std::string incoming;
    bool has_closed = false;
    Status departure{};        // peer_lost if it has left in good order, and has not said that it closes
    std::uint64_t rounds = 0;  // that it has begun, if it has closed the exchange
  };
  [[nodiscard]] Status take(Neighbor& neighbor);

  message::Courier courier_;
  message::Group& group_;
  std::uint32_t context_ = 0;
  bool has_told_ = false;
  bool has_departed_ = false;
  bool was_told_ = false;
  std::deque<Neighbor> neighbors_;  // their texts keep their addresses
  Status failure_;
};

}  // namespace couplet::exchange
