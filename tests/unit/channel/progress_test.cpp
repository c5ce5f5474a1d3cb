#include "channel/progress.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/parties.hpp"
#include "support/pipe_lane.hpp"
#include "support/recorder.hpp"

namespace couplet::channel {
namespace {

using test::Pipe;
using test::Recorder;
using test::Sent;

TEST(Progress, OfAPeerShowsInWhatItAcknowledgesAndInWhatComesFromIt) {
  Recorder at_zero;
  Recorder at_one;
  Channel zero(1, "endpoint 1", at_zero.handlers(), {.session = 11, .policy = {}, .retention = nullptr});
  Channel one(0, "endpoint 0", at_one.handlers(), {.session = 22, .policy = {}, .retention = nullptr});
  Pipe pipe;
  zero.attach(pipe.take_first());
  one.attach(pipe.take_second());
  const auto run = [&] {
    while (zero.poll(16) + one.poll(16) > 0) {
    }
  };
  run();
  const std::uint64_t taken = taken_by_peer(zero);
  const std::uint64_t arrived = arrived_from_peer(one);
  Sent sent(std::string(100, 'x'));
  zero.send(sent);
  zero.poll(16);
  EXPECT_EQ(taken_by_peer(zero), taken);
  EXPECT_EQ(arrived_from_peer(one), arrived);
  one.poll(16);
  EXPECT_EQ(arrived_from_peer(one), arrived + 1);
  one.acknowledge();
  run();
  EXPECT_EQ(taken_by_peer(zero), taken + 1);
  zero.shut();
  one.shut();
  run();
}

// Fault: over shared memory, a leaving did not see that the peer takes messages, and gave up after 5 s.
TEST(Progress, OverARingShowsWithEachFrameThatThePeerTakes) {
  test::LaneMessengers world(test::LaneKind::shm, 2);
  const std::uint64_t number = 7;
  const Channel& channel = world.channel(0, 1);
  std::uint64_t taken = taken_by_peer(channel);
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_TRUE(world[0].send(world[0].groups().universe(), &number, 1, COUPLET_UINT64, 1, 0).ok());
    EXPECT_EQ(taken_by_peer(channel), taken);
    world.channel(1, 0).poll(16);
    EXPECT_NE(taken_by_peer(channel), taken);
    taken = taken_by_peer(channel);
  }
}

}  // namespace
}  // namespace couplet::channel
