// The memory of peers on this node: this process tells where its own can be reached, proves once for each peer that it
// reaches the right process, and reads messages from there. A reading that fails ends it for that peer.
// Invariant: nothing is read from a process that has not shown the nonce of its envelope.
// Tests: tests/unit/message/share_test.cpp, tests/conformance/message.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "counters/counters.hpp"
#include "message/flow.hpp"
#include "os/wiped_page.hpp"
#include "wire/message.hpp"

namespace couplet::message {

class PeerMemory {
 public:
  // is_used: false if messages always go through the channel.
  PeerMemory(bool is_used, counters::Counters& counters);

  // The envelope that tells a peer where the message lies.
  [[nodiscard]] wire::Envelope own(const void* data) const noexcept;
  // The same, or an empty one if the peer could not, or must not, read from here.
  [[nodiscard]] wire::Envelope offer_to(const Flow& flow, const void* data) const noexcept;
  // Reads, once for each peer, a number from its memory that only the intended process has there. If there is no memory
  // for the reason of a failure, no reason is stored.
  void prove(Flow& flow, const wire::Envelope& envelope) const noexcept;
  // Reads the message from the sender's memory. Returns false if that fails; then this message and all later ones are
  // copied in pieces.
  bool read(const Request& request, std::uint64_t address) noexcept;
  // The peer's memory cannot be read or written any more.
  static void refuse(Flow& flow, const Status& why) noexcept;

 private:
  [[nodiscard]] std::string attempt(Flow& flow, const wire::Envelope& envelope) const;

  bool is_used_;
  counters::Counters& counters_;
  std::uint32_t process_;
  std::array<std::uint8_t, 16> nonce_{};
  os::WipedPage page_;  // where peers find the nonce
};

}  // namespace couplet::message
