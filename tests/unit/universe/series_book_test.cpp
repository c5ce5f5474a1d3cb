// Series at the hub: names, incarnations, readers, and when the universe is over.
#include "universe/hub/series_book.hpp"

#include <gtest/gtest.h>

#include <array>

#include "hub_world.hpp"
#include "universe/hub_requests.hpp"

namespace couplet::universe {
namespace {

SeriesRecord record_of(const std::string& name, const std::string& program, std::vector<channel::PeerId> writers,
                       std::vector<std::string> required = {}) {
  SeriesRecord record;
  record.name = name;
  record.program = program;
  record.fields = {{"", COUPLET_DOUBLE, {10, 20}}};
  record.slots = 4;
  record.required_readers = std::move(required);
  for (const auto writer : writers) {
    SeriesPart part;
    part.writer = writer;
    part.boxes = {{{2, {0, 0}, {10, 20}}}};
    part.file = "series-" + name + "-" + std::to_string(writer);
    record.parts.push_back(part);
  }
  return record;
}

// Returns the description of series 'eta' by that creation of ocean.
SeriesRecord created(std::uint64_t creation, std::vector<channel::PeerId> writers,
                     std::vector<std::string> required = {}) {
  SeriesRecord record = record_of("eta", "ocean", std::move(writers), std::move(required));
  record.creation = creation;
  return record;
}

class HubSeries : public ::testing::Test {
 protected:
  void start(const std::string& programs = "ocean:2,nowcast:1,follower:1?", double linger_s = -1) {
    world_ = std::make_unique<HubWorld>(programs, linger_s);
    const int oceans = parse_programs(programs)->front().size;
    ocean0_ = world_->join("ocean", 0, oceans);
    ocean1_ = world_->join("ocean", 1, oceans);
    for (int rank = 2; rank < oceans; ++rank) {
      ocean2_ = world_->join("ocean", rank, oceans);
    }
    nowcast_ = world_->join("nowcast", 0, 1);
    ASSERT_TRUE(world_->has<CompleteMessage>(nowcast_) || programs.find("follower:3") != std::string::npos);
  }
  // Each record without the number of a creation is one of its own.
  AnswerMessage announce(ConnectionId from, SeriesRecord record) {
    record.creation = record.creation == 0 ? ++last_creation_ : record.creation;
    world_->announce(from, ++request_, record);
    const auto answer = world_->last<AnswerMessage>(from);
    EXPECT_EQ(answer.request, request_);
    announced_ = answer.code == Code::ok ? record.creation : announced_;
    return answer;
  }
  // creation: 0: the last one that was announced.
  AnswerMessage note(ConnectionId from, SeriesNote what, std::uint64_t creation = 0) {
    const auto number = creation == 0 ? announced_ : creation;
    world_->send(from, NoteMessage{.request = ++request_, .note = what, .name = "eta", .creation = number});
    EXPECT_EQ(world_->last<AnswerMessage>(from).request, request_);
    return world_->last<AnswerMessage>(from);
  }
  AnswerMessage open(ConnectionId from, const OpenerRanks& openers, std::uint64_t creation = 0) {
    const auto number = creation == 0 ? announced_ : creation;
    world_->send(from, NoteMessage{++request_, SeriesNote::reader_opened, "eta", openers, number});
    EXPECT_EQ(world_->last<AnswerMessage>(from).request, request_);
    return world_->last<AnswerMessage>(from);
  }
  // That creation has failed at this rank.
  void withdraw(ConnectionId from, std::uint64_t creation) {
    EXPECT_EQ(note(from, SeriesNote::withdrawn, creation).code, Code::ok);
  }
  Code find(ConnectionId from) {
    world_->send(from, FindMessage{++request_, "eta", -1, false});
    return world_->last<AnswerMessage>(from).code;
  }
  // The required programs that have opened the series, as far as this writer was told.
  [[nodiscard]] std::vector<std::string> told(ConnectionId writer) {
    return world_->has<SeriesMessage>(writer) ? world_->last<SeriesMessage>(writer).opened : std::vector<std::string>();
  }
  // Two writers and three readers, of which one may come later; a series for which the readers are required.
  void start_readers() {
    start("ocean:2,nowcast:1,follower:3");
    for (int rank = 0; rank < 3; ++rank) {
      followers_[static_cast<std::size_t>(rank)] = world_->join("follower", rank, 3);
    }
    ASSERT_EQ(announce(ocean0_, record_of("eta", "ocean", {0, 1}, {"follower"})).code, Code::ok);
  }
  void leave(ConnectionId from) { world_->send(from, LeaveMessage{}); }

  std::unique_ptr<HubWorld> world_;
  ConnectionId ocean0_ = 0;
  ConnectionId ocean1_ = 0;
  ConnectionId ocean2_ = 0;  // the last one, if there are more than two
  ConnectionId nowcast_ = 0;
  std::array<ConnectionId, 3> followers_{};
  RequestId request_ = 100;
  std::uint64_t last_creation_ = 1000;
  std::uint64_t announced_ = 0;
};

TEST_F(HubSeries, AnAnnouncedSeriesIsFoundWithAllItsParts) {
  start();
  world_->send(nowcast_, FindMessage{1, "eta", -1, true});
  EXPECT_FALSE(world_->has<AnswerMessage>(nowcast_));
  const auto record = record_of("eta", "ocean", {0, 1}, {"nowcast"});
  const auto announced = announce(ocean0_, record);
  ASSERT_EQ(announced.code, Code::ok) << announced.text;
  EXPECT_EQ(announced.series->incarnation, 0U);
  const auto found = world_->last<AnswerMessage>(nowcast_);
  ASSERT_TRUE(found.series.has_value());
  EXPECT_EQ(found.request, 1U);
  const auto described = HubWorld::record_in(found);
  EXPECT_EQ(described.parts.size(), 2U);
  EXPECT_EQ(described.parts[1].file, "series-eta-1");
  EXPECT_EQ(described.parts[1].boxes, record.parts[1].boxes);
  EXPECT_EQ(described.required_readers, record.required_readers);
  EXPECT_EQ(described.fields, record.fields);
}

// Issue 8, fault 10: the hub encoded the description anew for each rank that asked. Now it has no parts to encode.
TEST(SeriesBook, ADescriptionIsStoredAsItWasAnnouncedAndShared) {
  SeriesBook book;
  const auto description = std::make_shared<const std::string>("as it was announced");
  ASSERT_TRUE(
      book.announce(record_of("eta", "ocean", {0, 1}), description, [](const SeriesPart&) { return true; }).ok());
  const SeriesBook::Stored* const stored = book.find("eta", -1);
  ASSERT_NE(stored, nullptr);
  EXPECT_EQ(stored->description, description);
  EXPECT_TRUE(stored->record.parts.empty());
}

// A description that is sent whole, in one message of at most 1 MiB, has room for only 991 writers with 30 fields.
TEST_F(HubSeries, TenThousandWritersWithThirtyFieldsAreAnnouncedAndFetchedInParts) {
  constexpr std::size_t writers = 10'000;
  start("ocean:10000,nowcast:1");
  SeriesRecord record;
  record.name = "eta";
  record.program = "ocean";
  record.slots = 4;
  for (int field = 0; field < 30; ++field) {
    record.fields.push_back({fmt::format("field {}", field), COUPLET_DOUBLE, {100'000, 20}});
  }
  for (std::size_t writer = 0; writer < writers; ++writer) {
    SeriesPart part;
    part.writer = static_cast<channel::PeerId>(writer);
    part.file = fmt::format("series-eta-{}", writer);
    const auto first = static_cast<std::int64_t>(10 * writer);
    part.boxes.assign(30, {{2, {first, 0}, {first + 10, 20}}});
    record.parts.push_back(std::move(part));
  }
  const auto announced = announce(ocean0_, record);
  ASSERT_EQ(announced.code, Code::ok) << announced.text;
  std::vector<MemberMessage> asked;
  HubRequests requests([&](const MemberMessage& message) { asked.push_back(message); });
  requests.begin(1, FindMessage{1, "eta", -1, true});
  for (std::size_t next = 0; next < asked.size() && !requests.is_answered(1); ++next) {
    world_->send(nowcast_, MemberMessage(asked[next]));
    requests.answered(world_->last<AnswerMessage>(nowcast_));
  }
  const auto answer = requests.finish(1);
  ASSERT_TRUE(answer.has_value());
  EXPECT_GT(asked.size(), 20U);
  const auto found = decode_record(answer->series->part.bytes);
  ASSERT_TRUE(found.ok()) << found.status().text();
  ASSERT_EQ(found->parts.size(), writers);
  EXPECT_EQ(found->parts[9999].boxes, record.parts[9999].boxes);
}

TEST_F(HubSeries, ASeriesThatIsCreatedAgainWhileItIsFetchedIsFetchedAnew) {
  start();
  auto record = record_of("eta", "ocean", {0});
  record.parts[0].boxes[0].assign(4000, {2, {0, 0}, {10, 20}});
  record.fields.assign(8, record.fields[0]);
  record.parts[0].boxes.assign(8, record.parts[0].boxes[0]);
  announce(ocean0_, record);
  world_->send(nowcast_, FindMessage{1, "eta", -1, true});
  const auto part = world_->last<AnswerMessage>(nowcast_).series->part;
  ASSERT_LT(part.bytes.size(), part.record_bytes);
  note(ocean0_, SeriesNote::writer_closed);
  ASSERT_EQ(announce(ocean0_, record).series->incarnation, 1U);
  world_->send(nowcast_, FetchMessage{1, "eta", 0, part.bytes.size()});
  EXPECT_EQ(world_->last<AnswerMessage>(nowcast_).code, Code::restarted);
}

TEST_F(HubSeries, PartsOfADescriptionComeInOrder) {
  start();
  const auto description = encode_record(record_of("eta", "ocean", {0}));
  world_->send(ocean0_, AnnounceMessage{1, {description.size(), 5, description.substr(5)}});
  EXPECT_EQ(world_->last<AnswerMessage>(ocean0_).code, Code::protocol);
  for (RequestId request = 2; request < 2 + max_unfinished_uploads; ++request) {
    world_->send(ocean0_, AnnounceMessage{request, {description.size(), 0, description.substr(0, 5)}});
  }
  EXPECT_EQ(world_->last<AnswerMessage>(ocean0_).request, 1U);
  world_->send(ocean0_, AnnounceMessage{99, {description.size(), 0, description.substr(0, 5)}});
  EXPECT_EQ(world_->last<AnswerMessage>(ocean0_).code, Code::limit);
}

TEST_F(HubSeries, ATakenNameNamesTheProgram) {
  start();
  announce(ocean0_, record_of("eta", "ocean", {0, 1}));
  const auto refused = announce(nowcast_, record_of("eta", "nowcast", {2}));
  EXPECT_EQ(refused.code, Code::exists);
  EXPECT_EQ(refused.text, "series 'eta' is being written by program 'ocean' (universe rank 0)");
}

TEST_F(HubSeries, WhatCannotBeIsRefusedByName) {
  start();
  EXPECT_EQ(announce(ocean0_, record_of("eta", "ocean", {0, 2})).code, Code::argument);
  EXPECT_EQ(announce(ocean0_, record_of("eta", "nowcast", {2})).code, Code::argument);
  EXPECT_EQ(announce(ocean0_, record_of("eta", "ocean", {})).code, Code::argument);
  const auto refused = announce(ocean0_, record_of("eta", "ocean", {0}, {"nowcats"}));
  EXPECT_EQ(refused.code, Code::not_found);
  EXPECT_EQ(refused.text,
            "series 'eta': the required reader 'nowcats' is no program of the universe; it has 'ocean', 'nowcast' and "
            "'follower'");
  EXPECT_EQ(note(nowcast_, SeriesNote::reader_opened).code, Code::not_found);
}

TEST_F(HubSeries, NotYetWithoutWaitingAndNothingAfterACancel) {
  start();
  world_->send(nowcast_, FindMessage{1, "eta", -1, false});
  EXPECT_EQ(world_->last<AnswerMessage>(nowcast_).code, Code::not_yet);
  world_->send(nowcast_, FindMessage{2, "eta", -1, true});
  world_->send(nowcast_, CancelMessage{2});
  announce(ocean0_, record_of("eta", "ocean", {0, 1}));
  EXPECT_EQ(world_->last<AnswerMessage>(nowcast_).request, 1U);
}

// Fault: the next life of a rank, which numbers its requests anew, took back what the first one had announced.
TEST_F(HubSeries, ARequestThatANewLifeGivesUpIsNotTheAnnouncementOfTheFirstOne) {
  start();
  const auto announced = announce(ocean0_, created(7, {0}));
  ASSERT_EQ(announced.code, Code::ok);
  world_->cut(ocean0_);
  ocean0_ = world_->join("ocean", 0, 2);
  world_->send(ocean0_, CancelMessage{announced.request});
  EXPECT_EQ(find(nowcast_), Code::ok);
}

TEST_F(HubSeries, TooManyRequestsAreAnError) {
  start();
  for (RequestId request = 1; request <= max_pending_requests; ++request) {
    world_->send(nowcast_, FindMessage{request, "eta", -1, true});
  }
  EXPECT_FALSE(world_->has<AnswerMessage>(nowcast_));
  world_->send(nowcast_, FindMessage{9999, "eta", -1, true});
  EXPECT_EQ(world_->last<AnswerMessage>(nowcast_).code, Code::limit);
}

TEST_F(HubSeries, TooManySeriesAreAnError) {
  start();
  for (std::size_t index = 0; index < most_series; ++index) {
    ASSERT_EQ(announce(ocean0_, record_of("s" + std::to_string(index), "ocean", {0})).code, Code::ok);
  }
  EXPECT_EQ(announce(ocean0_, record_of("one more", "ocean", {0})).code, Code::limit);
}

TEST_F(HubSeries, ARestartedWriterIsTheNextIncarnationAndReadersAreTold) {
  start();
  announce(ocean0_, record_of("eta", "ocean", {0, 1}));
  note(nowcast_, SeriesNote::reader_opened);
  world_->cut(ocean0_);
  EXPECT_FALSE(world_->has<SeriesMessage>(nowcast_));
  world_->cut(ocean1_);
  EXPECT_TRUE(world_->last<SeriesMessage>(nowcast_).closed) << "no writer is left";
  world_->send(nowcast_, FindMessage{1, "eta", 0, true});
  ocean0_ = world_->join("ocean", 0, 2);
  ocean1_ = world_->join("ocean", 1, 2);
  const auto again = announce(ocean0_, record_of("eta", "ocean", {0, 1}));
  EXPECT_EQ(again.series->incarnation, 1U);
  EXPECT_EQ(world_->last<SeriesMessage>(nowcast_).incarnation, 1U);
  EXPECT_FALSE(world_->last<SeriesMessage>(nowcast_).closed);
  EXPECT_EQ(world_->last<AnswerMessage>(nowcast_).series->incarnation, 1U);
}

TEST_F(HubSeries, AClosedSeriesMayBeCreatedAgain) {
  start();
  announce(ocean0_, record_of("eta", "ocean", {0, 1}));
  EXPECT_EQ(note(ocean0_, SeriesNote::writer_closed).code, Code::ok);
  EXPECT_EQ(announce(ocean0_, record_of("eta", "ocean", {0})).code, Code::exists) << "rank 1 still writes";
  EXPECT_EQ(note(ocean1_, SeriesNote::writer_closed).code, Code::ok);
  EXPECT_EQ(announce(ocean0_, record_of("eta", "ocean", {0})).series->incarnation, 1U);
}

// Fault: it was told that the series exists, written by itself.
TEST_F(HubSeries, AnAnnouncementThatComesTwiceIsAnsweredTwice) {
  start();
  const std::string description = encode_record(created(7, {0, 1}));
  for (int time = 0; time < 2; ++time) {
    world_->send(ocean0_, AnnounceMessage{7, {description.size(), 0, description}});
    const auto answer = world_->last<AnswerMessage>(ocean0_);
    EXPECT_EQ(answer.code, Code::ok) << answer.text;
    EXPECT_EQ(answer.series->incarnation, 0U);
  }
}

// Fault: the first rank was killed while it created the series, so the creation failed on the second rank. The name
// stayed taken for as long as that rank lived.
TEST_F(HubSeries, WritersWhoseFirstRankWasLostMayCreateTheSeriesAgain) {
  start();
  announce(ocean0_, record_of("eta", "ocean", {0, 1}));
  world_->cut(ocean0_);
  EXPECT_EQ(announce(nowcast_, record_of("eta", "nowcast", {2})).code, Code::exists) << "rank 1 may write it";
  ocean0_ = world_->join("ocean", 0, 2);
  EXPECT_EQ(announce(ocean0_, record_of("eta", "ocean", {0})).code, Code::exists) << "rank 1 may write it";
  EXPECT_EQ(announce(ocean0_, record_of("eta", "ocean", {0, 1})).series->incarnation, 1U);
}

// A rank refuses to create what it writes, so that its closing is only on its way.
TEST_F(HubSeries, ARankThatCreatesTheNextSeriesDoesNotWriteTheLastOne) {
  start();
  announce(ocean0_, created(7, {0, 1}));
  note(ocean0_, SeriesNote::writer_closed);
  EXPECT_EQ(announce(ocean0_, created(8, {0, 1})).series->incarnation, 1U);
}

// Its withdrawal came before the late announcement: it may write another series by now.
TEST_F(HubSeries, ALateAnnouncementTakesNoNameFromARankThatHasWithdrawn) {
  start();
  withdraw(ocean1_, 7);
  announce(ocean0_, created(8, {0, 1}));
  EXPECT_EQ(announce(ocean0_, created(7, {0, 1})).code, Code::exists);
}

TEST_F(HubSeries, OverWaitsForARequiredReaderThatHasNotCome) {
  start();
  announce(ocean0_, record_of("eta", "ocean", {0, 1}, {"follower"}));
  leave(ocean0_);
  leave(ocean1_);
  leave(nowcast_);
  EXPECT_FALSE(world_->hub().over()) << "the required reader has not come";
  const auto follower = world_->join("follower", 0, 1);
  ASSERT_TRUE(world_->has<CompleteMessage>(follower));
  world_->send(follower, FindMessage{1, "eta", -1, true});
  ASSERT_TRUE(world_->last<AnswerMessage>(follower).series.has_value());
  EXPECT_TRUE(world_->last<AnswerMessage>(follower).series->closed);
  note(follower, SeriesNote::reader_opened);
  note(follower, SeriesNote::reader_closed);
  EXPECT_FALSE(world_->hub().over());
  leave(follower);
  EXPECT_TRUE(world_->hub().over());
}

TEST_F(HubSeries, ARequiredReaderThatDiedIsNotWaitedFor) {
  start();
  announce(ocean0_, record_of("eta", "ocean", {0, 1}, {"nowcast"}));
  world_->cut(nowcast_);
  leave(ocean0_);
  leave(ocean1_);
  EXPECT_TRUE(world_->hub().over());
}

TEST_F(HubSeries, ARequiredReaderThatDiedBeforeTheSeriesIsNotWaitedFor) {
  start();
  world_->cut(nowcast_);
  announce(ocean0_, record_of("eta", "ocean", {0, 1}, {"nowcast"}));
  leave(ocean0_);
  leave(ocean1_);
  EXPECT_TRUE(world_->hub().over());
}

TEST_F(HubSeries, ALingeringSeriesKeepsTheUniverse) {
  start();
  auto record = record_of("eta", "ocean", {0, 1});
  record.linger_s = 10;
  announce(ocean0_, record);
  for (const auto each : {ocean0_, ocean1_, nowcast_}) {
    leave(each);
  }
  world_->advance(9);
  EXPECT_FALSE(world_->hub().over());
  world_->advance(2);
  EXPECT_TRUE(world_->hub().over());
}

TEST_F(HubSeries, LingerBoundsTheWaitForReaders) {
  start("ocean:2,nowcast:1,follower:1?", 5);
  announce(ocean0_, record_of("eta", "ocean", {0, 1}, {"follower"}));
  for (const auto each : {ocean0_, ocean1_, nowcast_}) {
    leave(each);
  }
  world_->advance(4);
  EXPECT_FALSE(world_->hub().over());
  world_->advance(2);
  EXPECT_TRUE(world_->hub().over());
}

TEST_F(HubSeries, LingerBoundsAnOpenReaderToo) {
  start("ocean:2,nowcast:1", 5);
  announce(ocean0_, record_of("eta", "ocean", {0, 1}));
  note(nowcast_, SeriesNote::reader_opened);
  leave(ocean0_);
  leave(ocean1_);
  world_->advance(0.1);  // the hub looks a few times a second
  world_->advance(4);
  EXPECT_FALSE(world_->hub().over());
  world_->advance(2);
  EXPECT_TRUE(world_->hub().over());
  EXPECT_TRUE(world_->has<OverMessage>(nowcast_));
}

TEST_F(HubSeries, AProgramThatNeitherReadsNorWritesKeepsTheUniverse) {
  start("ocean:2,nowcast:1", 0);
  announce(ocean0_, record_of("eta", "ocean", {0, 1}));
  leave(ocean0_);
  leave(ocean1_);
  world_->advance(100);
  EXPECT_FALSE(world_->hub().over());
}

// ---- required readers: which of their ranks have opened

TEST_F(HubSeries, AllWritersAreToldWhenATeamHasOpened) {
  start_readers();
  EXPECT_EQ(open(nowcast_, 0).code, Code::ok);
  EXPECT_TRUE(told(ocean0_).empty()) << "another program";
  EXPECT_EQ(open(followers_[1], 0).code, Code::ok);
  EXPECT_EQ(told(ocean0_), std::vector<std::string>{"follower"});
  EXPECT_EQ(told(ocean1_), std::vector<std::string>{"follower"});
}

// Issue 9, fault 5: two openings of one rank, or one that was told twice, counted as those of two ranks.
TEST_F(HubSeries, ARankThatOpensTwiceDoesNotStandForAnother) {
  start_readers();
  open(followers_[0], 3);
  open(followers_[0], 3);
  open(followers_[0], 3);
  open(followers_[1], 3);
  EXPECT_TRUE(told(ocean0_).empty());
  open(followers_[2], 3);
  EXPECT_EQ(told(ocean0_), std::vector<std::string>{"follower"});
}

// Issue 9, fault 5: the writer waited for ever for the rank that had died.
TEST_F(HubSeries, ADeadRankOfAProgramWithLocalReadersIsNotWaitedFor) {
  start_readers();
  open(followers_[0], 3);
  open(followers_[1], 3);
  EXPECT_TRUE(told(ocean0_).empty());
  world_->cut(followers_[2]);
  EXPECT_EQ(told(ocean0_), std::vector<std::string>{"follower"});
}

// Issue 9, fault 5: the ranks outside the group were waited for.
TEST_F(HubSeries, AGroupSmallerThanTheProgramOpensForItself) {
  start_readers();
  open(followers_[0], 2);
  EXPECT_TRUE(told(ocean0_).empty());
  open(followers_[2], 2);
  EXPECT_EQ(told(ocean0_), std::vector<std::string>{"follower"});
}

// Fault: with one rank of the group and one beside it alive, two were waited for, and one could come.
TEST_F(HubSeries, ADeadRankOfAGroupSmallerThanTheProgramIsNotWaitedFor) {
  start_readers();
  OpenerRanks group(2);
  group.runs = {{3, 2}};  // the first two followers
  world_->send(followers_[0], NoteMessage{++request_, SeriesNote::reader_opened, "eta", group, announced_});
  EXPECT_TRUE(told(ocean0_).empty());
  world_->cut(followers_[1]);
  EXPECT_EQ(told(ocean0_), std::vector<std::string>{"follower"});
}

TEST_F(HubSeries, WhoHasOpenedAnEarlierIncarnationHasNotOpenedTheNewOne) {
  start_readers();
  for (const auto each : followers_) {
    open(each, 3);
  }
  const auto old = announced_;
  note(ocean0_, SeriesNote::writer_closed);
  note(ocean1_, SeriesNote::writer_closed);
  ASSERT_EQ(announce(ocean0_, record_of("eta", "ocean", {0, 1}, {"follower"})).series->incarnation, 1U);
  open(followers_[0], 3, old);  // late
  open(followers_[0], 3);
  open(followers_[1], 3);
  EXPECT_TRUE(told(ocean0_).empty() || world_->last<SeriesMessage>(ocean0_).incarnation == 0);
  open(followers_[2], 3);
  EXPECT_EQ(told(ocean0_), std::vector<std::string>{"follower"});
  EXPECT_EQ(world_->last<SeriesMessage>(ocean0_).incarnation, 1U);
}

// Issue 9, fault 13: the name of a creation that had failed stayed taken.
TEST_F(HubSeries, WhatAllRanksWithdrawFreesTheName) {
  start();
  announce(ocean0_, created(7, {0, 1}, {"nowcast"}));
  withdraw(ocean1_, 8);  // another creation
  withdraw(ocean0_, 7);
  withdraw(ocean0_, 7);  // twice
  EXPECT_EQ(announce(nowcast_, record_of("eta", "nowcast", {2})).code, Code::exists) << "rank 1 may be writing";
  withdraw(ocean1_, 7);
  EXPECT_EQ(find(nowcast_), Code::not_yet) << "nobody finds it";
  EXPECT_EQ(announce(nowcast_, record_of("eta", "nowcast", {2})).series->incarnation, 1U);
}

// Fault: if the first rank died after its announcement, the name stayed taken for as long as the other ranks lived.
TEST_F(HubSeries, ADeadRankNeedNotWithdraw) {
  for (const bool dies_first : {true, false}) {
    start("ocean:3,nowcast:1");
    announce(ocean0_, created(7, {0, 1, 2}));
    if (dies_first) world_->cut(ocean0_);
    withdraw(ocean1_, 7);
    withdraw(ocean2_, 7);
    if (!dies_first) world_->cut(ocean0_);
    EXPECT_EQ(find(nowcast_), Code::not_yet) << "nobody finds it";
    EXPECT_EQ(announce(nowcast_, record_of("eta", "nowcast", {3})).code, Code::ok);
  }
}

// Fault: facts of a creation that had failed before answered for the next one.
TEST_F(HubSeries, AnAnnouncementThatComesAfterTheWithdrawalsFreesTheName) {
  start("ocean:3,nowcast:1");
  for (std::uint64_t creation = 7; creation < 10; ++creation) {
    withdraw(ocean1_, creation);
    withdraw(ocean2_, creation);
    EXPECT_EQ(announce(ocean0_, created(creation, {0, 1, 2})).code, Code::ok);
    EXPECT_EQ(find(nowcast_), Code::ok) << "rank 0 may be writing";
    world_->cut(ocean0_);
    EXPECT_EQ(find(nowcast_), Code::not_yet);
    ocean0_ = world_->join("ocean", 0, 3);
  }
  withdraw(ocean0_, 10);
  EXPECT_EQ(announce(ocean0_, created(10, {0})).code, Code::ok) << "all have withdrawn";
  EXPECT_EQ(announce(nowcast_, record_of("eta", "nowcast", {3})).code, Code::ok);
}

// Fault: a late withdrawal took the name from a rank that wrote the next incarnation.
TEST_F(HubSeries, AWithdrawalFromAnEarlierCreationEndsNothing) {
  start();
  announce(ocean0_, created(7, {0, 1}));
  withdraw(ocean0_, 7);
  ASSERT_EQ(announce(ocean0_, created(8, {0, 1})).code, Code::ok) << "the withdrawal of rank 1 may be on its way";
  withdraw(ocean1_, 7);
  world_->cut(ocean0_);
  EXPECT_EQ(announce(nowcast_, record_of("eta", "nowcast", {2})).code, Code::exists) << "rank 1 writes it";
}

// Fault: the name of a series was taken for as long as a rank lived that had failed alone.
TEST_F(HubSeries, ARankThatFailsAloneKeepsNoNameAndTakesNone) {
  start();
  announce(ocean0_, created(7, {0, 1}));
  withdraw(ocean1_, 7);
  EXPECT_EQ(announce(nowcast_, record_of("eta", "nowcast", {2})).code, Code::exists) << "rank 0 writes it";
  EXPECT_EQ(note(ocean0_, SeriesNote::writer_closed, 7).code, Code::ok);
  EXPECT_EQ(find(nowcast_), Code::ok) << "what rank 0 has written can be read";
  EXPECT_EQ(announce(nowcast_, record_of("eta", "nowcast", {2})).series->incarnation, 1U);
}

// Fault: a rank that had died before the announcement came, and was back, was a writer for as long as it lived.
TEST_F(HubSeries, ANewLifeOfARankDoesNotWriteWhatItsEarlierOneWouldHave) {
  start();
  world_->cut(ocean1_);
  ocean1_ = world_->join("ocean", 1, 2);
  ASSERT_EQ(announce(ocean0_, created(7, {0, 1})).code, Code::ok);
  withdraw(ocean0_, 7);
  EXPECT_EQ(announce(nowcast_, record_of("eta", "nowcast", {2})).code, Code::ok);
}

// Fault: a rank whose process had died, and whose next one was just joining, counted as a writer for ever.
TEST_F(HubSeries, ARankWhoseNextLifeIsJoiningDoesNotWrite) {
  start();
  world_->cut(ocean1_);
  world_->send(world_->connect(), JoinMessage{false, "ocean", 1, 2, 60, "host-a"});
  ASSERT_EQ(announce(ocean0_, created(7, {0, 1})).code, Code::ok);
  withdraw(ocean0_, 7);
  EXPECT_EQ(announce(nowcast_, record_of("eta", "nowcast", {2})).code, Code::ok);
}

// A close that the hub has not answered is sent again. The ranks may have made the next series of that name meanwhile.
TEST_F(HubSeries, ACloseOfAnEarlierCreationEndsNothing) {
  start();
  announce(ocean0_, created(7, {0, 1}));
  EXPECT_EQ(note(ocean0_, SeriesNote::writer_closed, 7).code, Code::ok);
  EXPECT_EQ(note(ocean1_, SeriesNote::writer_closed, 7).code, Code::ok);
  ASSERT_EQ(announce(ocean0_, created(8, {0, 1})).code, Code::ok);
  EXPECT_EQ(note(ocean1_, SeriesNote::writer_closed, 7).code, Code::ok);
  EXPECT_EQ(note(ocean0_, SeriesNote::writer_closed, 8).code, Code::ok);
  EXPECT_EQ(announce(nowcast_, record_of("eta", "nowcast", {2})).code, Code::exists) << "rank 1 writes it";
}

// Fault: that a required reader had opened the series, and left, was forgotten when the announcement came again.
TEST_F(HubSeries, AnAnnouncementThatComesAgainForgetsNoReader) {
  start();
  announce(ocean0_, created(7, {0, 1}, {"nowcast"}));
  open(nowcast_, 1);
  leave(nowcast_);
  ASSERT_EQ(told(ocean1_), std::vector<std::string>{"nowcast"});
  ASSERT_EQ(announce(ocean0_, created(7, {0, 1}, {"nowcast"})).series->incarnation, 0U);
  EXPECT_EQ(told(ocean0_), std::vector<std::string>{"nowcast"});
  EXPECT_EQ(told(ocean1_), std::vector<std::string>{"nowcast"});
}

}  // namespace
}  // namespace couplet::universe
