#include "relay/carried_share.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace couplet::relay {
namespace {

using wire::whole_share;

constexpr std::uint64_t slots = 8;

// A link that takes `periods` for a step, behind a writer that publishes one step in each period.
class Link {
 public:
  explicit Link(double periods) : periods_(periods) {}

  void take(double periods) { periods_ = periods; }
  // Runs for so many periods, and returns how many steps have come.
  int run(double periods) {
    int came = 0;
    for (const double end = now_ + periods; now_ < end;) {
      const auto published = static_cast<std::uint64_t>(now_) + 1;
      std::uint64_t next = next_;
      while (!wire::in_share(next, share_.told())) {
        ++next;
      }
      next = std::min(next, published);
      next = next < published && next + slots < published ? published - slots / 2 : next;
      if (next > next_) {
        share_.steps_were_lost(next_, next, published);
        next_ = next;
      } else if (next_ < published) {
        now_ += periods_;
        share_.step_came(next_++, published, published);
        ++came;
      } else {
        now_ += 0.1;
      }
      share_.tell(share_.share(), published);
    }
    return came;
  }
  [[nodiscard]] double share() const { return static_cast<double>(share_.share()) / whole_share; }

 private:
  CarriedShare share_{slots};
  double periods_;
  double now_ = 0;
  std::uint64_t next_ = 0;
};

// Returns what a link that brings one of four steps has found, and was told. 64 steps are published.
CarriedShare share_of_a_quarter() {
  CarriedShare share(slots);
  share.tell(whole_share / 4, 0);
  for (std::uint64_t published = 4; published <= 64; published += 4) {
    share.step_came(published - 4, published, published);
  }
  EXPECT_LT(share.share(), whole_share / 3);
  share.tell(share.share(), 64);
  return share;
}

// Looks when nothing waits: what was published has come, or was left out.
void look_at(CarriedShare& share, std::uint64_t now_ns, std::uint64_t published, bool under_way) {
  share.look(now_ns, published, published, under_way);
}

TEST(CarriedShare, ALinkThatIsFastEnoughCarriesAllSteps) {
  Link link(0.9);
  EXPECT_GE(link.run(500), 499);
  EXPECT_EQ(link.share(), 1);
}

TEST(CarriedShare, TheShareIsWhatASlowLinkCarries) {
  Link link(2.4);
  link.run(100);
  EXPECT_GE(link.run(1000), 380);  // at most 417
  EXPECT_NEAR(link.share(), 1 / 2.4, 0.08);
}

TEST(CarriedShare, TheShareGrowsToAllStepsWhenTheLinkIsFastAgain) {
  Link link(2.4);
  link.run(300);
  ASSERT_LT(link.share(), 0.6);
  link.take(0.5);
  link.run(100);
  EXPECT_EQ(link.share(), 1);
  EXPECT_GE(link.run(100), 99);
}

// Fault: the share grew with the steps that came, and these are few if the share is small and the writer slow.
TEST(CarriedShare, AWriterThatIsMuchSlowerThanBeforeIsFollowedWithinTwoSeconds) {
  constexpr std::uint64_t second_ns = 1'000'000'000;
  CarriedShare share = share_of_a_quarter();
  std::uint64_t now_ns = second_ns;
  std::uint64_t published = 64;
  look_at(share, now_ns, published, false);
  for (const auto end_ns = now_ns + 2 * second_ns; now_ns < end_ns; now_ns += second_ns / 20) {
    look_at(share, now_ns, ++published, false);
    share.tell(share.share(), published);
  }
  EXPECT_EQ(share.share(), whole_share);
}

// Fault (chaos seed 22300081): the share grew only while new steps were published.
TEST(CarriedShare, StepsThatWaitWhileTheWriterPausesAreAskedForWithinASecond) {
  constexpr std::uint64_t second_ns = 1'000'000'000;
  CarriedShare share = share_of_a_quarter();
  const std::uint32_t before = share.told();
  std::uint64_t now_ns = second_ns;
  const auto look_for_a_second = [&](std::uint64_t arrived) {
    for (const auto end_ns = now_ns + second_ns; now_ns < end_ns; now_ns += second_ns / 20) {
      share.look(now_ns, 64, arrived, false);
      share.tell(share.share(), 64);
    }
  };
  look_for_a_second(64);
  EXPECT_EQ(share.told(), before) << "there is nothing to ask for";
  look_for_a_second(62);
  EXPECT_EQ(share.told(), whole_share);
}

// Faults (chaos seed 910062): a step that came before the others of a team had doubled their share, too, took the
// larger share back; and after steps that came seldom, since the share was small, the link counted as idle very late.
TEST(CarriedShare, AStepThatComesFirstDoesNotTakeALargerShareBack) {
  constexpr std::uint64_t look_ns = 50'000'000;
  CarriedShare share(slots);
  share.tell(whole_share / 8, 0);
  std::uint64_t published = 0;
  std::uint64_t now_ns = look_ns;
  for (int step = 0; step < 4; ++step) {  // one of eight, each of them the newest one when it comes
    published += 8;
    share.step_came(published - 1, published, published);
    look_at(share, now_ns += 8 * look_ns, published, false);
  }
  for (int look = 0; look < 3; ++look) {
    look_at(share, now_ns += look_ns, ++published, false);
  }
  const std::uint32_t doubled = share.share();
  ASSERT_GE(doubled, whole_share / 4);
  share.step_came(published, published + 1, published + 1);
  EXPECT_GE(share.share(), doubled);
}

TEST(CarriedShare, ALinkOnWhichAStepIsUnderWayIsNotIdle) {
  constexpr std::uint64_t second_ns = 1'000'000'000;
  CarriedShare share(slots);
  share.tell(whole_share / 4, 0);
  std::uint64_t published = 0;
  for (std::uint64_t step = 0; step < 16; ++step) {  // one of eight
    published = 8 * step + 1;
    share.step_came(8 * step, published, published + slots / 2);
  }
  const std::uint32_t small = share.share();
  ASSERT_LT(small, whole_share / 2);
  std::uint64_t now_ns = second_ns;
  look_at(share, now_ns, published, false);
  for (int look = 0; look < 20; ++look) {
    look_at(share, now_ns += second_ns / 4, ++published, true);
  }
  EXPECT_EQ(share.share(), small);
  for (int look = 0; look < 4; ++look) {
    look_at(share, now_ns += second_ns / 4, ++published, false);
  }
  EXPECT_GT(share.share(), small);
}

// Fault: the first steps are sent as fast as the buffers take them, so that a link that carried a third of the steps
// began with a share of two thirds, and took a second to find out.
TEST(CarriedShare, TheFirstShareCountsTheTimeInTheBuffers) {
  CarriedShare share(slots);
  for (std::uint64_t step = 0; step < 8; ++step) {
    share.step_came(step, step + 1, 3 * step + 1);
  }
  share.steps_were_lost(8, 20, 24);
  EXPECT_NEAR(static_cast<double>(share.share()) / whole_share, 0.4, 0.01);
}

// Some steps wait a little behind the parts that other links bring, which does not keep the share small.
TEST(CarriedShare, AShareGrowsAlthoughSomeStepsWaitALittle) {
  CarriedShare share(slots);
  share.tell(whole_share / 4, 0);
  for (std::uint64_t step = 0; step < 24; ++step) {  // one of four, of which most wait
    const std::uint64_t published = 4 * step + 1;
    share.step_came(4 * step, published, published + (step % 4 == 0 ? 0 : 2));
    share.tell(share.share(), published);
  }
  EXPECT_GE(share.share(), whole_share / 2);
}

// Its steps come quickly one after the other, and then it gives no credit for a while.
TEST(CarriedShare, AReaderThatPausesLosesNoShare) {
  CarriedShare share(slots);
  std::uint64_t published = 0;
  for (int turn = 0; turn < 20; ++turn) {
    published += 2 * slots;
    share.steps_were_lost(published - 2 * slots, published - slots, published);
    for (std::uint64_t step = published - slots; step < published; ++step) {
      share.step_came(step, published, published);
    }
  }
  EXPECT_EQ(share.share(), whole_share);
}

TEST(CarriedShare, StepsThatWereNotWantedAreNoLoss) {
  Link link(2.4);
  link.run(300);
  CarriedShare share(slots);
  for (std::uint64_t step = 0; step < 20; ++step) {
    share.step_came(step, step + 1, step + 1);
  }
  share.tell(whole_share / 2, 20);
  share.steps_were_lost(20, 22, 22);
  share.tell(whole_share, 22);
  share.steps_were_lost(22, 25, 25);  // the relay had not heard of the larger share
  EXPECT_EQ(share.share(), whole_share);
}

}  // namespace
}  // namespace couplet::relay
