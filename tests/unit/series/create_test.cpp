// Collective creation and opening: what members must agree on, and what is left behind when they do not.
#include <cstring>
#include <functional>
#include <thread>

#include "support/fake_window.hpp"
#include "unit/series/fixture.hpp"

namespace couplet::series {
namespace {

using namespace testing_fixture;
using couplet::testing::TeamRoom;
using couplet::testing::ThreadTeam;

using Created = Result<std::unique_ptr<Writer>>;

// `count` writers create at once; change(rank, specification, options) spoils what is otherwise a cut along dimension
// 0.
std::vector<Created> create_together(const SeriesWorld& world,
                                     std::vector<std::unique_ptr<FakeEnvironment>>& environments, int count,
                                     const std::function<void(int, WriterSpecification&, WriterOptions&)>& change) {
  TeamRoom room(count);
  std::vector<Created> results;
  for (int rank = 0; rank < count; ++rank) {
    results.emplace_back(Code::internal);
    environments.push_back(std::make_unique<FakeEnvironment>(world, static_cast<channel::PeerId>(rank), "ocean"));
  }
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadTeam team(room, rank);
      WriterSpecification specification{
          "eta", COUPLET_DOUBLE, {9, 4}, box_of(9 * rank / count, 9 * (rank + 1) / count, 0, 4)};
      WriterOptions options;
      options.slots = static_cast<std::uint64_t>(10 + rank);
      change(rank, specification, options);
      const auto index = static_cast<std::size_t>(rank);
      results[index] = Writer::create(*environments[index], team, specification, options, soon());
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  return results;
}

class Create : public ::testing::Test {
 protected:
  // All fail with this code, with these words in the text of rank 0, and nothing is left behind.
  void expect_failure(Code code, const std::vector<std::string>& words,
                      const std::function<void(int, WriterSpecification&, WriterOptions&)>& change) {
    const auto results = create_together(world, environments, 3, change);
    for (std::size_t rank = 0; rank < results.size(); ++rank) {
      EXPECT_EQ(results[rank].code(), code) << "rank " << rank << ": " << results[rank].status().text();
    }
    for (const auto& word : words) {
      EXPECT_NE(results[0].status().text().find(word), std::string::npos) << results[0].status().text();
    }
    EXPECT_TRUE(world.series_files().empty());
  }
  SeriesWorld world;
  std::vector<std::unique_ptr<FakeEnvironment>> environments;
};

TEST_F(Create, SlotsAreTheLeastThatAnyWriterWants) {
  const auto results = create_together(world, environments, 3, [](int, auto&, auto&) {});
  for (const auto& result : results) {
    ASSERT_TRUE(result.ok()) << result.status().text();
    EXPECT_EQ((*result)->describe().slots, 10U);
    EXPECT_EQ((*result)->describe().writers, 3);
  }
  EXPECT_EQ(world.series_files().size(), 3U);
}

// A CoToCoA buffer of small steps, whose size its user gives, had 4096 slots at most.
TEST_F(Create, TheMemoryThatIsGivenIsUsed) {
  SoloTeam team;
  FakeEnvironment environment(world, 1, "ocean");
  const WriterSpecification specification{"eta", COUPLET_FLOAT, {4}, layout::whole(std::vector<std::int64_t>{4})};
  WriterOptions options;
  options.memory_bytes = std::uint64_t{5000} * 4096;
  const auto writer = Writer::create(environment, team, specification, options, soon());
  ASSERT_TRUE(writer.ok()) << writer.status().text();
  EXPECT_EQ((*writer)->describe().slots, 5000U);
}

TEST_F(Create, OverlapNamesTheRanks) {
  expect_failure(Code::shape, {"rank 1", "rank 2", "overlap", "eta"}, [](int rank, auto& specification, auto&) {
    if (rank == 2) {
      specification.fields[0].boxes = {box_of(5, 9, 0, 4)};
    }
  });
}

TEST_F(Create, AnotherNameTypeShapeOrRequirementIsAMismatchThatNamesTheRank) {
  expect_failure(Code::mismatch, {"rank 2", "'eta'", "'zeta'"},
                 [](int rank, auto& specification, auto&) { specification.name = rank == 2 ? "zeta" : "eta"; });
  environments.clear();
  expect_failure(Code::mismatch, {"rank 1", "float", "double"}, [](int rank, auto& specification, auto&) {
    specification.fields[0].type = rank == 1 ? COUPLET_FLOAT : COUPLET_DOUBLE;
  });
  environments.clear();
  expect_failure(Code::mismatch, {"rank 1", "(9, 4)", "(9, 5)"},
                 [](int rank, auto& specification, auto&) { specification.fields[0].shape[1] = rank == 1 ? 5 : 4; });
  environments.clear();
  expect_failure(Code::mismatch, {"rank 2", "nowcast"}, [](int rank, auto&, auto& options) {
    options.required_readers = rank == 2 ? std::vector<std::string>{} : std::vector<std::string>{"nowcast"};
  });
}

TEST_F(Create, ABoxOutsideIsToldToAllRanks) {
  expect_failure(Code::shape, {"writer rank 1", "[3, 10)", "dimension 0"}, [](int rank, auto& specification, auto&) {
    if (rank == 1) {
      specification.fields[0].boxes = {box_of(3, 10, 0, 4)};
    }
  });
}

TEST_F(Create, NoRoomForOneIsAFailureOfAll) {
  expect_failure(Code::no_space, {"eta"}, [](int, auto& specification, auto& options) {
    specification.fields[0].shape = {9, 1 << 20};
    specification.fields[0].boxes[0].stop[1] = 1 << 20;
    options.slots = std::uint64_t{1} << 22;  // 100 TB a rank
  });
}

TEST_F(Create, BeyondEveryFileIsALimit) {
  expect_failure(Code::limit, {"eta"}, [](int, auto&, auto& options) { options.slots = std::uint64_t{1} << 62; });
}

TEST_F(Create, ALiveNameIsTaken) {
  SoloTeam team;
  FakeEnvironment one(world, 1, "ocean");
  FakeEnvironment two(world, 2, "atmosphere");
  const WriterSpecification specification{"eta", COUPLET_FLOAT, {4}, layout::whole(std::vector<std::int64_t>{4})};
  auto first = Writer::create(one, team, specification, {.slots = 2}, soon());
  ASSERT_TRUE(first.ok());
  auto second = Writer::create(two, team, specification, {.slots = 2}, soon());
  EXPECT_EQ(second.code(), Code::exists);
  EXPECT_NE(second.status().text().find("ocean"), std::string::npos) << second.status().text();
  EXPECT_EQ(world.series_files().size(), 1U);
}

// A time that is NaN was taken for one that never comes, and a linger_s that is NaN or infinite came out as an error of
// the JSON library.
TEST_F(Create, SettingsThatAreNoTimesAreRefusedByName) {
  SoloTeam team;
  FakeEnvironment one(world, 1, "ocean");
  for (const auto* const key : {"required_timeout_s", "wait_timeout_s", "evict_after_held_s", "linger_s"}) {
    for (const auto* const value : {"nan", "inf"}) {
      const bool sound = std::string(value) == "inf" && std::string(key) != "linger_s";  // for ever
      world.settings = {{fmt::format("series.eta.{}", key), value}};
      const auto writer = Writer::create(
          one, team, {"eta", COUPLET_FLOAT, {4}, layout::whole(std::vector<std::int64_t>{4})}, {.slots = 2}, soon());
      EXPECT_EQ(writer.code(), sound ? Code::ok : Code::config) << key << " " << value;
      EXPECT_TRUE(sound || writer.status().text().find(key) != std::string::npos) << writer.status().text();
    }
  }
}

// Issue 9, fault 8: a rank reserved for as many slots as it asked for, and the register had that size in place of the
// file's.
TEST_F(Create, UnequalBlocksOfAWindowWithDefaultSlotsCanBeOpened) {
  world.job = std::make_shared<couplet::testing::FakeJob>();
  world.job->ranks_a_node = couplet::testing::FakeJob::ranks;
  world.settings["series.eta.window"] = "1";
  const auto writers =
      create_together(world, environments, 2, [](int rank, WriterSpecification& specification, WriterOptions& options) {
        specification.fields[0].shape = {5, 1024};
        specification.fields[0].boxes = {rank == 0 ? box_of(0, 1, 0, 1024) : box_of(1, 5, 0, 1024)};
        options.slots = 0;
        options.memory_bytes = std::uint64_t{256} << 10;
      });
  for (const auto& writer : writers) {
    ASSERT_TRUE(writer.ok()) << writer.status().text();
    EXPECT_EQ((*writer)->file().slots(), 8U);
  }
  FakeEnvironment reader_environment(world, 7, "nowcast");
  SoloTeam team;
  const auto reader = Reader::open(reader_environment, team, "eta", {}, soon());
  EXPECT_TRUE(reader.ok()) << reader.status().text();
}

// Issue 9, fault 13.
TEST_F(Create, AFailureGivesTheMemoryOfTheWindowBack) {
  world.job = std::make_shared<couplet::testing::FakeJob>();
  world.settings["series.eta.window"] = "1";
  const auto first = create_together(world, environments, 1, [](int, WriterSpecification&, WriterOptions&) {});
  ASSERT_TRUE(first[0].ok()) << first[0].status().text();
  const std::size_t before = world.job->pieces(0);
  FakeEnvironment same(world, 0, "ocean", 1);
  SoloTeam team;
  const auto second = Writer::create(same, team, {"eta", COUPLET_DOUBLE, {9, 4}, box_of(0, 9, 0, 4)}, {}, soon());
  EXPECT_EQ(second.code(), Code::exists);
  EXPECT_EQ(world.job->pieces(0), before);
}

// A team of one. When it gathers for the second time, after the announcement, something happens, and the call fails.
class InterruptedTeam final : public message::Team {
 public:
  explicit InterruptedTeam(std::function<void()> event) : event_(std::move(event)) {}
  [[nodiscard]] int rank() const noexcept override { return 0; }
  [[nodiscard]] int size() const noexcept override { return 1; }
  Status minimum(std::span<std::int64_t>, std::uint64_t) override { return {}; }
  Result<std::vector<std::string>> gather(const std::string& bytes, std::uint64_t) override {
    if (++gathered_ != 2) return std::vector<std::string>{bytes};
    event_();
    return fail(Code::peer_lost, "writer rank 1 has died");
  }

 private:
  std::function<void()> event_;
  int gathered_ = 0;
};

// Issue 9, fault 13: nobody could create a series of this name, nor be told that there is none.
TEST_F(Create, AFailureAfterTheAnnouncementGivesTheNameBack) {
  InterruptedTeam team([] {});
  FakeEnvironment environment(world, 0, "ocean");
  FakeEnvironment other(world, 1, "ocean");
  const WriterSpecification specification{"eta", COUPLET_DOUBLE, {4}, layout::Box{1, {0}, {4}}};
  const auto failed = Writer::create(environment, team, specification, {}, soon());
  EXPECT_EQ(failed.code(), Code::peer_lost);
  EXPECT_TRUE(world.series_files().empty());
  EXPECT_EQ(other.registry().find("eta", -1, 0).code(), Code::not_yet);
  const auto again = Writer::create(other, team, specification, {}, soon());
  EXPECT_TRUE(again.ok()) << again.status().text();
}

// Fault: a reader that had opened it in between waited for ever.
TEST_F(Create, AReaderOfAnAnnouncementThatIsTakenBackIsToldTheEnd) {
  FakeEnvironment environment(world, 0, "ocean");
  FakeEnvironment nowcast(world, 1, "nowcast");
  std::unique_ptr<Reader> reader;
  SoloTeam alone;
  InterruptedTeam team([&] {
    auto opened = Reader::open(nowcast, alone, "eta", {}, soon());
    ASSERT_TRUE(opened.ok()) << opened.status().text();
    reader = std::move(opened).value();
  });
  const WriterSpecification specification{"eta", COUPLET_DOUBLE, {4}, layout::Box{1, {0}, {4}}};
  EXPECT_EQ(Writer::create(environment, team, specification, {}, soon()).code(), Code::peer_lost);
  ASSERT_NE(reader, nullptr);
  Batch batch;
  EXPECT_EQ(reader->read(1, 1, soon(), nullptr, 0, batch).code(), Code::end);
}

// Issue 9, fault 13: a rank published a step that another one could not write.
TEST_F(Create, ACollectivePutPublishesOnAllRanksOrOnNone) {
  TeamRoom room(2);
  FakeEnvironment reader_environment(world, 7, "nowcast");
  SoloTeam alone;
  std::unique_ptr<Reader> reader;  // holds what rank 1 writes
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    environments.push_back(std::make_unique<FakeEnvironment>(world, static_cast<channel::PeerId>(rank), "ocean"));
  }
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadTeam team(room, rank);
      WriterOptions options;
      options.slots = 2;
      options.wait_timeout_s = 0;
      options.collective = true;
      const WriterSpecification specification{"eta", COUPLET_DOUBLE, {2, 4}, box_of(rank, rank + 1, 0, 4)};
      auto writer = Writer::create(*environments[static_cast<std::size_t>(rank)], team, specification, options, soon());
      ASSERT_TRUE(writer.ok()) << writer.status().text();
      const std::vector<double> data(4);
      EXPECT_TRUE((*writer)->put(data.data(), 0).ok());
      EXPECT_TRUE((*writer)->put(data.data(), 1).ok());
      if (rank == 1) {
        ReaderOptions choice;
        choice.box = box_of(1, 2, 0, 4);
        auto opened = Reader::open(reader_environment, alone, "eta", choice, soon());
        ASSERT_TRUE(opened.ok()) << opened.status().text();
        reader = std::move(opened).value();
      }
      ASSERT_TRUE(team.gather("opened", soon()).ok());
      EXPECT_EQ((*writer)->put(data.data(), 2).code(), Code::full);
      EXPECT_EQ((*writer)->count().published, 2U);
      if (rank == 1) {
        Batch batch;
        ASSERT_TRUE(reader->read(2, 2, soon(), nullptr, 0, batch).ok());
      }
      ASSERT_TRUE(team.gather("read", soon()).ok());
      EXPECT_TRUE((*writer)->put(data.data(), 2).ok());
      EXPECT_EQ((*writer)->put(data.data(), 3 + rank).code(), Code::mismatch);
      EXPECT_EQ((*writer)->count().published, 3U);
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
}

TEST_F(Create, WrongArgumentsAreNamed) {
  SoloTeam team;
  FakeEnvironment environment(world, 1, "ocean");
  const auto code_of = [&](const WriterSpecification& specification) {
    return Writer::create(environment, team, specification, {.slots = 2}, soon()).code();
  };
  const auto line = layout::whole(std::vector<std::int64_t>{4});
  EXPECT_EQ(code_of({"", COUPLET_FLOAT, {4}, line}), Code::argument);
  EXPECT_EQ(code_of({std::string(500, 'x'), COUPLET_FLOAT, {4}, line}), Code::argument);
  EXPECT_EQ(code_of({"eta", 99, {4}, line}), Code::type);
  EXPECT_EQ(code_of({"eta", COUPLET_FLOAT, {}, {}}), Code::shape);
  EXPECT_EQ(code_of({"eta", COUPLET_FLOAT, {0}, {}}), Code::shape);
  EXPECT_EQ(code_of({"eta", COUPLET_FLOAT, {3}, line}), Code::shape);
  EXPECT_TRUE(world.series_files().empty());
}

class Arguments : public Series {};

// ---- writing ----

TEST_F(Arguments, AStepMustIncreaseAndTheErrorNamesBoth) {
  auto writer = create(4);
  put(*writer, 10);
  for (const std::int64_t step : {10, 9, -5}) {
    const Status status = writer->put(field(step).data(), step);
    EXPECT_EQ(status.code(), Code::step);
    EXPECT_NE(status.text().find("step 10"), std::string::npos) << status.text();
    EXPECT_NE(status.text().find(fmt::format("step {}", step)), std::string::npos) << status.text();
  }
  put(*writer, 11);
}

TEST_F(Arguments, WrongOrderOfCallsIsAState) {
  auto writer = create(4);
  EXPECT_EQ(writer->publish().code(), Code::state);
  EXPECT_EQ(writer->retained().code(), Code::not_yet);
  ASSERT_TRUE(writer->claim(1).ok());
  EXPECT_EQ(writer->claim(2).code(), Code::state);
  EXPECT_EQ(writer->put(field(2).data(), 2).code(), Code::state);
  EXPECT_EQ(writer->put(nullptr, 2).code(), Code::argument);
  ASSERT_TRUE(writer->publish().ok());
  ASSERT_TRUE(writer->close(soon()).ok());
  EXPECT_EQ(writer->put(field(3).data(), 3).code(), Code::state);
  EXPECT_EQ(writer->close(soon()).code(), Code::state);
}

// ---- opening ----

// Issue 9, fault 13.
TEST_F(Arguments, AnAbandonedClaimPublishesNothing) {
  auto writer = create(2);
  EXPECT_EQ(writer->abandon().code(), Code::state);
  put(*writer, 0);
  put(*writer, 1);
  ASSERT_TRUE(writer->claim(5).ok());
  EXPECT_TRUE(writer->abandon().ok());
  EXPECT_EQ(writer->publish().code(), Code::state);
  EXPECT_EQ(writer->count().published, 2U);
  EXPECT_EQ(writer->retained()->first, 1U);  // the oldest one was overwritten
  put(*writer, 2);
  auto reader = open();
  Batch batch;
  ASSERT_TRUE(read(*reader, 2, 4, batch).ok());
  EXPECT_EQ(batch.steps[0], 1);
  EXPECT_EQ(batch.steps[1], 2);
}

TEST_F(Arguments, OpeningChecksBoxTypeAndExistence) {
  ReaderOptions options;
  const auto missing = Reader::open(reader_environment, team, "zeta", options, os::deadline_after(0.02));
  EXPECT_EQ(missing.code(), Code::timeout);
  EXPECT_NE(missing.status().text().find("zeta"), std::string::npos) << missing.status().text();
  auto writer = create(4);
  options.box = box_of(0, rows, 5, columns + 1);
  const auto outside = Reader::open(reader_environment, team, "eta", options, soon());
  EXPECT_EQ(outside.code(), Code::shape);
  EXPECT_NE(outside.status().text().find("dimension 1"), std::string::npos) << outside.status().text();
  options.box = layout::whole(std::vector<std::int64_t>{rows});
  EXPECT_EQ(Reader::open(reader_environment, team, "eta", options, soon()).code(), Code::shape);
  options.box.reset();
  options.type = COUPLET_FLOAT;
  const auto wrong = Reader::open(reader_environment, team, "eta", options, soon());
  EXPECT_EQ(wrong.code(), Code::type);
  EXPECT_NE(wrong.status().text().find("int32"), std::string::npos) << wrong.status().text();
  options.type = COUPLET_INT32;
  EXPECT_TRUE(Reader::open(reader_environment, team, "eta", options, soon()).ok());
}

TEST_F(Arguments, ElementsThatNobodyWritesCannotBeRead) {
  auto writer = Writer::create(writer_environment, team,
                               {"eta", COUPLET_INT32, {rows, columns}, box_of(0, 5, 0, columns)}, {.slots = 2}, soon());
  ASSERT_TRUE(writer.ok());
  ReaderOptions options;
  options.box = box_of(0, 5, 2, 9);
  EXPECT_TRUE(Reader::open(reader_environment, team, "eta", options, soon()).ok());
  options.box = box_of(3, 6, 0, 10);
  const auto uncovered = Reader::open(reader_environment, team, "eta", options, soon());
  EXPECT_EQ(uncovered.code(), Code::shape);
  EXPECT_NE(uncovered.status().text().find("10 of the 30 elements"), std::string::npos) << uncovered.status().text();
}

}  // namespace
}  // namespace couplet::series
