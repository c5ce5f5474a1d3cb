// Callers that have not proven the secret: which of them has to go when there is no room.
#include "channel/unproven.hpp"

#include <gtest/gtest.h>

namespace couplet::channel {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;

Unproven::Address ipv4(std::uint8_t last) {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 127, 0, 0, last};
}

TEST(Unproven, ThereIsRoomUntilAllPlacesAreTaken) {
  Unproven callers({.max_callers = 2});
  EXPECT_TRUE(callers.has_room(0));
  EXPECT_FALSE(callers.admit(1, ipv4(1), 0));
  EXPECT_FALSE(callers.admit(2, ipv4(1), 0));
  EXPECT_EQ(callers.size(), 2U);
  EXPECT_FALSE(callers.has_room(second_ns - 1));
  EXPECT_TRUE(callers.has_room(second_ns));
  callers.remove(1);
  EXPECT_TRUE(callers.has_room(0));
}

TEST(Unproven, ACallerFromElsewhereDisplacesTheOldestOfTheFlood) {
  Unproven callers({.max_callers = 4});
  EXPECT_FALSE(callers.admit(1, ipv4(9), 0));
  for (Unproven::Id id = 2; id <= 4; ++id) {
    EXPECT_FALSE(callers.admit(id, ipv4(1), 0));
  }
  EXPECT_EQ(callers.admit(5, ipv4(8), 2 * second_ns), 2U);
  callers.remove(2);
  EXPECT_EQ(callers.admit(6, ipv4(1), 2 * second_ns), 3U);
}

TEST(Unproven, ThoseThatHaveSaidNothingGoFirst) {
  Unproven callers({.max_callers = 3});
  EXPECT_FALSE(callers.admit(1, ipv4(1), 0));
  EXPECT_FALSE(callers.admit(2, ipv4(1), 0));
  EXPECT_FALSE(callers.admit(3, ipv4(2), 0));
  callers.spoke(1);
  callers.spoke(1);
  callers.spoke(2);
  EXPECT_EQ(callers.victim(), 3U);
  callers.spoke(3);
  EXPECT_EQ(callers.victim(), 1U);
  callers.remove(1);
  callers.remove(1);
  callers.remove(2);
  EXPECT_EQ(callers.victim(), 3U);
  EXPECT_EQ(callers.oldest(), 3U);
  callers.remove(3);
  EXPECT_FALSE(callers.victim());
  EXPECT_EQ(callers.oldest_since_ns(), UINT64_MAX);
}

TEST(Unproven, CallersThatSayAByteAndNoMoreKeepNobodyOut) {
  Unproven callers({.max_callers = 3});
  for (Unproven::Id id = 1; id <= 2; ++id) {
    EXPECT_FALSE(callers.admit(id, ipv4(1), 0));
    callers.spoke(id);
  }
  EXPECT_FALSE(callers.admit(3, ipv4(2), second_ns));
  EXPECT_TRUE(callers.has_room(second_ns + 1)) << "the silent one has just come, the others have not";
  EXPECT_EQ(callers.admit(4, ipv4(2), second_ns + 1), 1U);
}

TEST(Unproven, ManyThatHaveJustComeDoNotProtectAnOldOneOfAnotherSource) {
  Unproven callers({.max_callers = 3});
  EXPECT_FALSE(callers.admit(1, ipv4(1), 0));
  EXPECT_FALSE(callers.admit(2, ipv4(2), second_ns));
  EXPECT_FALSE(callers.admit(3, ipv4(2), second_ns));
  EXPECT_EQ(callers.admit(4, ipv4(2), second_ns + 1), 1U);
}

TEST(Unproven, AnIpv6NetworkIsOneSource) {
  Unproven callers({.max_callers = 3});
  EXPECT_FALSE(callers.admit(1, ipv4(1), 0));
  Unproven::Address address{0x20, 1, 0, 0, 0, 0, 0, 1};
  for (Unproven::Id id = 2; id <= 3; ++id) {
    address[15] = static_cast<std::uint8_t>(id);
    EXPECT_FALSE(callers.admit(id, address, 1));
  }
  EXPECT_EQ(callers.victim(), 2U);
}

TEST(Unproven, TheOldestIsKnown) {
  Unproven callers;
  EXPECT_FALSE(callers.admit(7, ipv4(1), 5));
  EXPECT_FALSE(callers.admit(3, ipv4(2), 6));
  EXPECT_EQ(callers.oldest(), 7U);
  EXPECT_EQ(callers.oldest_since_ns(), 5U);
  callers.remove(7);
  EXPECT_EQ(callers.oldest_since_ns(), 6U);
}

}  // namespace
}  // namespace couplet::channel
