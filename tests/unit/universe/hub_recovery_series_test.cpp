// A hub that was started again: what it knows of series, from what its members tell.
#include <gtest/gtest.h>

#include "unit/universe/recovery_fixture.hpp"

namespace couplet::universe {
namespace {

SeriesRecord eta(std::uint64_t creation = 7) {
  SeriesRecord record;
  record.name = "eta";
  record.program = "ocean";
  record.fields = {{"", COUPLET_DOUBLE, {10, 20}}};
  record.slots = 4;
  record.creation = creation;
  record.required_readers = {"nowcast"};
  record.parts = {{0, 0, 0, {{{2, {0, 0}, {5, 20}}}}, "series-eta-0"},
                  {1, 0, 0, {{{2, {5, 0}, {10, 20}}}}, "series-eta-1"}};
  return record;
}

// A rank that comes back while it takes part in that creation.
RejoinMessage creating(channel::PeerId peer, std::uint64_t creation = 7) {
  auto message = member(peer, two_oceans_and_a_nowcast());
  message.pending = {{"eta", creation}};
  return message;
}

// Returns the description of another creation of that name, by nowcast.
SeriesRecord of_nowcast() {
  auto record = eta(99);
  record.program = "nowcast";
  record.required_readers.clear();
  record.parts = {{2, 0, 1, {{{2, {0, 0}, {10, 20}}}}, "series-eta-2"}};
  return record;
}

TEST_F(Recovery, ASeriesIsDescribedAgainByWhoKnowsIt) {
  auto reader = member(2, two_oceans_and_a_nowcast());
  reader.series = {{"eta", 5, false, 1, 0, false, false, 7}};
  const auto nowcast = rejoin(reader);
  world_.send(nowcast, FindMessage{7, "eta", -1, true});
  EXPECT_FALSE(world_.has<AnswerMessage>(nowcast));
  auto writer = member(0, two_oceans_and_a_nowcast());
  writer.series = {{"eta", 5, true, 0, not_opened, true, false, 7}};
  const auto ocean0 = rejoin(writer);
  ASSERT_TRUE(world_.has<RecallMessage>(ocean0));
  EXPECT_EQ(world_.last<RecallMessage>(ocean0).incarnation, 5U);
  const auto description = encode_record(eta());
  world_.send(ocean0, RecordMessage{"eta", 5, {description.size(), 0, description}});
  ASSERT_TRUE(world_.has<AnswerMessage>(nowcast));
  EXPECT_EQ(world_.last<AnswerMessage>(nowcast).series->incarnation, 5U);
  EXPECT_FALSE(world_.last<AnswerMessage>(nowcast).series->closed);
  // Rank 1 had closed it already, and says nothing of it; then rank 0 closes it, too.
  rejoin(1);
  EXPECT_FALSE(world_.has<SeriesMessage>(nowcast));
  world_.send(ocean0, NoteMessage{8, SeriesNote::writer_closed, "eta", {}, 7});
  EXPECT_EQ(world_.last<AnswerMessage>(ocean0).code, Code::ok);
  EXPECT_TRUE(world_.last<SeriesMessage>(nowcast).closed);
  world_.announce(ocean0, 9, eta(8));
  EXPECT_GT(world_.last<AnswerMessage>(ocean0).series->incarnation, 5U);
}

TEST_F(Recovery, AClosingNoteThatComesBeforeTheDescriptionCounts) {
  auto writer = member(0, two_oceans_and_a_nowcast());
  writer.series = {{"eta", 5, true, 0, not_opened, true, false, 7}};
  const auto ocean0 = rejoin(writer);
  world_.send(ocean0, NoteMessage{8, SeriesNote::writer_closed, "eta", {}, 7});
  EXPECT_EQ(world_.last<AnswerMessage>(ocean0).code, Code::ok);
  const auto description = encode_record(eta());
  world_.send(ocean0, RecordMessage{"eta", 5, {description.size(), 0, description}});
  rejoin(1);
  const auto nowcast = rejoin(2);
  world_.send(nowcast, FindMessage{7, "eta", -1, true});
  EXPECT_TRUE(world_.last<AnswerMessage>(nowcast).series->closed);
}

std::string description_of_one_writer() {
  auto record = eta();
  record.parts.pop_back();
  record.parts[0].boxes = {{{2, {0, 0}, {10, 20}}}};
  return encode_record(record);
}

// Fault: the last rank of a required reader opened the series before the writer was back, which was never told.
TEST_F(Recovery, AWriterThatComesBackIsToldWhoHasOpenedMeanwhile) {
  HubWorld world(resumed("ocean:1,nowcast:2"));
  const std::vector<ProgramInfo> programs = {{"ocean", 1, 0, true}, {"nowcast", 2, 1, true}};
  const auto description = description_of_one_writer();
  auto first = member(1, programs);
  first.series = {{"eta", 5, false, 1, 2, true, false, 7}};
  const auto nowcast0 = world.connect();
  world.send(nowcast0, first);
  world.send(nowcast0, RecordMessage{"eta", 5, {description.size(), 0, description}});
  const auto nowcast1 = world.connect();
  world.send(nowcast1, member(2, programs));
  world.send(nowcast1, NoteMessage{3, SeriesNote::reader_opened, "eta", 2, 7});
  EXPECT_EQ(world.last<AnswerMessage>(nowcast1).code, Code::ok);
  auto writer = member(0, programs);
  writer.series = {{"eta", 5, true, 0, not_opened, true, false, 7}};
  const auto ocean = world.connect();
  world.send(ocean, writer);
  ASSERT_TRUE(world.has<SeriesMessage>(ocean));
  EXPECT_EQ(world.last<SeriesMessage>(ocean).opened, std::vector<std::string>{"nowcast"});
}

// Fault: it was forgotten, so that the writer waited for ever for a rank that has nothing further to do.
TEST_F(Recovery, ARankThatHasOpenedAndClosedBeforeTheRestartCountsForTheOthers) {
  HubWorld world(resumed("ocean:1,nowcast:2"));
  const std::vector<ProgramInfo> programs = {{"ocean", 1, 0, true}, {"nowcast", 2, 1, true}};
  const auto description = description_of_one_writer();
  auto first = member(1, programs);
  first.series = {{"eta", 5, false, 0, 2, false, false, 7}};
  world.send(world.connect(), first);
  auto writer = member(0, programs);
  writer.series = {{"eta", 5, true, 0, not_opened, true, false, 7}};
  const auto ocean = world.connect();
  world.send(ocean, writer);
  world.send(ocean, RecordMessage{"eta", 5, {description.size(), 0, description}});
  const auto nowcast1 = world.connect();
  world.send(nowcast1, member(2, programs));
  EXPECT_FALSE(world.has<SeriesMessage>(ocean) && !world.last<SeriesMessage>(ocean).opened.empty());
  world.send(nowcast1, NoteMessage{3, SeriesNote::reader_opened, "eta", 2, 7});
  ASSERT_TRUE(world.has<SeriesMessage>(ocean));
  EXPECT_EQ(world.last<SeriesMessage>(ocean).opened, std::vector<std::string>{"nowcast"});
}

// Fault: its closing took away all that was known of its opening, before the hub knew that it is required.
TEST_F(Recovery, ARequiredReaderThatClosesBeforeTheWriterIsBackHasOpened) {
  HubWorld world(resumed("ocean:1,nowcast:1"));
  const std::vector<ProgramInfo> programs = {{"ocean", 1, 0, true}, {"nowcast", 1, 1, true}};
  const auto description = description_of_one_writer();
  auto reader = member(1, programs);
  reader.series = {{"eta", 5, false, 1, 1, false, false, 7}};
  const auto nowcast = world.connect();
  world.send(nowcast, reader);
  world.send(nowcast, NoteMessage{3, SeriesNote::reader_closed, "eta"});
  EXPECT_EQ(world.last<AnswerMessage>(nowcast).code, Code::ok);
  auto writer = member(0, programs);
  writer.series = {{"eta", 5, true, 0, not_opened, true, false, 7}};
  const auto ocean = world.connect();
  world.send(ocean, writer);
  world.send(ocean, RecordMessage{"eta", 5, {description.size(), 0, description}});
  world.send(ocean, NoteMessage{4, SeriesNote::reader_opened, "nothing"});  // any call, so that it hears the news
  ASSERT_TRUE(world.has<SeriesMessage>(ocean));
  EXPECT_EQ(world.last<SeriesMessage>(ocean).opened, std::vector<std::string>{"nowcast"});
}

// Fault: it did not exist any more, although a required reader had not read its steps.
TEST_F(Recovery, ASeriesThatItsWriterClosedBeforeTheRestartIsFound) {
  HubWorld world(resumed("ocean:1,nowcast:1"));
  const std::vector<ProgramInfo> programs = {{"ocean", 1, 0, true}, {"nowcast", 1, 1, true}};
  const auto description = description_of_one_writer();
  auto writer = member(0, programs);
  writer.series = {{"eta", 5, false, 0, not_opened, true, false, 7}};
  const auto ocean = world.connect();
  world.send(ocean, writer);
  ASSERT_TRUE(world.has<RecallMessage>(ocean));
  world.send(ocean, RecordMessage{"eta", 5, {description.size(), 0, description}});
  const auto nowcast = world.connect();
  world.send(nowcast, member(1, programs));
  world.send(nowcast, FindMessage{7, "eta", -1, false});
  ASSERT_TRUE(world.last<AnswerMessage>(nowcast).series.has_value());
  EXPECT_TRUE(world.last<AnswerMessage>(nowcast).series->closed);
}

// Fault (chaos, seed 22300118): its connection was made again while its first rank announced the series. It claimed
// nothing, counted as a rank that does not write, and never heard that the required reader had opened.
TEST_F(Recovery, AWriterThatComesBackWhileItsSeriesIsAnnouncedStillWritesIt) {
  const auto ocean0 = rejoin(0);
  const auto nowcast = rejoin(2);
  const auto before = rejoin(1);
  world_.announce(ocean0, 9, eta());
  world_.send(nowcast, NoteMessage{3, SeriesNote::reader_opened, "eta", 1, 7});
  EXPECT_EQ(world_.last<AnswerMessage>(nowcast).code, Code::ok);
  world_.reset(before);
  const auto ocean1 = rejoin(creating(1));
  ASSERT_TRUE(world_.has<SeriesMessage>(ocean1));
  EXPECT_EQ(world_.last<SeriesMessage>(ocean1).opened, std::vector<std::string>{"nowcast"});
  world_.send(ocean1, NoteMessage{4, SeriesNote::writer_closed, "eta", {}, 7});
  EXPECT_EQ(world_.last<AnswerMessage>(ocean1).code, Code::ok);
}

// Fault: the first rank announced again, over a new connection, a series that the required reader had described to this
// hub. That it has opened the series was forgotten, and the writer kept steps for it for ever.
TEST_F(Recovery, ARequiredReaderThatHasOpenedBeforeTheAnnouncementCounts) {
  auto record = eta();
  auto reader = member(2, two_oceans_and_a_nowcast());
  reader.series = {{"eta", 5, false, 1, 1, true, false, 7}};
  const auto nowcast = rejoin(reader);
  ASSERT_TRUE(world_.has<RecallMessage>(nowcast));
  const auto description = encode_record(record);
  world_.send(nowcast, RecordMessage{"eta", 5, {description.size(), 0, description}});
  const auto ocean1 = rejoin(creating(1));
  const auto ocean0 = rejoin(creating(0));
  world_.announce(ocean0, 9, record);
  EXPECT_EQ(world_.last<AnswerMessage>(ocean0).series->incarnation, 5U);
  for (const auto writer : {ocean0, ocean1}) {
    ASSERT_TRUE(world_.has<SeriesMessage>(writer));
    EXPECT_EQ(world_.last<SeriesMessage>(writer).opened, std::vector<std::string>{"nowcast"});
  }
}

// Fault: a rank came back to the hub before it knew that its creation would succeed, and was no writer for it. It
// waited for a required reader that had opened the series, and the name was free when the others had closed it.
TEST(RecoveryOfACreation, ARankThatEndsItAfterARestartWritesTheSeries) {
  for (const bool has_begun : {true, false}) {
    HubWorld world(resumed("ocean:2,nowcast:1"));
    const auto rejoin = [&](const RejoinMessage& message) {
      const auto connection = world.connect();
      world.send(connection, message);
      return connection;
    };
    auto reader = member(2, two_oceans_and_a_nowcast());
    reader.series = {{"eta", 5, false, 1, 1, false, false, 7}};
    const auto nowcast = rejoin(reader);
    const auto ocean1 = rejoin(has_begun ? creating(1) : member(1, two_oceans_and_a_nowcast()));
    auto first = member(0, two_oceans_and_a_nowcast());
    first.series = {{"eta", 5, true, 0, not_opened, true, false, 7}};
    const auto ocean0 = rejoin(first);
    const auto description = encode_record(eta());
    world.send(ocean0, RecordMessage{"eta", 5, {description.size(), 0, description}});
    if (!has_begun) {
      world.send(ocean1, NoteMessage{.request = 3, .note = SeriesNote::creating, .name = "eta", .creation = 7});
      EXPECT_EQ(world.last<AnswerMessage>(ocean1).code, Code::ok);
    }
    ASSERT_TRUE(world.has<SeriesMessage>(ocean1));
    EXPECT_EQ(world.last<SeriesMessage>(ocean1).opened, std::vector<std::string>{"nowcast"});
    world.send(ocean0, NoteMessage{8, SeriesNote::writer_closed, "eta", {}, 7});
    world.send(nowcast, FindMessage{7, "eta", -1, false});
    EXPECT_FALSE(world.last<AnswerMessage>(nowcast).series->closed) << "rank 1 writes it";
    world.send(ocean1, NoteMessage{4, SeriesNote::writer_closed, "eta", {}, 7});
    EXPECT_EQ(world.last<AnswerMessage>(ocean1).code, Code::ok);
    EXPECT_TRUE(world.last<SeriesMessage>(nowcast).closed);
  }
}

// Fault: all ranks had closed the series, and a reader described it to a new hub. Its ranks, which had not come back,
// counted as writers, so that the first one could not create the next series of that name.
TEST_F(Recovery, TheNextSeriesOfANameMayBeCreatedWhileItsRanksComeBack) {
  auto reader = member(2, two_oceans_and_a_nowcast());
  reader.series = {{"eta", 5, false, 1, 1, true, false, 7}};
  const auto nowcast = rejoin(reader);
  const auto description = encode_record(eta());
  world_.send(nowcast, RecordMessage{"eta", 5, {description.size(), 0, description}});
  const auto ocean0 = rejoin(creating(0, 8));
  world_.announce(ocean0, 9, eta(8));
  ASSERT_EQ(world_.last<AnswerMessage>(ocean0).code, Code::ok) << world_.last<AnswerMessage>(ocean0).text;
  EXPECT_GT(world_.last<AnswerMessage>(ocean0).series->incarnation, 5U);
  EXPECT_GT(world_.last<SeriesMessage>(nowcast).incarnation, 5U);
}

// Fault: the hub read what a rank said when it came back after the announcement of a creation that this rank had begun
// later. It counted as a rank that does not write.
TEST_F(Recovery, ARankSaysThatItBeginsACreationAfterItHasComeBack) {
  const auto ocean0 = rejoin(creating(0));
  world_.announce(ocean0, 9, eta());
  const auto ocean1 = rejoin(1);
  const auto nowcast = rejoin(2);
  world_.send(ocean1, NoteMessage{.request = 3, .note = SeriesNote::creating, .name = "eta", .creation = 7});
  world_.send(ocean0, NoteMessage{10, SeriesNote::writer_closed, "eta", {}, 7});
  world_.announce(nowcast, 11, of_nowcast());
  EXPECT_EQ(world_.last<AnswerMessage>(nowcast).code, Code::exists) << "rank 1 writes it";
}

// Fault: its first rank announced the series again before the reader came back that had found it by the earlier hub.
// That it had opened the series did not count, since the new hub had given another incarnation.
TEST_F(Recovery, AReaderThatHasFoundTheSeriesByAnEarlierHubHasOpenedIt) {
  const auto ocean0 = rejoin(creating(0));
  world_.announce(ocean0, 9, eta());
  auto reader = member(2, two_oceans_and_a_nowcast());
  reader.series = {{"eta", 5, false, 1, 1, true, false, 7}};
  rejoin(reader);
  ASSERT_TRUE(world_.has<SeriesMessage>(ocean0));
  EXPECT_EQ(world_.last<SeriesMessage>(ocean0).opened, std::vector<std::string>{"nowcast"});
}

// Fault: a program that did not want to wait was told that there is no such series.
TEST_F(Recovery, OfASeriesThatIsNotDescribedYetNothingIsKnown) {
  auto writer = member(0, two_oceans_and_a_nowcast());
  writer.series = {{"eta", 5, true, 0, not_opened, true, false, 7}, {"done", 5, false, 0, not_opened, true, true, 8}};
  rejoin(writer);
  rejoin(1);
  const auto nowcast = rejoin(2);
  for (const auto* const name : {"eta", "done"}) {
    world_.send(nowcast, FindMessage{7, name, -1, false});
    EXPECT_EQ(world_.last<AnswerMessage>(nowcast).text, "the hub, which was started again, waits for its description");
  }
  world_.send(nowcast, FindMessage{8, "zeta", -1, false});
  EXPECT_EQ(world_.last<AnswerMessage>(nowcast).text, "");
}

// Fault: it waited for the next incarnation, was told of it by an earlier hub, and opened it when the new hub had given
// the same creation another incarnation. That did not count.
TEST_F(Recovery, WhoOpensWhatAnEarlierHubHasToldHasOpenedIt) {
  const auto ocean0 = rejoin(creating(0));
  const auto nowcast = rejoin(2);
  world_.announce(ocean0, 9, eta());
  world_.send(nowcast, NoteMessage{3, SeriesNote::reader_opened, "eta", 1, 7});
  ASSERT_TRUE(world_.has<SeriesMessage>(ocean0));
  EXPECT_EQ(world_.last<SeriesMessage>(ocean0).opened, std::vector<std::string>{"nowcast"});
}

// What a rank says when it comes back frees the name as its note does.
TEST_F(Recovery, AWithdrawalIsSaidAgainWhenARankComesBack) {
  const auto ocean0 = rejoin(creating(0));
  const auto before = rejoin(creating(1));
  const auto nowcast = rejoin(2);
  world_.announce(ocean0, 9, eta());
  world_.send(ocean0, NoteMessage{10, SeriesNote::withdrawn, "eta", {}, 7});
  world_.reset(before);
  auto withdrawn = member(1, two_oceans_and_a_nowcast());
  withdrawn.withdrawn = {7};
  rejoin(withdrawn);
  world_.send(nowcast, FindMessage{7, "eta", -1, false});
  EXPECT_EQ(world_.last<AnswerMessage>(nowcast).code, Code::not_yet);
  world_.announce(nowcast, 11, of_nowcast());
  EXPECT_EQ(world_.last<AnswerMessage>(nowcast).code, Code::ok);
}

// Fault: a close that the hub had not heard was sent again to the next hub, which did not have the description yet, and
// ended the next series of that name.
TEST_F(Recovery, ACloseOfAnEarlierCreationEndsNothingBeforeTheDescriptionComes) {
  const auto record = eta(8);
  auto writer = member(0, two_oceans_and_a_nowcast());
  writer.series = {{"eta", 6, true, 0, not_opened, true, false, 8}};
  const auto ocean0 = rejoin(writer);
  world_.send(ocean0, NoteMessage{.request = 3, .note = SeriesNote::writer_closed, .name = "eta", .creation = 7});
  EXPECT_EQ(world_.last<AnswerMessage>(ocean0).code, Code::ok);
  const auto description = encode_record(record);
  world_.send(ocean0, RecordMessage{"eta", 6, {description.size(), 0, description}});
  rejoin(1);
  const auto nowcast = rejoin(2);
  world_.send(nowcast, FindMessage{7, "eta", -1, false});
  ASSERT_TRUE(world_.last<AnswerMessage>(nowcast).series.has_value());
  EXPECT_FALSE(world_.last<AnswerMessage>(nowcast).series->closed);
}

// Fault: the creation failed between the return to a hub and its question for the description: the name stayed taken.
TEST_F(Recovery, AWithdrawalThatOvertakesTheDescriptionFreesTheName) {
  auto writer = member(0, two_oceans_and_a_nowcast());
  writer.series = {{"eta", 6, true, 0, not_opened, true, false, 8}};
  const auto ocean0 = rejoin(writer);
  rejoin(1);
  const auto nowcast = rejoin(2);
  world_.send(ocean0, NoteMessage{.request = 3, .note = SeriesNote::withdrawn, .name = "eta", .creation = 8});
  EXPECT_EQ(world_.last<AnswerMessage>(ocean0).code, Code::ok);
  world_.announce(nowcast, 9, of_nowcast());
  EXPECT_EQ(world_.last<AnswerMessage>(nowcast).code, Code::ok) << world_.last<AnswerMessage>(nowcast).text;
}

// Fault: the first rank announced again before the reader that knew the series had described it to the new hub. The
// series got a new incarnation, and writer and reader waited for each other.
TEST_F(Recovery, AnAnnouncementThatComesAgainIsKnownFromAReadersClaim) {
  auto record = eta();
  auto reader = member(2, two_oceans_and_a_nowcast());
  reader.series = {{"eta", 5, false, 1, 1, false, false, 7}};
  rejoin(reader);
  const auto ocean0 = rejoin(0);
  world_.announce(ocean0, 9, record);
  EXPECT_EQ(world_.last<AnswerMessage>(ocean0).series->incarnation, 5U);
  ASSERT_TRUE(world_.has<SeriesMessage>(ocean0));
  EXPECT_EQ(world_.last<SeriesMessage>(ocean0).opened, std::vector<std::string>{"nowcast"});
}

// It is announced with the rank's first life, which the hub awaits after a reset; then another life comes.
TEST_F(Recovery, TheNextLifeOfARankThatWasAwaitedDoesNotWrite) {
  const auto ocean0 = rejoin(creating(0));
  world_.reset(rejoin(creating(1)));
  const auto nowcast = rejoin(2);
  auto record = eta();
  world_.announce(ocean0, 9, record);
  auto next_life = member(1, two_oceans_and_a_nowcast());
  next_life.incarnation = 1;
  rejoin(next_life);
  NoteMessage failed{10, SeriesNote::withdrawn, "eta"};
  failed.creation = 7;
  world_.send(ocean0, failed);
  world_.send(nowcast, FindMessage{7, "eta", -1, false});
  EXPECT_EQ(world_.last<AnswerMessage>(nowcast).code, Code::not_yet);
}

// Fault: it was answered that the universe has no such node. Its members, and its relay, come back later.
TEST_F(Recovery, ARelayOfANodeThatIsNotBackYetIsWaitedFor) {
  const auto nowcast = rejoin(2);
  world_.send(nowcast, RelayOfMessage{4, 7, true});
  EXPECT_FALSE(world_.has<AnswerMessage>(nowcast));
  world_.send(nowcast, RelayOfMessage{5, 7, false});
  EXPECT_EQ(world_.last<AnswerMessage>(nowcast).code, Code::not_yet);
}

// Fault: a required reader had opened the series and left before the hub was killed. The hub that was started again
// waited for it for ever, and did not end.
TEST_F(Recovery, ARequiredReaderThatLeftBeforeTheRestartIsNotAwaited) {
  std::vector<ConnectionId> oceans;
  for (const channel::PeerId peer : {0U, 1U}) {
    auto writer = member(peer, two_oceans_and_a_nowcast());
    writer.series = {{"eta", 5, true, 0, not_opened, peer == 0, false, 7}};
    writer.exceptions = {{2, 1, PeerState::left, 0, 1}};
    oceans.push_back(rejoin(writer));
  }
  const auto description = encode_record(eta());
  world_.send(oceans[0], RecordMessage{"eta", 5, {description.size(), 0, description}});
  for (const auto ocean : oceans) {
    world_.send(ocean, NoteMessage{8, SeriesNote::writer_closed, "eta", {}, 7});
    EXPECT_FALSE(world_.hub().over());
    world_.send(ocean, LeaveMessage{});
  }
  world_.advance(1);
  EXPECT_TRUE(world_.hub().over());
}

// Fault: one rank had come and was lost, and the other one had never come. Told in this order, the program counted as
// one that had never been there, so that the hub waited for it as a required reader.
TEST_F(Recovery, ARequiredReaderThatCameInPartIsNotAwaited) {
  HubWorld world(resumed("ocean:1,nowcast:2?"));
  auto writer = member(0, {{"ocean", 1, 0, true}, {"nowcast", 2, 1, false}});
  auto record = eta();
  record.parts.pop_back();
  record.parts[0].boxes = {{{2, {0, 0}, {10, 20}}}};
  writer.series = {{"eta", 5, true, 0, not_opened, true, false, 7}};
  writer.exceptions = {{1, 1, PeerState::lost, 0, 0}, {2, 1, PeerState::absent, 0, 0}};
  const auto ocean = world.connect();
  world.send(ocean, writer);
  const auto description = encode_record(record);
  world.send(ocean, RecordMessage{"eta", 5, {description.size(), 0, description}});
  world.send(ocean, NoteMessage{8, SeriesNote::writer_closed, "eta", {}, 7});
  world.send(ocean, LeaveMessage{});
  world.advance(1);
  EXPECT_TRUE(world.hub().over());
}

// Fault: a reader's old claim was all that the hub knew of the name, and the new series got an incarnation that another
// reader had for an earlier one.
TEST_F(Recovery, ANameOfWhichOnlyAnOldClaimIsKnownGetsAHigherIncarnation) {
  auto reader = member(2, two_oceans_and_a_nowcast());
  reader.series = {{"eta", 0, false, 0, 1, false, false, 3}};
  rejoin(reader);
  const auto ocean0 = rejoin(0);
  world_.announce(ocean0, 9, eta());
  EXPECT_GE(world_.last<AnswerMessage>(ocean0).series->incarnation, std::uint64_t{1} << 32U);
}

// Fault: a rank counted as the writer that its earlier life was, while the hub awaited its next life.
TEST_F(Recovery, ARankThatIsAwaitedInItsNextLifeDoesNotWriteWhatTheFirstOneWrote) {
  auto reader = member(2, two_oceans_and_a_nowcast());
  reader.series = {{"eta", 5, false, 1, 1, true, false, 7}};
  reader.exceptions = {{1, 1, PeerState::present, 1, 0}};
  const auto nowcast = rejoin(reader);
  const auto description = encode_record(eta());
  world_.send(nowcast, RecordMessage{"eta", 5, {description.size(), 0, description}});
  rejoin(0);
  world_.announce(nowcast, 9, of_nowcast());
  EXPECT_EQ(world_.last<AnswerMessage>(nowcast).code, Code::ok) << world_.last<AnswerMessage>(nowcast).text;
}

TEST_F(Recovery, ANameThatWasForgottenGetsAHigherIncarnation) {
  const auto ocean0 = rejoin(0);
  world_.announce(ocean0, 9, eta());
  EXPECT_GE(world_.last<AnswerMessage>(ocean0).series->incarnation, std::uint64_t{1} << 32U);
}

}  // namespace
}  // namespace couplet::universe
