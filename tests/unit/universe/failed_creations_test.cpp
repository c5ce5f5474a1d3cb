// What the register of series knows of creations that have failed.
#include <gtest/gtest.h>

#include "universe/hub/series_book.hpp"

namespace couplet::universe {
namespace {

bool live(const SeriesPart& /*part*/) {
  return true;
}

// Returns the description of series 'eta' by that creation of ocean.
SeriesRecord created(std::uint64_t creation, const std::vector<channel::PeerId>& writers,
                     const std::string& name = "eta") {
  SeriesRecord record;
  record.name = name;
  record.program = "ocean";
  record.fields = {{"", COUPLET_DOUBLE, {10, 20}}};
  record.slots = 4;
  record.creation = creation;
  for (const auto writer : writers) {
    record.parts.emplace_back().writer = writer;
  }
  return record;
}

// Fault: a reader that came back after a reset made the hub find the series again, and its writers with it.
TEST(FailedCreations, AFailedSeriesIsNotRecalled) {
  SeriesBook book;
  ASSERT_TRUE(book.announce(created(7, {0, 1}), std::make_shared<const std::string>(), live).ok());
  EXPECT_TRUE(book.withdraw(0, "eta", 7, 0).empty());
  EXPECT_TRUE(book.withdraw(1, "eta", 7, 0).empty());
  SeriesClaim claim;
  claim.name = "eta";
  claim.creation = 7;
  claim.opened = 1;
  claim.has_record = true;
  const auto recalled = book.claim(5, "nowcast", claim);
  ASSERT_TRUE(recalled.ok());
  EXPECT_FALSE(*recalled);
}

// Fault: a hub that was started again refused the announcement of a series that it knew from a reader.
TEST(FailedCreations, TheAnnouncementOfASeriesThatAReaderHasDescribedIsTaken) {
  SeriesBook book;
  SeriesClaim claim;
  claim.name = "eta";
  claim.creation = 7;
  claim.incarnation = 4;
  claim.opened = 1;
  claim.has_record = true;
  const auto recalled = book.claim(5, "nowcast", claim);
  ASSERT_TRUE(recalled.ok() && *recalled);
  SeriesRecord record = created(7, {0, 1});
  record.incarnation = 4;
  const auto description = std::make_shared<const std::string>("as it was announced");
  book.describe(record, description, live, 0);
  const auto announced = book.announce(created(7, {0, 1}), description, live);
  ASSERT_TRUE(announced.ok()) << announced.status().text();
  EXPECT_EQ(announced->incarnation, 4U);
  EXPECT_EQ(book.announce(created(8, {5}), description, live).code(), Code::exists) << "another creation";
}

// A reader of the series comes back to a hub that was started again.
void claim_as_reader(SeriesBook& book) {
  SeriesClaim claim;
  claim.name = "eta";
  claim.creation = 7;
  claim.opened = 1;
  claim.has_record = true;
  ASSERT_TRUE(book.claim(5, "nowcast", claim).ok());
}

void describe(SeriesBook& book, bool may_come, double linger_s = 0) {
  SeriesRecord record = created(7, {0, 1});
  record.linger_s = linger_s;
  book.describe(
      record, std::make_shared<const std::string>(), [may_come](const SeriesPart&) { return may_come; }, 0);
}

// Fault: a hub that was started again found a series whose creation had failed.
TEST(FailedCreations, AFailedSeriesThatAReaderDescribesIsNotFound) {
  for (const bool withdraws_first : {true, false}) {
    SeriesBook book;
    const auto withdraw = [&] {
      static_cast<void>(book.withdraw(0, "eta", 7, 0));
      static_cast<void>(book.withdraw(1, "eta", 7, 0));
    };
    if (withdraws_first) withdraw();
    claim_as_reader(book);
    describe(book, !withdraws_first);  // ranks that have come back claim what they write
    static_cast<void>(book.rejoined(0, "ocean", {}, 0));
    static_cast<void>(book.rejoined(1, "ocean", {}, 0));
    if (!withdraws_first) withdraw();
    EXPECT_EQ(book.find("eta", -1), nullptr) << withdraws_first;
  }
}

TEST(FailedCreations, WhatAnotherRankHasClosedIsFoundAfterARestartOfTheHub) {
  for (const bool withdraws_first : {true, false}) {
    SeriesBook book;
    if (withdraws_first) static_cast<void>(book.withdraw(1, "eta", 7, 0));
    SeriesClaim claim;
    claim.name = "eta";
    claim.creation = 7;
    claim.has_record = claim.closed = true;
    ASSERT_TRUE(book.claim(0, "ocean", claim).ok());
    describe(book, false);
    if (!withdraws_first) static_cast<void>(book.withdraw(1, "eta", 7, 0));
    const auto* const found = book.find("eta", -1);
    ASSERT_NE(found, nullptr) << withdraws_first;
    EXPECT_TRUE(found->record.closed);
  }
}

// Fault: the end of the series was not noted, so that the universe did not wait for as long as it lingers.
TEST(FailedCreations, ASeriesEndsWhenTheLastWriterClaimsThatItHasClosedIt) {
  SeriesBook book;
  claim_as_reader(book);
  describe(book, true, 2);
  EXPECT_TRUE(book.rejoined(1, "ocean", {}, 1'000'000'000).empty());
  SeriesClaim claim;
  claim.name = "eta";
  claim.creation = 7;
  claim.has_record = claim.closed = true;
  ASSERT_TRUE(book.claim(0, "ocean", claim).ok());
  EXPECT_EQ(book.rejoined(0, "ocean", {}, 5'000'000'000).size(), 1U);
  ASSERT_NE(book.find("eta", -1), nullptr);
  EXPECT_TRUE(book.find("eta", -1)->record.closed);
  EXPECT_EQ(book.lingers_until_ns(), 7'000'000'000U);
}

// Fault: a reader that came back last made the hub find it again.
TEST(FailedCreations, AFailedSeriesIsNotFoundWhenItsRanksHaveLeft) {
  SeriesBook book;
  for (const channel::PeerId peer : {0U, 1U}) {
    static_cast<void>(book.withdraw(peer, "eta", 7, 0));
    static_cast<void>(book.peer_gone(peer, 0));
  }
  claim_as_reader(book);
  describe(book, false);
  EXPECT_EQ(book.find("eta", -1), nullptr);
}

// Fault: what was known of the series was dropped when a rank came back that had withdrawn, before it was known that
// the other one had closed it.
TEST(FailedCreations, WhatIsKnownToBeClosedLaterIsFound) {
  SeriesBook book;
  ASSERT_TRUE(book.announce(created(7, {0, 1}), std::make_shared<const std::string>(), live).ok());
  EXPECT_TRUE(book.withdraw(0, "eta", 7, 0).empty());
  EXPECT_TRUE(book.rejoined(1, "ocean", {}, 0).empty());
  EXPECT_EQ(book.find("eta", -1), nullptr);
  EXPECT_EQ(book.writer_closed(1, "eta", 7, 0).size(), 1U);
  ASSERT_NE(book.find("eta", -1), nullptr);
  EXPECT_TRUE(book.find("eta", -1)->record.closed);
}

TEST(FailedCreations, WhatFailedIsNotWaitedFor) {
  SeriesBook book;
  auto record = created(7, {0});
  record.required_readers = {"nowcast"};
  record.linger_s = 5;
  ASSERT_TRUE(book.announce(record, std::make_shared<const std::string>(), live).ok());
  EXPECT_EQ(book.awaited().size(), 1U);
  static_cast<void>(book.withdraw(0, "eta", 7, 0));
  EXPECT_TRUE(book.finished());
  EXPECT_EQ(book.lingers_until_ns(), 0U);
  EXPECT_TRUE(book.awaited().empty());
}

TEST(FailedCreations, WhoHasNoPartOfTheSeriesCannotWithdraw) {
  SeriesBook book;
  ASSERT_TRUE(book.announce(created(7, {0, 1}), std::make_shared<const std::string>(), live).ok());
  static_cast<void>(book.withdraw(5, "eta", 7, 0));
  ASSERT_TRUE(book.peer_gone(0, 0).empty());
  EXPECT_EQ(book.peer_gone(1, 0).size(), 1U);
  EXPECT_NE(book.find("eta", -1), nullptr);
}

TEST(FailedCreations, OnlyTheLastWithdrawalsOfAPeerAreKept) {
  SeriesBook book;
  for (std::uint64_t creation = 1; creation <= 65; ++creation) {
    static_cast<void>(book.withdraw(0, "eta", creation, 0));
  }
  const auto announce = [&](const std::string& name, std::uint64_t creation) {
    const auto description = std::make_shared<const std::string>();
    ASSERT_TRUE(book.announce(created(creation, {0}, name), description, live).ok());
  };
  announce("first", 1);
  EXPECT_NE(book.find("first", -1), nullptr) << "forgotten";
  announce("second", 2);
  EXPECT_EQ(book.find("second", -1), nullptr);
  EXPECT_TRUE(book.peer_gone(0, 0).size() == 1);
  announce("third", 3);
  EXPECT_EQ(book.find("third", -1), nullptr) << "the number of a creation is never used again";
}

}  // namespace
}  // namespace couplet::universe
