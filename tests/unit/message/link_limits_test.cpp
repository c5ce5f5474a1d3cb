// The limits of links: up to which size messages are sent without asking, and in what pieces large ones go.
#include <gmock/gmock.h>

#include "message/message.hpp"
#include "support/pipe_lane.hpp"

namespace couplet::message {
namespace {

using ::testing::Each;
using ::testing::Le;

// Passes frames on, and notes the sizes of the payloads of data frames.
struct Watch final : channel::FrameHandler {
  explicit Watch(channel::FrameHandler& handler) : to(handler) {}
  [[nodiscard]] std::byte* place(channel::Channel& channel, const wire::FrameHeader& header) override {
    return to.place(channel, header);
  }
  Status arrived(channel::Channel& channel, const wire::FrameHeader& header,
                 std::span<const std::byte> payload) override {
    if (header.kind == wire::message_frame_kind(wire::MessageKind::data)) pieces.push_back(payload.size());
    return to.arrived(channel, header, payload);
  }
  void lost(channel::Channel& channel, const Status& why) override { to.lost(channel, why); }

  channel::FrameHandler& to;
  std::vector<std::size_t> pieces;
};

struct Rank final : Channels {
  Rank(channel::PeerId own, const MessengerOptions& options)
      : messenger(*this, nullptr, own, 2, options), watch(messenger.handler()) {
    channel::Handlers handlers{};
    handlers[static_cast<std::size_t>(wire::FrameFamily::message)] = &watch;
    to_peer = std::make_unique<channel::Channel>(1 - own, peer_name(1 - own), handlers,
                                                 channel::ChannelOptions{.session = 11 + own});
  }
  Result<channel::Channel*> channel_to(channel::PeerId /*peer*/) override { return to_peer.get(); }
  [[nodiscard]] std::string peer_name(channel::PeerId peer) const override { return fmt::format("rank {}", peer); }

  Messenger messenger;
  Watch watch;
  std::unique_ptr<channel::Channel> to_peer;
};

struct World {
  explicit World(MessengerOptions options)
      : sender(0, without_reading(options)), receiver(1, without_reading(options)) {
    sender.to_peer->attach(pipe.take_first());
    receiver.to_peer->attach(pipe.take_second());
  }
  static MessengerOptions& without_reading(MessengerOptions& options) {
    options.read_memory = false;
    return options;
  }
  // Sends a message, and returns the sizes of its pieces; none: it was sent without asking.
  std::vector<std::size_t> send(std::size_t bytes) {
    receiver.watch.pieces.clear();
    const std::vector<std::byte> data(bytes, std::byte{7});
    std::vector<std::byte> buffer(bytes);
    Request* sending = nullptr;
    Request* receiving = nullptr;
    Group& there = receiver.messenger.groups().universe();
    Group& here = sender.messenger.groups().universe();
    EXPECT_TRUE(receiver.messenger.irecv(there, buffer.data(), bytes, COUPLET_BYTE, 0, 0, &receiving).ok());
    EXPECT_TRUE(sender.messenger.isend(here, data.data(), bytes, COUPLET_BYTE, 1, 0, &sending).ok());
    for (int round = 0; round < 10'000 && !(sending->done && receiving->done); ++round) {
      sender.to_peer->poll(16);
      receiver.to_peer->poll(16);
    }
    EXPECT_TRUE(sender.messenger.test(&sending, nullptr).ok());
    EXPECT_TRUE(receiver.messenger.test(&receiving, nullptr).ok());
    EXPECT_EQ(buffer, data);
    return receiver.watch.pieces;
  }

  test::Pipe pipe;
  Rank sender;
  Rank receiver;
};

std::string link_of(World& world) {
  world.send(8);
  return world.sender.messenger.report().at(0).link;
}

TEST(LinkLimits, DecideWhatIsSentWithoutAsking) {
  World plain({});
  const std::string link = link_of(plain);
  const std::uint64_t own_limit = plain.sender.messenger.report().at(0).eager_bytes;
  ASSERT_GT(own_limit, 1000U);
  for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{1000}, own_limit - 1}) {
    World world({.link_limits = {{.link = "another", .eager_bytes = 5}, {.link = link, .eager_bytes = limit}}});
    world.send(0);
    EXPECT_EQ(world.sender.messenger.report().at(0).eager_bytes, limit);
    EXPECT_TRUE(world.send(limit).empty());
    EXPECT_FALSE(world.send(limit + 1).empty());
  }
  World other({.link_limits = {{.link = "another", .eager_bytes = 5}}});
  EXPECT_TRUE(other.send(1000).empty());
}

TEST(LinkLimits, DecideTheSizeOfThePieces) {
  World plain({});
  const std::string link = link_of(plain);
  const std::size_t bytes = 1'000'000;
  const auto of_lane = plain.send(bytes);
  World world({.link_limits = {{.link = link, .piece_bytes = 40'000}}});
  const auto pieces = world.send(bytes);
  EXPECT_GT(pieces.size(), of_lane.size());
  EXPECT_THAT(pieces, Each(Le(40'000U)));
  EXPECT_EQ(pieces.front(), 40'000U);
  World larger({.link_limits = {{.link = link, .piece_bytes = UINT64_MAX}}});
  EXPECT_EQ(larger.send(bytes), of_lane) << "no piece is larger than the lane takes";
}

TEST(LinkLimits, CountLessThanWhatIsSetForAllLinks) {
  World plain({});
  const std::string link = link_of(plain);
  World world({.eager_bytes = 100,
               .piece_bytes = 50'000,
               .link_limits = {{.link = link, .eager_bytes = 2000, .piece_bytes = 40'000}}});
  EXPECT_TRUE(world.send(100).empty());
  EXPECT_FALSE(world.send(101).empty());
  EXPECT_EQ(world.send(500'000).front(), 50'000U);
}

}  // namespace
}  // namespace couplet::message
