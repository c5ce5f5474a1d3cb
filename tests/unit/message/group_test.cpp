#include "message/group.hpp"

#include <gtest/gtest.h>

namespace couplet::message {
namespace {

TEST(group, a_range_translates_both_ways) {
  const Group group = Group::range("program ocean", 3, 4, 5);
  EXPECT_EQ(group.rank(), 2);
  EXPECT_EQ(group.size(), 4);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(group.peer(rank), static_cast<channel::PeerId>(3 + rank));
    EXPECT_EQ(group.rank_of(group.peer(rank)), rank);
  }
  EXPECT_EQ(group.rank_of(2), -1);
  EXPECT_EQ(group.rank_of(7), -1);
  EXPECT_EQ(group.rank_of(channel::hub_peer), -1);
}

TEST(group, named_members_translate_both_ways) {
  const std::int32_t ranks[] = {7, 0, 3};
  auto group = Group::of_ranks("pair", ranks, 8, 3);
  ASSERT_TRUE(group.ok());
  EXPECT_EQ(group->rank(), 2);
  EXPECT_EQ(group->size(), 3);
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(group->rank_of(group->peer(rank)), rank);
  EXPECT_EQ(group->rank_of(1), -1);
  EXPECT_EQ(Group::of_ranks("pair", ranks, 8, 1)->rank(), -1);
}

TEST(group, misuse_is_named) {
  const std::int32_t outside[] = {0, 8};
  auto group = Group::of_ranks("pair", outside, 8, 0);
  EXPECT_EQ(group.code(), Code::argument);
  EXPECT_EQ(group.status().text(), "group 'pair': member 1 is rank 8, the universe has ranks 0 to 7");
  const std::int32_t twice[] = {2, 1, 2};
  EXPECT_EQ(Group::of_ranks("pair", twice, 8, 0).status().text(), "group 'pair': rank 2 is a member twice");
  EXPECT_EQ(Group::of_ranks("pair", {}, 8, 0).code(), Code::argument);
}

TEST(group, the_context_depends_on_name_members_and_order) {
  const std::int32_t ranks[] = {0, 1};
  const std::int32_t other_order[] = {1, 0};
  const auto one = Group::of_ranks("a", ranks, 2, 0);
  EXPECT_EQ(one->context(), Group::of_ranks("a", ranks, 2, 1)->context());
  EXPECT_NE(one->context(), Group::of_ranks("b", ranks, 2, 0)->context());
  EXPECT_NE(one->context(), Group::of_ranks("a", other_order, 2, 0)->context());
  EXPECT_EQ(one->context() & internal_context, 0U);
  // Golden: the same on every host and in every version.
  EXPECT_EQ(hash_members("a", ranks), 2491460794761270734U);
}

}  // namespace
}  // namespace couplet::message
