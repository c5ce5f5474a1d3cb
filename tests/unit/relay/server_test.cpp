// What a relay answers to readers, right and wrong ones.
#include "relay/server.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <thread>

#include "os/descriptor.hpp"
#include "series/hold.hpp"
#include "unit/relay/fixture.hpp"

namespace couplet::relay {
namespace {

using testing_fixture::box_of;
using testing_fixture::columns;
using testing_fixture::Connection;
using testing_fixture::FakeEnvironment;
using testing_fixture::field;
using testing_fixture::Recorder;
using testing_fixture::relay_peer;
using testing_fixture::RelayKind;
using testing_fixture::rows;
using testing_fixture::step_bytes;

constexpr channel::PeerId reader_peer = 1;

class RelayServer : public series::testing_fixture::Series, public ServerHost {
 protected:
  void SetUp() override { start({}); }
  void start(ServerOptions options) {
    options.watch = false;
    connections_.clear();
    server_ = std::move(Server::open(*this, options)).value();
    dispatch_ = std::make_unique<Dispatch>(server_.get(), nullptr);
  }
  void TearDown() override { connections_.clear(); }

  [[nodiscard]] const std::string& node_directory() const override { return world.directory(); }
  [[nodiscard]] std::string peer_name(channel::PeerId peer) const override { return fmt::format("peer {}", peer); }
  Status alive(channel::PeerId peer, std::uint16_t incarnation) override {
    return relay_environment_.alive(peer, incarnation);
  }

  Connection& connect() {
    connections_.push_back(std::make_unique<Connection>(reader_peer, "peer 1", *dispatch_));
    return *connections_.back();
  }
  void settle() {
    int work = 1;
    while (work > 0) {
      work = server_->poll(64);
      for (const auto& connection : connections_) {
        work += connection->poll();
      }
    }
  }
  wire::Subscribe wish(series::Mode mode = series::Mode::follow) {
    wire::Subscribe wish;
    wish.mode = static_cast<std::uint8_t>(mode);
    wish.window = 4;
    wish.fields = {{0, {0, 0}, {rows, columns}}};
    wish.file = world.series_files().front();
    wish.series = "eta";
    return wish;
  }
  std::vector<Recorder::Frame> ask(Connection& connection, std::uint32_t number, const wire::Subscribe& wish) {
    connection.say(RelayKind::subscribe, number, 0, 0, 0, wire::encode_subscribe(wish));
    settle();
    return connection.take();
  }
  std::string refusal(const wire::Subscribe& wish, Code code) {
    const auto frames = ask(connect(), 1, wish);
    EXPECT_EQ(frames.size(), 1U);
    EXPECT_EQ(Connection::kind_of(frames.at(0)), RelayKind::refused);
    EXPECT_EQ(static_cast<Code>(frames.at(0).header.tag), code) << frames.at(0).payload;
    EXPECT_EQ(server_->subscriptions(), 0U);
    return frames.at(0).payload;
  }
  int holders() {
    const auto file =
        std::move(series::SeriesFile::open(world.directory() + "/" + world.series_files().front())).value();
    int count = 0;
    for (std::uint32_t index = 0; index < file->reader_entries(); ++index) {
      count += series::owner_of(file->readers()[index]).state == wire::ReaderState::holding ? 1 : 0;
    }
    return count;
  }

  FakeEnvironment relay_environment_{world, relay_peer, "relay"};
  std::unique_ptr<Server> server_;
  std::unique_ptr<Dispatch> dispatch_;
  std::vector<std::unique_ptr<Connection>> connections_;
};

TEST_F(RelayServer, PushesStepsUnderCreditAndSaysHowManyNewerOnesThereAre) {
  const auto writer = create(8);
  for (std::int64_t step = 10; step < 16; ++step) {
    put(*writer, step);
  }
  Connection& reader = connect();
  auto frames = ask(reader, 7, wish());
  ASSERT_EQ(frames.size(), 5U);  // accepted, and four steps of the window
  EXPECT_EQ(Connection::kind_of(frames[0]), RelayKind::accepted);
  for (std::uint64_t index = 0; index < 4; ++index) {
    const auto& frame = frames[index + 1];
    EXPECT_EQ(Connection::kind_of(frame), RelayKind::step);
    EXPECT_EQ(frame.header.context, 7U);
    EXPECT_EQ(frame.header.first, index);
    EXPECT_EQ(frame.header.second, index + 10);
    EXPECT_EQ(frame.header.tag, static_cast<std::int32_t>(5 - index));
    ASSERT_EQ(frame.payload.size(), step_bytes);
    const auto values = field(static_cast<std::int64_t>(index) + 10);
    EXPECT_EQ(std::memcmp(frame.payload.data(), values.data(), step_bytes), 0);
  }
  reader.say(RelayKind::credit, 7, 6, 2);
  settle();
  frames = reader.take();
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[1].header.first, 5U);
}

TEST_F(RelayServer, LongStepsComeInPieces) {
  start({.piece_bytes = 100});
  const auto writer = create(4);
  put(*writer, 3);
  const auto frames = ask(connect(), 1, wish());
  ASSERT_EQ(frames.size(), 1 + (step_bytes + 99) / 100);
  std::string bytes;
  for (std::size_t index = 1; index < frames.size(); ++index) {
    const bool last = index + 1 == frames.size();
    EXPECT_EQ(Connection::kind_of(frames[index]), last ? RelayKind::step : RelayKind::piece);
    EXPECT_EQ(frames[index].header.second, last ? 3 : bytes.size());
    bytes += frames[index].payload;
  }
  EXPECT_EQ(bytes.size(), step_bytes);
  EXPECT_EQ(std::memcmp(bytes.data(), field(3).data(), step_bytes), 0);
}

TEST_F(RelayServer, TellsWhatAFollowerHasLost) {
  const auto writer = create(4);
  Connection& reader = connect();
  auto begin = wish();
  begin.window = 1;
  put(*writer, 0);
  ASSERT_EQ(ask(reader, 1, begin).size(), 2U);
  for (std::int64_t step = 1; step < 9; ++step) {
    put(*writer, step);
  }
  reader.say(RelayKind::credit, 1, 7, 1);
  settle();
  auto frames = reader.take();
  std::erase_if(frames, [](const auto& frame) { return Connection::kind_of(frame) == RelayKind::news; });
  ASSERT_GE(frames.size(), 2U);
  EXPECT_EQ(Connection::kind_of(frames[0]), RelayKind::lost);
  EXPECT_EQ(frames[0].header.first, 1U);
  EXPECT_EQ(frames[0].header.tag, 0);
  EXPECT_EQ(Connection::kind_of(frames[1]), RelayKind::step);
  EXPECT_EQ(frames[1].header.first, frames[0].header.second);
  EXPECT_EQ(frames[1].header.second, frames[1].header.first);  // here steps are ordinals
}

TEST_F(RelayServer, SaysHowASeriesEnds) {
  auto writer = create(4);
  put(*writer, 0);
  Connection& reader = connect();
  ask(reader, 1, wish());
  ASSERT_TRUE(writer->close(testing_fixture::soon()).ok());
  settle();
  const auto frames = reader.take();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(Connection::kind_of(frames[0]), RelayKind::ended);
  EXPECT_EQ(frames[0].header.first, 1U);
  EXPECT_EQ(frames[0].header.tag, 0);
  EXPECT_TRUE(server_->told_all());
}

TEST_F(RelayServer, SaysThatAWriterIsGone) {
  const auto writer = create(4);
  put(*writer, 0);
  Connection& reader = connect();
  ask(reader, 1, wish());
  writer_environment.die();
  server_->tick();
  settle();
  const auto frames = reader.take();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(Connection::kind_of(frames[0]), RelayKind::ended);
  EXPECT_EQ(frames[0].header.tag, 1);
}

TEST_F(RelayServer, TwoReadersOfOneFileEachGetTheirSteps) {
  const auto writer = create(4);
  Connection& one = connect();
  Connection& other = connect();
  ask(one, 1, wish());
  auto part = wish();
  part.fields = {{0, {2, 3}, {4, 5}}};
  ask(other, 1, part);
  EXPECT_EQ(server_->subscriptions(), 2U);
  put(*writer, 0);
  settle();
  EXPECT_EQ(one.take().at(0).payload.size(), step_bytes);
  EXPECT_EQ(other.take().at(0).payload.size(), 4 * sizeof(std::int32_t));
}

// Issue 9, fault 10: a reset connection ended the hold of a live reader.
TEST_F(RelayServer, AHoldEndsWithTheSubscriptionOrWithTheReaderButNotWithTheConnection) {
  const auto writer = create(4);
  Connection& one = connect();
  Connection& other = connect();
  ask(one, 1, wish(series::Mode::hold));
  ask(other, 2, wish(series::Mode::hold));
  EXPECT_EQ(holders(), 2);
  one.say(RelayKind::unsubscribe, 1);
  settle();
  EXPECT_EQ(holders(), 1);
  other.die();
  settle();
  server_->tick();
  EXPECT_EQ(server_->subscriptions(), 0U);
  EXPECT_EQ(holders(), 1);  // the process of the reader is alive
  reader_environment.die();
  server_->tick();
  EXPECT_EQ(holders(), 0);
}

TEST_F(RelayServer, AReaderWhoseConnectionWasResetGoesOnWithItsHold) {
  const auto writer = create(4);
  Connection& first = connect();
  ask(first, 5, wish(series::Mode::hold));
  put(*writer, 0);
  settle();
  EXPECT_EQ(first.take().at(0).header.first, 0U);
  first.die();
  settle();
  put(*writer, 1);
  auto again = wish(series::Mode::hold);
  again.again = true;
  again.next = 1;
  again.window = 3;
  const auto frames = ask(connect(), 5, again);
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(Connection::kind_of(frames[0]), RelayKind::accepted);
  EXPECT_EQ(frames[1].header.first, 1U);
  EXPECT_EQ(holders(), 1);
  server_->tick();
  EXPECT_EQ(holders(), 1);
}

// Issue 9, fault 10: the relay waited only for the far target of one reader.
TEST_F(RelayServer, OneReadersChoiceDelaysNoOther) {
  const auto writer = create(4);
  put(*writer, 0);
  os::Descriptor bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const auto watch = std::move(PublicationWatch::open(bell)).value();
  const std::shared_ptr<series::SeriesFile> file =
      std::move(series::SeriesFile::open(world.directory() + "/" + world.series_files().front())).value();
  watch->ask(file, 2);
  watch->ask(file, 1000);  // a reader that wants every thousandth step
  put(*writer, 1);
  pollfd wish{bell.number(), POLLIN, 0};
  EXPECT_EQ(::poll(&wish, 1, 20'000), 1);
}

TEST_F(RelayServer, ALowerTargetIsHeardWhileTheThreadSleepsForAHigherOne) {
  const auto writer = create(4);
  os::Descriptor bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const auto watch = std::move(PublicationWatch::open(bell)).value();
  const std::shared_ptr<series::SeriesFile> file =
      std::move(series::SeriesFile::open(world.directory() + "/" + world.series_files().front())).value();
  watch->ask(file, 1000);
  while (file->control().published.wake_at.load() != 1000) {
    std::this_thread::yield();
  }
  watch->ask(file, 1);
  put(*writer, 0);
  pollfd wish{bell.number(), POLLIN, 0};
  EXPECT_EQ(::poll(&wish, 1, 20'000), 1);
}

// Issue 9, fault 14: an idle poll checked each subscription.
TEST_F(RelayServer, IdleSubscriptionsAreLookedAtOnlyWhenThereIsNews) {
  const auto writer = create(4);
  Connection& reader = connect();
  for (std::uint32_t number = 1; number <= 20; ++number) {
    ask(reader, number, wish());
  }
  EXPECT_FALSE(server_->ready());
  EXPECT_EQ(server_->poll(1000), 0);
  put(*writer, 0);
  EXPECT_TRUE(server_->ready());
  settle();
  EXPECT_EQ(reader.take().size(), 20U);
  EXPECT_FALSE(server_->ready());
}

// Issue 9, fault 4: the relay sent what the reader did not want, or what was overwritten meanwhile.
TEST_F(RelayServer, AFollowerOfTheLatestStepGetsTheNewestOne) {
  const auto writer = create(8);
  for (std::int64_t step = 0; step < 6; ++step) {
    put(*writer, step);
  }
  auto latest = wish();
  latest.latest = true;
  latest.window = 8;
  const auto frames = ask(connect(), 1, latest);
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(Connection::kind_of(frames[1]), RelayKind::lost);
  EXPECT_EQ(frames[1].header.first, 0U);
  EXPECT_EQ(frames[1].header.second, 5U);
  EXPECT_EQ(Connection::kind_of(frames[2]), RelayKind::step);
  EXPECT_EQ(frames[2].header.first, 5U);
}

TEST_F(RelayServer, AFollowerThatIsSlowerThanTheWriterIsMovedAheadOfIt) {
  start({.piece_bytes = step_bytes / 2});
  const auto writer = create(8);
  put(*writer, 0);
  Connection& reader = connect();
  auto slow = wish();
  slow.window = 1000;
  std::vector<std::uint64_t> whole;
  std::uint64_t torn = 0;
  std::int64_t step = 1;
  reader.say(RelayKind::subscribe, 1, 0, 0, 0, wire::encode_subscribe(slow));
  reader.poll();
  // Three steps are written while a piece is sent.
  for (int round = 0; round < 300; ++round) {
    server_->poll(1);
    reader.poll();
    for (int each = 0; each < 3; ++each) {
      put(*writer, step++);
    }
    for (const auto& frame : reader.take()) {
      torn += Connection::kind_of(frame) == RelayKind::lost && frame.header.tag != 0 ? 1U : 0U;
      if (Connection::kind_of(frame) == RelayKind::step) {
        whole.push_back(frame.header.first);
      }
    }
  }
  EXPECT_GT(whole.size(), 50U);
  EXPECT_LT(torn, whole.size());
  EXPECT_TRUE(std::is_sorted(whole.begin(), whole.end()));
}

TEST_F(RelayServer, TheNextRelayFindsTheHoldOfALostOne) {
  const auto writer = create(4);
  ask(connect(), 5, wish(series::Mode::hold));
  put(*writer, 0);
  settle();
  const auto lost_one = std::move(server_);  // holds stay, as after kill -9
  const auto lost_dispatch = std::move(dispatch_);
  const auto lost_connections = std::move(connections_);
  start({});
  auto again = wish(series::Mode::hold);
  again.again = true;
  again.next = 1;
  again.window = 3;
  Connection& reader = connect();
  auto frames = ask(reader, 5, again);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(Connection::kind_of(frames[0]), RelayKind::accepted);
  EXPECT_EQ(frames[0].header.first, 1U);
  EXPECT_EQ(holders(), 1);
  put(*writer, 1);
  settle();
  EXPECT_EQ(reader.take().at(0).header.first, 1U);
}

TEST_F(RelayServer, AHoldThatALostRelayToldNobodyAboutIsReplaced) {
  const auto writer = create(4);
  ask(connect(), 5, wish(series::Mode::hold));
  const auto lost_one = std::move(server_);
  const auto lost_dispatch = std::move(dispatch_);
  const auto lost_connections = std::move(connections_);
  start({});
  ask(connect(), 5, wish(series::Mode::hold));  // for the first time, as far as the reader knows
  EXPECT_EQ(holders(), 1);
}

TEST_F(RelayServer, AHolderThatIsReleasedByTheWriterIsTold) {
  series::WriterOptions options;
  options.evict_after_held_s = 0;
  const auto writer = create(2, options);
  Connection& reader = connect();
  ask(reader, 1, wish(series::Mode::hold));
  for (std::int64_t step = 0; step < 4; ++step) {
    put(*writer, step);
  }
  settle();
  const auto frames = reader.take();
  EXPECT_TRUE(std::any_of(frames.begin(), frames.end(),
                          [](const auto& frame) { return Connection::kind_of(frame) == RelayKind::evicted; }));
}

// ---- refusals: the subscription ends, and the channel goes on ----

TEST_F(RelayServer, RefusalsSayWhy) {
  const auto writer = create(4);
  auto wrong = wish();
  wrong.file = "series-of-nobody";
  EXPECT_NE(refusal(wrong, Code::not_found).find("series-of-nobody"), std::string::npos);
  wrong = wish();
  wrong.series = "zeta";
  EXPECT_NE(refusal(wrong, Code::protocol).find("'zeta'"), std::string::npos);
  wrong = wish();
  wrong.series_incarnation = 3;
  EXPECT_NE(refusal(wrong, Code::protocol).find("incarnation 3"), std::string::npos);
  wrong = wish();
  wrong.fields[0].stop = {rows + 1, columns};
  EXPECT_NE(refusal(wrong, Code::shape).find("lies outside the array in dimension 0"), std::string::npos);
  wrong = wish();
  wrong.fields = {{0, {0}, {rows}}};
  EXPECT_NE(refusal(wrong, Code::shape).find("has 1 dimensions, the array has 2"), std::string::npos);
  wrong = wish();
  wrong.fields[0].field = 1;
  EXPECT_NE(refusal(wrong, Code::shape).find("it has 1 fields, and no number 1"), std::string::npos);
  wrong = wish();
  wrong.fields.push_back(wrong.fields[0]);
  EXPECT_NE(refusal(wrong, Code::shape).find("wanted twice"), std::string::npos);
  wrong = wish(series::Mode::hold);
  wrong.again = true;
  EXPECT_NE(refusal(wrong, Code::evicted).find("the hold of peer 1 is gone"), std::string::npos);
}

TEST_F(RelayServer, TooManySubscribersAndHoldersAreRefused) {
  series::WriterOptions options;
  options.holders = 1;
  const auto writer = create(4, options);
  start({.most_subscriptions = 2});
  Connection& reader = connect();
  ask(reader, 1, wish(series::Mode::hold));
  auto frames = ask(reader, 2, wish(series::Mode::hold));
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(static_cast<Code>(frames[0].header.tag), Code::limit);
  EXPECT_NE(frames[0].payload.find("1 holders already"), std::string::npos) << frames[0].payload;
  ask(reader, 3, wish());
  frames = ask(reader, 4, wish());
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_NE(frames[0].payload.find("2 subscribers already"), std::string::npos) << frames[0].payload;
  EXPECT_EQ(reader.failure(), "");
}

// ---- mistakes: the channel ends ----

TEST_F(RelayServer, MistakesOfAReaderEndItsChannelWithASentence) {
  const auto writer = create(4);
  const auto failure_of = [&](const auto& say) {
    Connection& reader = connect();
    ask(reader, 1, wish());
    say(reader);
    settle();
    EXPECT_EQ(server_->subscriptions(), 0U);
    return reader.failure();
  };
  const auto image = wire::encode_subscribe(wish());
  EXPECT_NE(failure_of([](Connection& c) { c.say(RelayKind::credit, 1, 3, 0); }).find("goes back"), std::string::npos);
  EXPECT_NE(failure_of([&](Connection& c) { c.say(RelayKind::subscribe, 1, 0, 0, 0, image); }).find("second time"),
            std::string::npos);
  EXPECT_NE(failure_of([&](Connection& c) { c.say(RelayKind::subscribe, 0, 0, 0, 0, image); }).find("number 0"),
            std::string::npos);
  EXPECT_NE(failure_of([](Connection& c) { c.say(static_cast<RelayKind>(3), 1); }).find("no reader sends"),
            std::string::npos);
  EXPECT_NE(failure_of([](Connection& c) { c.say(static_cast<RelayKind>(5), 1); }).find("no reader sends"),
            std::string::npos);
  EXPECT_NE(failure_of([](Connection& c) { c.say(RelayKind::step, 1); }).find("reads nothing"), std::string::npos);
}

TEST_F(RelayServer, FramesOfASubscriptionThatIsOverAreIgnored) {
  const auto writer = create(4);
  Connection& reader = connect();
  ask(reader, 1, wish());
  reader.say(RelayKind::unsubscribe, 1);
  reader.say(RelayKind::credit, 1, 0, 0);
  reader.say(RelayKind::unsubscribe, 1);
  settle();
  EXPECT_EQ(reader.failure(), "");
  EXPECT_EQ(server_->subscriptions(), 0U);
}

}  // namespace
}  // namespace couplet::relay
