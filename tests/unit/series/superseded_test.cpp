// Fault 14: the slot files of superseded incarnations stayed in the node directory until the universe ended. They go
// with the last process that reads them, also if a process dies.
#include "series/superseded.hpp"

#include <csignal>

#include "series/hold.hpp"
#include "support/child.hpp"
#include "unit/series/fixture.hpp"

namespace couplet::series {
namespace {

using namespace testing_fixture;
using test::Child;
using test::eventually;

class SupersededFiles : public Series {
 protected:
  void finish(std::unique_ptr<Writer> writer) {
    ASSERT_TRUE(writer->close(soon()).ok());
    writer.reset();
  }
  [[nodiscard]] std::size_t files() const { return world.series_files().size(); }
  // A reader in a process of its own, which maps the newest incarnation and then waits.
  std::unique_ptr<Child> start_reader(channel::PeerId peer, Mode mode) {
    const std::string sign = fmt::format("{}/reads-{}", world.directory(), peer);
    auto child = std::make_unique<Child>([this, peer, mode, sign] {
      FakeEnvironment environment(world, peer, "nowcast");
      ReaderOptions options;
      options.mode = mode;
      auto reader = Reader::open(environment, team, "eta", options, soon());
      static_cast<void>(os::MappedFile::create(sign, reader.ok() ? 1 : 0));
      return ::pause();
    });
    EXPECT_TRUE(eventually([&] { return ::access(sign.c_str(), F_OK) == 0; }));
    return child;
  }
};

TEST_F(SupersededFiles, AWriterThatComesTwentyTimesLeavesAtMostTwoIncarnationsToAFollower) {
  auto writer = create(4);
  ReaderOptions options;
  options.mode = Mode::follow;
  auto reader = open(options);
  Batch batch;
  for (std::int64_t life = 1; life <= 20; ++life) {
    put(*writer, life);
    ASSERT_TRUE(read(*reader, 1, 4, batch).ok());
    finish(std::move(writer));
    ASSERT_EQ(read(*reader, 1, 4, batch).code(), Code::end);
    writer = create(4);
    EXPECT_LE(files(), 2U) << "life " << life;
    ASSERT_EQ(read(*reader, 1, 4, batch).code(), Code::restarted);
    EXPECT_EQ(files(), 1U) << "life " << life;
  }
  EXPECT_EQ(reader->count().delivered, 20U);
  expect_equation(reader->count());
}

TEST_F(SupersededFiles, WithoutAReaderTheOldFileGoesAtOnce) {
  finish(create(4));
  auto writer = create(4);
  EXPECT_EQ(files(), 1U);
}

TEST_F(SupersededFiles, AReaderThatIsStillBehindKeepsItsFile) {
  auto writer = create(4);
  auto reader = open();
  put(*writer, 1);
  put(*writer, 2);
  finish(std::move(writer));
  writer = create(4);
  EXPECT_EQ(files(), 2U);
  Batch batch;
  ASSERT_TRUE(read(*reader, 2, 2, batch).ok());
  expect_content(batch, box_of(0, rows, 0, columns));
  ASSERT_TRUE(reader->close(soon()).ok());
  EXPECT_EQ(files(), 1U);
}

TEST_F(SupersededFiles, AReaderThatIsKilledKeepsNothing) {
  for (const Mode mode : {Mode::hold, Mode::follow}) {
    auto writer = create(4);
    auto child = start_reader(mode == Mode::hold ? 5 : 6, mode);
    finish(std::move(writer));
    writer = create(4);
    EXPECT_EQ(files(), 2U);
    child->kill();
    remove_superseded_again(writer_environment);
    EXPECT_EQ(files(), 1U);
    finish(std::move(writer));
  }
}

TEST_F(SupersededFiles, AWriterThatIsKilledKeepsNothing) {
  {
    const std::string sign = world.directory() + "/writes";
    Child child([&] {
      FakeEnvironment environment(world, 7, "ocean");
      auto writer =
          Writer::create(environment, team, {"eta", COUPLET_INT32, {rows, columns}, box_of(0, rows, 0, columns)},
                         {.slots = 3}, soon());
      static_cast<void>(os::MappedFile::create(sign, writer.ok() ? 1 : 0));
      return ::pause();
    });
    ASSERT_TRUE(eventually([&] { return ::access(sign.c_str(), F_OK) == 0; }));
    child.kill();
  }
  EXPECT_EQ(files(), 1U) << "its steps can still be read";
  auto writer = create(4);
  EXPECT_EQ(files(), 1U);
}

// A hold over a relay that is just away: nobody maps the file, and its reader lives.
TEST_F(SupersededFiles, ALivingHolderWhoseRelayIsAwayKeepsItsFile) {
  auto writer = create(4);
  std::unique_ptr<FakeEnvironment> far = std::make_unique<FakeEnvironment>(world, 9, "nowcast");
  {
    auto file = SeriesFile::open(world.directory() + "/" + world.series_files().front());
    ASSERT_TRUE(file.ok());
    const Hold hold = take_hold_entry(**file, {.peer = 9}, 0, [](const Owner&) { return true; });
    ASSERT_TRUE(hold.taken());
    ASSERT_TRUE(hold_from(**file, hold, 0, From::oldest).ok());
  }
  finish(std::move(writer));
  writer = create(4);
  EXPECT_EQ(files(), 2U);
  far->die();
  remove_superseded_again(writer_environment);
  EXPECT_EQ(files(), 1U);
}

// Between the look into the register and the opening of the file, a new incarnation takes the name.
TEST_F(SupersededFiles, AReaderThatComesTooLateForAnIncarnationOpensTheNext) {
  finish(create(4));
  class Late final : public FakeEnvironment {
   public:
    Late(const SeriesWorld& world, std::function<void()> before)
        : FakeEnvironment(world, 3, "nowcast"), before_(std::move(before)) {}
    [[nodiscard]] const std::string& node_directory() const noexcept override {
      if (before_) {
        std::exchange(before_, nullptr)();
      }
      return FakeEnvironment::node_directory();
    }

   private:
    mutable std::function<void()> before_;
  };
  std::unique_ptr<Writer> writer;
  Late late(world, [&] { writer = create(4); });
  auto reader = Reader::open(late, team, "eta", {}, soon());
  ASSERT_TRUE(reader.ok()) << reader.status().text();
  EXPECT_EQ((*reader)->incarnation(), 1U);
  put(*writer, 3);
  Batch batch;
  EXPECT_TRUE(read(**reader, 1, 1, batch).ok());
}

}  // namespace
}  // namespace couplet::series
