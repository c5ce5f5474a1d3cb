// Slots in the window of an MPI job: which readers may read them and how often, and what the register says of them.
#include "series/window.hpp"

#include <chrono>
#include <random>
#include <thread>

#include "support/fake_window.hpp"
#include "unit/series/fixture.hpp"

namespace couplet::series {
namespace {

using namespace testing_fixture;

class InWindow : public ::testing::Test {
 protected:
  InWindow() {
    world.job = std::make_shared<testing::FakeJob>();
    world.settings["series.eta.window"] = "1";
  }
  Result<std::unique_ptr<Writer>> create(FakeEnvironment& environment, std::vector<std::string> required = {},
                                         std::uint64_t slots = 4) {
    WriterOptions options;
    options.slots = slots;
    options.required_readers = std::move(required);
    return Writer::create(environment, team, {"eta", COUPLET_INT32, {rows, columns}, box_of(0, rows, 0, columns)},
                          options, soon());
  }
  Result<std::unique_ptr<Reader>> open(FakeEnvironment& environment) {
    return Reader::open(environment, team, "eta", {}, soon());
  }

  SeriesWorld world;
  SoloTeam team;
};

TEST_F(InWindow, HasNoFileAndIsReadFromAnotherNode) {
  FakeEnvironment ocean(world, 0, "ocean");
  FakeEnvironment nowcast(world, 1, "nowcast");
  auto writer = create(ocean);
  ASSERT_TRUE(writer.ok()) << writer.status().text();
  EXPECT_TRUE(world.series_files().empty());
  auto reader = open(nowcast);
  ASSERT_TRUE(reader.ok()) << reader.status().text();
  EXPECT_EQ((*reader)->describe().route, "window");
  for (std::int64_t step = 5; step < 9; ++step) {
    ASSERT_TRUE((*writer)->put(field(step).data(), step).ok());
  }
  Batch batch;
  ASSERT_TRUE((*reader)->read(4, 4, soon(), nullptr, 0, batch).ok());
  ASSERT_EQ(batch.count, 4U);
  expect_content(batch, box_of(0, rows, 0, columns));
  EXPECT_EQ((*reader)->retained()->newest_step, 8);
}

TEST_F(InWindow, OthersAreToldThatTheyCannotReadIt) {
  FakeEnvironment ocean(world, 0, "ocean");
  auto writer = create(ocean);
  ASSERT_TRUE(writer.ok()) << writer.status().text();
  SeriesWorld without(world.directory());
  FakeEnvironment stranger(without, 1, "nowcast");
  auto reader = open(stranger);
  EXPECT_EQ(reader.code(), Code::unsupported);
  EXPECT_NE(reader.status().text().find("COUPLET_MPI_WINDOW_BYTES"), std::string::npos) << reader.status().text();
}

TEST_F(InWindow, RanksOfAnotherJobAreToldAtOnceThatTheyCannotReadIt) {
  FakeEnvironment ocean(world, 0, "ocean");
  auto writer = create(ocean);
  ASSERT_TRUE(writer.ok()) << writer.status().text();
  world.job = std::make_shared<testing::FakeJob>();
  world.job->number = 8;
  FakeEnvironment nowcast(world, 1, "nowcast");
  auto reader = open(nowcast);
  EXPECT_EQ(reader.code(), Code::unsupported);
  EXPECT_NE(reader.status().text().find("another MPI job"), std::string::npos) << reader.status().text();
}

// Found by the chaos tool: the readers were told that the series was in the window of another job, and did not wait.
TEST_F(InWindow, AJobThatIsStartedAgainWaitsForItsWriter) {
  FakeEnvironment ocean(world, 0, "ocean");
  std::unique_ptr<FakeEnvironment> again;
  auto writer = create(ocean);
  ASSERT_TRUE(writer.ok()) << writer.status().text();
  ocean.die();
  world.job = std::make_shared<testing::FakeJob>();
  world.job->number = 8;
  again = std::make_unique<FakeEnvironment>(world, 0, "ocean", 1);
  FakeEnvironment nowcast(world, 1, "nowcast");
  const auto early = Reader::open(nowcast, team, "eta", {}, os::deadline_after(0.05));
  EXPECT_EQ(early.code(), Code::timeout);
  EXPECT_NE(early.status().text().find("earlier launch"), std::string::npos) << early.status().text();
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // longer than a look for a newer incarnation
    writer = create(*again);
  });
  auto reader = open(nowcast);
  late.join();
  ASSERT_TRUE(writer.ok()) << writer.status().text();
  ASSERT_TRUE(reader.ok()) << reader.status().text();
  EXPECT_EQ((*reader)->describe().route, "window");
  ASSERT_TRUE((*writer)->put(field(5).data(), 5).ok());
  Batch batch;
  ASSERT_TRUE((*reader)->read(1, 4, soon(), nullptr, 0, batch).ok());
  expect_content(batch, box_of(0, rows, 0, columns));
  EXPECT_EQ(batch.incarnation, 1U);
}

TEST_F(InWindow, NeedsAWindow) {
  world.job = nullptr;
  FakeEnvironment ocean(world, 0, "ocean");
  auto writer = create(ocean);
  EXPECT_EQ(writer.code(), Code::unsupported);
  EXPECT_NE(writer.status().text().find("'eta'"), std::string::npos) << writer.status().text();
}

TEST_F(InWindow, ARankHoldsItOnceAtATime) {
  FakeEnvironment ocean(world, 0, "ocean");
  FakeEnvironment nowcast(world, 1, "nowcast");
  auto writer = create(ocean);
  ASSERT_TRUE(writer.ok()) << writer.status().text();
  auto first = open(nowcast);
  ASSERT_TRUE(first.ok()) << first.status().text();
  EXPECT_EQ(open(nowcast).code(), Code::limit);
  ASSERT_TRUE((*first)->close(soon()).ok());
  EXPECT_TRUE(open(nowcast).ok());
}

// A writer that is held tries again and again, and takes its tentative claim back each time.
TEST_F(InWindow, AHolderThatOpensDuringSuchAClaimLosesNothing) {
  FakeEnvironment ocean(world, 0, "ocean");
  FakeEnvironment nowcast(world, 1, "nowcast");
  auto writer = create(ocean, {"nowcast"});
  ASSERT_TRUE(writer.ok()) << writer.status().text();
  for (std::int64_t step = 0; step < 4; ++step) {
    ASSERT_TRUE((*writer)->put(field(step).data(), step).ok());
  }
  const auto record = nowcast.registry().find("eta", -1, soon());
  const auto place = parse_place(record->parts[0].file);
  std::byte* const memory = world.job->at(place->rank, place->offset);
  const auto geometry = wire::decode_series_header({memory, wire::series_page_bytes}, place->bytes);
  ASSERT_TRUE(geometry.ok()) << geometry.status().text();
  auto& claim = reinterpret_cast<wire::SeriesControl*>(memory + geometry->control_offset)->claimed.claim;
  std::minstd_rand random(1);
  for (int round = 0; round < 20; ++round) {
    world.job->before_get = [&] { claim = random() % 2 == 0 ? definite_claim(4) : tentative_claim(5); };
    auto reader = open(nowcast);
    world.job->before_get = [] {};
    claim = definite_claim(4);
    ASSERT_TRUE(reader.ok()) << reader.status().text();
    Batch batch;
    ASSERT_TRUE((*reader)->read(1, 4, soon(), nullptr, 0, batch).ok());
    EXPECT_EQ(batch.count, 4U) << "round " << round;
    EXPECT_EQ((*reader)->count().first, 0U) << "round " << round;
  }
}

// Issue 9, fault 9: such a claim stays as it is when the writer dies.
TEST_F(InWindow, AClaimThatADeadWriterLeftUndecidedLocksNobodyOut) {
  FakeEnvironment ocean(world, 0, "ocean");
  FakeEnvironment nowcast(world, 1, "nowcast");
  auto writer = create(ocean, {"nowcast"});
  ASSERT_TRUE(writer.ok()) << writer.status().text();
  for (std::int64_t step = 0; step < 4; ++step) {
    ASSERT_TRUE((*writer)->put(field(step).data(), step).ok());
  }
  (*writer)->file().control().claimed.claim = tentative_claim(5);
  ocean.die();
  auto reader = open(nowcast);
  ASSERT_TRUE(reader.ok()) << reader.status().text();
  EXPECT_EQ((*reader)->count().first, 0U);
}

TEST_F(InWindow, OnTheWritersNodeARankHoldsItAsOftenAsItLikes) {
  world.job->ranks_a_node = testing::FakeJob::ranks;
  FakeEnvironment ocean(world, 0, "ocean");
  FakeEnvironment nowcast(world, 1, "nowcast");
  auto writer = create(ocean);
  ASSERT_TRUE(writer.ok()) << writer.status().text();
  auto first = open(nowcast);
  auto second = open(nowcast);
  ASSERT_TRUE(first.ok() && second.ok()) << second.status().text();
  EXPECT_EQ((*second)->describe().route, "window");
  for (std::int64_t step = 0; step < 4; ++step) {
    ASSERT_TRUE((*writer)->put(field(step).data(), step).ok());
  }
  Batch batch;
  ASSERT_TRUE((*first)->read(4, 4, soon(), nullptr, 0, batch).ok());
  ASSERT_TRUE((*second)->read(4, 4, soon(), nullptr, 0, batch).ok());
  expect_content(batch, box_of(0, rows, 0, columns));
}

// A get moves the words of a slot header in any order: here the stamp comes before the slot is replaced, the label
// after it.
TEST_F(InWindow, AStampDoesNotComeWithTheLabelOfAnotherStep) {
  FakeEnvironment ocean(world, 0, "ocean");
  FakeEnvironment nowcast(world, 1, "nowcast");
  auto writer = create(ocean);
  ASSERT_TRUE(writer.ok()) << writer.status().text();
  ReaderOptions options;
  options.mode = Mode::follow;
  options.from = From::step;
  options.from_step = 45;
  auto reader = Reader::open(nowcast, team, "eta", options, soon());
  ASSERT_TRUE(reader.ok()) << reader.status().text();
  ASSERT_TRUE((*writer)->put(field(10).data(), 10).ok());
  std::int64_t step = 20;
  world.job->within_get = [&](std::uint64_t bytes) {
    for (; bytes == sizeof(wire::SeriesSlotHeader) && step <= 50; step += 10) {  // ordinals 1 to 4, and 4 replaces 0
      ASSERT_TRUE((*writer)->put(field(step).data(), step).ok());
    }
  };
  Batch batch;
  ASSERT_TRUE((*reader)->read(1, 1, soon(), nullptr, 0, batch).ok());
  EXPECT_EQ(batch.steps[0], 50);
  expect_content(batch, box_of(0, rows, 0, columns));
  expect_equation((*reader)->count());
}

// Chaos seed 40600140: a fetch takes as long as the writer needs for several steps, since MPI answers in its calls.
class SlowFetches : public InWindow {
 protected:
  // Returns how many steps of 8,000 a follower gets, which takes up to four of 32 slots at once.
  std::uint64_t got_of_8000(double interval) {
    FakeEnvironment ocean(world, 0, "ocean");
    FakeEnvironment nowcast(world, 1, "nowcast");
    auto writer = create(ocean, {}, 32);
    ReaderOptions options;
    options.mode = Mode::follow;
    options.interval = interval;
    auto reader = Reader::open(nowcast, team, "eta", options, soon());
    EXPECT_TRUE(writer.ok() && reader.ok());
    std::int64_t step = 0;
    const auto put = [&] {
      ASSERT_TRUE((*writer)->set_time(static_cast<double>(step)).ok());
      ASSERT_TRUE((*writer)->put(field(step).data(), step).ok());
      ++step;
    };
    while (step < 32) {
      put();
    }
    world.job->before_get = [&] {
      put();
      put();
    };
    std::uint64_t got = 0;
    while (step < 8000) {
      Batch batch;
      const Status read = (*reader)->read(1, 4, os::now_ns(), nullptr, 0, batch);
      EXPECT_TRUE(read.ok() || read.code() == Code::not_yet) << read.text();
      got += read.ok() ? batch.count : 0;
    }
    world.job->before_get = [] {};
    expect_equation((*reader)->count());
    return got;
  }
};

TEST_F(SlowFetches, AFollowerBeginsFarEnoughAhead) {
  EXPECT_GT(got_of_8000(0), 1000U);  // four steps for some eight gets, that is for sixteen steps of the writer
}

TEST_F(SlowFetches, AFollowerWithAnIntervalDoesSo) {
  EXPECT_GT(got_of_8000(1), 1000U);
}

// A step that is delivered torn still has its own number.
TEST_F(InWindow, ATornStepHasItsOwnLabel) {
  FakeEnvironment ocean(world, 0, "ocean");
  FakeEnvironment nowcast(world, 1, "nowcast");
  auto writer = create(ocean);
  ASSERT_TRUE(writer.ok()) << writer.status().text();
  ReaderOptions options;
  options.mode = Mode::follow;
  options.torn = true;
  auto reader = Reader::open(nowcast, team, "eta", options, soon());
  ASSERT_TRUE(reader.ok()) << reader.status().text();
  ASSERT_TRUE((*writer)->put(field(10).data(), 10).ok());
  int headers = 0;
  std::int64_t step = 20;
  world.job->within_get = [&](std::uint64_t bytes) {
    headers += bytes == sizeof(wire::SeriesSlotHeader) ? 1 : 0;
    for (; headers == 2 && step <= 50; step += 10) {  // the first look of the copy
      ASSERT_TRUE((*writer)->put(field(step).data(), step).ok());
    }
  };
  Batch batch;
  ASSERT_TRUE((*reader)->read(1, 1, soon(), nullptr, 0, batch).ok());
  EXPECT_EQ(batch.torn[0], 1);
  EXPECT_EQ(batch.steps[0], 10);
  expect_equation((*reader)->count());
}

TEST(WindowPlace, IsReadAsItWasWritten) {
  const std::string text = place_text({.job = 0xABC, .rank = 3, .offset = 8192, .bytes = 1 << 20});
  EXPECT_EQ(text, "window:0000000000000abc:3:8192:1048576");
  const auto place = parse_place(text);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->job, 0xABCU);
  EXPECT_EQ(place->rank, 3);
  EXPECT_EQ(place->offset, 8192U);
  EXPECT_EQ(place->bytes, 1048576U);
  for (const char* const broken : {"series-1", "window:", "window:1:2:3", "window:1:2:3:", "window:x:2:3:4",
                                   "window:1:2:3:4:5", "window:1:2:3:4 "}) {
    EXPECT_FALSE(parse_place(broken)) << broken;
  }
}

}  // namespace
}  // namespace couplet::series
