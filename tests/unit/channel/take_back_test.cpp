// A lane that the peer refuses gives back what went into it: everything goes once, in order, over the next lane.
#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "channel/channel.hpp"
#include "support/pipe_lane.hpp"
#include "support/recorder.hpp"

namespace couplet::channel {
namespace {

using test::Pipe;
using test::Recorder;
using test::Sent;

// Holds `whole` frames, takes 20 bytes of the next one, and nothing more. As memory that nobody reads.
class UnreadLane final : public link::Lane {
 public:
  explicit UnreadLane(std::size_t whole) : whole_(whole) {}
  [[nodiscard]] const link::LaneTraits& traits() const noexcept override { return traits_; }
  std::int64_t push(const wire::FrameHeader& header, std::span<const std::byte> payload,
                    std::uint64_t offset) override {
    if (frames_.size() < whole_) {
      frames_.push_back({header, {payload.begin(), payload.end()}});
      return static_cast<std::int64_t>(wire::frame_header_bytes + payload.size() - offset);
    }
    return offset == 0 ? 20 : 0;
  }
  int poll(link::FrameReceiver& /*receiver*/, int /*budget*/) override { return 0; }
  [[nodiscard]] bool readable() const noexcept override { return false; }
  void take_back(const TakeBack& take) override {
    for (const auto& frame : frames_) {
      take(frame.header, frame.payload);
    }
  }
  void shut() noexcept override {}
  [[nodiscard]] const Status& failure() const noexcept override { return failure_; }

 private:
  struct Frame {
    wire::FrameHeader header;
    std::vector<std::byte> payload;
  };
  std::size_t whole_;
  std::vector<Frame> frames_;
  link::LaneTraits traits_{.name = "unread", .checked = false, .largest_payload = 1U << 20U, .eager_bytes = 16U << 10U};
  Status failure_;
};

constexpr int tried = 2;   // sent by try_send
constexpr int frames = 6;  // then by send

// Which of them a lane has when it is refused: none, some, one in part, all.
class ARefusedLane : public testing::TestWithParam<std::size_t> {
 protected:
  ARefusedLane() {
    channel.attach(std::make_unique<UnreadLane>(GetParam()));
    for (int tag = 0; tag < tried; ++tag) {
      wire::FrameHeader header = test::message_header(tag);
      const std::string text(static_cast<std::size_t>(100 + tag), 'a');
      if (!channel.try_send(header, std::as_bytes(std::span(text)))) {
        channel.send(sent.emplace_back(text, tag));
      }
    }
    for (int tag = tried; tag < frames; ++tag) {
      channel.send(sent.emplace_back(std::string(static_cast<std::size_t>(100 + tag), 'a'), tag));
    }
  }
  void move_all() {
    for (int idle = 0; idle < 3;) {
      idle = channel.poll(16) + peer.poll(16) > 0 ? 0 : idle + 1;
    }
  }
  Recorder here;
  Recorder there;
  std::deque<Sent> sent;
  Channel channel{7, "rank 7", here.handlers(), {.session = 3}};
  Channel peer{0, "rank 0", there.handlers(), {.session = 4}};
  Pipe pipe;
};

TEST_P(ARefusedLane, gives_back_what_it_has_and_all_goes_over_the_next_one) {
  channel.take_back_lane();
  EXPECT_EQ(channel.state(), ChannelState::opening);
  EXPECT_TRUE(channel.lanes().empty());
  EXPECT_TRUE(channel.sending());
  channel.attach(pipe.take_first());
  peer.attach(pipe.take_second());
  move_all();
  ASSERT_EQ(there.frames.size(), static_cast<std::size_t>(frames));
  for (int tag = 0; tag < frames; ++tag) {
    const auto& frame = there.frames[static_cast<std::size_t>(tag)];
    EXPECT_EQ(frame.header.tag, tag);
    EXPECT_EQ(frame.payload.size(), static_cast<std::size_t>(100 + tag));
  }
  for (const auto& each : sent) {
    ASSERT_EQ(each.outcomes.size(), 1U);
    EXPECT_TRUE(each.outcomes[0].ok());
  }
}

TEST_P(ARefusedLane, gives_back_the_goodbye_too) {
  channel.shut();
  channel.take_back_lane();
  channel.attach(pipe.take_first());
  peer.attach(pipe.take_second());
  move_all();
  EXPECT_EQ(there.frames.size(), static_cast<std::size_t>(frames));
  EXPECT_EQ(peer.state(), ChannelState::failed);
  EXPECT_EQ(peer.failure().code(), Code::end);
  EXPECT_EQ(channel.state(), ChannelState::failed);
}

TEST_P(ARefusedLane, may_give_back_to_a_channel_that_ends) {
  channel.take_back_lane();
  channel.fail({Code::peer_lost, "rank 7 has gone"});
  move_all();
  for (const auto& each : sent) {
    EXPECT_EQ(each.outcomes.size(), 1U);
  }
  EXPECT_EQ(here.losses.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(AfterFrames, ARefusedLane, testing::Values(0, 1, 2, 3, 5, 6, 7, 8));

}  // namespace
}  // namespace couplet::channel
