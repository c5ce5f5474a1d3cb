// A large message over a channel that may resume: its pieces stay where they are until the peer has acknowledged them,
// but the last one, for which nobody waits.
#include <gtest/gtest.h>

#include "message/message.hpp"
#include "support/pipe_lane.hpp"

namespace couplet::message {
namespace {

// A rank with one channel, to the other rank.
struct Rank final : Channels {
  explicit Rank(channel::PeerId own) : messenger(*this, nullptr, own, 2, {.read_memory = false}) {
    channel::Handlers handlers{};
    handlers[static_cast<std::size_t>(wire::FrameFamily::message)] = &messenger.handler();
    to_peer = std::make_unique<channel::Channel>(1 - own, peer_name(1 - own), handlers,
                                                 channel::ChannelOptions{.session = 11 + own});
  }
  Result<channel::Channel*> channel_to(channel::PeerId /*peer*/) override { return to_peer.get(); }
  [[nodiscard]] std::string peer_name(channel::PeerId peer) const override { return fmt::format("rank {}", peer); }

  Messenger messenger;
  std::unique_ptr<channel::Channel> to_peer;
};

// Fault: a blocking send of a large message waited for an acknowledgement after its last byte, and so the next message
// could not be announced while that byte was on its way.
TEST(LargeMessage, IsSentBeforeItsLastPieceIsAcknowledged) {
  Rank sender(0);
  Rank receiver(1);
  test::Pipe pipe;
  sender.to_peer->attach(pipe.take_first());
  receiver.to_peer->attach(pipe.take_second());
  const std::vector<std::byte> data(2'500'000, std::byte{7});
  std::vector<std::byte> buffer(data.size());
  Request* send = nullptr;
  Request* receive = nullptr;
  ASSERT_TRUE(
      receiver.messenger
          .irecv(receiver.messenger.groups().universe(), buffer.data(), buffer.size(), COUPLET_BYTE, 0, 0, &receive)
          .ok());
  ASSERT_TRUE(
      sender.messenger.isend(sender.messenger.groups().universe(), data.data(), data.size(), COUPLET_BYTE, 1, 0, &send)
          .ok());
  for (int round = 0; round < 100 && !send->done; ++round) {
    sender.to_peer->poll(1);
    ASSERT_FALSE(receive->done) << "the last piece has arrived, and the sender still waits";
    if (!send->done) {
      receiver.to_peer->poll(1);
    }
  }
  EXPECT_TRUE(send->done);
  EXPECT_FALSE(receive->done);
  for (int round = 0; round < 100 && !receive->done; ++round) {
    receiver.to_peer->poll(1);
    sender.to_peer->poll(1);
  }
  EXPECT_TRUE(sender.messenger.test(&send, nullptr).ok());
  EXPECT_TRUE(receiver.messenger.test(&receive, nullptr).ok());
  EXPECT_EQ(buffer, data);
}

}  // namespace
}  // namespace couplet::message
