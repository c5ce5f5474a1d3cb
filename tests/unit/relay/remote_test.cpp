// What a reader does with what a relay sends, right and wrong, and when relays die and are started again. The test is
// the relay.
#include "relay/remote.hpp"

#include "series/hold.hpp"
#include "series/reader.hpp"
#include "unit/relay/fixture.hpp"

namespace couplet::relay {
namespace {

using testing_fixture::columns;
using testing_fixture::Connection;
using testing_fixture::FakeEnvironment;
using testing_fixture::relay_peer;
using testing_fixture::RelayKind;
using testing_fixture::rows;
using testing_fixture::soon;
using testing_fixture::step_bytes;

constexpr std::uint64_t patience_ns = 200'000'000;
constexpr std::uint64_t window_steps = 4;

// A process on another node, whose relay is the script of the test.
class Elsewhere final : public FakeEnvironment, public message::Channels {
 public:
  explicit Elsewhere(const testing::SeriesWorld& world) : FakeEnvironment(world, 1, "nowcast"), register_(world) {
    node_number = 1;
    RemoteOptions options;
    options.patience_ns = patience_ns;
    options.buffer_bytes = window_steps * wire::series_page_bytes;
    remote = std::make_unique<Remote>(*this, static_cast<message::Channels&>(*this), options);
    dispatch = std::make_unique<Dispatch>(nullptr, remote.get());
    start_relay();
  }
  // Starts another relay. The frames go to the newest one.
  void start_relay() {
    connections.push_back(std::make_unique<Connection>(relay_peer, "the relay", *dispatch));
    there = true;
  }
  void kill_relay() {
    connections.back()->die();
    there = false;
    poll();
  }
  Connection& relay() { return *connections.back(); }
  void poll() {
    for (int work = 1; work > 0;) {
      work = 0;
      for (const auto& connection : connections) {
        work += connection->poll();
      }
    }
  }
  // Answers while the reader waits.
  std::function<void()> script = [] {};

  Result<channel::Channel*> channel_to(channel::PeerId /*peer*/) override {
    if (!there) {
      return fail(Code::peer_lost, "the relay of node a is lost");
    }
    return &relay().near_end();
  }
  std::string peer_name(channel::PeerId peer) const override {
    return peer == relay_peer ? "the relay of node a" : FakeEnvironment::peer_name(peer);
  }
  Status wait(const std::function<bool()>& done, std::uint64_t until_ns) override {
    while (!done() && os::now_ns() < until_ns) {
      poll();
      script();
    }
    return {};
  }
  Result<std::unique_ptr<series::Part>> open_part(const universe::SeriesRecord& record, std::size_t part,
                                                  const series::PartWish& wish, std::uint64_t deadline_ns) override {
    return remote->open_part(record, part, wish, deadline_ns);
  }
  universe::SeriesRegistry& registry() noexcept override { return register_; }

  std::unique_ptr<Remote> remote;
  std::unique_ptr<Dispatch> dispatch;
  std::vector<std::unique_ptr<Connection>> connections;
  bool there = false;

 private:
  class Register final : public testing::FileRegistry {
   public:
    explicit Register(const testing::SeriesWorld& world)
        : FileRegistry(world.directory(), 1, "nowcast", [](channel::PeerId) { return true; }) {}
    Result<channel::PeerId> relay_of(std::uint16_t, std::uint64_t) override { return relay_peer; }
  };
  Register register_;
};

class RelayRemote : public ::testing::Test {
 protected:
  void SetUp() override {
    record_.name = "eta";
    record_.program = "ocean";
    record_.fields = {{"", COUPLET_INT32, {rows, columns}}};
    record_.slots = 8;
    record_.parts = {{0, 0, {{testing_fixture::box_of(0, rows, 0, columns)}}, "series-of-ocean"}};
    reader_.script = [this] { answer(); };
  }
  // Accepts or refuses a request.
  void answer() {
    for (const auto& frame : reader_.relay().take(false)) {
      heard_.push_back(Connection::kind_of(frame));
      if (heard_.back() == RelayKind::subscribe) {
        const auto image = std::as_bytes(std::span(frame.payload));
        wish_ = std::move(wire::decode_subscribe(image)).value();
        number_ = frame.header.context;
        if (refuse_.empty()) {
          accept(wish_.again ? wish_.next : first_);
        } else {
          reader_.relay().say(RelayKind::refused, number_, 0, 0, COUPLET_ERROR_LIMIT,
                              std::as_bytes(std::span(refuse_)));
        }
      }
    }
  }
  void accept(std::uint64_t first) {
    std::array<std::byte, wire::accepted_bytes> image{};
    wire::encode_accepted({false, first, step_bytes, 0}, image);
    reader_.relay().say(RelayKind::accepted, number_, first, 0, 0, image);
  }
  Result<std::unique_ptr<series::Part>> open(series::Mode mode = series::Mode::follow) {
    series::PartWish wish;
    wish.fields = {{0, {testing_fixture::box_of(0, rows, 0, columns)}}};
    wish.mode = mode;
    return reader_.remote->open_part(record_, 0, wish, soon());
  }
  std::unique_ptr<series::Part> opened(series::Mode mode = series::Mode::follow) {
    auto part = open(mode);
    EXPECT_TRUE(part.ok()) << part.status().text();
    return std::move(part).value();
  }
  void push_step(std::uint64_t ordinal) {
    const auto values = testing_fixture::field(static_cast<std::int64_t>(ordinal));
    reader_.relay().say(RelayKind::step, number_, ordinal, ordinal, 0, std::as_bytes(std::span(values)));
    reader_.poll();
  }
  static std::uint64_t arrived(series::Part& part) {
    return part.file().control().published.published.load(std::memory_order_relaxed);
  }
  // Polls, and waits for the reader's patience to end.
  static Status fate(series::Part& part) {
    const std::uint64_t end = os::now_ns() + 20 * patience_ns;
    Status status;
    while ((status = part.alive()).ok() && os::now_ns() < end) {
      EXPECT_TRUE(part.poll().ok());
    }
    return status;
  }
  // The relay sends something wrong, in the middle of a step if `begun` is true.
  std::string failure_of(const std::function<void(Connection&)>& say) {
    if (!reader_.there) {
      reader_.start_relay();
    }
    auto part = opened();
    push_step(0);
    say(reader_.relay());
    reader_.poll();
    EXPECT_EQ(arrived(*part), 1U);
    std::string failure = reader_.relay().failure();
    reader_.kill_relay();
    return failure;
  }

  testing::SeriesWorld world_;
  Elsewhere reader_{world_};
  universe::SeriesRecord record_;
  wire::Subscribe wish_;
  std::uint32_t number_ = 0;
  std::uint64_t first_ = 0;
  std::string refuse_;
  std::vector<RelayKind> heard_;
};

TEST_F(RelayRemote, StepsAndPiecesComeIntoLocalSlots) {
  first_ = 3;
  auto part = opened();
  EXPECT_STREQ(part->route(), "relay");
  EXPECT_EQ(part->first_ordinal(), 3U);
  EXPECT_EQ(wish_.window, window_steps);
  const auto values = testing_fixture::field(3);
  const auto bytes = std::as_bytes(std::span(values));
  reader_.relay().say(RelayKind::piece, number_, 3, 0, 0, bytes.first(100));
  reader_.poll();
  EXPECT_EQ(arrived(*part), 3U);
  reader_.relay().say(RelayKind::step, number_, 3, 77, 5, bytes.subspan(100));
  reader_.poll();
  EXPECT_EQ(arrived(*part), 4U);
  EXPECT_EQ(part->published(), 9U);  // there are five newer ones
  EXPECT_EQ(series::read_step(part->file().slot_header(3), 3), 77);
  EXPECT_EQ(std::memcmp(part->file().slot(3), bytes.data(), bytes.size()), 0);
}

TEST_F(RelayRemote, WhatIsLostAndTornNeverArrives) {
  auto part = opened();
  reader_.relay().say(RelayKind::lost, number_, 0, 2);
  reader_.relay().say(RelayKind::piece, number_, 2, 0, 0, std::vector<std::byte>(10));
  reader_.relay().say(RelayKind::lost, number_, 2, 3, 1);
  reader_.poll();
  EXPECT_EQ(arrived(*part), 3U);
  EXPECT_FALSE(series::torn_before(part->file().slot_header(1), 1));
  EXPECT_TRUE(series::torn_before(part->file().slot_header(2), 2));
  push_step(3);
  EXPECT_EQ(series::read_step(part->file().slot_header(3), 3), 3);
}

// No part of it can be delivered, not even to a reader that has asked for torn steps.
TEST_F(RelayRemote, AStepThatWasTornInTheRelayIsCountedAsTorn) {
  ASSERT_TRUE(reader_.registry().announce(record_, soon()).ok());
  for (const bool torn : {false, true}) {
    testing::SoloTeam team;
    series::ReaderOptions options;
    options.mode = series::Mode::follow;
    options.torn = torn;
    auto reader = series::Reader::open(reader_, team, "eta", options, soon());
    ASSERT_TRUE(reader.ok()) << reader.status().text();
    push_step(0);
    reader_.relay().say(RelayKind::lost, number_, 1, 2, 1);
    reader_.relay().say(RelayKind::lost, number_, 2, 3, 0);
    push_step(3);
    series::Batch batch;
    ASSERT_TRUE((*reader)->read(1, 4, soon(), {}, batch).ok());
    ASSERT_EQ(batch.count, 2U);
    EXPECT_EQ(batch.steps[1], 3);
    EXPECT_EQ(batch.torn[0] + batch.torn[1], 0);
    const auto counted = (*reader)->count();
    EXPECT_EQ(counted.lost, 2U);
    EXPECT_EQ(counted.lost_torn, 1U);
    EXPECT_EQ(counted.delivered_torn, 0U);
    EXPECT_EQ(counted.published - counted.first, counted.delivered + counted.lost + counted.pending);
  }
}

TEST_F(RelayRemote, ARefusalIsTheAnswerOfOpening) {
  refuse_ = "the relay has 3 subscribers already";
  const auto part = open();
  EXPECT_EQ(part.code(), Code::limit);
  EXPECT_NE(part.status().text().find("series 'eta', slots of writer rank 0: the relay has 3 subscribers already"),
            std::string::npos)
      << part.status().text();
}

TEST_F(RelayRemote, MistakesOfARelayEndItsChannelWithASentence) {
  const std::vector<std::byte> bytes(step_bytes);
  const auto all = std::span(bytes);
  const auto expect = [&](const std::function<void(Connection&)>& say, const std::string& what) {
    const std::string failure = failure_of(say);
    EXPECT_NE(failure.find(what), std::string::npos) << failure;
    EXPECT_NE(failure.find("the relay"), std::string::npos) << failure;
  };
  expect([&](Connection& c) { c.say(RelayKind::step, number_, 2, 2, 0, all); }, "of ordinal 2, but ordinal 1");
  expect([&](Connection& c) { c.say(RelayKind::step, number_, 0, 0, 0, all); }, "of ordinal 0, but ordinal 1");
  expect([&](Connection& c) { c.say(RelayKind::piece, number_, 1, 8, 0, all.first(8)); }, "8 bytes at 8");
  expect([&](Connection& c) { c.say(RelayKind::step, number_, 1, 1, 0, all.first(8)); }, "has 8 bytes instead of");
  expect([&](Connection& c) { c.say(RelayKind::lost, number_, 0, 1); }, "said to be lost");
  expect([&](Connection& c) { c.say(RelayKind::lost, number_, 1, 1); }, "said to be lost");
  expect([&](Connection& c) { c.say(RelayKind::accepted, number_, 1, 0, 0, all.first(24)); }, "does not fit");
  expect([&](Connection& c) { c.say(RelayKind::credit, number_); }, "which this process is not");
  expect(
      [&](Connection& c) {
        c.say(RelayKind::piece, number_, 1, 0, 0, all.first(8));
        c.say(RelayKind::piece, number_, 1, 0, 0, all.first(8));
      },
      "has come up to 8 of");
}

TEST_F(RelayRemote, StepsBeyondTheCreditEndTheChannel) {
  auto part = opened();
  for (std::uint64_t ordinal = 0; ordinal < window_steps; ++ordinal) {
    push_step(ordinal);
  }
  EXPECT_EQ(arrived(*part), window_steps);
  EXPECT_EQ(reader_.relay().failure(), "");
  push_step(window_steps);
  EXPECT_EQ(arrived(*part), window_steps);
  EXPECT_NE(reader_.relay().failure().find("of ordinal 4"), std::string::npos) << reader_.relay().failure();
}

TEST_F(RelayRemote, FramesOfASubscriptionThatIsClosedAreIgnored) {
  auto part = opened();
  part.reset();
  reader_.relay().say(RelayKind::news, number_, 7);
  reader_.poll();
  EXPECT_EQ(reader_.relay().failure(), "");
  answer();
  EXPECT_EQ(heard_.back(), RelayKind::unsubscribe);
}

TEST_F(RelayRemote, AnEvictionIsSeenByTheHolder) {
  auto part = opened(series::Mode::hold);
  const auto hold = series::take_hold_entry(part->file(), {.peer = 1}, 0, [](const series::Owner&) { return true; });
  ASSERT_TRUE(hold.taken());
  ASSERT_TRUE(series::hold_from(part->file(), hold, 0, series::From::oldest).ok());
  reader_.relay().say(RelayKind::evicted, number_);
  reader_.poll();
  EXPECT_EQ(series::look_at_hold(part->file(), hold), series::HoldState::evicted);
}

TEST_F(RelayRemote, TheEndIsToldGoodOrBad) {
  auto good = opened();
  reader_.relay().say(RelayKind::ended, number_, 0, 0, 0);
  reader_.poll();
  EXPECT_NE(good->file().control().published.closed.load(), 0U);
  EXPECT_TRUE(good->alive().ok());
  auto bad = opened();
  reader_.relay().say(RelayKind::ended, number_, 0, 0, 1);
  reader_.poll();
  EXPECT_EQ(bad->alive().code(), Code::peer_lost);
  EXPECT_NE(bad->alive().text().find("peer 0"), std::string::npos) << bad->alive().text();
}

// ---- relays that die ----

TEST_F(RelayRemote, AnotherRelayGoesOnWhereTheLostOneStopped) {
  auto part = opened(series::Mode::hold);
  push_step(0);
  reader_.relay().say(RelayKind::piece, number_, 1, 0, 0, std::vector<std::byte>(10));
  reader_.poll();
  const std::uint32_t number = number_;
  reader_.kill_relay();
  EXPECT_TRUE(part->alive().ok());
  reader_.start_relay();
  ASSERT_TRUE(reader_.wait([&] { return static_cast<void>(part->poll()), wish_.again; }, soon()).ok());
  EXPECT_EQ(number_, number);
  EXPECT_EQ(wish_.next, 1U);
  EXPECT_EQ(wish_.window, window_steps - 1);
  push_step(1);
  EXPECT_EQ(series::read_step(part->file().slot_header(1), 1), 1);
}

TEST_F(RelayRemote, WhereNoRelayComesItIsNamedInTime) {
  auto part = opened();
  push_step(0);
  reader_.kill_relay();
  const Status status = fate(*part);
  EXPECT_EQ(status.code(), Code::peer_lost);
  EXPECT_NE(status.text().find("series 'eta'"), std::string::npos) << status.text();
  EXPECT_NE(status.text().find("the relay of node a is lost"), std::string::npos) << status.text();
  EXPECT_EQ(series::read_step(part->file().slot_header(0), 0), 0);  // what has arrived stays
}

TEST_F(RelayRemote, OpeningOutlivesARelay) {
  int deaths = 0;
  reader_.script = [&] {
    if (deaths == 0 && !reader_.relay().take().empty()) {
      ++deaths;
      reader_.kill_relay();
      reader_.start_relay();
    }
    answer();
  };
  const auto part = opened(series::Mode::hold);
  EXPECT_EQ(deaths, 1);
  EXPECT_FALSE(wish_.again);
}

TEST_F(RelayRemote, OpeningWithoutARelayNamesIt) {
  reader_.kill_relay();
  const auto part = open();
  EXPECT_EQ(part.code(), Code::peer_lost);
  EXPECT_NE(part.status().text().find("the relay of node a is lost"), std::string::npos) << part.status().text();
}

TEST_F(RelayRemote, ClosingAHoldWaitsForAnotherRelayToEndIt) {
  auto part = opened(series::Mode::hold);
  reader_.kill_relay();
  heard_.clear();
  int rounds = 0;
  reader_.script = [&] {
    if (++rounds == 3) {
      reader_.start_relay();
    }
    answer();
  };
  part.reset();
  reader_.poll();
  answer();
  EXPECT_EQ(heard_, (std::vector<RelayKind>{RelayKind::subscribe, RelayKind::unsubscribe}));
  EXPECT_TRUE(wish_.again);
}

}  // namespace
}  // namespace couplet::relay
