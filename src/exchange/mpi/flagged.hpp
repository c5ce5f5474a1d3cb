// Flagged: put_flag and put_lock. Message n of a port goes into half n mod 2 of the peer. When it is there, the flag of
// that half is set to n + 1. A flag is a number of 64 bits that only grows.
//
// Why two halves suffice: on a paired port this member begins its message n after it has got the neighbour's message
// n - 1, which the neighbour sent after it had consumed message n - 2, the last one in this half. On all other ports
// the receiver sets the sender's credit to the number of messages that it has consumed, and message n waits for credit
// n - 1. The model in tests/model/halves.pml checks this.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exchange/mpi/mpi_method.hpp"
#include "exchange/mpi/window.hpp"

namespace couplet::exchange {

class Flagged : public MpiMethod {
 public:
  using MpiMethod::MpiMethod;
  Result<std::vector<std::string>> prepare() override;
  Status connect(std::span<const std::string> texts) override { return window_.connect(texts); }

  // If the window is not direct, only a call that waits can make sure that a message is there before its flag.
  [[nodiscard]] bool blocks() const noexcept override { return !window_.is_direct(); }
  Status begin(std::span<const std::uint32_t> sending, std::span<const std::uint32_t> receiving) override;
  [[nodiscard]] std::byte* outgoing(std::uint32_t port) override;
  Status send(std::uint32_t port, std::uint64_t bytes) override;
  Status all_sent() override;
  Status poll() override;
  [[nodiscard]] bool has_arrived(std::uint32_t port) const override { return ports_[port].has_arrived; }
  [[nodiscard]] std::span<const std::byte> incoming(std::uint32_t port) const override;
  [[nodiscard]] bool is_complete() const override { return state_ == State::delivered; }
  Status end() override;

 protected:
  [[nodiscard]] Window& window() noexcept { return window_; }
  // Called once, when the window is made.
  virtual Status start() = 0;
  // Begin and end the access to a rank's memory. After leave(), what was put is there, or will be without another
  // call by this member.
  virtual Status enter(int rank) = 0;
  virtual Status leave(int rank) = 0;
  // Begin and end the access to this member's own memory by loads.
  virtual Status enter_own() = 0;
  virtual Status leave_own() = 0;

 private:
  // Between rounds; outgoing messages are being filled; all are filled; all are put, and their flags set.
  enum class State : std::uint8_t { idle, filling, filled, delivered };
  struct PortState {
    std::uint64_t sent = 0;      // messages, in this and earlier rounds
    std::uint64_t consumed = 0;  // messages, in earlier rounds
    std::uint64_t credit = 0;    // messages that the peer has consumed, as far as it is known
    std::uint64_t length = 0;    // bytes that have arrived in this round
    bool has_arrived = false;
  };
  Status put(std::uint32_t port);
  Status deliver();
  Status look();
  Status look_at(std::uint32_t port);

  Window window_;
  Buffers out_;
  std::vector<PortState> ports_;
  std::span<const std::uint32_t> sending_;
  std::span<const std::uint32_t> receiving_;
  std::size_t awaited_ = 0;  // ports whose message has not arrived
  State state_ = State::idle;
  std::uint32_t fruitless_polls_ = 0;
};

}  // namespace couplet::exchange
