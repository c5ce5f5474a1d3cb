// For how long a hub waits for members of which it has no proof that they have ended.
#include "universe/hub/absences.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace couplet::universe {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr Absences::Patience patience{.refusing_s = 3, .unreachable_s = 60};

TEST(Absences, OneThatIsSeenAliveIsNeverDue) {
  Absences absences;
  absences.add(7, "reset", patience, 0);
  for (std::uint64_t now = 0; now < 600 * second_ns; now += 10 * second_ns) {
    absences.seen_alive(7, now);
    EXPECT_TRUE(absences.due(now + 9 * second_ns).empty());
  }
}

TEST(Absences, OneWhoseSystemRefusesCallsIsDueAfterTheShortPatience) {
  Absences absences;
  absences.add(7, "reset", patience, 0);
  absences.seen_refusing(7, second_ns);
  absences.seen_refusing(7, 3 * second_ns);
  EXPECT_TRUE(absences.due(4 * second_ns - 1).empty());
  ASSERT_EQ(absences.due(4 * second_ns).size(), 1U);
  EXPECT_EQ(absences.due(4 * second_ns)[0].why, "reset, and no process listens at its port");
  absences.seen_alive(7, 4 * second_ns);
  EXPECT_TRUE(absences.due(5 * second_ns).empty()) << "a process listens again";
}

TEST(Absences, OneThatCannotBeReachedIsDueAfterTheLongPatience) {
  Absences absences;
  absences.add(7, "silent", patience, second_ns);
  EXPECT_TRUE(absences.due(61 * second_ns - 1).empty());
  ASSERT_EQ(absences.due(61 * second_ns).size(), 1U);
  EXPECT_EQ(absences.due(61 * second_ns)[0].peer, 7U);
  absences.remove(7);
  EXPECT_FALSE(absences.was_cut_off(7));
  EXPECT_TRUE(absences.due(61 * second_ns).empty());
}

TEST(Absences, OneThatCannotBeReachedIsToldOnce) {
  Absences absences;
  absences.add(7, "silent", patience, 0);
  EXPECT_TRUE(absences.newly_unreachable(3, 3 * second_ns - 1).empty());
  EXPECT_EQ(absences.newly_unreachable(3, 3 * second_ns), (std::vector<channel::PeerId>{7}));
  EXPECT_TRUE(absences.newly_unreachable(3, 4 * second_ns).empty());
  absences.seen_alive(7, 5 * second_ns);
  EXPECT_EQ(absences.newly_unreachable(3, 9 * second_ns), (std::vector<channel::PeerId>{7})) << "once more";
}

TEST(Absences, AfterARestartOfTheHubNobodyIsToldOfOneThatComputes) {
  Absences absences;
  absences.add(7, "late", {.cause = Absences::Cause::restart_of_the_hub, .unreachable_s = 600}, 0);
  EXPECT_FALSE(absences.was_cut_off(7));
  EXPECT_TRUE(absences.newly_unreachable(3, 100 * second_ns).empty());
  EXPECT_TRUE(absences.due(599 * second_ns).empty());
  EXPECT_EQ(absences.due(600 * second_ns).size(), 1U);
}

// Another process may use its port by now: its successor never joined, and the hub never ended.
TEST(Absences, AfterARestartOfTheHubAPortThatAcceptsCallsDoesNotMakeThePatienceLonger) {
  Absences absences;
  absences.add(7, "late", {.cause = Absences::Cause::restart_of_the_hub, .refusing_s = 3, .unreachable_s = 600}, 0);
  absences.add(8, "reset", patience, 0);
  absences.seen_refusing(7, second_ns);
  for (std::uint64_t now = 2 * second_ns; now <= 600 * second_ns; now += second_ns) {
    absences.seen_listening(7, now);
    absences.seen_listening(8, now);
    EXPECT_TRUE(absences.due(now).empty());
  }
  ASSERT_EQ(absences.due(601 * second_ns).size(), 1U);
  EXPECT_EQ(absences.due(601 * second_ns)[0].peer, 7U);
}

TEST(Absences, APatienceMayBeInfinite) {
  Absences absences;
  absences.add(7, "silent", {.refusing_s = 3, .unreachable_s = std::numeric_limits<double>::infinity()}, 0);
  EXPECT_TRUE(absences.due(1'000'000 * second_ns).empty());
}

}  // namespace
}  // namespace couplet::universe
