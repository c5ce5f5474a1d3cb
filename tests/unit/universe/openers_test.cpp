// The ranks of a required program that have opened a series.
#include "universe/hub/openers.hpp"

#include <gtest/gtest.h>

#include <array>

namespace couplet::universe {
namespace {

constexpr std::size_t all_live = 100;

bool anybody(channel::PeerId /*rank*/) {
  return true;
}

TEST(Openers, NobodyHasOpenedAtFirst) {
  const Openers openers;
  EXPECT_FALSE(openers.all_opened(all_live, anybody));
  EXPECT_FALSE(openers.all_opened(0, anybody));
}

TEST(Openers, ATeamHasOpenedWhenOneMemberSaysSo) {
  Openers openers;
  openers.opened(3, 0);
  EXPECT_TRUE(openers.all_opened(all_live, anybody));
}

TEST(Openers, ARankThatOpensTwiceCountsOnce) {
  Openers openers;
  openers.opened(3, 2);
  openers.opened(3, 2);
  EXPECT_FALSE(openers.all_opened(all_live, anybody));
  openers.opened(4, 2);
  EXPECT_TRUE(openers.all_opened(all_live, anybody));
}

TEST(Openers, OnlyThoseThatLiveAreWaitedFor) {
  Openers openers;
  openers.opened(3, 3);
  openers.opened(4, 3);
  EXPECT_FALSE(openers.all_opened(3, anybody));
  EXPECT_TRUE(openers.all_opened(2, anybody)) << "the third one has died";
}

TEST(Openers, ARankThatIsGoneHasNotOpened) {
  Openers openers;
  openers.opened(3, 2);
  openers.gone(3);
  openers.opened(4, 2);
  EXPECT_FALSE(openers.all_opened(2, anybody)) << "the one that died has come again and not opened yet";
  openers.opened(3, 2);
  EXPECT_TRUE(openers.all_opened(2, anybody));
}

// Fault: the number of living ranks of the program was compared, which a rank beside the group kept up.
TEST(Openers, ARankOfAGroupThatHasDiedIsNotWaitedFor) {
  OpenerRanks group(3);
  group.runs = {{3, 2}, {7, 1}};
  Openers openers;
  openers.opened(3, group);
  openers.opened(7, group);
  EXPECT_FALSE(openers.all_opened(all_live, anybody)) << "rank 4 has not opened";
  EXPECT_TRUE(openers.all_opened(all_live, [](channel::PeerId rank) { return rank != 4; }));
}

TEST(Openers, EachGroupThatIsNamedIsWaitedFor) {
  OpenerRanks first(2);
  first.runs = {{3, 2}};
  OpenerRanks second(2);
  second.runs = {{5, 2}};
  Openers openers;
  openers.opened(3, first);
  openers.opened(5, second);
  EXPECT_FALSE(openers.all_opened(all_live, anybody));
  openers.opened(4, first);
  EXPECT_FALSE(openers.all_opened(all_live, anybody));
  openers.opened(6, second);
  EXPECT_TRUE(openers.all_opened(all_live, anybody));
}

}  // namespace
}  // namespace couplet::universe
