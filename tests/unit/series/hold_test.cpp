// Holders, required readers, death, eviction: when the writer waits, and what ends that.
#include <array>
#include <chrono>
#include <cstring>
#include <thread>

#include "series/slot_protocol.hpp"
#include "unit/series/fixture.hpp"

namespace couplet::series {
namespace {

using namespace testing_fixture;

class Hold : public Series {
 protected:
  WriterOptions impatient() {
    WriterOptions options;
    options.wait_timeout_s = 0;
    return options;
  }
  Status try_put(Writer& writer, std::int64_t step) { return writer.put(field(step).data(), step); }
};

TEST_F(Hold, TheWriterIsFullAndNothingIsLost) {
  auto writer = create(3, impatient());
  auto reader = open();
  for (std::int64_t step = 0; step < 3; ++step) {
    put(*writer, step);
  }
  EXPECT_EQ(try_put(*writer, 3).code(), Code::full);
  EXPECT_EQ(writer->claim(3).code(), Code::full);
  Batch batch;
  ASSERT_TRUE(read(*reader, 1, 1, batch).ok());
  EXPECT_EQ(batch.steps[0], 0);
  put(*writer, 3);  // the same step may be tried again
  EXPECT_EQ(try_put(*writer, 4).code(), Code::full);
  ASSERT_TRUE(read(*reader, 3, 3, batch).ok());
  expect_content(batch, box_of(0, rows, 0, columns));
  EXPECT_EQ(reader->count().lost, 0U);
}

TEST_F(Hold, AFollowerHoldsNobodyUp) {
  auto writer = create(3, impatient());
  ReaderOptions options;
  options.mode = Mode::follow;
  auto reader = open(options);
  for (std::int64_t step = 0; step < 10; ++step) {
    put(*writer, step);
  }
}

TEST_F(Hold, ADeadlineNamesWhoHolds) {
  WriterOptions options;
  options.wait_timeout_s = 0.2;
  auto writer = create(2, options);
  auto reader = open();
  put(*writer, 0);
  put(*writer, 1);
  const Status status = try_put(*writer, 2);
  EXPECT_EQ(status.code(), Code::timeout);
  for (const char* word : {"eta", "step 2", "peer 1"}) {
    EXPECT_NE(status.text().find(word), std::string::npos) << status.text();
  }
  EXPECT_GT(writer->count().held_ns, 40'000'000U);
  EXPECT_LT(writer->count().library_ns, writer->count().held_ns);
}

TEST_F(Hold, TheWaitingWriterIsWokenByARead) {
  auto writer = create(2);
  auto reader = open();
  put(*writer, 0);
  put(*writer, 1);
  std::thread reading([&] {
    while (writer->file().control().released.wanted.load() == 0) {  // until the writer is about to sleep
      std::this_thread::yield();
    }
    Batch batch;
    EXPECT_TRUE(read(*reader, 1, 1, batch).ok());
  });
  put(*writer, 2);
  reading.join();
}

TEST_F(Hold, AClosedReaderHoldsNoMore) {
  auto writer = create(2, impatient());
  auto reader = open();
  put(*writer, 0);
  put(*writer, 1);
  EXPECT_EQ(try_put(*writer, 2).code(), Code::full);
  EXPECT_TRUE(reader->close(soon()).ok());
  put(*writer, 2);
  Batch batch;
  EXPECT_EQ(read(*reader, 1, 1, batch).code(), Code::state);
  EXPECT_EQ(reader->close(soon()).code(), Code::state);
  const Statistics statistics = reader->count();  // as it was at the end
  EXPECT_EQ(statistics.pending, 2U);
  expect_equation(statistics);
}

TEST_F(Hold, ADeadReaderIsReleasedAndOneThatComesAgainStartsAnew) {
  auto writer = create(2);
  auto reader = open();
  put(*writer, 0);
  put(*writer, 1);
  reader_environment.die();
  put(*writer, 2);  // would wait for ever
  put(*writer, 3);
  FakeEnvironment again(world, 1, "nowcast", 1);
  auto second = Reader::open(again, team, "eta", {}, soon());
  ASSERT_TRUE(second.ok());
  EXPECT_EQ((*second)->count().first, 2U);
  Batch batch;
  ASSERT_TRUE(read(**second, 2, 2, batch).ok());
  EXPECT_EQ(batch.steps[0], 2);
}

TEST_F(Hold, ADeadReaderIsReleasedAlsoWhereTheWriterNeverWaits) {
  auto writer = create(2, impatient());
  auto reader = open();
  put(*writer, 0);
  put(*writer, 1);
  reader_environment.die();
  Status status = try_put(*writer, 2);
  for (const std::uint64_t deadline = soon(); status.code() == Code::full && os::now_ns() < deadline;) {
    status = try_put(*writer, 2);
  }
  EXPECT_TRUE(status.ok());
}

TEST_F(Hold, OnlyEvictAfterReleasesAReaderThatIsMerelyStopped) {
  WriterOptions options;
  options.evict_after_held_s = 0.05;
  auto writer = create(2, options);
  auto reader = open();
  for (std::int64_t step = 0; step < 5; ++step) {
    put(*writer, step);
  }
  Batch batch;
  const Status status = read(*reader, 1, 1, batch);
  EXPECT_EQ(status.code(), Code::evicted);
  EXPECT_NE(status.text().find("peer 1"), std::string::npos) << status.text();
  expect_equation(reader->count());
}

// Issue 9, fault 6: it was counted from the last read, not from when the writer was held up.
TEST_F(Hold, AReaderThatWaitedLongForStepsIsNotEvictedWhenTheWriterComes) {
  WriterOptions options = impatient();
  options.evict_after_held_s = 0.2;
  auto writer = create(2, options);
  auto reader = open();
  const std::uint64_t opened_ns = os::now_ns();
  Batch batch;
  while (os::now_ns() - opened_ns < 300'000'000) {  // the writer computes for longer than that
    ASSERT_EQ(read(*reader, 1, 1, batch, 0.01).code(), Code::not_yet);
  }
  put(*writer, 0);
  put(*writer, 1);
  EXPECT_EQ(try_put(*writer, 2).code(), Code::full);  // held up from now on
  ASSERT_TRUE(read(*reader, 2, 2, batch).ok());
  put(*writer, 2);
}

TEST_F(Hold, EveryReaderThatHoldsTheWriterUpIsCountedFromTheBeginning) {
  WriterOptions options;
  options.evict_after_held_s = 0.2;
  options.wait_timeout_s = 20;
  auto writer = create(2, options);
  auto first = open();
  FakeEnvironment other(world, 2, "nowcast");
  auto second = Reader::open(other, team, "eta", {}, soon());
  ASSERT_TRUE(second.ok());
  for (std::int64_t step = 0; step < 4; ++step) {
    put(*writer, step);
  }
  EXPECT_EQ(writer->waits().count, 1U);  // one wait for both
  Batch batch;
  EXPECT_EQ(read(*first, 1, 1, batch).code(), Code::evicted);
  EXPECT_EQ(read(**second, 1, 1, batch).code(), Code::evicted);
}

// Issue 9, fault 3.
TEST_F(Hold, AHolderWhoseEntryIsAnothersIsToldAndMovesNothing) {
  WriterOptions options = impatient();
  options.holders = 1;
  auto writer = create(2, options);
  auto released = open();
  auto& entry = writer->file().readers()[0];
  ASSERT_TRUE(replace_owner(entry, owner_of(entry), 0));  // as one that believed it dead
  FakeEnvironment other(world, 2, "nowcast");
  auto innocent = Reader::open(other, team, "eta", {}, soon());
  ASSERT_TRUE(innocent.ok());
  put(*writer, 0);
  put(*writer, 1);
  Batch batch;
  const Status status = read(*released, 1, 2, batch);
  EXPECT_EQ(status.code(), Code::evicted);
  EXPECT_NE(status.text().find("released"), std::string::npos) << status.text();
  EXPECT_EQ(try_put(*writer, 2).code(), Code::full);  // the innocent one still holds
  released.reset();
  EXPECT_EQ(try_put(*writer, 2).code(), Code::full);
  ASSERT_TRUE(read(**innocent, 2, 2, batch).ok());
  EXPECT_EQ((*innocent)->count().lost, 0U);
  put(*writer, 2);
}

// Issue 9, fault 9: the claim of a writer that died before it took it back.
class UndecidedClaim : public Hold {
 protected:
  void leave_undecided(const Writer& writer, std::uint64_t ordinal) {
    writer.file().control().claimed.claim = tentative_claim(ordinal + 1);
  }
};

TEST_F(UndecidedClaim, LocksNoRequiredReaderOut) {
  WriterOptions options = impatient();
  options.required_readers = {{"nowcast"}};
  auto writer = create(2, options);
  put(*writer, 0);
  put(*writer, 1);
  leave_undecided(*writer, 2);
  writer_environment.die();
  auto reader = open();
  EXPECT_EQ(reader->count().first, 0U);
  Batch batch;
  ASSERT_TRUE(read(*reader, 2, 2, batch).ok());
  EXPECT_EQ(batch.lost, 0U);
}

TEST_F(UndecidedClaim, TakesNothingFromAFollower) {
  auto writer = create(2);
  ReaderOptions following;
  following.mode = Mode::follow;
  auto reader = open(following);
  put(*writer, 0);
  put(*writer, 1);
  leave_undecided(*writer, 2);
  Batch batch;
  ASSERT_TRUE(read(*reader, 1, 2, batch).ok());
  EXPECT_EQ(batch.count, 2U);
  EXPECT_EQ(batch.lost, 0U);
}

TEST_F(Hold, AtLeastMoreThanTheSlotsIsALimit) {
  auto writer = create(4);
  auto reader = open();
  Batch batch;
  const Status status = read(*reader, 5, 8, batch, -1);
  EXPECT_EQ(status.code(), Code::limit);
  EXPECT_NE(status.text().find("4 steps"), std::string::npos) << status.text();
}

TEST_F(Hold, ATableWithoutRoomIsALimitUnlessTheDeadMakeRoom) {
  WriterOptions options;
  options.holders = 2;
  auto writer = create(4, options);
  auto first = open();
  FakeEnvironment mortal(world, 2, "nowcast");
  auto second = Reader::open(mortal, team, "eta", {}, soon());
  ASSERT_TRUE(second.ok());
  auto third = Reader::open(reader_environment, team, "eta", {}, soon());
  EXPECT_EQ(third.code(), Code::limit);
  EXPECT_NE(third.status().text().find("2 holders"), std::string::npos) << third.status().text();
  mortal.die();
  third = Reader::open(reader_environment, team, "eta", {}, soon());
  EXPECT_TRUE(third.ok());
}

// ---- required readers ----

TEST_F(Hold, ARequiredReaderGetsEveryStepFromTheFirstOn) {
  WriterOptions options = impatient();
  options.required_readers = {{"nowcast"}};
  auto writer = create(3, options);
  for (std::int64_t step = 0; step < 3; ++step) {
    put(*writer, step);
  }
  EXPECT_EQ(try_put(*writer, 3).code(), Code::full);
  FakeEnvironment stranger(world, 5, "viewer");
  auto other = Reader::open(stranger, team, "eta", {}, soon());
  ASSERT_TRUE(other.ok());
  other = Code::internal;  // gone again; the reservation stays
  EXPECT_EQ(try_put(*writer, 3).code(), Code::full);
  auto reader = open();
  EXPECT_EQ(reader->count().first, 0U);
  EXPECT_EQ(try_put(*writer, 3).code(), Code::full);  // now the reader itself holds
  Batch batch;
  ASSERT_TRUE(read(*reader, 1, 8, batch).ok());
  EXPECT_EQ(batch.count, 3U);
  put(*writer, 3);
}

TEST_F(Hold, AMissingRequiredReaderIsNamedAtTheDeadlineAndThenNotWaitedFor) {
  WriterOptions options;
  options.required_readers = {{"nowcast", "viewer"}};
  options.required_timeout_s = 0.05;
  auto writer = create(2, options);
  put(*writer, 0);
  put(*writer, 1);
  std::string texts;
  for (int turn = 0; turn < 2; ++turn) {
    const Status status = try_put(*writer, 2);
    EXPECT_EQ(status.code(), Code::timeout);
    texts += status.text();
  }
  EXPECT_NE(texts.find("'nowcast'"), std::string::npos) << texts;
  EXPECT_NE(texts.find("'viewer'"), std::string::npos) << texts;
  put(*writer, 2);
}

TEST_F(Hold, ARequiredProgramThatEndedIsNotWaitedFor) {
  WriterOptions options;
  options.required_readers = {{"nowcast"}};
  auto writer = create(2, options);
  writer_environment.gone_program = "nowcast";
  for (std::int64_t step = 0; step < 4; ++step) {
    put(*writer, step);
  }
}

TEST_F(Hold, ARequiredReaderThatCannotOpenSinceTheHubIsLostIsNamedAndThenNotWaitedFor) {
  WriterOptions options;
  options.required_readers = {{"nowcast"}};
  auto writer = create(2, options);
  put(*writer, 0);
  put(*writer, 1);
  writer_environment.hub_gone = true;
  const Status status = writer->put(field(2).data(), 2);  // waits as long as somebody may be half way in
  EXPECT_EQ(status.code(), Code::hub_lost);
  EXPECT_NE(status.text().find("'nowcast'"), std::string::npos) << status.text();
  EXPECT_NE(status.text().find("the hub is lost"), std::string::npos) << status.text();
  put(*writer, 2);
}

TEST_F(Hold, OnlyTheTimeInWhichItsWriterLooksForTheHubEndsAReservation) {
  WriterOptions options;
  options.required_readers = {{"nowcast"}};
  options.wait_timeout_s = 0;
  auto writer = create(2, options);
  put(*writer, 0);
  put(*writer, 1);
  for (int absence = 0; absence < 2; ++absence) {  // the second one counts anew
    writer_environment.hub_gone = true;
    EXPECT_EQ(writer->put(field(2).data(), 2).code(), Code::full);
    std::this_thread::sleep_for(std::chrono::seconds(1));  // the writer computes
    const Status status = writer->put(field(2).data(), 2);
    EXPECT_EQ(status.code(), Code::full) << status.text();
    writer_environment.hub_gone = false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(writer->put(field(2).data(), 2).code(), Code::full);
  }
}

TEST_F(Hold, ARequiredProgramThatTheUniverseHasNotGotIsAnError) {
  writer_environment.unknown_program = "nowcats";
  WriterOptions options;
  options.slots = 2;
  options.required_readers = {{"nowcats"}};
  auto writer = Writer::create(writer_environment, team,
                               {"eta", COUPLET_INT32, {rows, columns}, box_of(0, rows, 0, columns)}, options, soon());
  EXPECT_EQ(writer.code(), Code::not_found);
  EXPECT_NE(writer.status().text().find("'nowcats'"), std::string::npos) << writer.status().text();
  EXPECT_TRUE(world.series_files().empty());
}

TEST_F(Hold, AReservationEndsWhenAllRanksHaveOpened) {
  WriterOptions options = impatient();
  options.required_readers = {{"nowcast"}};
  auto writer = create(2, options);
  put(*writer, 0);
  put(*writer, 1);
  ReaderOptions local;
  local.openers = 2;  // each of two ranks reads for itself
  local.mode = Mode::follow;
  auto first = open(local);
  EXPECT_EQ(try_put(*writer, 2).code(), Code::full);
  FakeEnvironment other(world, 2, "nowcast");
  auto second = Reader::open(other, team, "eta", local, soon());
  ASSERT_TRUE(second.ok());
  put(*writer, 2);
}

// Issue 9, fault 5: the rank that had not come lost steps.
TEST_F(Hold, ARankThatOpensTwiceDoesNotEndTheReservationOfAnother) {
  WriterOptions options = impatient();
  options.required_readers = {{"nowcast"}};
  auto writer = create(2, options);
  put(*writer, 0);
  put(*writer, 1);
  ReaderOptions local;
  local.openers = 2;
  local.mode = Mode::follow;
  auto first = open(local);
  auto again = open(local);
  EXPECT_EQ(try_put(*writer, 2).code(), Code::full);
  FakeEnvironment other(world, 2, "nowcast");
  auto second = Reader::open(other, team, "eta", local, soon());
  ASSERT_TRUE(second.ok());
  put(*writer, 2);
}

// Issue 9, fault 5: with relay = none the writer on the other node, which this reader needs nothing of, waited for
// ever.
TEST_F(Hold, ARequiredReaderIsCountedByWritersOfOtherNodesThatItDoesNotRead) {
  testing::TeamRoom room{2};
  std::array<testing::ThreadTeam, 2> teams{testing::ThreadTeam(room, 0), testing::ThreadTeam(room, 1)};
  FakeEnvironment far(world, 7, "ocean");
  far.node_number = 1;
  std::array<FakeEnvironment*, 2> environments{&writer_environment, &far};
  std::array<std::unique_ptr<Writer>, 2> writers;
  WriterOptions options = impatient();
  options.required_readers = {{"nowcast"}};
  options.slots = 2;
  const auto make = [&](std::size_t rank) {
    const auto half = rank == 0 ? box_of(0, 3, 0, columns) : box_of(3, rows, 0, columns);
    auto made = Writer::create(*environments[rank], teams[rank], {"eta", COUPLET_INT32, {rows, columns}, half}, options,
                               soon());
    ASSERT_TRUE(made.ok()) << made.status().text();
    writers[rank] = std::move(made).value();
  };
  std::thread other([&] { make(1); });
  make(0);
  other.join();
  for (std::int64_t step = 0; step < 2; ++step) {
    put(*writers[1], step);
  }
  EXPECT_EQ(try_put(*writers[1], 2).code(), Code::full);
  ReaderOptions near;
  near.box = box_of(0, 3, 0, columns);
  auto reader = open(near);
  put(*writers[1], 2);
}

// Issue 9, fault 5: the second reservation was never given back.
TEST_F(Hold, ARequiredReaderThatIsNamedTwiceIsWaitedForOnce) {
  WriterOptions options = impatient();
  options.required_readers = {{"nowcast", "viewer", "nowcast"}};
  auto writer = create(2, options);
  put(*writer, 0);
  put(*writer, 1);
  ReaderOptions following;
  following.mode = Mode::follow;
  auto reader = open(following);
  FakeEnvironment viewer(world, 5, "viewer");
  auto other = Reader::open(viewer, team, "eta", following, soon());
  ASSERT_TRUE(other.ok());
  put(*writer, 2);
}

TEST_F(Hold, RequiredReadersAndSlotsComeFromTheSettings) {
  world.settings["required_readers.eta"] = "nowcast, viewer";
  world.settings["series.eta.slots"] = "5";
  world.settings["series.eta.wait_timeout_s"] = "0";
  auto writer = create(0);
  EXPECT_EQ(writer->describe().slots, 5U);
  for (std::int64_t step = 0; step < 5; ++step) {
    put(*writer, step);
  }
  EXPECT_EQ(try_put(*writer, 5).code(), Code::full);
}

TEST_F(Hold, ASettingThatIsNoNumberIsNamed) {
  world.settings["series.eta.slots"] = "many";
  auto writer = Writer::create(writer_environment, team,
                               {"eta", COUPLET_INT32, {rows, columns}, box_of(0, rows, 0, columns)}, {}, soon());
  EXPECT_EQ(writer.code(), Code::config);
  EXPECT_NE(writer.status().text().find("series.eta.slots"), std::string::npos) << writer.status().text();
}

TEST_F(Hold, AWriterSaysHowLongItWaitedAndForWhom) {
  auto writer = create(2);
  EXPECT_EQ(writer->waits().count, 0U);
  EXPECT_EQ(writer->name_of(writer->waits().longest), "");
  EXPECT_EQ(rank_of(writer->waits().last), -1);
  auto reader = open();
  put(*writer, 0);
  put(*writer, 1);
  std::thread reading([&] {
    while (writer->file().control().released.wanted.load() == 0) {  // until the writer sleeps
      std::this_thread::yield();
    }
    Batch batch;
    EXPECT_TRUE(read(*reader, 1, 1, batch).ok());
  });
  put(*writer, 2);
  reading.join();
  const Waits& waits = writer->waits();
  EXPECT_EQ(waits.count, 1U);
  EXPECT_GT(waits.longest_ns, 0U);
  EXPECT_EQ(waits.last_ns, waits.longest_ns);
  EXPECT_EQ(waits.total_ns, writer->count().held_ns);
  EXPECT_EQ(writer->name_of(waits.longest), "peer 1");
  EXPECT_EQ(rank_of(waits.longest), 1);
  const auto& counts = writer->file().control().counts;
  EXPECT_EQ(counts.waits.load(), 1U);
  EXPECT_EQ(counts.longest_ns.load(), waits.longest_ns);
  EXPECT_EQ(unpack(counts.longest_for.load()).peer, 1U);
  EXPECT_EQ(counts.longest_program.load(), name_hash("nowcast"));
}

TEST_F(Hold, AWaitForARequiredReaderNamesItsProgram) {
  WriterOptions options;
  options.required_readers = std::vector<std::string>{"nowcast"};
  options.wait_timeout_s = 0.01;
  auto writer = create(2, options);
  put(*writer, 0);
  put(*writer, 1);
  EXPECT_EQ(writer->put(field(2).data(), 2).code(), Code::timeout);
  EXPECT_EQ(writer->waits().count, 1U);
  EXPECT_EQ(writer->name_of(writer->waits().last), "required reader program 'nowcast'");
  EXPECT_EQ(rank_of(writer->waits().last), -1);
}

}  // namespace
}  // namespace couplet::series
