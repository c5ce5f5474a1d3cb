// Which processes are alive, without a hub and without sockets: pages in a directory, and processes that die.
#include "universe/liveness.hpp"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <map>

#include "os/clock.hpp"
#include "os/process_page.hpp"
#include "support/child.hpp"
#include "support/temporary_directory.hpp"

namespace couplet::universe {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr channel::PeerId self = 0;
constexpr channel::PeerId ocean = 1;
constexpr channel::PeerId nowcast = 2;

class LivenessTest : public ::testing::Test, public Liveness::Host {
 protected:
  LivenessTest() : liveness_(*this) {
    for (const auto id : {self, ocean, nowcast}) {
      table_[id].state = PeerState::present;
    }
    liveness_.enter(directory_.path(), self, 0);
    own_page_ = page_of(self);
  }
  PeerInfo* find_peer(channel::PeerId id) noexcept override {
    const auto found = table_.find(id);
    return found == table_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] std::string peer_name(channel::PeerId id) const override { return fmt::format("rank {}", id); }
  void hear() override { ++heard_; }
  [[nodiscard]] bool hub_answers() const noexcept override { return hub_answers_; }
  [[nodiscard]] std::vector<channel::PeerId> peers_on(std::uint16_t node) const override {
    std::vector<channel::PeerId> peers;
    for (const auto& [id, info] : table_) {
      if (info.node == node && info.state == PeerState::present) {
        peers.push_back(id);
      }
    }
    return peers;
  }

  [[nodiscard]] std::unique_ptr<os::ProcessPage> page_of(channel::PeerId id, std::uint16_t incarnation = 0) {
    os::PageOwner owner;
    owner.peer = id;
    owner.incarnation = incarnation;
    auto page = os::ProcessPage::create(directory_.path(), owner);
    EXPECT_TRUE(page.ok()) << page.status().text();
    return page.ok() ? std::move(*page) : nullptr;
  }
  // The page of a process that was killed.
  void dead_page_of(channel::PeerId id, std::uint16_t incarnation = 0) {
    test::Child child([&] {
      const auto page = page_of(id, incarnation);
      ::pause();
      return 0;
    });
    EXPECT_TRUE(test::eventually([&] { return os::is_locked(os::page_path(directory_.path(), id)); }));
    child.kill();
  }
  // What the handlers are told by ticks, as "<peer>: <text>".
  std::vector<std::string> told_in(double seconds) {
    if (!listens_) {
      liveness_.on_lost(
          [this](channel::PeerId id, const Status& why) { told_.push_back(fmt::format("{}: {}", id, why.text())); },
          {});
      listens_ = true;
    }
    const auto until_ns = now_ns_ + static_cast<std::uint64_t>(seconds * 1e9);
    for (; now_ns_ < until_ns; now_ns_ += second_ns / 10) {
      liveness_.tick(now_ns_);
      liveness_.tell();
    }
    return std::exchange(told_, {});
  }

  test::TemporaryDirectory directory_;
  std::unique_ptr<os::ProcessPage> own_page_;
  std::map<channel::PeerId, PeerInfo> table_;
  bool hub_answers_ = false;
  int heard_ = 0;
  std::uint64_t now_ns_ = second_ns;
  bool listens_ = false;
  std::vector<std::string> told_;
  Liveness liveness_;
};

// Only peers that somebody had asked about were looked at: a receive from another one never ended.
TEST_F(LivenessTest, EverybodyOnTheNodeIsLookedAtWithoutAHub) {
  const auto page = page_of(nowcast);
  dead_page_of(ocean);
  const auto told = told_in(2);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].find("1: rank 1 is lost: its process"), 0U) << told[0];
  EXPECT_EQ(liveness_.alive(ocean).code(), Code::peer_lost);
  EXPECT_TRUE(liveness_.alive(nowcast).ok());
  EXPECT_TRUE(told_in(2).empty()) << "it is told once";
}

// Chaos, seed 110022: a receive from a process that had left before this one joined never ended.
TEST_F(LivenessTest, WhoHasComeAndGoneBeforeItWasKnownIsToldAsGone) {
  PeerInfo gone;
  gone.state = PeerState::left;
  table_[ocean].state = table_[nowcast].state = PeerState::absent;
  liveness_.hub_says(ocean, table_[ocean], gone, "");
  gone.state = PeerState::lost;
  gone.incarnation = 2;
  liveness_.hub_says(nowcast, table_[nowcast], gone, "rank 2 is lost: it was killed");
  const auto told = told_in(1);
  EXPECT_EQ(told, (std::vector<std::string>{"1: rank 1 has left the universe", "2: rank 2 is lost: it was killed"}));
  EXPECT_EQ(table_[nowcast].incarnation, 2);
  EXPECT_EQ(liveness_.alive(nowcast).text(), "rank 2 is lost: it was killed");
  const auto page = page_of(nowcast, 3);
  PeerInfo back;
  back.incarnation = 3;
  back.state = PeerState::present;
  liveness_.hub_says(nowcast, table_[nowcast], back, "");
  EXPECT_TRUE(told_in(1).empty());
  EXPECT_TRUE(liveness_.alive(nowcast).ok());
}

TEST_F(LivenessTest, PeersOfOtherNodesAreTheHubsBusiness) {
  table_[ocean].node = 1;
  table_[nowcast].node = 1;
  dead_page_of(ocean);  // of somebody else with that number
  EXPECT_TRUE(told_in(2).empty());
  EXPECT_TRUE(liveness_.alive(ocean).ok());
}

TEST_F(LivenessTest, ManyPeersAreLookedAtInTurn) {
  const auto page = page_of(nowcast);
  for (channel::PeerId id = 3; id < 300; ++id) {
    table_[id].state = PeerState::present;
    table_[id].node = 1;
  }
  table_[299].node = 0;
  const auto first = page_of(ocean);
  dead_page_of(299);
  ASSERT_EQ(told_in(2).size(), 1U);
}

TEST_F(LivenessTest, APageThatIsGoneMeansThatItsPeerHasLeft) {
  page_of(ocean).reset();
  const auto page = page_of(nowcast);
  EXPECT_EQ(told_in(2), std::vector<std::string>{"1: rank 1 has left the universe"});
  EXPECT_EQ(liveness_.alive(ocean).code(), Code::peer_lost);
}

// A cleaner of /dev/shm removed the directory, and all processes of the node lost each other.
TEST_F(LivenessTest, ADirectoryThatSomebodyRemovedProvesNothing) {
  const auto page = page_of(ocean);
  const auto other = page_of(nowcast);
  std::filesystem::remove_all(directory_.path());
  EXPECT_TRUE(told_in(5).empty());
  EXPECT_TRUE(liveness_.alive(ocean).ok());
}

// The hub knows whether it has left or is lost, but it may be stopped.
TEST_F(LivenessTest, AHubThatSaysNothingIsNotWaitedForLong) {
  hub_answers_ = true;
  const auto page = page_of(nowcast);
  EXPECT_TRUE(liveness_.alive(ocean).ok()) << "its word may be on its way";
  EXPECT_TRUE(test::eventually([&] { return !liveness_.alive(ocean).ok(); }));
  EXPECT_GT(heard_, 1) << "the hub is listened to first";
}

TEST_F(LivenessTest, EachIncarnationLivesForItself) {
  const auto page = page_of(nowcast);
  table_[ocean].incarnation = 3;
  const auto third = page_of(ocean, 3);
  EXPECT_TRUE(liveness_.alive(ocean, 3).ok());
  const auto earlier = liveness_.alive(ocean, 2);
  EXPECT_EQ(earlier.code(), Code::peer_lost);
  EXPECT_NE(earlier.text().find("rank 1 has ended, and was started again"), std::string::npos) << earlier.text();
  EXPECT_TRUE(liveness_.alive(ocean, 4).ok()) << "the hub has not told of it yet";
  EXPECT_GT(heard_, 0);
}

TEST_F(LivenessTest, AnIncarnationThatTheHubHasNotToldOfMayBeDeadAlready) {
  dead_page_of(ocean, 4);
  EXPECT_EQ(liveness_.alive(ocean, 4).code(), Code::peer_lost);
}

TEST_F(LivenessTest, ALossIsKeptUntilSomebodyListens) {
  hub_answers_ = true;
  PeerInfo gone = table_[ocean];
  gone.state = PeerState::lost;
  liveness_.hub_says(ocean, table_[ocean], gone, "rank 1 is lost: its host has burnt down");
  liveness_.tell();
  EXPECT_FALSE(liveness_.has_news());
  const auto page = page_of(nowcast);
  EXPECT_EQ(told_in(0.2), std::vector<std::string>{"1: rank 1 is lost: its host has burnt down"});
}

TEST_F(LivenessTest, WhoCannotBeReachedIsLostWithoutAHubAndInThatIncarnation) {
  const auto page = page_of(nowcast);
  const auto another = page_of(ocean);
  const Status refused = fail(Code::peer_lost, "nobody listens at its port any more: tcp: Connection refused");
  hub_answers_ = true;
  liveness_.cannot_reach(ocean, 0, refused);
  EXPECT_TRUE(liveness_.alive(ocean).ok());
  hub_answers_ = false;
  liveness_.cannot_reach(ocean, 1, refused);
  EXPECT_TRUE(liveness_.alive(ocean).ok());
  liveness_.cannot_reach(ocean, 0, refused);
  liveness_.cannot_reach(ocean, 0, refused);
  const std::string text = "rank 1 is lost: nobody listens at its port any more: tcp: Connection refused";
  EXPECT_EQ(liveness_.alive(ocean, 0).text(), text);
  EXPECT_EQ(told_in(0.2), std::vector<std::string>{"1: " + text});
  // A hub that has come back may not know it yet.
  PeerInfo present;
  present.state = PeerState::present;
  hub_answers_ = true;
  liveness_.hub_says(ocean, table_[ocean], present, {});
  EXPECT_FALSE(liveness_.alive(ocean).ok());
}

TEST_F(LivenessTest, AProvenDeathCountsWhileAHubAnswersAndForThatIncarnation) {
  const auto page = page_of(nowcast);
  const auto another = page_of(ocean);
  hub_answers_ = true;
  liveness_.has_died(ocean, 1);
  EXPECT_TRUE(liveness_.alive(ocean).ok());
  liveness_.has_died(ocean, 0);
  const std::string text = "rank 1 is lost: its process has ended without leaving";
  EXPECT_EQ(liveness_.alive(ocean, 0).text(), text);
  EXPECT_EQ(told_in(0.2), std::vector<std::string>{"1: " + text});
}

// Hostile review: both messages of the hub came in one read, since the process computed. The handlers were told of a
// loss that the table no longer showed, took the new incarnation for the lost one, and waited for another one for ever.
TEST_F(LivenessTest, AReturnIsSeenAfterTheLossBeforeItWasTold) {
  hub_answers_ = true;
  std::vector<std::string> seen;
  const auto handler = [&](channel::PeerId id, const Status&) {
    seen.push_back(fmt::format("{} of {}", id, table_[id].incarnation));
    liveness_.tell();  // a handler may let the member work
  };
  liveness_.on_lost(handler, {});
  PeerInfo entry = table_[ocean];
  entry.state = PeerState::lost;
  liveness_.hub_says(ocean, table_[ocean], entry, "rank 1 is lost: it was killed");
  entry.state = PeerState::present;
  entry.incarnation = 1;
  liveness_.hub_says(ocean, table_[ocean], entry, {});
  EXPECT_EQ(table_[ocean].state, PeerState::lost);
  liveness_.tell();
  EXPECT_EQ(seen, std::vector<std::string>{"1 of 0"});
  EXPECT_EQ(table_[ocean].state, PeerState::present);
  EXPECT_EQ(table_[ocean].incarnation, 1);
  liveness_.tell();
  EXPECT_EQ(seen.size(), 1U);
}

// A rank greeted and left within one batch of the hub. Its greeting stayed in the ring, since no layer was told of its
// end.
TEST_F(LivenessTest, EachIncarnationIsLostOnceAlsoIfAllWereToldTogether) {
  hub_answers_ = true;
  std::vector<std::string> told;
  const auto handler = [&](channel::PeerId, const Status& why) {
    told.push_back(fmt::format("{}: {}", table_[ocean].incarnation, why.text()));
  };
  liveness_.on_lost(handler, {});
  PeerInfo entry = table_[ocean];
  for (std::uint16_t incarnation = 1; incarnation < 4; ++incarnation) {
    entry.state = PeerState::present;
    entry.incarnation = incarnation;
    liveness_.hub_says(ocean, table_[ocean], entry, {});
  }
  entry.state = PeerState::lost;
  liveness_.hub_says(ocean, table_[ocean], entry, "rank 1 is lost: again");
  liveness_.tell();
  EXPECT_EQ(told, (std::vector<std::string>{"0: rank 1 is lost: it was started again",
                                            "1: rank 1 is lost: it was started again",
                                            "2: rank 1 is lost: it was started again", "3: rank 1 is lost: again"}));
  EXPECT_EQ(table_[ocean].incarnation, 3);
  EXPECT_EQ(liveness_.alive(ocean).text(), "rank 1 is lost: again");
}

TEST_F(LivenessTest, WhoHasLeftIsToldWhenWhatItSentHasCome) {
  hub_answers_ = true;
  std::vector<channel::PeerId> told;
  bool sends = true;
  liveness_.on_lost([&](channel::PeerId id, const Status&) { told.push_back(id); },
                    [&](channel::PeerId /*id*/) { return sends; });
  PeerInfo gone = table_[ocean];
  gone.state = PeerState::left;
  liveness_.hub_says(ocean, table_[ocean], gone, {});
  PeerInfo again = gone;
  again.state = PeerState::present;
  again.incarnation = 1;
  liveness_.hub_says(ocean, table_[ocean], again, {});
  gone.state = PeerState::lost;
  liveness_.hub_says(nowcast, table_[nowcast], gone, "rank 2 is lost: it was killed");
  liveness_.tell();
  EXPECT_EQ(told, std::vector<channel::PeerId>{nowcast}) << "nothing is awaited of a process that was killed";
  EXPECT_EQ(table_[ocean].state, PeerState::left) << "its return comes after its loss";
  EXPECT_FALSE(liveness_.has_news());
  sends = false;
  liveness_.tell();
  EXPECT_EQ(told, (std::vector<channel::PeerId>{nowcast, ocean}));
  EXPECT_EQ(table_[ocean].state, PeerState::present);
  EXPECT_EQ(table_[ocean].incarnation, 1);
}

TEST_F(LivenessTest, AnIncarnationThatHasComeAndGoneAfterALossThatWasToldIsLostToo) {
  hub_answers_ = true;
  dead_page_of(ocean);
  const auto page = page_of(nowcast);
  EXPECT_EQ(told_in(1).size(), 1U);
  PeerInfo next = table_[ocean];
  next.incarnation = 1;
  next.state = PeerState::left;
  liveness_.hub_says(ocean, table_[ocean], next, {});
  EXPECT_EQ(told_in(0.2), std::vector<std::string>{"1: rank 1 has left the universe"});
}

// The connection to the hub was reset while a rank came and went: the hub then tells the newest incarnation only, and
// what the others had sent was never taken.
TEST_F(LivenessTest, IncarnationsThatTheHubDidNotTellAreLostEach) {
  hub_answers_ = true;
  const auto page = page_of(nowcast);
  EXPECT_TRUE(told_in(0).empty());
  std::vector<std::uint16_t> in_the_table;
  liveness_.on_lost([&](channel::PeerId id, const Status&) { in_the_table.push_back(table_[id].incarnation); }, {});
  PeerInfo next = table_[ocean];
  next.incarnation = 3;
  liveness_.hub_says(ocean, table_[ocean], next, {});
  const std::string unheard = "1: rank 1 is lost: it has come and gone while the hub could not be heard";
  EXPECT_EQ(told_in(0.2), (std::vector<std::string>{"1: rank 1 is lost: it was started again", unheard, unheard}));
  EXPECT_EQ(in_the_table, (std::vector<std::uint16_t>{0, 1, 2}));
  EXPECT_EQ(table_[ocean].incarnation, 3);
  EXPECT_EQ(table_[ocean].state, PeerState::present);
}

TEST_F(LivenessTest, IncarnationsOfARankThatWasAbsentAndThatTheHubDidNotTellAreLostEach) {
  const auto page = page_of(nowcast);
  table_[ocean] = {};
  EXPECT_TRUE(told_in(0).empty());
  PeerInfo last;
  last.incarnation = 2;
  last.state = PeerState::left;
  liveness_.hub_says(ocean, table_[ocean], last, {});
  EXPECT_EQ(told_in(0.2).size(), 3U);
}

TEST_F(LivenessTest, WhatWasThereBeforeThisProcessIsNotLost) {
  const auto pages = std::array{page_of(nowcast), page_of(ocean, 5)};
  table_[ocean] = {};
  PeerInfo first = table_[nowcast];
  first.incarnation = 5;
  liveness_.hub_says(ocean, table_[ocean], first, {});  // part of the table that a process gets when it joins
  EXPECT_TRUE(told_in(0.2).empty());
  table_[ocean] = {};
  first.node = 7;
  first.incarnation = 64;  // so numbers a hub that was started again and does not know what was there
  liveness_.hub_says(ocean, table_[ocean], first, {});
  EXPECT_TRUE(told_in(0.2).empty());
}

// Without the address, a call to a rank that had been started again asked the hub for it, once a second at most.
TEST_F(LivenessTest, TheAddressOfALaterIncarnationIsKeptUntilItIsEntered) {
  hub_answers_ = true;
  EXPECT_TRUE(told_in(0).empty());
  dead_page_of(ocean);
  liveness_.tick(now_ns_);
  EXPECT_EQ(liveness_.alive(ocean).code(), Code::peer_lost);
  PeerInfo next;
  next.incarnation = 1;
  next.state = PeerState::present;
  liveness_.hub_says(ocean, table_[ocean], next, {});
  EXPECT_TRUE(liveness_.hub_says_contact(ocean, table_[ocean], 1, {.process = 99}));
  EXPECT_FALSE(liveness_.hub_says_contact(ocean, table_[ocean], 2, {.process = 98}));
  liveness_.hub_says(ocean, table_[ocean], next, {});
  liveness_.tell();
  EXPECT_EQ(table_[ocean].incarnation, 1);
  EXPECT_TRUE(table_[ocean].contact_known);
  EXPECT_EQ(table_[ocean].process, 99);
}

TEST_F(LivenessTest, WhoHasReturnedBeforeAnybodyListensIsNotLost) {
  hub_answers_ = true;
  const auto page = page_of(nowcast);
  const auto again_page = page_of(ocean, 1);
  PeerInfo again = table_[ocean];
  again.incarnation = 1;
  liveness_.hub_says(ocean, table_[ocean], again, {});
  EXPECT_EQ(table_[ocean].incarnation, 1);
  EXPECT_TRUE(told_in(0.2).empty());
}

TEST_F(LivenessTest, ALaterIncarnationEndsTheEarlierOne) {
  hub_answers_ = true;
  EXPECT_TRUE(told_in(0).empty());
  const auto page = page_of(nowcast);
  const auto again_page = page_of(ocean, 1);
  PeerInfo again = table_[ocean];
  again.incarnation = 1;
  liveness_.hub_says(ocean, table_[ocean], again, {});
  EXPECT_EQ(told_in(0.2), std::vector<std::string>{"1: rank 1 is lost: it was started again"});
  EXPECT_TRUE(liveness_.alive(ocean).ok());
  again.state = PeerState::lost;
  again.incarnation = 0;
  liveness_.hub_says(ocean, table_[ocean], again, "an old tale");
  EXPECT_TRUE(liveness_.alive(ocean).ok());
}

}  // namespace
}  // namespace couplet::universe
