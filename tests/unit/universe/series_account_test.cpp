// What a member tells of its series to a hub that was started again.
#include "universe/series_account.hpp"

#include <gtest/gtest.h>

namespace couplet::universe {
namespace {

const auto text = std::make_shared<const std::string>("the description");

TEST(SeriesAccount, AReaderThatHasClosedIsStillOneThatHasOpened) {
  SeriesAccount account;
  account.found("eta", 3, 7, text);
  account.opened("eta", 3, OpenerRanks(2));
  account.closed_reader("eta");
  ASSERT_EQ(account.claims().size(), 1U);
  const SeriesClaim claim = account.claims().front();
  EXPECT_EQ(claim.name, "eta");
  EXPECT_EQ(claim.incarnation, 3U);
  EXPECT_EQ(claim.opened, 0U);
  EXPECT_EQ(claim.openers.count, 2);
  EXPECT_FALSE(claim.has_record);
  account.found("eta", 4, 8, text);  // the next incarnation: it has not opened that one
  account.opened("eta", 4, OpenerRanks(2));
  EXPECT_EQ(account.claims().front().incarnation, 4U);
  EXPECT_EQ(account.claims().front().opened, 1U);
}

// Fault: a hub that was started again did not know it, and a required reader was told that it does not exist.
TEST(SeriesAccount, ASeriesThatItsWriterHasClosedIsStillDescribed) {
  SeriesAccount account;
  EXPECT_FALSE(account.is_written("eta"));
  account.writes("eta", 3, 9, text);
  EXPECT_TRUE(account.is_written("eta"));
  account.closed_writer("eta");
  EXPECT_FALSE(account.is_written("eta"));
  ASSERT_EQ(account.claims().size(), 1U);
  EXPECT_FALSE(account.claims().front().writes);
  EXPECT_TRUE(account.claims().front().has_record);
  EXPECT_EQ(account.description("eta", 3), text);
  account.writes("eta", 4, 9, nullptr);  // as another rank than the first one, which keeps the description
  account.closed_writer("eta");
  EXPECT_TRUE(account.claims().empty());
}

TEST(SeriesAccount, WhatIsInUseIsToldFirstAndWhatIsNotIsForgottenWhenThereIsMuch) {
  SeriesAccount account;
  const std::size_t more = max_claims + 10;
  for (std::size_t number = 0; number < more; ++number) {
    const std::string name = "series " + std::to_string(number);
    account.found(name, 0, 1, text);
    account.opened(name, 0, OpenerRanks(1));
    account.closed_reader(name);
  }
  account.writes("zeta", 0, 9, text);
  const auto claims = account.claims();
  ASSERT_EQ(claims.size(), max_claims);
  EXPECT_EQ(claims.front().name, "zeta");
  EXPECT_TRUE(claims.front().writes);
  account.closed_writer("zeta");
  for (const SeriesClaim& claim : account.claims()) EXPECT_NE(claim.name, "zeta");
}

// Fault: a late failure of one creation let a process forget what it wrote by another one. The next hub gave the name
// to another program.
TEST(SeriesAccount, AFailedCreationEndsNoOther) {
  SeriesAccount account;
  account.writes("eta", 3, 9, nullptr);
  account.withdrawn("eta", 8);
  EXPECT_TRUE(account.is_written("eta"));
  account.withdrawn("eta", 9);
  EXPECT_FALSE(account.is_written("eta"));
}

}  // namespace
}  // namespace couplet::universe
