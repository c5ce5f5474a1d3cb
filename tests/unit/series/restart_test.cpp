// Going over to a new incarnation of a series, and what can go wrong there: nothing is delivered that was not written.
#include <thread>

#include "unit/series/fixture.hpp"

namespace couplet::series {
namespace {

using namespace testing_fixture;

// The slots of a writer whose relay has announced more steps than it has pushed.
class AnnouncedPart final : public Part {
 public:
  AnnouncedPart(std::unique_ptr<SeriesFile> file, std::uint64_t more) : file_(std::move(file)), more_(more) {}
  [[nodiscard]] const char* route() const noexcept override { return "relay"; }
  [[nodiscard]] SeriesFile& file() noexcept override { return *file_; }
  Status alive() override { return {}; }
  [[nodiscard]] std::uint64_t published() noexcept override { return Part::published() + more_; }

 private:
  std::unique_ptr<SeriesFile> file_;
  std::uint64_t more_;
};

// A reader whose writers are on another node. The relay there is late: so many times a part cannot be opened.
class LateRelay final : public FakeEnvironment {
 public:
  LateRelay(const SeriesWorld& world, channel::PeerId self) : FakeEnvironment(world, self, "nowcast") {}
  Result<std::unique_ptr<Part>> open_part(const universe::SeriesRecord& record, std::size_t part, const PartSelection&,
                                          std::uint64_t) override {
    if (late[part] > 0) {
      --late[part];
      return fail(Code::timeout, "the relay has not started");
    }
    COUPLET_TRY_VALUE(auto file, SeriesFile::open(node_directory() + "/" + record.parts[part].file));
    if (announced > 0) {
      return std::unique_ptr<Part>(std::make_unique<AnnouncedPart>(std::move(file), std::exchange(announced, 0)));
    }
    return make_mapped_part(*this, std::move(file), "relay");
  }
  std::array<int, 2> late{};
  std::uint64_t announced = 0;  // steps of the part that is opened next
};

// What a part takes to be opened: some calls, each of which ends at its deadline.
class SlowPart final : public Part {
 public:
  SlowPart(std::unique_ptr<Part> part, int& calls, std::uint64_t& deadline_ns)
      : part_(std::move(part)), calls_(calls), deadline_ns_(deadline_ns) {}
  Status finish_opening(std::uint64_t deadline_ns) override {
    deadline_ns_ = std::max(deadline_ns_, deadline_ns);
    return calls_-- > 0 ? fail(Code::timeout, "the relay has not answered") : Status();
  }
  [[nodiscard]] const char* route() const noexcept override { return "relay"; }
  [[nodiscard]] SeriesFile& file() noexcept override { return part_->file(); }
  Status alive() override { return part_->alive(); }

 private:
  std::unique_ptr<Part> part_;
  int& calls_;
  std::uint64_t& deadline_ns_;
};

// Its parts are slow, and every deadline that it is given is noted.
class SlowRelay final : public FakeEnvironment {
 public:
  explicit SlowRelay(const SeriesWorld& world) : FakeEnvironment(world, 4, "nowcast"), registry_(world, *this) {}
  Result<std::unique_ptr<Part>> open_part(const universe::SeriesRecord& record, std::size_t part, const PartSelection&,
                                          std::uint64_t deadline_ns) override {
    ++begun;
    latest_ns = std::max(latest_ns, deadline_ns);
    COUPLET_TRY_VALUE(auto file, SeriesFile::open(node_directory() + "/" + record.parts[part].file));
    return std::unique_ptr<Part>(
        std::make_unique<SlowPart>(make_mapped_part(*this, std::move(file), "relay"), calls, latest_ns));
  }
  [[nodiscard]] universe::SeriesRegistry& registry() noexcept override { return registry_; }
  int begun = 0;                // parts
  int calls = 0;                // that a part takes before it is open
  std::uint64_t latest_ns = 0;  // deadline, of a part or of the hub
  int told = 0;                 // the hub, of an opening

 private:
  class Register final : public testing::FileRegistry {
   public:
    Register(const SeriesWorld& world, SlowRelay& relay)
        : FileRegistry(world.directory(), 4, "nowcast", [](channel::PeerId) { return false; }), relay_(relay) {}
    Result<universe::SeriesRecord> find(const std::string& name, std::int64_t newer_than,
                                        std::uint64_t deadline_ns) override {
      relay_.latest_ns = std::max(relay_.latest_ns, deadline_ns);
      return FileRegistry::find(name, newer_than, deadline_ns);
    }
    Status reader_opened(const std::string& name, std::uint64_t incarnation, const universe::OpenerRanks& openers,
                         std::uint64_t deadline_ns) override {
      ++relay_.told;
      relay_.latest_ns = std::max(relay_.latest_ns, deadline_ns);
      return FileRegistry::reader_opened(name, incarnation, openers, deadline_ns);
    }
    Status reader_closed(const std::string& name, std::uint64_t deadline_ns) override {
      relay_.latest_ns = std::max(relay_.latest_ns, deadline_ns);
      return FileRegistry::reader_closed(name, deadline_ns);
    }

   private:
    SlowRelay& relay_;
  };
  Register registry_;
};

class Restart : public Series {
 protected:
  Restart() {
    writer_environment.node_number = 1;
    second_environment.node_number = 1;
  }
  // One writer rank for each environment, each with a part of the rows.
  std::vector<std::unique_ptr<Writer>> create_on_both(std::uint64_t slots) {
    testing::TeamRoom room(2);
    std::vector<std::unique_ptr<Writer>> writers(2);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 2; ++rank) {
      threads.emplace_back([&, rank] {
        testing::ThreadTeam both(room, rank);
        FakeEnvironment& environment = rank == 0 ? writer_environment : second_environment;
        WriterOptions options;
        options.slots = slots;
        const layout::Box box = rank == 0 ? box_of(0, 3, 0, columns) : box_of(3, rows, 0, columns);
        auto made = Writer::create(environment, both, {"eta", COUPLET_INT32, {rows, columns}, box}, options, soon());
        EXPECT_TRUE(made.ok()) << made.status().text();
        writers[static_cast<std::size_t>(rank)] = std::move(made).value();
      });
    }
    for (auto& thread : threads) {
      thread.join();
    }
    return writers;
  }
  static void put_part(Writer& writer, int rank, std::int64_t step) {
    const auto values = field(step);
    ASSERT_TRUE(writer.put(values.data() + (rank == 0 ? 0 : 3 * columns), step).ok());
  }
  std::unique_ptr<Reader> open_late(ReaderOptions options = {}) {
    auto reader = Reader::open(far_reader, team, "eta", options, soon());
    EXPECT_TRUE(reader.ok()) << reader.status().text();
    return reader.ok() ? std::move(reader).value() : nullptr;
  }
  // Reads what `writer` has put, its end, and closes it.
  static void finish(Reader& reader, std::unique_ptr<Writer> writer) {
    Batch batch;
    ASSERT_TRUE(writer->close(soon()).ok());
    while (read(reader, 1, 8, batch).ok()) {
    }
  }

  FakeEnvironment second_environment{world, 2, "ocean"};
  LateRelay far_reader{world, 3};
  Batch batch;
};

// Fault: the first writer rank announced the series again to a hub that was started again, which gave it another
// incarnation. A reader that had read all of it was told that it was created again, and was given all steps once more.
TEST_F(Restart, ASeriesThatANewHubCountsAnewIsNotReadAgain) {
  auto writer = create(8);
  auto reader = open_late();
  put(*writer, 1);
  finish(*reader, std::move(writer));
  auto& registry = far_reader.registry();
  const auto record = registry.find("eta", -1, 0);
  ASSERT_TRUE(record.ok());
  ASSERT_EQ(registry.announce(*record, 0)->incarnation, record->incarnation + 1);
  for (int attempt = 0; attempt < 2; ++attempt) EXPECT_EQ(read(*reader, 1, 8, batch, 0).code(), Code::end);
  EXPECT_EQ(reader->count().delivered, 1U);
}

TEST_F(Restart, ARelayThatIsLateMakesNoStepsOutOfNothing) {
  auto writer = create(8);
  auto reader = open_late();
  put(*writer, 1);
  finish(*reader, std::move(writer));
  writer = create(8);
  far_reader.late[0] = 2;
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Status status = read(*reader, 1, 8, batch, 0);
    EXPECT_EQ(status.code(), Code::not_yet) << status.text();
    expect_equation(reader->count());
  }
  EXPECT_EQ(reader->count().delivered, 1U);
  EXPECT_EQ(read(*reader, 1, 8, batch).code(), Code::restarted);
  EXPECT_EQ(read(*reader, 1, 8, batch, 0).code(), Code::not_yet);  // nothing was put
  put(*writer, 7);
  ASSERT_TRUE(read(*reader, 1, 8, batch).ok());
  ASSERT_EQ(batch.count, 1U);
  EXPECT_EQ(batch.steps[0], 7);
  EXPECT_EQ(batch.incarnation, 1U);
  expect_content(batch, box_of(0, rows, 0, columns));
  expect_equation(reader->count());
}

// The slots of the next incarnation may hold as many.
TEST_F(Restart, ARequestForMoreStepsThanThereAreSlotsDoesNotKeepAReaderAtAnEndedSeries) {
  auto writer = create(2);
  auto reader = open_late();
  put(*writer, 1);
  put(*writer, 2);
  EXPECT_EQ(read(*reader, 3, 8, batch, 0).code(), Code::limit);
  ASSERT_TRUE(writer->close(soon()).ok());
  writer.reset();
  ASSERT_TRUE(read(*reader, 3, 8, batch).ok());  // what is left
  EXPECT_EQ(batch.count, 2U);
  EXPECT_EQ(read(*reader, 3, 8, batch).code(), Code::end);
  writer = create(8);
  for (std::int64_t step = 3; step < 6; ++step) {
    put(*writer, step);
  }
  EXPECT_EQ(read(*reader, 3, 8, batch).code(), Code::restarted);
  ASSERT_TRUE(read(*reader, 3, 8, batch).ok());
  EXPECT_EQ(batch.count, 3U);
  expect_equation(reader->count());
}

// A read that found a restart took 4 s for it, whatever its timeout was.
TEST_F(Restart, ItTakesNoReadLongerThanItsTimeoutAndGoesOnInTheNext) {
  auto writer = create(8);
  SlowRelay slow(world);
  auto reader = Reader::open(slow, team, "eta", {}, soon());
  ASSERT_TRUE(reader.ok()) << reader.status().text();
  put(*writer, 1);
  finish(**reader, std::move(writer));
  writer = create(8);
  put(*writer, 2);
  slow.begun = slow.told = 0;
  slow.calls = 3;
  constexpr std::uint64_t timeout_ns = 20'000'000;
  constexpr std::uint64_t look_ns = 1'000'000;  // for an answer of the hub, once the deadline has passed
  for (int attempt = 0; attempt < 3; ++attempt) {
    slow.latest_ns = 0;
    const std::uint64_t deadline_ns = os::now_ns() + timeout_ns;
    EXPECT_EQ((*reader)->read(1, 8, deadline_ns, nullptr, 0, batch).code(), Code::not_yet);
    EXPECT_LE(slow.latest_ns, std::max(deadline_ns, os::now_ns()) + look_ns) << "a wait was given more time";
    EXPECT_EQ(slow.begun, 1) << "what was begun goes on";
    EXPECT_EQ(slow.told, 0);
  }
  slow.latest_ns = 0;
  const std::uint64_t deadline_ns = os::now_ns() + timeout_ns;
  EXPECT_EQ((*reader)->read(1, 8, deadline_ns, nullptr, 0, batch).code(), Code::restarted);
  EXPECT_LE(slow.latest_ns, std::max(deadline_ns, os::now_ns()) + look_ns) << "the hub was waited for";
  EXPECT_EQ(slow.told, 1);
  ASSERT_TRUE(read(**reader, 1, 8, batch).ok());
  EXPECT_EQ(batch.steps[0], 2);
  expect_equation((*reader)->count());
}

TEST_F(Restart, OneLatePartGivesNoHalfSteps) {
  auto writers = create_on_both(8);
  auto reader = open_late();
  for (int rank = 0; rank < 2; ++rank) {
    put_part(*writers[static_cast<std::size_t>(rank)], rank, 1);
  }
  ASSERT_TRUE(read(*reader, 1, 8, batch).ok());
  for (auto& writer : writers) {
    ASSERT_TRUE(writer->close(soon()).ok());
  }
  EXPECT_EQ(read(*reader, 1, 8, batch).code(), Code::end);
  writers.clear();
  writers = create_on_both(8);
  far_reader.late[1] = 1;
  for (std::int64_t step = 10; step < 13; ++step) {
    put_part(*writers[0], 0, step);
    put_part(*writers[1], 1, step);
  }
  EXPECT_EQ(read(*reader, 1, 8, batch, 0).code(), Code::not_yet);
  EXPECT_EQ(read(*reader, 1, 8, batch).code(), Code::restarted);
  ASSERT_TRUE(read(*reader, 3, 8, batch).ok());
  EXPECT_EQ(batch.count, 3U);
  EXPECT_EQ(batch.steps[0], 10);
  expect_content(batch, box_of(0, rows, 0, columns));
  EXPECT_EQ(reader->count().lost, 0U);  // the part that was there in time was held meanwhile
  expect_equation(reader->count());
}

TEST_F(Restart, ALateRelayDoesNotCrashAReaderWithAnInterval) {
  auto writer = create(8);
  ReaderOptions options;
  options.interval = 1;
  auto reader = open_late(options);
  ASSERT_TRUE(writer->set_time(0.5).ok());
  put(*writer, 1);
  finish(*reader, std::move(writer));
  writer = create(8);
  far_reader.late[0] = 1;
  EXPECT_EQ(read(*reader, 1, 8, batch, 0).code(), Code::not_yet);
  EXPECT_EQ(read(*reader, 1, 8, batch).code(), Code::restarted);
  ASSERT_TRUE(writer->set_time(0.5).ok());
  put(*writer, 3);
  ASSERT_TRUE(read(*reader, 1, 8, batch).ok());
  EXPECT_EQ(batch.steps[0], 3);
}

TEST_F(Restart, WhatARelayHadAnnouncedIsLostAndDoesNotVanish) {
  auto writer = create(8);
  far_reader.announced = 2;
  auto reader = open_late();
  put(*writer, 1);
  finish(*reader, std::move(writer));
  EXPECT_EQ(reader->count().pending, 2U);
  writer = create(8);
  put(*writer, 7);
  EXPECT_EQ(read(*reader, 1, 8, batch).code(), Code::restarted);
  EXPECT_EQ(reader->count().published, 4U);
  EXPECT_EQ(reader->count().lost, 2U);
  expect_equation(reader->count());
}

// Fault: a read with a timeout of 0 never looked for losses. A reader that polled with it never heard that its writer
// had died or was started again, and read nothing more.
void poll_until(Reader& reader, Code code) {
  Batch batch;
  const auto poll = [&] { return reader.read(1, 8, os::now_ns(), nullptr, 0, batch); };
  Status status = poll();
  for (const auto until = soon(); status.code() != code && os::now_ns() < until; status = poll()) {
  }
  EXPECT_EQ(status.code(), code) << status.text();
}

using Polling = Series;

TEST_F(Polling, TheDeathOfTheWriterAndItsRestartAreTold) {
  for (const Mode mode : {Mode::hold, Mode::follow}) {
    FakeEnvironment first(world, 5, "sky");
    const WriterSpecification specification{
        mode == Mode::hold ? "held" : "followed", COUPLET_INT32, {rows, columns}, box_of(0, rows, 0, columns)};
    auto writer = Writer::create(first, team, specification, {}, soon());
    ASSERT_TRUE(writer.ok()) << writer.status().text();
    ReaderOptions options;
    options.mode = mode;
    auto reader = Reader::open(reader_environment, team, specification.name, options, soon());
    ASSERT_TRUE(reader.ok()) << reader.status().text();
    poll_until(**reader, Code::not_yet);
    first.die();
    poll_until(**reader, Code::peer_lost);
    FakeEnvironment again(world, 5, "sky", 1);
    auto next = Writer::create(again, team, specification, {}, soon());
    ASSERT_TRUE(next.ok()) << next.status().text();
    poll_until(**reader, Code::restarted);
    put(**next, 3);
    poll_until(**reader, Code::ok);
    EXPECT_EQ((*reader)->count().delivered, 1U);
  }
}

// Messages, interrupts and the hub are heard in the calls of a reader that polls, too, but not in each of them.
TEST_F(Polling, TheEnvironmentWorksByTime) {
  auto writer = create(8);
  auto reader = open();
  Batch batch;
  for (const auto until = soon(); reader_environment.slices < 3 && os::now_ns() < until;) {
    const int before = reader_environment.slices;
    EXPECT_EQ(read(*reader, 1, 8, batch, 0).code(), Code::not_yet);
    EXPECT_LE(reader_environment.slices, before + 1);
  }
  EXPECT_GE(reader_environment.slices, 3);
  reader_environment.interrupt_now = true;
  poll_until(*reader, Code::interrupted);
}

TEST_F(Restart, ASeriesOfAnotherShapeIsRefusedAndNothingIsInvented) {
  auto writer = create(8);
  ReaderOptions options;
  options.box = box_of(0, rows, 0, columns);
  auto reader = open_late(options);
  put(*writer, 1);
  finish(*reader, std::move(writer));
  WriterOptions few;
  few.slots = 4;
  auto smaller =
      Writer::create(writer_environment, team,
                     {"eta", COUPLET_INT32, {rows - 1, columns}, box_of(0, rows - 1, 0, columns)}, few, soon());
  ASSERT_TRUE(smaller.ok()) << smaller.status().text();
  for (int attempt = 0; attempt < 3; ++attempt) {
    const Status status = read(*reader, 1, 8, batch, 0);
    EXPECT_EQ(status.code(), Code::shape) << status.text();
    EXPECT_NE(status.text().find("incarnation 1"), std::string::npos) << status.text();
    expect_equation(reader->count());
  }
  EXPECT_EQ(reader->count().delivered, 1U);
  ASSERT_TRUE((*smaller)->close(soon()).ok());
  smaller->reset();
  writer = create(8);  // the next incarnation fits again
  put(*writer, 5);
  EXPECT_EQ(read(*reader, 1, 8, batch).code(), Code::restarted);
  ASSERT_TRUE(read(*reader, 1, 8, batch).ok());
  EXPECT_EQ(batch.steps[0], 5);
  EXPECT_EQ(batch.incarnation, 2U);
}

}  // namespace
}  // namespace couplet::series
