// What is kept of calls that have ended, and of the creations of groups in which calls have failed.
#include "collective/past_calls.hpp"

#include <gtest/gtest.h>

namespace couplet::collective {
namespace {

Status failure_of_creation(std::uint64_t creation) {
  return fail(Code::peer_lost, "creation {}", creation);
}

TEST(FormerFailures, KnowWhyEachOfTheLastCreationsOfAGroupFailed) {
  FormerFailures failures;
  failures.note(7, 3, failure_of_creation(3));
  failures.note(7, 5, failure_of_creation(5));
  EXPECT_EQ(failures.find(7, 3).text(), failure_of_creation(3).text());
  EXPECT_EQ(failures.find(7, 5).text(), failure_of_creation(5).text());
  EXPECT_TRUE(failures.find(7, 4).ok()) << "no call of that creation has failed";
  EXPECT_TRUE(failures.find(7, 2).ok());
  EXPECT_TRUE(failures.find(7, 6).ok());
  EXPECT_TRUE(failures.find(8, 3).ok());
}

TEST(FormerFailures, SayWhyTheOldestOneFailedThatIsKnownIfAnOlderOneIsForgotten) {
  FormerFailures failures;
  for (std::uint64_t creation = 1; creation <= 100; ++creation) {
    failures.note(7, creation, failure_of_creation(creation));
  }
  EXPECT_EQ(failures.find(7, 1).text(), failure_of_creation(85).text());
  EXPECT_EQ(failures.find(7, 100).text(), failure_of_creation(100).text());
}

TEST(FormerFailures, ForgetTheGroupThatHasFailedLongestAgo) {
  FormerFailures failures;
  for (std::uint64_t group = 0; group < 100; ++group) {
    failures.note(group, 1000 - group, failure_of_creation(1000 - group));
  }
  EXPECT_FALSE(failures.find(0, 1000).ok());
  EXPECT_TRUE(failures.find(98, 902).ok());
}

// Fault: the others had created the group again, and a member to which they could not connect was told nothing.
TEST(PastCalls, KnowTheFirstFailureUntilTheGroupIsCreatedAgain) {
  PastCalls past;
  past.begin(0, {});
  past.begin(1, {});
  EXPECT_TRUE(past.first_failure().ok());
  past.fail(1, failure_of_creation(1));
  past.fail(0, failure_of_creation(0));
  EXPECT_EQ(past.first_failure().text(), failure_of_creation(1).text());
  past.clear();
  EXPECT_TRUE(past.first_failure().ok());
}

}  // namespace
}  // namespace couplet::collective
