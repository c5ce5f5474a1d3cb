// When a member dials a lost hub again.
#include "universe/redial.hpp"

#include <gtest/gtest.h>

namespace couplet::universe {
namespace {

constexpr std::uint64_t lost_ns = 7'000'000'000;

TEST(RedialTest, ThePausesGrowUntilASecond) {
  Redial redial(3);
  std::uint64_t now = lost_ns;
  std::uint64_t pause = min_redial_pause_ns;
  for (int count = 0; count < 10; ++count) {
    redial.failed(now);
    EXPECT_FALSE(redial.due(now + pause / 2 - 1));
    EXPECT_TRUE(redial.due(now + pause / 2 + pause));
    now += 2 * pause;
    pause = std::min(2 * pause, max_redial_pause_ns);
  }
  redial.reached();
  redial.failed(now);
  EXPECT_TRUE(redial.due(now + 2 * min_redial_pause_ns)) << "after a success it begins anew";
}

TEST(RedialTest, EachProcessHasTimesOfItsOwn) {
  Redial one(1);
  Redial another(2);
  one.failed(lost_ns);
  another.failed(lost_ns);
  bool differ = false;
  for (std::uint64_t after_ns = 0; after_ns < 2 * min_redial_pause_ns; after_ns += 100'000) {
    differ = differ || one.due(lost_ns + after_ns) != another.due(lost_ns + after_ns);
  }
  EXPECT_TRUE(differ);
}

// Fault: the patience with a lost hub passed while the process computed, and it gave up without a single attempt.
// So did the patience of one that computed while the hub, which was stopped, did not answer its dial (chaos 140021).
TEST(RedialTest, AProcessThatMakesNoCallIsOverdueAndOneThatLooksIsNot) {
  Redial redial(3);
  redial.failed(lost_ns);
  EXPECT_FALSE(redial.overdue(lost_ns + max_redial_pause_ns)) << "its first call may just be about to come";
  EXPECT_TRUE(redial.overdue(lost_ns + 2 * max_redial_pause_ns));
  redial.dialed();
  redial.looked(lost_ns + 3 * max_redial_pause_ns);
  EXPECT_FALSE(redial.overdue(lost_ns + 4 * max_redial_pause_ns)) << "it hears when the dial is answered";
  EXPECT_TRUE(redial.overdue(lost_ns + 5 * max_redial_pause_ns)) << "nor does it hear of the answer";
  redial.failed(lost_ns + 6 * max_redial_pause_ns);
  EXPECT_FALSE(redial.overdue(lost_ns + 7 * max_redial_pause_ns));
}

}  // namespace
}  // namespace couplet::universe
