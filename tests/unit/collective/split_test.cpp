// Which members form a group when a group is split.
#include "collective/split.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace couplet::collective {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Split, OrdersByKeyAndThenByRank) {
  std::vector<SplitRow> rows;
  const std::int64_t keys[] = {5, -1, 5, 5, 0};
  for (std::int32_t rank = 0; rank < 5; ++rank) {
    rows.push_back(split_row({rank != 3, rank % 2, keys[rank], 10 * rank}, "rows"));
  }
  EXPECT_THAT(*split_members(rows, rows[0]), ElementsAre(40, 0, 20));
  EXPECT_THAT(*split_members(rows, rows[1]), ElementsAre(10));
  EXPECT_EQ(split_name("rows", 1), "rows:1");
}

TEST(Split, OfOneWithoutColorBelongsToNobody) {
  const std::vector<SplitRow> rows = {split_row({true, 0, 0, 7}, "rows"), split_row({false, 0, 0, 8}, "rows")};
  EXPECT_THAT(*split_members(rows, rows[0]), ElementsAre(7));
}

TEST(Split, UnderAnotherNameIsAMismatch) {
  const std::vector<SplitRow> rows = {split_row({true, 0, 0, 7}, "rows"), split_row({true, 0, 0, 8}, "columns")};
  const auto found = split_members(rows, rows[0]);
  EXPECT_EQ(found.status().code(), Code::mismatch);
  EXPECT_THAT(found.status().text(), HasSubstr("rank 1 splits the group under another name"));
}

}  // namespace
}  // namespace couplet::collective
