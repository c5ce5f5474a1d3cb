// One of two writer ranks goes while a reader waits: well, at the worst moment, or without having closed.
#include <functional>
#include <thread>

#include "unit/series/fixture.hpp"

namespace couplet::series {
namespace {

using namespace testing_fixture;
using couplet::testing::TeamRoom;
using couplet::testing::ThreadTeam;

// Asks before it says which rank is alive, as if the others had gone on after the slots were read.
class AskingEnvironment final : public FakeEnvironment {
 public:
  using FakeEnvironment::FakeEnvironment;
  Status alive(channel::PeerId peer, std::uint16_t incarnation) override {
    if (before_alive) {
      before_alive(peer);
    }
    return FakeEnvironment::alive(peer, incarnation);
  }
  std::function<void(channel::PeerId)> before_alive;
};

class Leaving : public ::testing::Test {
 protected:
  void SetUp() override {
    TeamRoom room(2);
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < 2; ++rank) {
      threads.emplace_back([this, rank, &room] {
        teams[rank] = std::make_unique<ThreadTeam>(room, static_cast<int>(rank));
        WriterOptions options;
        options.slots = 16;
        options.required_readers.emplace();
        auto created = Writer::create(*environments[rank], *teams[rank],
                                      {"eta", COUPLET_INT32, {rows, columns}, boxes[rank]}, options, soon());
        ASSERT_TRUE(created.ok()) << created.status().text();
        writers[rank] = std::move(created).value();
      });
    }
    for (auto& thread : threads) {
      thread.join();
    }
    auto opened = Reader::open(reader_environment, alone, "eta", {}, soon());
    ASSERT_TRUE(opened.ok()) << opened.status().text();
    reader = std::move(opened).value();
  }
  void put(std::size_t rank, std::int64_t step) {
    const auto whole = field(step);
    const Status status = writers[rank]->put(whole.data() + (rank == 0 ? 0 : 3 * columns), step);
    ASSERT_TRUE(status.ok()) << status.text();
  }
  void leave(std::size_t rank) {
    ASSERT_TRUE(writers[rank]->close(soon()).ok());
    environments[rank]->die();
  }
  Status read_one(Batch& batch) { return reader->read(1, 1, soon(), nullptr, 0, batch); }

  SeriesWorld world;
  SoloTeam alone;
  std::array<layout::Box, 2> boxes = {box_of(0, 3, 0, columns), box_of(3, rows, 0, columns)};
  std::array<std::unique_ptr<FakeEnvironment>, 2> environments = {
      std::make_unique<FakeEnvironment>(world, channel::PeerId{0}, "ocean"),
      std::make_unique<FakeEnvironment>(world, channel::PeerId{1}, "ocean")};
  std::array<std::unique_ptr<ThreadTeam>, 2> teams;
  std::array<std::unique_ptr<Writer>, 2> writers;
  AskingEnvironment reader_environment{world, 2, "nowcast"};
  std::unique_ptr<Reader> reader;
};

TEST_F(Leaving, OneRankClosesAndLeavesBetweenTheLookAndTheQuestionWhileTheOtherGoesOn) {
  put(0, 0);
  bool left = false;
  reader_environment.before_alive = [&](channel::PeerId peer) {
    if (peer == 1 && !left) {  // rank 1 is slower: the reader waits for its step 0
      for (std::int64_t step = 0; step < 3; ++step) {
        put(1, step);
      }
      leave(1);
      left = true;
    } else if (peer == 0) {  // now rank 0 is waited for
      put(0, 1);
      put(0, 2);
      leave(0);
      reader_environment.before_alive = nullptr;
    }
  };
  Batch batch;
  const Status status = reader->read(3, 3, soon(), nullptr, 0, batch);
  ASSERT_TRUE(status.ok()) << status.text();
  ASSERT_EQ(batch.count, 3U);
  expect_content(batch, box_of(0, rows, 0, columns));
  EXPECT_EQ(read_one(batch).code(), Code::end);
  EXPECT_EQ(reader->count().pending, 0U);
}

TEST_F(Leaving, OfTwoThatWouldPublishNextTheDeadOneIsFound) {
  put(0, 0);
  put(1, 0);
  Batch batch;
  ASSERT_TRUE(read_one(batch).ok());
  environments[1]->die();  // rank 0 lives, and would wait for rank 1 for ever
  const Status status = reader->read(1, 1, os::deadline_after(20), nullptr, 0, batch);
  EXPECT_EQ(status.code(), Code::peer_lost);
  EXPECT_NE(status.text().find("peer 1 is gone"), std::string::npos) << status.text();
  put(0, 1);
  EXPECT_EQ(read_one(batch).code(), Code::peer_lost);
}

}  // namespace
}  // namespace couplet::series
