#include "universe/node_directory.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "os/clock.hpp"
#include "os/directory.hpp"
#include "os/host.hpp"
#include "os/process_page.hpp"
#include "universe/node_facts.hpp"

namespace couplet::universe {
namespace {

class NodeDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/couplet-node-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
  }
  void TearDown() override { EXPECT_TRUE(os::remove_directory(base_).ok()); }
  static auto enter(const std::string& base, std::uint64_t run_id, const std::string& name) {
    return NodeDirectory::enter(base, run_id, name, {os::deadline_after(60)});
  }
  static auto clean_up(const std::string& base, bool dry_run) { return clean(base, dry_run, {os::deadline_after(60)}); }
  [[nodiscard]] std::vector<std::string> contents() const { return *os::list_directory(base_); }
  // A run whose only process was killed; its directory.
  std::string crashed_run(std::uint64_t run_id) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      auto directory = enter(base_, run_id, "");
      std::ofstream((*directory)->path() + "/series-eta-0") << "data";
      static_cast<void>(!::write(ready[1], "y", 1));
      for (;;) {
        ::pause();
      }
    }
    char letter = 0;
    EXPECT_EQ(::read(ready[0], &letter, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    return base_ + "/" + fmt::format("{:016x}", run_id);
  }
  std::string base_;
};

TEST_F(NodeDirectoryTest, ANameThatIsNoneIsRefused) {
  for (const auto& name : {std::string(".."), std::string("."), std::string("a/b"), std::string(65, 'a')}) {
    const auto refused = enter(base_, 1, name);
    EXPECT_EQ(refused.code(), Code::config);
    EXPECT_NE(refused.status().text().find("COUPLET_NODE"), std::string::npos) << refused.status().text();
  }
}

TEST_F(NodeDirectoryTest, GoesWithItsLastProcess) {
  auto first = enter(base_, 0xabc, "");
  ASSERT_TRUE(first.ok()) << first.status().text();
  auto second = enter(base_, 0xabc, "");
  ASSERT_TRUE(second.ok());
  EXPECT_EQ((*first)->path(), base_ + "/0000000000000abc");
  EXPECT_EQ((*first)->key(), (*second)->key());
  struct stat facts {};
  ASSERT_EQ(::stat((*first)->path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0700U);
  std::ofstream((*first)->path() + "/series-eta-0") << "data";
  first->reset();
  EXPECT_TRUE(std::filesystem::exists(base_ + "/0000000000000abc/series-eta-0"));
  second->reset();
  EXPECT_TRUE(contents().empty());
}

TEST_F(NodeDirectoryTest, NamedNodesAreApart) {
  auto first = enter(base_, 1, "a");
  auto second = enter(base_, 1, "b");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE((*first)->path(), (*second)->path());
  EXPECT_NE((*first)->key(), (*second)->key());
  EXPECT_EQ(enter(base_, 1, "a/b").code(), Code::config);
}

TEST_F(NodeDirectoryTest, AKeyIsOfTheDirectoryAndNotOfTheHost) {
  auto first = enter(base_, 1, "");
  ASSERT_TRUE(first.ok());
  const auto key = (*first)->key();
  first->reset();
  auto second = enter(base_, 1, "");
  ASSERT_TRUE(second.ok());
  EXPECT_NE((*second)->key(), key) << "another container on this host would have made it";
}

TEST_F(NodeDirectoryTest, APageKeepsTheDirectory) {
  auto directory = enter(base_, 1, "");
  ASSERT_TRUE(directory.ok());
  os::PageOwner owner;
  auto page = os::ProcessPage::create((*directory)->path(), owner);
  ASSERT_TRUE(page.ok());
  directory->reset();
  EXPECT_EQ(contents().size(), 2U) << "the lock and the run";
  page->reset();
  EXPECT_EQ(clean_up(base_, false)->removed.size(), 1U);
  EXPECT_TRUE(contents().empty());
}

TEST_F(NodeDirectoryTest, CleanRemovesTheDeadAndLeavesTheLiving) {
  auto alive = enter(base_, 2, "");
  ASSERT_TRUE(alive.ok());
  const auto dead = crashed_run(3);
  auto report = clean_up(base_, true);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->removed.size(), 1U);
  EXPECT_EQ(report->removed[0].path, dead);
  EXPECT_EQ(report->removed[0].why, "its processes have ended");
  EXPECT_EQ(report->kept, std::vector<std::string>{(*alive)->path()});
  EXPECT_TRUE(std::filesystem::exists(dead)) << "a dry run removes nothing";
  ASSERT_EQ(clean_up(base_, false)->removed.size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_TRUE(std::filesystem::exists((*alive)->path() + "/node"));
  alive->reset();
  EXPECT_TRUE(contents().empty());
}

TEST_F(NodeDirectoryTest, TheNextJoinCleansUp) {
  const auto dead = crashed_run(3);
  auto next = enter(base_, 4, "");
  ASSERT_TRUE(next.ok());
  EXPECT_FALSE(std::filesystem::exists(dead));
}

// Fault: another universe's join removed the key of a hub that was alone on its node and had died.
TEST_F(NodeDirectoryTest, TheNextJoinKeepsWhatADeadHubNeedsToBeStartedAgain) {
  const auto dead = crashed_run(3);
  for (const auto* const name : {hub_key_file, roster_file, "epoch-0001", "number-0002", "left-00000001-0000",
                                 "page-00000002", "bell-ffffffff"}) {
    std::ofstream(dead + "/" + name) << "x";
  }
  for (int join = 0; join < 2; ++join) {
    ASSERT_TRUE(enter(base_, 4, "").ok());
    auto names = *os::list_directory(dead);
    ASSERT_EQ(names.size(), 7U);
    EXPECT_TRUE(names[0].starts_with("died-")) << names[0];
    names.erase(names.begin());
    EXPECT_EQ(names, (std::vector<std::string>{"epoch-0001", "hub-key", "left-00000001-0000", "node", "number-0002",
                                               "roster"}));
  }
  ASSERT_TRUE(enter(base_, 3, "").ok());  // a process of the run, which ends
  EXPECT_TRUE(std::filesystem::exists(dead + "/hub-key"));
  const auto report = clean_up(base_, false);
  ASSERT_EQ(report->removed.size(), 1U);
  EXPECT_EQ(report->removed[0].why,
            "its processes have ended, and its hub, which has not ended in order, can no longer be started again");
  EXPECT_FALSE(std::filesystem::exists(dead));
}

TEST_F(NodeDirectoryTest, TheHomeOfADeadHubIsNotKeptForEver) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto now_s = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  const auto home_of = [&](std::uint64_t run_id, std::int64_t died_s) {
    auto path = base_ + "/" + fmt::format("{:016x}", run_id);
    std::filesystem::create_directory(path);
    EXPECT_TRUE(write_node_facts(path, {run_id, os::boot_id(), os::host_name(), "k"}).ok());
    std::ofstream(path + "/hub-key") << "x";
    std::ofstream(path + "/" + fmt::format("died-{:016x}", died_s)) << "";
    return path;
  };
  const auto old = home_of(0xa00, now_s - max_kept_home_s - 1);
  const auto young = home_of(0xa01, now_s - max_kept_home_s + 1000);
  ASSERT_TRUE(enter(base_, 4, "").ok());
  EXPECT_FALSE(std::filesystem::exists(old));
  EXPECT_TRUE(std::filesystem::exists(young));
  for (std::size_t index = 0; index < max_kept_homes; ++index) {
    home_of(0xb00 + index, now_s - static_cast<std::int64_t>(index));
  }
  ASSERT_TRUE(enter(base_, 4, "").ok());
  EXPECT_FALSE(std::filesystem::exists(young)) << "it is the oldest one of too many";
  EXPECT_EQ(contents().size(), max_kept_homes + 1) << "and the lock";
}

// A directory as a process of the run in its name has made it, on that host after that boot.
std::string make_node(const std::string& base, const std::string& name, const std::string& boot,
                      const std::string& host) {
  const auto path = base + "/" + name;
  std::filesystem::create_directory(path);
  std::ofstream(path + "/node") << R"({"couplet":"node directory","version":1,"run":")" << name.substr(0, 16)
                                << R"(","boot_id":")" << boot << R"(","host":")" << host << R"(","key":"k"})";
  return path;
}

// Fault: what proved that a process alone on its node had died was removed by the hub that was started again, and by
// the process that was started in its place.
// A program that is killed and started again, many times.
TEST_F(NodeDirectoryTest, TheNextJoinRemovesTheKeepersOfTheDead) {
  const auto survivor = enter(base_, 5, "");
  ASSERT_TRUE(survivor.ok());
  const auto count_keepers = [&survivor] {
    const auto names = *os::list_directory((*survivor)->path());
    return std::count_if(names.begin(), names.end(), [](const auto& name) { return name.starts_with("keeper-"); });
  };
  for (int life = 0; life < 5; ++life) {
    EXPECT_EQ(crashed_run(5), (*survivor)->path());
    EXPECT_EQ(count_keepers(), 2) << "life " << life;  // that of the dead one is removed by the next one
  }
  const auto second = enter(base_, 5, "");
  EXPECT_EQ(count_keepers(), 2);
}

TEST_F(NodeDirectoryTest, ADirectoryOfTheDeadIsKeptWhileItsRunLives) {
  const auto dead = crashed_run(0xabc);
  auto restarted = enter(base_, 0xabc, "other");
  ASSERT_TRUE(restarted.ok()) << restarted.status().text();
  EXPECT_TRUE(std::filesystem::exists(dead)) << "it is entered by a process of the same run";
  const auto stranger = enter(base_, 0xdef, "");
  ASSERT_TRUE(stranger.ok()) << stranger.status().text();
  EXPECT_TRUE(clean_up(base_, false)->removed.empty());
  EXPECT_TRUE(std::filesystem::exists(dead)) << "others see that its run lives";
  restarted->reset();
  EXPECT_FALSE(std::filesystem::exists(dead)) << "its last process has left";
}

TEST_F(NodeDirectoryTest, CleanKnowsAnEarlierBootAndAnotherHost) {
  const auto dead = make_node(base_, "0000000000000001", "an earlier boot", os::host_name());
  const auto other = make_node(base_, "0000000000000002", "its boot", "another host");
  const auto report = clean_up(base_, false);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->removed.size(), 1U);
  EXPECT_EQ(report->removed[0].path, dead);
  EXPECT_EQ(report->removed[0].why, "from before the last boot of host " + os::host_name());
  EXPECT_EQ(report->kept, std::vector<std::string>{other});
}

// Two containers may have one name and two boot ids.
TEST_F(NodeDirectoryTest, ALockIsLookedAtWhateverTheBootIdSays) {
  const auto path = make_node(base_, "0000000000000001", "an earlier boot", os::host_name());
  auto lock = os::LifeLock::take(path + "/keeper-1-1");
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(clean_up(base_, false)->kept, std::vector<std::string>{path});
}

// Every directory with 16 hexadecimal digits as its name was removed.
TEST_F(NodeDirectoryTest, JoiningLeavesWhatIsNotOurs) {
  const std::string outside = base_ + "/outside";
  make_node(base_, "outside", os::boot_id(), os::host_name());
  std::ofstream(outside + "/thesis.tex") << "data";
  std::vector<std::string> foreign = {base_ + "/0000000000000003", base_ + "/00000000deadbeef-results", base_ + "/mine",
                                      outside};
  for (const auto& path : foreign) {
    std::filesystem::create_directory(path);
    std::ofstream(path + "/thesis.tex") << "data";
  }
  std::filesystem::create_directory(base_ + "/0000000000000004");  // empty
  std::ofstream(base_ + "/0000000000000005") << "a file of the user";
  const auto renamed = make_node(base_, "0000000000000006", os::boot_id(), os::host_name());
  std::filesystem::rename(renamed, base_ + "/0000000000000007");  // the facts of another run
  std::filesystem::create_directory(base_ + "/0000000000000008");
  std::ofstream(base_ + "/0000000000000008/node") << R"({"boot_id":"b","host":"h","key":"k"})";
  std::filesystem::create_directory(base_ + "/0000000000000009");
  std::filesystem::create_symlink(outside + "/node", base_ + "/0000000000000009/node");
  std::filesystem::create_directory_symlink(outside, base_ + "/000000000000000a");
  foreign.insert(foreign.end(), {base_ + "/0000000000000004", base_ + "/0000000000000005", base_ + "/0000000000000007",
                                 base_ + "/0000000000000008/node", base_ + "/0000000000000009/node",
                                 base_ + "/000000000000000a/thesis.tex"});

  auto run = enter(base_, 0xabc, "");
  ASSERT_TRUE(run.ok()) << run.status().text();
  run->reset();
  const auto report = clean_up(base_, false);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->removed.empty());
  EXPECT_TRUE(report->kept.empty());
  for (const auto& path : foreign) {
    EXPECT_TRUE(std::filesystem::exists(path)) << path;
  }
}

TEST_F(NodeDirectoryTest, ANameThatIsTakenBySomethingElseIsAnError) {
  std::filesystem::create_directory(base_ + "/0000000000000003");
  ::chmod((base_ + "/0000000000000003").c_str(), 0700);
  std::ofstream(base_ + "/0000000000000003/thesis.tex") << "data";
  const auto refused = enter(base_, 3, "");
  EXPECT_EQ(refused.code(), Code::exists);
  EXPECT_NE(refused.status().text().find(base_ + "/0000000000000003"), std::string::npos) << refused.status().text();
}

// A process that is stopped while it holds the lock made everybody wait for ever.
TEST_F(NodeDirectoryTest, AWaitForTheLockOfTheBaseEndsAndNamesTheHolder) {
  const auto held = BaseLock::take(base_, {os::deadline_after(60)});
  ASSERT_TRUE(held.ok());
  const auto late = NodeDirectory::enter(base_, 1, "", {os::deadline_after(0.05)});
  EXPECT_EQ(late.code(), Code::timeout);
  EXPECT_NE(late.status().text().find(fmt::format("process {}", os::process_id())), std::string::npos)
      << late.status().text();
  int asked = 0;
  const auto stopped = NodeDirectory::enter(base_, 1, "", {os::deadline_after(60), [&] { return ++asked > 2; }});
  EXPECT_EQ(stopped.code(), Code::interrupted);
  EXPECT_EQ(clean(base_, false, {os::deadline_after(0.05)}).code(), Code::timeout);
}

TEST_F(NodeDirectoryTest, CleanOfNothingIsNothing) {
  const auto report = clean_up(base_ + "/there is no such directory", false);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->removed.empty());
}

TEST_F(NodeDirectoryTest, ADirectoryThatOthersCanReadIsRefused) {
  make_node(base_, "0000000000000007", os::boot_id(), os::host_name());
  auto lock = os::LifeLock::take(base_ + "/0000000000000007/keeper-1-1");  // inhabited, so not cleaned
  ASSERT_TRUE(lock.ok());
  ::chmod((base_ + "/0000000000000007").c_str(), 0755);
  EXPECT_EQ(enter(base_, 7, "").code(), Code::system);
}

TEST_F(NodeDirectoryTest, AForkedChildLeavesItAlone) {
  auto directory = enter(base_, 5, "");
  ASSERT_TRUE(directory.ok());
  const pid_t child = ::fork();
  if (child == 0) {
    directory->reset();
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(std::filesystem::exists((*directory)->path()));
}

TEST_F(NodeDirectoryTest, ComingAndGoingAtTheSameTimeLosesNothing) {
  std::vector<std::thread> threads;
  std::atomic<int> missing{0};
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        auto directory = enter(base_, 9, "");
        if (!directory.ok() || !std::filesystem::exists((*directory)->path() + "/node")) {
          ++missing;
        }
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(missing, 0);
  EXPECT_TRUE(contents().empty());
}

}  // namespace
}  // namespace couplet::universe
