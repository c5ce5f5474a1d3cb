#include "collective/former_groups.hpp"

#include <gtest/gtest.h>

namespace couplet::collective {
namespace {

Status failure_of_creation(std::uint64_t creation) {
  return fail(Code::peer_lost, "creation {}", creation);
}

TEST(FormerGroups, KnowWhyACallFailedInThatCreationOrInALaterOne) {
  FormerGroups groups;
  groups.note(7, 3, 4, failure_of_creation(3));
  groups.note(7, 4, 5, {});
  groups.note(7, 5, 6, failure_of_creation(5));
  EXPECT_EQ(groups.failure_since(7, 2, 0).text(), failure_of_creation(3).text());
  EXPECT_EQ(groups.failure_since(7, 3, 0).text(), failure_of_creation(3).text());
  EXPECT_EQ(groups.failure_since(7, 4, 0).text(), failure_of_creation(5).text());
  EXPECT_EQ(groups.failure_since(7, 5, 0).text(), failure_of_creation(5).text());
  EXPECT_TRUE(groups.failure_since(7, 6, 0).ok());
  EXPECT_TRUE(groups.failure_since(8, 3, 0).ok());
}

TEST(FormerGroups, ForgetTheOldestCreation) {
  FormerGroups groups;
  for (std::uint64_t creation = 1; creation <= 100; ++creation) {
    groups.note(7, creation, creation + 1, failure_of_creation(creation));
  }
  EXPECT_EQ(groups.failure_since(7, 1, 0).text(), failure_of_creation(85).text());
  EXPECT_EQ(groups.failure_since(7, 100, 0).text(), failure_of_creation(100).text());
}

// Fault: a member that had freed another group before began each next group with a number of its own.
TEST(FormerGroups, NumberTheCreationsOfEachGroup) {
  FormerGroups groups;
  EXPECT_EQ(groups.next_creation(7), 1U);
  groups.note(7, 1, 2, {});
  groups.note(7, 2, 5, {});
  EXPECT_EQ(groups.next_creation(7), 5U);
  EXPECT_EQ(groups.next_creation(8), 1U);
}

// Fault: a member that was started again was told why its former life had failed, and its first call failed.
TEST(FormerGroups, DoNotTellALaterLifeWhatHadFailedBefore) {
  FormerGroups groups;
  groups.note(7, 1, 2, failure_of_creation(1), {3});
  groups.note(7, 2, 3, {});
  EXPECT_TRUE(groups.failure_since(7, 1, 3).ok());
  EXPECT_EQ(groups.failure_since(7, 1, 2).text(), failure_of_creation(1).text());
  groups.note(7, 3, 4, failure_of_creation(3));
  EXPECT_EQ(groups.failure_since(7, 1, 3).text(), failure_of_creation(3).text());
}

// Fault: a member that had freed 257 other groups never met the others in a group that it had not used before.
TEST(FormerGroups, KeepTheNumberOfManyGroups) {
  FormerGroups groups;
  for (std::uint64_t group = 0; group < 1000; ++group) {
    groups.note(group, 1000 - group, 1001 - group, failure_of_creation(1000 - group));
  }
  EXPECT_TRUE(groups.failure_since(0, 1000, 0).ok()) << "it was noted longest ago";
  EXPECT_EQ(groups.failure_since(999, 1, 0).text(), failure_of_creation(1).text());
  EXPECT_EQ(groups.next_creation(0), 1001U);
  EXPECT_EQ(groups.next_creation(999), 2U);
  EXPECT_EQ(groups.next_creation(1000), 1U);
}

TEST(FormerGroups, ThatAreForgottenGetAGreaterNumberThanEver) {
  FormerGroups groups;
  groups.note(0, 99, 100, {});
  for (std::uint64_t group = 1; group < 70000; ++group) {
    groups.note(group, 1, 2, {});
  }
  EXPECT_EQ(groups.next_creation(0), 100U);
  EXPECT_EQ(groups.next_creation(69999), 2U);
  EXPECT_EQ(groups.next_creation(70000), 100U) << "it may be one of those";
}

}  // namespace
}  // namespace couplet::collective
