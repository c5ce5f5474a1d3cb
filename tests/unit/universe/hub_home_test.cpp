// What a hub leaves on its node: nothing of its own unless it has served, and everything of a run that it only read.
#include "universe/hub/hub_home.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "os/clock.hpp"
#include "os/directory.hpp"
#include "os/lock.hpp"
#include "support/temporary_directory.hpp"
#include "universe/hub/roster.hpp"
#include "universe/node_marks.hpp"

namespace couplet::universe {
namespace {

class HubHomeTest : public ::testing::Test {
 protected:
  [[nodiscard]] HubHomeOptions options(std::uint64_t resumed_run = 0) const {
    return {.run_directory = base_.path(),
            .node_name = "",
            .key_file = "",
            .resumed_run = resumed_run,
            .programs = *parse_programs("ocean:2,nowcast:1")};
  }
  static std::unique_ptr<HubHome> entered(const HubHomeOptions& options) {
    auto home = HubHome::prepare(options);
    EXPECT_TRUE(home.ok()) << home.status().text();
    EXPECT_TRUE((*home)->enter({os::deadline_after(60)}).ok());
    return std::move(*home);
  }
  // A hub whose universe was complete, and which has died.
  [[nodiscard]] std::uint64_t dead_hub() const {
    const auto home = entered(options());
    home->serve({});
    Roster roster;
    roster.open(home->directory(), false);
    roster.add({.name = "joined"});  // on another node
    roster.add({.name = "complete", .programs = {{"ocean", 2, 0, true}, {"nowcast", 1, 2, true}}});
    roster.flush();
    return home->key().run_id();
  }
  [[nodiscard]] std::vector<std::string> names(std::uint64_t run) const {
    const auto found = os::list_directory(fmt::format("{}/{:016x}", base_.path(), run));
    return found.ok() ? *found : std::vector<std::string>();
  }

  test::TemporaryDirectory base_;
};

TEST_F(HubHomeTest, AHubThatDoesNotServeLeavesNothing) {
  const auto run = entered(options())->key().run_id();
  EXPECT_TRUE(names(run).empty());
  auto elsewhere = options();
  elsewhere.key_file = base_.path() + "/key";
  entered(elsewhere).reset();
  EXPECT_FALSE(std::filesystem::exists(elsewhere.key_file));
}

TEST_F(HubHomeTest, ARunThatIsNotThereIsNamedWithThoseThatAre) {
  const std::string here = " in " + base_.path() + " (COUPLET_RUN_DIR), where ";
  const auto nothing = HubHome::prepare(options(0x1234));
  EXPECT_EQ(nothing.code(), Code::config);
  const std::string elsewhere = "; if it was on another host, name the file with its key (--key-file)";
  EXPECT_EQ(nothing.status().text(),
            "there is no run 0000000000001234" + here + "no hub can be started again" + elsewhere);
  const auto dead = fmt::format("{:016x}", dead_hub());
  EXPECT_EQ(HubHome::prepare(options(0x1234)).status().text(),
            "there is no run 0000000000001234" + here + "there are the hubs of " + dead + elsewhere);
}

TEST_F(HubHomeTest, AHubWhoseUniverseHasEndedLeavesNothing) {
  for (const auto& key_file : {std::string(), base_.path() + "/key"}) {
    auto given = options();
    given.key_file = key_file;
    auto home = entered(given);
    const auto run = home->key().run_id();
    home->serve({});
    home->end();
    home.reset();
    EXPECT_TRUE(names(run).empty());
    EXPECT_FALSE(std::filesystem::exists(base_.path() + "/key"));
  }
}

// Fault: the hub ended while a process that had not left was ending, and its directory stayed.
TEST_F(HubHomeTest, AHubWhoseLastMemberIsStillEndingLeavesNothing) {
  auto home = entered(options());
  const auto run = home->key().run_id();
  home->serve({});
  auto lock = os::LifeLock::take(home->directory() + "/page-0");
  ASSERT_TRUE(lock.ok());
  std::thread ending([&lock] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    lock->reset();
  });
  home->end();
  home.reset();
  ending.join();
  EXPECT_TRUE(names(run).empty());
}

TEST_F(HubHomeTest, AHubThatHasDiedLeavesWhatTheNextOneNeeds) {
  const auto run = dead_hub();
  const auto left = names(run);
  ASSERT_EQ(left.size(), 4U);
  EXPECT_TRUE(left[0].starts_with("died-"));
  EXPECT_EQ((std::vector<std::string>{left.begin() + 1, left.end()}),
            (std::vector<std::string>{"hub-key", "node", "roster"}));
}

TEST_F(HubHomeTest, AHubThatDiesWithTheLastOfItsMembersLeavesNothing) {
  auto home = entered(options());
  home->serve({});
  Roster roster;
  roster.open(home->directory(), false);
  for (const channel::PeerId peer : {0U, 1U}) {
    roster.add({.name = "joined", .peer = peer, .incarnation = 3});
  }
  roster.flush();
  ASSERT_TRUE(mark_left(home->directory(), 0, 3).ok());
  ASSERT_TRUE(mark_left(home->directory(), 1, 2).ok());  // that is an earlier life
  const auto run = home->key().run_id();
  home.reset();
  EXPECT_EQ(names(run).size(), 6U) << "rank 1 may live on another node";
  home = entered(options(run));
  home->serve({});
  ASSERT_TRUE(mark_left(home->directory(), 1, 3).ok());
  home.reset();
  EXPECT_TRUE(names(run).empty());
}

// Fault: it removed the key, as a hub does whose universe has ended.
TEST_F(HubHomeTest, AHubThatFailsToTakeOverLeavesEverything) {
  const auto run = dead_hub();
  const auto path = fmt::format("{}/{:016x}", base_.path(), run);
  std::ofstream(path + "/page-00000000") << "a proof";
  auto wrong = options(run);
  wrong.key_file = base_.path() + "/nothing";
  EXPECT_EQ(HubHome::prepare(wrong).code(), Code::config);
  wrong = options(run);
  wrong.programs = *parse_programs("ocean:2,nowcast:2");
  EXPECT_EQ(HubHome::prepare(wrong).status().text(),
            fmt::format("the hub of run {:016x} had the programs ocean:2,nowcast:1, not ocean:2,nowcast:2: give the "
                        "same --programs as before",
                        run));
  EXPECT_EQ(names(run).size(), 5U);
  entered(options(run)).reset();  // its port was in use, for example
  EXPECT_EQ(names(run), (std::vector<std::string>{"hub-key", "node", "page-00000000", "roster"}));
}

TEST_F(HubHomeTest, AProgramWithoutASizeHasThatOfBefore) {
  const auto run = dead_hub();
  auto resumed = options(run);
  resumed.programs = *parse_programs("ocean,nowcast:1");
  auto home = entered(resumed);
  home->serve({});
  home->end();
  home.reset();
  EXPECT_TRUE(names(run).empty());
}

TEST_F(HubHomeTest, OneHubLivesAtATime) {
  auto first = entered(options());
  first->serve({.port = 4711});
  const auto second = HubHome::prepare(options(first->key().run_id()));
  EXPECT_EQ(second.code(), Code::exists);
  EXPECT_NE(second.status().text().find(fmt::format("process {} on host", ::getpid())), std::string::npos);
  EXPECT_NE(second.status().text().find(":4711"), std::string::npos) << second.status().text();
  first->end();
}

}  // namespace
}  // namespace couplet::universe
