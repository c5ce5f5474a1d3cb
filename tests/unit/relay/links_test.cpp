// A follower whose steps come over several links, each of which loses steps of its own. What one link has lost is of no
// use over the others, and they are told so at once. A quick link keeps what the slow one has yet to bring, as long as
// that gives the reader any steps. The test is the relays.
#include <thread>

#include "relay/remote.hpp"
#include "series/reader.hpp"
#include "unit/relay/elsewhere.hpp"

namespace couplet::relay {
namespace {

using testing_fixture::box_of;
using testing_fixture::columns;
using testing_fixture::Connection;
using testing_fixture::Elsewhere;
using testing_fixture::RelayKind;
using testing_fixture::rows;
using testing_fixture::soon;

constexpr std::int64_t cut = 3;  // the first writer has the rows below it

// The relay of one reader rank. Its links are the subscriptions, one for each writer.
class Links {
 public:
  Links(const testing::SeriesWorld& world, channel::PeerId self) : environment(world, self) {
    environment.script = [this] { hear(); };
  }
  // Answers requests, and notes the last credit of each link.
  void hear() {
    for (const auto& frame : environment.relay().take()) {
      if (Connection::kind_of(frame) == RelayKind::subscribe) {
        const auto wanted = std::move(wire::decode_subscribe(std::as_bytes(std::span(frame.payload)))).value();
        const std::size_t link = wanted.file == "ocean-0" ? 0 : 1;
        const std::uint64_t first = wanted.again ? wanted.next : first_ordinal[link];
        number[link] = frame.header.context;
        granted[link] = first + wanted.window;
        needed[link] = 0;
        std::array<std::byte, wire::accepted_bytes> image{};
        wire::encode_accepted({false, first, bytes(link), 0}, image);
        environment.relay().say(RelayKind::accepted, number[link], first, 0, 0, image);
      } else if (Connection::kind_of(frame) == RelayKind::credit) {
        const std::size_t link = frame.header.context == number[0] ? 0 : 1;
        granted[link] = frame.header.first;
        needed[link] = frame.header.second;
        share[link] = wire::decode_wanted(frame.header.tag).value().share;
      }
    }
    then();
  }
  void bring(std::size_t link, std::uint64_t ordinal) {
    const std::vector<std::byte> step(bytes(link));
    environment.relay().say(RelayKind::step, number[link], ordinal, ordinal, 0, step);
    environment.poll();
  }
  void lose(std::size_t link, std::uint64_t begin, std::uint64_t end, bool torn = false) {
    environment.relay().say(RelayKind::lost, number[link], begin, end, torn ? 1 : 0);
    environment.poll();
  }
  static std::uint64_t bytes(std::size_t link) {
    return static_cast<std::uint64_t>((link == 0 ? cut : rows - cut) * columns) * sizeof(std::int32_t);
  }

  Elsewhere environment;
  std::function<void()> then = [] {};
  std::array<std::uint32_t, 2> number{};
  std::array<std::uint64_t, 2> first_ordinal{};
  std::array<std::uint64_t, 2> granted{};  // ordinals below it may be sent
  std::array<std::uint64_t, 2> needed{};   // ordinals below it are not needed
  std::array<std::uint32_t, 2> share{};    // the part of the steps for which the reader has asked
};

universe::SeriesRecord record_of(std::uint64_t slots) {
  universe::SeriesRecord record;
  record.name = "eta";
  record.program = "ocean";
  record.fields = {{"", COUPLET_INT32, {rows, columns}}};
  record.slots = slots;
  record.parts = {{0, 0, 0, {{box_of(0, cut, 0, columns)}}, "ocean-0"},
                  {1, 0, 2, {{box_of(cut, rows, 0, columns)}}, "ocean-1"}};
  return record;
}

// The parameter is the number of slots.
class RelayLinks : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  void open() {
    ASSERT_TRUE(links_.environment.registry().announce(record_of(GetParam()), soon()).ok());
    series::ReaderOptions options;
    options.mode = series::Mode::follow;
    options.buffer_bytes = std::uint64_t{1} << 20U;
    auto reader = series::Reader::open(links_.environment, team_, "eta", options, soon());
    ASSERT_TRUE(reader.ok()) << reader.status().text();
    reader_ = std::move(reader).value();
    look();  // the links wait for each other from the first read on
  }
  Status read(series::Batch& batch, std::uint64_t until_ns = 0) {
    const Status status = reader_->read(1, 1, until_ns, {}, batch);
    links_.environment.poll();
    links_.hear();
    links_.environment.poll();
    const auto counted = reader_->count();
    EXPECT_EQ(counted.published - counted.first, counted.delivered + counted.lost + counted.skipped + counted.pending);
    return status;
  }
  // Reads, and there is nothing yet.
  void look() {
    series::Batch batch;
    const Status status = read(batch);
    EXPECT_EQ(status.code(), Code::not_yet) << status.text();
  }
  void expect_step(std::uint64_t ordinal) {
    series::Batch batch;
    const Status status = read(batch, soon());
    ASSERT_TRUE(status.ok()) << status.text();
    ASSERT_EQ(batch.count, 1U);
    EXPECT_EQ(batch.steps[0], static_cast<std::int64_t>(ordinal));
  }

  testing::SeriesWorld world_;
  testing::SoloTeam team_;
  Links links_{world_, 1};
  std::unique_ptr<series::Reader> reader_;
};

// Fault: the links of a team jumped by different numbers of steps, and each then brought what another one had lost, so
// that 80 steps in a row were of use to nobody.
TEST_P(RelayLinks, WhatOneLinkHasLostNeedNotComeOverTheOther) {
  open();
  links_.lose(0, 0, 5);
  look();
  EXPECT_EQ(links_.needed[1], 5U);
  EXPECT_EQ(links_.granted[1], 5 + GetParam());
  links_.bring(1, 5);  // nothing is sent for those before it
  links_.bring(0, 5);
  expect_step(5);
  EXPECT_EQ(reader_->count().lost, 5U);
}

TEST_P(RelayLinks, ALinkWithoutLossIsNeededFromItsNextStepOn) {
  open();
  links_.bring(0, 0);
  look();
  EXPECT_EQ(links_.needed[0], 0U);
  EXPECT_EQ(links_.needed[1], 0U);
  links_.bring(1, 0);
  expect_step(0);
}

TEST_P(RelayLinks, AQuickLinkKeepsWhatTheSlowOneHasYetToBring) {
  open();
  const std::uint64_t slots = GetParam();
  for (std::uint64_t ordinal = 0; ordinal < slots; ++ordinal) {
    links_.bring(0, ordinal);
    look();
  }
  EXPECT_EQ(links_.granted[0], slots);
  EXPECT_EQ(links_.granted[1], slots);  // the slow one never waits
  for (std::uint64_t ordinal = 0; ordinal < slots; ++ordinal) {
    links_.bring(1, ordinal);
    expect_step(ordinal);
  }
  look();
  EXPECT_GT(links_.granted[0], slots);
}

// Fault: with one slot, each link waited for the other one, and was behind the writer whenever its turn came, so that
// the reader was given no step at all.
TEST_P(RelayLinks, LinksDoNotWaitIfNothingIsDelivered) {
  series::LinksWait wait;
  const std::uint64_t most = series::LinksWait::max_turns * GetParam();
  wait.begin(10, GetParam());
  EXPECT_EQ(wait.kept_from(10, 0), 10U);
  for (std::uint64_t ordinal = 11; ordinal < 10 + most; ++ordinal) {
    EXPECT_EQ(wait.kept_from(ordinal, ordinal - 10), ordinal);
  }
  EXPECT_EQ(wait.kept_from(10 + most, most), series::LinksWait::not_waiting);
  wait.delivered(10 + most);
  EXPECT_EQ(wait.kept_from(11 + most, most + 1), 11 + most);
}

TEST_P(RelayLinks, LinksDoNotWaitIfNothingIsLost) {
  series::LinksWait wait;
  const std::uint64_t most = series::LinksWait::max_turns * GetParam();
  wait.begin(0, GetParam());
  for (std::uint64_t ordinal = 0; ordinal < 2 * most; ++ordinal) {
    EXPECT_EQ(wait.kept_from(ordinal, 0), ordinal < most ? ordinal : series::LinksWait::not_waiting);
    wait.delivered(ordinal);
  }
  EXPECT_EQ(wait.kept_from(2 * most + 1, 1), 2 * most + 1);
}

TEST_P(RelayLinks, LinksThatOvertakeEachOtherMeet) {
  open();
  std::uint64_t end = 0;
  const std::uint64_t turns = std::max<std::uint64_t>(4 * GetParam() / 5, 1);  // the links still wait for each other
  for (std::uint64_t turn = 0; turn < turns; ++turn) {  // each loses what the other one has just kept
    const std::size_t link = turn % 2;
    const std::uint64_t before = end;
    end += 3;
    links_.lose(link, before, end);
    look();
    EXPECT_EQ(links_.needed[1 - link], end);
    EXPECT_GT(links_.granted[0], end);
    EXPECT_GT(links_.granted[1], end);
    links_.bring(1 - link, end);
    ++end;
    links_.lose(link, end - 1, end);
    look();
  }
  links_.bring(0, end);
  links_.bring(1, end);
  expect_step(end);
}

TEST_P(RelayLinks, ALinkThatOpensLateIsNeededFromTheFirstCommonStepOn) {
  links_.first_ordinal = {0, 7};
  open();
  links_.environment.poll();
  links_.bring(1, 7);
  look();
  links_.lose(0, 0, 7);
  links_.bring(0, 7);
  expect_step(7);
  links_.lose(1, 8, 12);
  look();
  EXPECT_EQ(links_.needed[0], 12U);
  EXPECT_GT(links_.granted[0], 12U);
}

TEST_P(RelayLinks, AnotherRelayIsToldAgain) {
  open();
  links_.lose(0, 0, 5);
  look();
  links_.environment.kill_relay();
  links_.environment.start_relay();
  const std::uint64_t until_ns = soon();
  links_.needed = {};
  while (links_.needed[1] != 5 && os::now_ns() < until_ns) {
    series::Batch batch;
    static_cast<void>(read(batch));
  }
  EXPECT_EQ(links_.needed[1], 5U);
  links_.bring(1, 5);
  links_.bring(0, 5);
  expect_step(5);
}

TEST_P(RelayLinks, AWriterThatComesAgainBeginsAnew) {
  open();
  links_.lose(0, 0, 5);
  look();
  for (const std::size_t link : {0U, 1U}) {
    links_.environment.relay().say(RelayKind::ended, links_.number[link], 5, 0, 1);
  }
  links_.environment.poll();
  testing::FileRegistry registry(world_.directory(), 0, "ocean", [](channel::PeerId) { return false; });
  auto again = record_of(GetParam());
  again.creation = 1;
  ASSERT_TRUE(registry.announce(again, soon()).ok());
  series::Batch batch;
  Status status = read(batch, soon());
  ASSERT_EQ(status.code(), Code::restarted) << status.text();
  EXPECT_EQ(links_.needed[1], 0U);
  look();
  links_.lose(1, 0, 2);
  look();
  EXPECT_EQ(links_.needed[0], 2U);
  links_.bring(0, 2);
  links_.bring(1, 2);
  expect_step(2);
}

TEST_P(RelayLinks, ATornStepIsCountedAsTorn) {
  open();
  links_.lose(0, 0, 1, true);
  look();
  EXPECT_EQ(links_.needed[1], 0U);
  links_.bring(1, 0);
  look();
  EXPECT_EQ(reader_->count().lost_torn, 1U);
}

INSTANTIATE_TEST_SUITE_P(Slots, RelayLinks, ::testing::Values(1, 2, 8));

// Fault: a rank that had lost steps waited for the next one, and did not tell the others before that had come.
TEST(RelayLinksOfATeam, TheOtherRanksAreToldWhatOneHasLost) {
  testing::SeriesWorld world;
  std::array<Links, 2> links{Links(world, 1), Links(world, 2)};
  ASSERT_TRUE(links[0].environment.registry().announce(record_of(2), soon()).ok());
  testing::TeamRoom room{2};
  std::array<testing::ThreadTeam, 2> teams{testing::ThreadTeam(room, 0), testing::ThreadTeam(room, 1)};
  std::atomic<bool> told = false;
  links[1].then = [&] { told = told || links[1].needed[1] == 5; };
  links[0].then = [&, brought = false]() mutable {
    if (told && !brought) {
      brought = true;
      links[0].bring(0, 5);
    }
  };
  const auto follow = [&](std::size_t rank) {
    series::ReaderOptions options;
    options.mode = series::Mode::follow;
    options.box = rank == 0 ? box_of(0, cut, 0, columns) : box_of(cut, rows, 0, columns);
    auto reader = series::Reader::open(links[rank].environment, teams[rank], "eta", options, soon());
    ASSERT_TRUE(reader.ok()) << reader.status().text();
    if (rank == 0) {
      links[0].lose(0, 0, 5);
    } else {
      links[1].bring(1, 0);
      links[1].then = [&, brought = false]() mutable {
        told = told || links[1].needed[1] == 5;
        if (told && !brought) {
          brought = true;
          links[1].bring(1, 5);
        }
      };
    }
    series::Batch batch;
    ASSERT_EQ((*reader)->read(1, 1, 0, {}, batch).code(), Code::not_yet);
    const Status status = (*reader)->read(1, 1, soon(), {}, batch);
    ASSERT_TRUE(status.ok()) << status.text();
    EXPECT_EQ(batch.steps[0], 5);
    EXPECT_EQ((*reader)->count().lost, 5U);
  };
  std::thread other([&] { follow(1); });
  follow(0);
  other.join();
  EXPECT_TRUE(told);
}

// Fault (chaos seed 22300081): a team that was sent a share of the steps, and waited, asked for no larger one while the
// writer paused, although newer steps were there.
TEST(RelayLinksOfATeam, StepsThatWaitWhileTheWriterPausesAreAskedFor) {
  constexpr std::uint64_t first_lost = 6;
  constexpr std::uint64_t next = 8;
  testing::SeriesWorld world;
  std::array<Links, 2> links{Links(world, 1), Links(world, 2)};
  ASSERT_TRUE(links[0].environment.registry().announce(record_of(16), soon()).ok());
  testing::TeamRoom room{2};
  std::array<testing::ThreadTeam, 2> teams{testing::ThreadTeam(room, 0), testing::ThreadTeam(room, 1)};
  const auto follow = [&](std::size_t rank) {
    series::ReaderOptions options;
    options.mode = series::Mode::follow;
    options.box = rank == 0 ? box_of(0, cut, 0, columns) : box_of(cut, rows, 0, columns);
    auto reader = series::Reader::open(links[rank].environment, teams[rank], "eta", options, soon());
    ASSERT_TRUE(reader.ok()) << reader.status().text();
    series::Batch batch;
    for (std::uint64_t ordinal = 0; ordinal < first_lost; ++ordinal) {
      links[rank].bring(rank, ordinal);
      ASSERT_TRUE((*reader)->read(1, 1, soon(), {}, batch).ok());
    }
    links[rank].environment.relay().say(RelayKind::news, links[rank].number[rank], 2 * next);
    links[rank].lose(rank, first_lost, next);
    ASSERT_EQ((*reader)->read(1, 1, 0, {}, batch).code(), Code::not_yet);
    links[rank].then = [&, rank, brought = false]() mutable {
      if (links[rank].share[rank] == wire::whole_share && !brought) {
        brought = true;
        links[rank].bring(rank, next);
      }
    };
    ASSERT_EQ((*reader)->read(1, 1, 0, {}, batch).code(), Code::not_yet);
    links[rank].environment.poll();
    links[rank].hear();
    ASSERT_GT(links[rank].share[rank], 0U);
    ASSERT_LT(links[rank].share[rank], wire::whole_share) << "the link has lost steps";
    const Status status = (*reader)->read(1, 1, soon(), {}, batch);
    ASSERT_TRUE(status.ok()) << status.text();
    EXPECT_EQ(batch.steps[0], static_cast<std::int64_t>(next));
  };
  std::thread other([&] { follow(1); });
  follow(0);
  other.join();
}

}  // namespace
}  // namespace couplet::relay
