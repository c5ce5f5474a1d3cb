#include "os/process_page.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "os/directory.hpp"

namespace couplet::os {
namespace {

class ProcessPageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/couplet-page-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { EXPECT_TRUE(remove_directory(directory_).ok()); }
  [[nodiscard]] PageOwner owner(std::uint32_t peer) const {
    PageOwner result;
    result.run_id = 11;
    result.peer = peer;
    result.memory_nonce = 99;
    result.rank_count = 70;
    result.counter_count = 5;
    result.program = "ocean";
    result.host = std::string(200, 'h');
    return result;
  }
  std::string directory_;
};

TEST_F(ProcessPageTest, APeerFindsProofLifeAndCounters) {
  auto page = ProcessPage::create(directory_, owner(3));
  ASSERT_TRUE(page.ok()) << page.status().text();
  (*page)->counters()[4].store(17);
  auto peer = PeerPage::open(directory_, 3);
  ASSERT_TRUE(peer.ok()) << peer.status().text();
  EXPECT_EQ((*peer)->header().memory_nonce, 99U);
  EXPECT_EQ((*peer)->header().process, static_cast<std::uint32_t>(::getpid()));
  EXPECT_STREQ((*peer)->header().program.data(), "ocean");
  EXPECT_EQ(std::string((*peer)->header().host.data()).size(), 63U);
  EXPECT_TRUE((*peer)->owner_lives());
  (*page)->sleep_flag().sleeping.store(1);
  EXPECT_EQ((*peer)->sleep_flag().sleeping.load(), 1U);
  page->reset();
  EXPECT_FALSE((*peer)->owner_lives());
  EXPECT_EQ(PeerPage::open(directory_, 3).code(), Code::not_found);
  EXPECT_TRUE(list_directory(directory_)->empty());
}

TEST_F(ProcessPageTest, KnocksOfRanksAndRelaysArriveOnce) {
  auto page = ProcessPage::create(directory_, owner(3));
  ASSERT_TRUE(page.ok());
  auto peer = PeerPage::open(directory_, 3);
  ASSERT_TRUE(peer.ok());
  EXPECT_FALSE((*page)->knocked());
  EXPECT_TRUE((*peer)->knock(0));
  EXPECT_TRUE((*peer)->knock(69));
  EXPECT_TRUE((*peer)->knock(69));
  EXPECT_TRUE((*peer)->knock(70 + 2));
  EXPECT_FALSE((*peer)->knock(1'000'000));
  EXPECT_TRUE((*page)->knocked());
  EXPECT_EQ((*page)->take_knocks(0x80000000), (std::vector<std::uint32_t>{0, 69, 0x80000002}));
  EXPECT_FALSE((*page)->knocked());
  EXPECT_TRUE((*page)->take_knocks(0x80000000).empty());
}

TEST_F(ProcessPageTest, ALivingProcessKeepsItsPage) {
  auto page = ProcessPage::create(directory_, owner(3));
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(ProcessPage::create(directory_, owner(3)).code(), Code::exists);
}

TEST_F(ProcessPageTest, TheKernelTellsWhenTheOwnerIsKilled) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto page = ProcessPage::create(directory_, owner(5));
    const char letter = page.ok() ? 'y' : 'n';
    static_cast<void>(!::write(ready[1], &letter, 1));
    for (;;) {
      ::pause();
    }
  }
  char letter = 0;
  ASSERT_EQ(::read(ready[0], &letter, 1), 1);
  ASSERT_EQ(letter, 'y');
  auto peer = PeerPage::open(directory_, 5);
  ASSERT_TRUE(peer.ok()) << peer.status().text();
  EXPECT_TRUE((*peer)->owner_lives());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE((*peer)->owner_lives());
  EXPECT_EQ(list_directory(directory_)->size(), 1U);  // left behind
  auto next = ProcessPage::create(directory_, owner(5));
  ASSERT_TRUE(next.ok()) << next.status().text();
  EXPECT_FALSE((*peer)->owner_lives()) << "the old incarnation stays dead";
  EXPECT_TRUE((*PeerPage::open(directory_, 5))->owner_lives());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(ProcessPageTest, AForkedChildRemovesNothing) {
  auto page = ProcessPage::create(directory_, owner(3));
  ASSERT_TRUE(page.ok());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    page->reset();
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(PeerPage::open(directory_, 3).ok());
}

TEST_F(ProcessPageTest, LimitsAreErrors) {
  auto too_many = owner(1);
  too_many.rank_count = wire::page_most_ranks + 1;
  EXPECT_EQ(ProcessPage::create(directory_, too_many).code(), Code::limit);
  EXPECT_EQ(PeerPage::open(directory_, 1).code(), Code::not_found);
}

}  // namespace
}  // namespace couplet::os
