#include "channel/progress.hpp"

#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace couplet::channel
