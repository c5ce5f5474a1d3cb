#include "coalesce/meeting.hpp"

#include <gtest/gtest.h>

namespace couplet::coalesce {
namespace {

using Names = std::vector<std::string>;

Result<Names> order_of(const std::vector<Names>& lists) {
  std::vector<Registration> all;
  all.reserve(lists.size());
  for (const Names& clients : lists) all.push_back({.clients = clients});
  return common_order(all);
}

TEST(Registration, ComesBackAsItWas) {
  const Registration one{.status = fail(Code::argument, "wrong"),
                         .from_round = 7,
                         .phase_count = 2,
                         .merges_waits = false,
                         .merges_messages = true,
                         .clients = {"kernel", "viewer"}};
  const auto back = decode(encode(one));
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(back->status.code(), Code::argument);
  EXPECT_EQ(back->status.text(), "wrong");
  EXPECT_EQ(back->from_round, 7U);
  EXPECT_EQ(back->phase_count, 2);
  EXPECT_FALSE(back->merges_waits);
  EXPECT_TRUE(back->merges_messages);
  EXPECT_EQ(back->clients, one.clients);
}

TEST(Registration, IsRefusedIfItIsCutOrLonger) {
  const std::string text = encode({.clients = {"kernel"}});
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes) {
    EXPECT_EQ(decode(text.substr(0, bytes)).code(), Code::protocol) << bytes;
  }
  EXPECT_EQ(decode(text + "x").code(), Code::protocol);
}

TEST(CommonOrder, IsThatOfRegistrationOnEachRank) {
  EXPECT_EQ(*order_of({{"a", "b"}, {"a", "b"}}), (Names{"a", "b"}));
  EXPECT_EQ(*order_of({{"a", "c"}, {"b", "c"}, {"a", "b"}}), (Names{"a", "b", "c"}));
  EXPECT_EQ(*order_of({{}, {"z"}, {"a"}}), (Names{"z", "a"}));
  EXPECT_TRUE(order_of({{}, {}})->empty());
}

TEST(CommonOrder, NamesBothRanksAndClientsIfTwoOrdersDiffer) {
  const auto order = order_of({{"x"}, {"a", "b"}, {"b", "x", "a"}});
  EXPECT_EQ(order.code(), Code::mismatch);
  EXPECT_EQ(order.status().text(),
            "rank 1 has registered client 'a' before 'b', and rank 2 has registered 'b' before 'a': the order must be "
            "the same");
}

TEST(CommonOrder, IsRefusedIfNoOrderFitsAllRanks) {
  const auto order = order_of({{"a", "b"}, {"b", "c"}, {"c", "a"}});
  EXPECT_EQ(order.code(), Code::mismatch);
  EXPECT_NE(order.status().text().find("'a', 'b', 'c'"), std::string::npos) << order.status().text();
}

// All pairs of 256 names at each of 1,000 ranks: this took minutes.
TEST(CommonOrder, IsFoundForManyClientsAtManyRanks) {
  Names all;
  for (int client = 0; client < 256; ++client) all.push_back(fmt::format("client {}", client));
  std::vector<Names> lists(1'000, all);
  for (std::size_t rank = 0; rank < lists.size(); ++rank) {
    lists[rank].erase(lists[rank].begin() + static_cast<std::ptrdiff_t>(rank % 256));  // each has other ones
  }
  EXPECT_EQ(*order_of(lists), all);
}

TEST(CommonOrder, GivesTheErrorOfTheFirstRankThatHasOne) {
  std::vector<Registration> all(3);
  all[2].status = fail(Code::argument, "wrong");
  const auto order = common_order(all);
  EXPECT_EQ(order.code(), Code::argument);
  EXPECT_EQ(order.status().text(), "rank 2: wrong");
}

TEST(CommonOrder, NamesSettingsThatDiffer) {
  std::vector<Registration> all(2);
  all[1].phase_count = 3;
  EXPECT_EQ(common_order(all).status().text(), "rank 0 has the number of phases 1, and rank 1 has 3");
  all[1] = {.from_round = 4};
  EXPECT_EQ(common_order(all).status().text(), "rank 0 has the first round 0, and rank 1 has 4");
}

}  // namespace
}  // namespace couplet::coalesce
