// What comes from peers: each frame of a message is matched with the posted receives, kept until a receive asks for it,
// or moves a message that is under way. The end of a peer ends every request that only that peer could complete.
// Invariants: a frame that breaks the format fails its channel with a text that names the peer; without memory for a
// message that no receive has asked for, its channel fails, and otherwise that receive does.
// Tests: tests/unit/message, tests/conformance/message, tests/fuzz/message.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "channel/channel.hpp"
#include "message/receiving.hpp"
#include "message/sending.hpp"

namespace couplet::message {

class Arriving final : public channel::FrameHandler {
 public:
  // All of them outlive this.
  Arriving(Peers& peers, Requests& requests, Matching& matching, FrameSender& frames, Credit& credit,
           PeerMemory& memory, SharedCopy& sharing, Sending& sending, Receiving& receiving)
      : peers_(peers),
        requests_(requests),
        matching_(matching),
        frames_(frames),
        credit_(credit),
        memory_(memory),
        sharing_(sharing),
        sending_(sending),
        receiving_(receiving) {}

  [[nodiscard]] std::byte* place(channel::Channel& channel, const wire::FrameHeader& header) override;
  Status arrived(channel::Channel& channel, const wire::FrameHeader& header,
                 std::span<const std::byte> payload) override;
  void lost(channel::Channel& channel, const Status& why) override;
  // Ends what only this peer could complete, and the receives from any source for which no sender is left.
  void lose(Flow& flow, const Status& why) noexcept;

 private:
  std::byte* place_in(Flow& flow, const wire::FrameHeader& header);
  bool take_at_once(channel::Channel& channel, const wire::FrameHeader& header, std::span<const std::byte> payload);
  Status take(channel::Channel& channel, const wire::FrameHeader& header, std::span<const std::byte> payload);
  Status dispatch(channel::Channel& channel, const wire::FrameHeader& header, std::span<const std::byte> payload);
  Status eager_arrived(Flow& flow, const wire::FrameHeader& header, std::span<const std::byte> payload);
  bool end_placed(Flow& flow, const wire::FrameHeader& header, std::span<const std::byte> payload);
  Status envelope_arrived(Flow& flow, const wire::FrameHeader& header, std::span<const std::byte> payload);
  Status clear_arrived(Flow& flow, const wire::FrameHeader& header);
  Status data_arrived(Flow& flow, const wire::FrameHeader& header, std::span<const std::byte> payload);
  Status done_arrived(Flow& flow, const wire::FrameHeader& header);
  Status share_arrived(Flow& flow, const wire::FrameHeader& header, std::span<const std::byte> payload);
  Status shared_arrived(Flow& flow, const wire::FrameHeader& header);
  void lose_any_source();

  Peers& peers_;
  Requests& requests_;
  Matching& matching_;
  FrameSender& frames_;
  Credit& credit_;
  PeerMemory& memory_;
  SharedCopy& sharing_;
  Sending& sending_;
  Receiving& receiving_;
};

}  // namespace couplet::message
