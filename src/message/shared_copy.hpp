// Both sides copy a large message at the same time, piece by piece. The receiver reads from the sender's memory, the
// sender writes into the receiver's, and a word that both see says which pieces are taken. If the sender makes no call,
// the receiver copies all pieces, and never waits for more than one piece that is being written.
// Tests: tests/unit/message/share_test.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "message/frame_sender.hpp"
#include "message/peer_memory.hpp"
#include "message/waiting.hpp"

namespace couplet::message {

class SharedCopy {
 public:
  // What the receiver has after its own part of the copy.
  enum class Outcome : std::uint8_t {
    whole,      // the message
    broken,     // not the message: it has to come in pieces
    under_way,  // its own pieces: the sender copies the others, and says so with a frame
  };

  // self: the own rank in the universe. All others outlive this.
  SharedCopy(channel::PeerId self, FrameSender& frames, PeerMemory& memory, const Waiting& waiting,
             counters::Counters& counters)
      : self_(self), frames_(frames), memory_(memory), waiting_(waiting), counters_(counters) {}

  // Returns the word for a message of this size from the peer, or nullptr if this side copies alone. If more processes
  // run than there are cores, a sender that copies would only take the receiver's core.
  [[nodiscard]] std::atomic<std::uint64_t>* word(const Flow& flow, std::uint64_t bytes) const noexcept;
  // The receiver copies. REQUIRES: the request has a cookie; `cookie` and `address` are the sender's.
  Outcome receive(Request& request, std::uint64_t cookie, std::uint64_t address,
                  std::atomic<std::uint64_t>& word) noexcept;
  // The receiver of a message that this process sends has begun to copy: copies, too.
  Status help(Flow& flow, const Request& request, const wire::FrameHeader& header, std::span<const std::byte> payload);
  // The sender has copied its pieces. Returns whether the message is there.
  static bool end(Flow& flow, const Request& request, std::uint64_t pieces) noexcept;

 private:
  channel::PeerId self_;
  FrameSender& frames_;
  PeerMemory& memory_;
  const Waiting& waiting_;
  counters::Counters& counters_;
};

}  // namespace couplet::message
