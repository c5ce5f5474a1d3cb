// What a hub writes down of its ranks, and what the next hub of the run reads.
#include "universe/hub/roster.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>

#include "support/child.hpp"
#include "support/temporary_directory.hpp"

namespace couplet::universe {
namespace {

HubEvent complete() {
  return {.name = "complete", .programs = {{"ocean", 2, 0, true}, {"the sea", 1, 2, true}}};
}

HubEvent event(const char* name, channel::PeerId peer, std::uint64_t incarnation = 0,
               const os::Endpoint& endpoint = {}) {
  HubEvent event{.name = name, .program = "ocean", .peer = peer, .incarnation = incarnation};
  event.listens_at = endpoint;
  return event;
}

class RosterFile : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return directory_.path() + "/roster"; }
  [[nodiscard]] std::string contents() const {
    std::stringstream text;
    text << std::ifstream(path()).rdbuf();
    return text.str();
  }
  [[nodiscard]] EarlierMembers read() const {
    Roster next;
    next.open(directory_.path(), true);
    return next.earlier();
  }
  static bool proves(Roster& roster, const std::function<bool()>& done) {
    return test::eventually([&] {
      roster.tick();
      roster.flush();
      return done();
    });
  }

  test::TemporaryDirectory directory_;
  os::Descriptor listener_ = os::listen_tcp(os::resolve("127.0.0.1:0").value()).value();
  const os::Endpoint endpoint_ = os::local_endpoint(listener_).value();
};

TEST_F(RosterFile, TellsTheNextHubWhoWasThereAndWhereItListened) {
  Roster roster;
  roster.open(directory_.path(), false);
  EXPECT_TRUE(roster.earlier().programs.empty());
  roster.add(event("joined", 0, 3, endpoint_));
  roster.add(event("joined", 2));
  roster.add(complete());
  roster.add(event("left", 2));
  roster.add(event("cut_off", 0, 3));
  roster.add(event("joined", channel::first_relay_peer, 0, endpoint_));
  ASSERT_TRUE(proves(roster, [&] { return contents().find("reached") != std::string::npos; }));
  for (int hub = 0; hub < 2; ++hub) {  // also the hub after the next one
    const auto known = read();
    ASSERT_EQ(known.programs.size(), 2U);
    EXPECT_EQ(known.programs[1].name, "the sea");
    EXPECT_EQ(known.programs[0].size, 2);
    ASSERT_EQ(known.ranks.size(), 2U) << "rank 1 has never been there";
    EXPECT_EQ(known.ranks.at(0).state, PeerState::present);
    EXPECT_EQ(known.ranks.at(0).incarnation, 3);
    EXPECT_EQ(known.ranks.at(0).listened_at, endpoint_);
    EXPECT_EQ(known.ranks.at(2).state, PeerState::left);
  }
}

HubEvent registered(const std::string& name, std::set<channel::PeerId> writers) {
  HubEvent event{.name = "register", .series = name};
  event.entry.creation = UINT64_MAX;
  event.entry.incarnation = 3;
  event.entry.writers = std::move(writers);
  return event;
}

HubEvent writer(const std::string& name, channel::PeerId peer, bool writes, bool closed = false, bool failed = false) {
  HubEvent event{.name = "writer", .peer = peer, .series = name};
  event.entry.creation = UINT64_MAX;
  event.entry.closed_by_one = closed;
  event.entry.failed = failed;
  if (writes) event.entry.writers.insert(peer);
  return event;
}

TEST_F(RosterFile, TellsTheNextHubWhoWritesWhichSeries) {
  Roster roster;
  roster.open(directory_.path(), false);
  roster.add({.name = "complete", .programs = {{"ocean", 9, 0, true}, {"the sea", 2, 9, true}}});
  for (channel::PeerId peer = 0; peer < 11; ++peer) roster.add(event("joined", peer));
  roster.add(registered("eta", {0, 1, 2, 7, 8}));
  roster.add(registered("the deep sea", {9, 10}));
  roster.add(registered("zeta", {}));
  roster.add(writer("eta", 2, false, true));
  roster.add(writer("eta", 5, true, true));
  roster.add(event("lost", 7));
  roster.add(event("rejoined", 8));
  roster.add(event("joined", 9, 1));  // its next life
  roster.add(writer("the deep sea", 10, false, false, true));
  roster.flush();
  for (int hub = 0; hub < 2; ++hub) {
    const auto known = read().series;
    ASSERT_EQ(known.size(), 3U);
    const auto& eta = known.at("eta");
    EXPECT_EQ(eta.writers, (std::set<channel::PeerId>{0, 1, 5, 8}));
    EXPECT_EQ(eta.creation, UINT64_MAX);
    EXPECT_EQ(eta.incarnation, 3U);
    EXPECT_TRUE(eta.closed_by_one && !eta.failed);
    const auto& other = known.at("the deep sea");
    EXPECT_TRUE(other.writers.empty() && other.failed && !other.closed_by_one);
    EXPECT_TRUE(known.at("zeta").writers.empty());
  }
}

// Fault: the hub that wrote the line took the rank for a writer, and the hub that read it did not.
TEST_F(RosterFile, ARankThatComesBackAsAnotherProcessWritesWhatItSays) {
  Roster roster;
  roster.open(directory_.path(), false);
  roster.add(complete());
  roster.add(event("joined", 0, 1));
  roster.add(event("joined", 1, 0));
  roster.add(registered("eta", {0, 1}));
  roster.add(event("rejoined", 0, 2));
  EXPECT_EQ(roster.earlier().series.at("eta").writers, std::set<channel::PeerId>{1});
  roster.flush();
  EXPECT_EQ(Roster::read(directory_.path()).series.at("eta").writers, std::set<channel::PeerId>{1});
  roster.add(writer("eta", 0, true));
  roster.flush();
  EXPECT_EQ(Roster::read(directory_.path()).series.at("eta").writers, (std::set<channel::PeerId>{0, 1}));
}

// Fault: what this hub had ignored, and so never changed, was believed by the next one.
TEST_F(RosterFile, SeriesOfAUniverseThatWasNotCompleteAreNotPassedOn) {
  {
    Roster first;
    first.open(directory_.path(), false);
    first.add(event("joined", 1));
    first.add(registered("eta", {1}));
    first.flush();
  }
  Roster second;
  second.open(directory_.path(), true);
  second.add(event("rejoined", 1));
  second.add(complete());
  second.flush();
  EXPECT_EQ(read().ranks.size(), 1U);
  EXPECT_TRUE(read().series.empty());
}

TEST_F(RosterFile, SaysWhetherAllWritersAreKnown) {
  Roster roster;
  roster.open(directory_.path(), false);
  roster.add(complete());
  auto eta = registered("eta", {});
  eta.entry.writers_are_known = false;
  roster.add(eta);
  roster.flush();
  EXPECT_FALSE(Roster::read(directory_.path()).series.at("eta").writers_are_known);
  roster.add(registered("eta", {}));
  roster.flush();
  EXPECT_TRUE(Roster::read(directory_.path()).series.at("eta").writers_are_known);
}

// Fault: a name that was created again each step by every second rank made the file too long to be read.
TEST_F(RosterFile, StaysBoundedWhileSeriesAreCreatedAgain) {
  Roster roster;
  roster.open(directory_.path(), false);
  roster.add(complete());
  std::set<channel::PeerId> writers;
  for (channel::PeerId peer = 0; peer < 10'000; peer += 2) writers.insert(peer);
  for (int time = 0; time < 200; ++time) {
    roster.add(registered("eta", writers));
    roster.flush();
  }
  EXPECT_LT(contents().size(), 2 * max_stale_roster_bytes);
  EXPECT_EQ(read().series.at("eta").writers, writers);
}

// A firewall may refuse all calls from the host of the hub. The next hub would take that for the end of all ranks.
TEST_F(RosterFile, PassesOnNoPortOfAnAddressThatItHasNotReached) {
  Roster roster;
  roster.open(directory_.path(), false);
  listener_.close();
  roster.add(event("joined", 0, 0, endpoint_));
  roster.add(complete());
  for (int round = 0; round < 20; ++round) {
    roster.tick();
    roster.flush();
  }
  EXPECT_EQ(read().ranks.at(0).listened_at.port, 0);
}

TEST_F(RosterFile, CallsAnotherRankAtAnAddressOfWhichAPortHasRefused) {
  Roster roster;
  roster.open(directory_.path(), false);
  listener_.close();
  roster.add(event("joined", 0, 0, endpoint_));
  roster.add(complete());
  for (int round = 0; round < 20; ++round) {
    roster.tick();
  }
  const auto again = os::listen_tcp(os::resolve("127.0.0.1:0").value()).value();
  roster.add(event("joined", 1, 0, os::local_endpoint(again).value()));
  ASSERT_TRUE(proves(roster, [&] { return contents().find("reached") != std::string::npos; }));
  EXPECT_EQ(read().ranks.at(0).listened_at.port, endpoint_.port) << "it is at the same address";
}

TEST_F(RosterFile, SaysNothingOfAUniverseThatWasNotComplete) {
  Roster roster;
  roster.open(directory_.path(), false);
  roster.add(event("joined", 0, 0, endpoint_));
  roster.flush();
  EXPECT_TRUE(read().ranks.empty());
}

TEST_F(RosterFile, TellsTheNextHubWhichTicketsWereSigned) {
  Roster roster;
  roster.open(directory_.path(), false);
  EXPECT_TRUE(roster.earlier().tickets_are_known) << "there was no hub before";
  roster.add(event("ticket", 0, 0));
  roster.add(event("ticket", 0, 64));
  roster.add(event("ticket", 1, 0));
  roster.add(event("joined", 1, 0));
  roster.add(event("ticket", channel::first_relay_peer, 3));
  roster.flush();
  for (int hub = 0; hub < 2; ++hub) {  // also the hub after the next one
    const auto known = read();
    EXPECT_TRUE(known.tickets_are_known);
    EXPECT_EQ(known.tickets.at(0), 64);
    EXPECT_EQ(known.tickets.at(1), 0) << "the universe was not complete, so nothing else says it";
    EXPECT_EQ(known.tickets.at(channel::first_relay_peer), 3);
  }
}

TEST_F(RosterFile, OfWhichNothingIsLeftSaysThatTicketsAreNotKnown) {
  EXPECT_FALSE(read().tickets_are_known);
  EXPECT_FALSE(read().tickets_are_known) << "the hub after the next one does not know them either";
}

TEST_F(RosterFile, ALineThatWasBeingWrittenWhenTheHubWasKilledDoesNotCount) {
  Roster roster;
  roster.open(directory_.path(), false);
  roster.add(event("joined", 0));
  roster.add(complete());
  roster.flush();
  std::ofstream(path(), std::ios::app) << "rank 1 pres";
  EXPECT_EQ(read().ranks.size(), 1U);
}

TEST_F(RosterFile, WhatIsNoRosterIsIgnored) {
  for (const char* line : {"",
                           "rank",
                           "rank 1",
                           "rank -1 present 0 0 0",
                           "rank 1 present 99999 00000000000000000000ffff7f000001 1",
                           "rank 1 present 0 00000000000000000000ffff7f00000 1",
                           "rank 1 asleep 0 00000000000000000000ffff7f000001 1",
                           "rank 1 present 0 00000000000000000000ffff7f000001 70000",
                           "program 0 ocean",
                           "program x ocean",
                           "reached 1",
                           "ticket",
                           "ticket 1",
                           "ticket 1 70000",
                           "series 7 0 0 0+1",
                           "series 7 0 8 0+1 eta",
                           "series 7 0 0 0+0 eta",
                           "series 7 0 0 4294967295+2 eta",
                           "series 7 0 0 0+4294967295 eta",
                           "series 7 0 0 0 eta",
                           "series x 0 0 - eta",
                           "writer 7 0 1 0",
                           "writer 7 0 2 0 eta",
                           "writer 7 0 1 9 eta",
                           "unknown"}) {
    std::ofstream(path(), std::ios::trunc) << "couplet roster 3\nprogram 1 ocean\n" << line << "\n";
    EXPECT_TRUE(read().programs.empty()) << line;
  }
  std::ofstream(path(), std::ios::trunc) << "couplet roster 2\nprogram 1 ocean\n";
  EXPECT_TRUE(read().programs.empty());
}

// A hub that opened it to read would wait for a writer for ever.
TEST_F(RosterFile, ThatIsAPipeIsIgnored) {
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_TRUE(read().programs.empty());
}

TEST_F(RosterFile, OfAnotherRunIsReplaced) {
  std::ofstream(path()) << "couplet roster 3\nprogram 1 ocean\n";
  Roster roster;
  roster.open(directory_.path(), false);
  EXPECT_TRUE(roster.earlier().programs.empty());
  EXPECT_EQ(contents(), "couplet roster 3\n");
}

TEST_F(RosterFile, StaysBoundedWhileRanksComeAndGo) {
  Roster roster;
  roster.open(directory_.path(), false);
  roster.add(complete());
  std::size_t most = 0;
  for (std::uint64_t round = 0; round < 2 * max_stale_roster_lines; ++round) {
    roster.add(event("ticket", 0, round));
    roster.add(event("joined", 0, round, endpoint_));
    roster.add(event("left", 0, round));
    roster.flush();
    if (round % 512 == 0) {
      const auto text = contents();
      most = std::max(most, static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')));
    }
  }
  EXPECT_LT(most, max_stale_roster_lines + 16);
  EXPECT_EQ(read().ranks.at(0).incarnation, 2 * max_stale_roster_lines - 1);
}

// No file of this process gets longer than this while it exists.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  void (*handler_)(int) = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before_{};
};

TEST_F(RosterFile, ThatCannotBeWrittenToItsEndIsRemovedUntilThereIsRoom) {
  Roster roster;
  roster.open(directory_.path(), false);
  roster.add(event("joined", 0, 0, endpoint_));
  roster.add(complete());
  roster.flush();
  {
    const SmallFiles small(contents().size() + 10);  // the next line has no room
    roster.add(event("joined", 1, 0, endpoint_));
    roster.flush();
    EXPECT_TRUE(contents().empty());
    roster.tick();
    EXPECT_TRUE(contents().empty());
  }
  roster.tick();
  EXPECT_EQ(read().programs.size(), 2U);
  EXPECT_EQ(read().ranks.size(), 2U);
}

TEST_F(RosterFile, IsWrittenAsAWholeOnceThatIsPossible) {
  const std::string folder = directory_.path() + "/later";
  Roster roster;
  roster.open(folder, false);
  roster.add(event("joined", 0, 4, endpoint_));
  roster.add(complete());
  roster.flush();
  roster.tick();
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  roster.tick();
  Roster next;
  next.open(folder, true);
  EXPECT_EQ(next.earlier().programs.size(), 2U);
  EXPECT_EQ(next.earlier().ranks.at(0).incarnation, 4U);
}

}  // namespace
}  // namespace couplet::universe
