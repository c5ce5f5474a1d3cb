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
  account.writes("eta", 4, 10, nullptr);  // as another rank than the first one, which keeps the description
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
  account.withdraws("eta", 8);
  EXPECT_TRUE(account.is_written("eta"));
  account.withdraws("eta", 9);
  EXPECT_FALSE(account.is_written("eta"));
}

TEST(SeriesAccount, AnotherIncarnationOfOneCreationIsTheSameSeries) {
  SeriesAccount account;
  account.found("eta", 3, 7, text);
  account.opened("eta", 3, OpenerRanks(2));
  account.found("eta", 4, 7, text);
  EXPECT_EQ(account.claims().front().incarnation, 4U);
  EXPECT_EQ(account.claims().front().openers.count, 2);
  EXPECT_EQ(account.creation_of("eta", 4), 7U);
}

TEST(SeriesAccount, ACreationIsPendingUntilItsEndIsKnown) {
  SeriesAccount account;
  ASSERT_TRUE(account.creates("eta", 7).ok());
  EXPECT_EQ(account.creates("eta", 8).code(), Code::exists) << "of another thread";
  account.creates_no_longer("eta", 8);
  ASSERT_EQ(account.pending().size(), 1U);
  EXPECT_EQ(account.pending().front().creation, 7U);
  account.writes("eta", 0, 7, nullptr);
  EXPECT_TRUE(account.pending().empty());
  EXPECT_EQ(account.creates("eta", 9).code(), Code::exists) << "it is written";
  account.closed_writer("eta");
  ASSERT_TRUE(account.creates("eta", 9).ok());
  account.withdraws("eta", 9);
  EXPECT_TRUE(account.pending().empty());
  EXPECT_EQ(account.withdrawn(), std::vector<std::uint64_t>{9});
  for (std::uint64_t creation = 10; creation < 10 + max_withdrawals; ++creation) account.withdraws("eta", creation);
  EXPECT_EQ(account.withdrawn().size(), max_withdrawals);
  EXPECT_EQ(account.withdrawn().front(), 10U);
}

TEST(SeriesAccount, CreationsAreLimited) {
  SeriesAccount account;
  for (std::uint64_t number = 0; number < max_pending_creations; ++number) {
    ASSERT_TRUE(account.creates("series " + std::to_string(number), number + 1).ok());
  }
  EXPECT_EQ(account.creates("one more", 100).code(), Code::limit);
}

// Fault: a reader that had found a series, and never opened it, described it to a new hub after its creation had
// failed: all others found it.
TEST(SeriesAccount, WhatWasOnlyFoundIsNotDescribed) {
  SeriesAccount account;
  account.found("eta", 3, 7, text);
  EXPECT_FALSE(account.claims().front().has_record);
  account.opened("eta", 3, OpenerRanks(1));
  EXPECT_TRUE(account.claims().front().has_record);
}

}  // namespace
}  // namespace couplet::universe
