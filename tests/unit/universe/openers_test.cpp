// The ranks of a required program that have opened a series.
#include "universe/hub/openers.hpp"

#include <gtest/gtest.h>

#include <array>

namespace couplet::universe {
namespace {

constexpr std::size_t all_live = 100;

TEST(Openers, NobodyHasOpenedAtFirst) {
  const Openers openers;
  EXPECT_FALSE(openers.all_opened(all_live));
  EXPECT_FALSE(openers.all_opened(0));
}

TEST(Openers, ATeamHasOpenedWhenOneMemberSaysSo) {
  Openers openers;
  openers.opened(3, 0);
  EXPECT_TRUE(openers.all_opened(all_live));
}

TEST(Openers, ARankThatOpensTwiceCountsOnce) {
  Openers openers;
  openers.opened(3, 2);
  openers.opened(3, 2);
  EXPECT_FALSE(openers.all_opened(all_live));
  openers.opened(4, 2);
  EXPECT_TRUE(openers.all_opened(all_live));
}

TEST(Openers, OnlyThoseThatLiveAreWaitedFor) {
  Openers openers;
  openers.opened(3, 3);
  openers.opened(4, 3);
  EXPECT_FALSE(openers.all_opened(3));
  EXPECT_TRUE(openers.all_opened(2)) << "the third one has died";
}

TEST(Openers, ARankThatIsGoneHasNotOpened) {
  Openers openers;
  openers.opened(3, 2);
  openers.gone(3);
  openers.opened(4, 2);
  EXPECT_FALSE(openers.all_opened(2)) << "the one that died has come again and not opened yet";
  openers.opened(3, 2);
  EXPECT_TRUE(openers.all_opened(2));
}

}  // namespace
}  // namespace couplet::universe
