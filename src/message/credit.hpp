// Credit: how many bytes of messages a peer may send before a receive has asked for them. A peer begins with little,
// and gets more as it uses what it has, as long as the sum over all peers allows it.
// Invariants: a peer never has more than MessengerOptions::payload_credit_bytes; all peers together never have more
// than max_grown_credit_bytes beyond that with which they begin. Tests: tests/unit/message/credit_test.cpp.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "message/flow.hpp"
#include "message/frame_sender.hpp"
#include "message/options.hpp"

namespace couplet::message {

class Credit {
 public:
  // options and frames outlive this.
  Credit(const MessengerOptions& options, std::int32_t universe_size, FrameSender& frames);

  // Sets the credit in both directions to that with which two ranks begin.
  void reset(Flow& flow) noexcept;
  // Messages of the peer with this charge need no memory here any more. Tells the peer when enough has come together.
  void give_back(Flow& flow, std::uint64_t bytes) noexcept {
    flow.owed += bytes;
    if (flow.owed >= flow.granted / 4 && flow.channel != nullptr) send(flow);
  }
  // Could the peer give so much credit back?
  [[nodiscard]] bool can_take(const Flow& flow, std::uint64_t bytes) const noexcept {
    return bytes <= options_.payload_credit_bytes - flow.credit;
  }
  // The peer has given credit back. Returns protocol if it was never given so much.
  Status take(Flow& flow, std::uint64_t bytes) const;

 private:
  [[nodiscard]] std::uint64_t grow(Flow& flow) noexcept;
  void send(Flow& flow) noexcept;

  const MessengerOptions& options_;
  std::uint64_t first_bytes_;
  std::uint64_t grown_bytes_ = 0;  // beyond the credit with which peers begin
  FrameSender& frames_;
};

}  // namespace couplet::message
