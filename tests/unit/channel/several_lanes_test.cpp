// A channel with several lanes, of which some are lost or retire.
#include <gtest/gtest.h>

#include <deque>

#include "channel/channel.hpp"
#include "support/pipe_lane.hpp"
#include "support/recorder.hpp"

namespace couplet::channel {
namespace {

using test::Pipe;
using test::Recorder;
using test::Sent;

void expect_all(const Recorder& recorder, const std::deque<Sent>& sent) {
  ASSERT_EQ(recorder.frames.size(), sent.size());
  for (std::size_t number = 0; number < sent.size(); ++number) {
    ASSERT_EQ(recorder.frames[number].header.tag, sent[number].header.tag);
    ASSERT_TRUE(recorder.frames[number].payload == sent[number].text) << number;
    ASSERT_EQ(sent[number].outcomes.size(), 1U);
    ASSERT_TRUE(sent[number].outcomes[0].ok());
  }
}

// Two channels with several lanes, of which the one that was given the fewest bytes takes the next frame.
struct Spread {
  static constexpr LanePolicy policy{.rule = LaneRule::round_robin};
  explicit Spread(int lanes) {
    for (int lane = 0; lane < lanes; ++lane) join();
    run();
  }
  void join() {
    pipes.emplace_back();
    zero.attach(pipes.back().take_first());
    one.attach(pipes.back().take_second());
  }
  void run() {
    for (int idle = 0; idle < 3;) {
      idle = zero.poll(16) + one.poll(16) > 0 ? 0 : idle + 1;
    }
  }
  [[nodiscard]] const link::Lane* lane_of_one(std::size_t index) const { return one.lanes().at(index).get(); }

  Recorder at_zero;
  Recorder at_one;
  Channel zero{1, "endpoint 1", at_zero.handlers(), {.session = 11, .policy = policy}};
  Channel one{0, "endpoint 0", at_one.handlers(), {.session = 22, .policy = policy}};
  std::deque<Pipe> pipes;
};

TEST(SeveralLanes, what_is_on_the_way_over_a_retiring_lane_arrives_without_a_call_of_the_peer) {
  Spread pair(2);
  std::deque<Sent> sent;
  for (int number = 0; number < 20; ++number) pair.zero.send(sent.emplace_back(std::string(100, 'x'), number));
  pair.one.break_lanes({Code::peer_lost, "the peer has made another one"}, pair.lane_of_one(0));
  while (pair.one.poll(16) > 0) {
  }
  EXPECT_EQ(pair.at_one.frames.size(), 20U);
  pair.run();
  for (Channel* const channel : {&pair.zero, &pair.one}) {
    EXPECT_TRUE(channel->has_lost_lanes()) << "the lane has ended";
    channel->release_lanes();
    EXPECT_EQ(channel->lanes().size(), 1U);
    pair.run();
  }
  pair.zero.send(sent.emplace_back("after it", 20));
  pair.run();
  expect_all(pair.at_one, sent);
}

// The peer attached the lane, and said what it had received, before it acknowledged more over another one, which was
// lost then. That ended the connection.
TEST(SeveralLanes, a_lane_may_say_less_than_others_have_acknowledged_since_it_was_attached) {
  Spread pair(1);
  pair.pipes.emplace_back();
  pair.one.attach(pair.pipes.back().take_second());
  pair.one.poll(16);
  std::deque<Sent> sent;
  for (int number = 0; number < 2000; ++number) pair.zero.send(sent.emplace_back(std::string(1000, 'x'), number));
  pair.run();
  ASSERT_GT(pair.zero.sender().acknowledged(), 0U);
  pair.zero.break_lanes({Code::peer_lost, "its connection was reset"});
  pair.zero.release_lanes();
  pair.zero.attach(pair.pipes.back().take_first());
  pair.run();
  EXPECT_EQ(pair.zero.state(), ChannelState::open);
  pair.zero.send(sent.emplace_back("after it", 2000));
  pair.run();
  expect_all(pair.at_one, sent);
}

TEST(SeveralLanes, the_only_lane_does_not_retire_but_is_lost) {
  Spread pair(1);
  pair.one.break_lanes({Code::peer_lost, "the peer has made another one"}, pair.lane_of_one(0));
  EXPECT_EQ(pair.one.state(), ChannelState::broken);
}

TEST(SeveralLanes, retiring_lanes_alone_do_not_keep_a_channel_open) {
  Spread pair(3);
  const link::Lane* const last = pair.lane_of_one(2);
  for (const std::size_t index : {0U, 1U}) {
    pair.one.break_lanes({Code::peer_lost, "the peer has made another one"}, pair.lane_of_one(index));
  }
  EXPECT_EQ(pair.one.state(), ChannelState::open);
  pair.one.break_lanes({Code::peer_lost, "the peer has made another one"}, last);
  EXPECT_EQ(pair.one.state(), ChannelState::broken);
  pair.one.release_lanes();
  EXPECT_TRUE(pair.one.lanes().empty());
}

TEST(SeveralLanes, retiring_lanes_make_room_for_a_new_one) {
  Spread pair(max_lanes);
  pair.one.break_lanes({Code::peer_lost, "the peer has made another one"}, pair.lane_of_one(0));
  pair.run();
  pair.join();
  pair.run();
  EXPECT_EQ(pair.one.lanes().size(), max_lanes);
  std::deque<Sent> sent;
  for (int number = 0; number < 40; ++number) pair.zero.send(sent.emplace_back(std::string(100, 'x'), number));
  pair.run();
  expect_all(pair.at_one, sent);
}

TEST(SeveralLanes, an_acknowledgement_that_was_lost_with_a_lane_is_given_again_over_another_one) {
  Spread pair(2);
  Sent small("it makes the next one go over the other lane");
  Sent large(std::string(100'000, 'l'), 7);  // it is not copied, so that it waits for its acknowledgement
  pair.zero.send(small);
  pair.zero.send(large);
  while (pair.one.poll(16) > 0) {
  }
  ASSERT_EQ(pair.at_one.frames.size(), 2U);
  pair.pipes[0].back().bytes.resize(pair.pipes[0].back().read);  // the acknowledgement is lost
  pair.pipes[0].break_now();
  pair.run();
  ASSERT_EQ(large.outcomes.size(), 1U) << "it arrived over the other lane, and its acknowledgement is lost";
  EXPECT_TRUE(large.outcomes[0].ok());
}

// The peer has given a lane up, which still has a part of a frame, and sends that frame over another lane. This process
// has not noticed the loss. The old lane must not write into the memory of the handler any longer.
TEST(SeveralLanes, a_frame_that_comes_again_over_another_lane_takes_its_memory_from_the_old_one) {
  Spread pair(2);
  pair.at_one.use_place = true;
  std::deque<Sent> sent;
  pair.pipes[0].there().largest_push = 1000;
  pair.pipes[1].there().largest_push = 1000;
  pair.zero.send(sent.emplace_back(std::string(5000, 'a'), 0));
  pair.one.poll(16);
  ASSERT_EQ(pair.at_one.places, 1);
  const auto& slots = pair.zero.sender().slots();
  const auto* const used = slots[0]->push.header != nullptr ? slots[0]->lane : slots[1]->lane;
  pair.zero.break_lanes({Code::peer_lost, "this side has noticed a loss"}, used);
  for (Pipe& pipe : pair.pipes) pipe.state->shut[0] = false;  // the other side does not notice it
  for (int round = 0; round < 20; ++round) pair.zero.poll(16);
  pair.run();
  expect_all(pair.at_one, sent);
  EXPECT_EQ(pair.at_one.places, 2);
  EXPECT_EQ(pair.at_one.taken_back, 1);
}

}  // namespace
}  // namespace couplet::channel
