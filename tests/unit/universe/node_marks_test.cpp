// What a node directory says about processes that the hub does not hear of.
#include "universe/node_marks.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "os/process_page.hpp"
#include "support/temporary_directory.hpp"

namespace couplet::universe {
namespace {

os::PageOwner owner(channel::PeerId peer, std::uint16_t incarnation) {
  os::PageOwner owner;
  owner.run_id = 7;
  owner.peer = peer;
  owner.incarnation = incarnation;
  owner.rank_count = 4;
  owner.counter_count = 1;
  owner.program = "ocean";
  owner.host = "here";
  return owner;
}

PeerRun of(channel::PeerId peer, PeerState state, std::uint16_t incarnation) {
  return {peer, 1, state, incarnation, 0};
}

TEST(NodeMarks, EachStartOfAHubBeginsAnEpoch) {
  const test::TemporaryDirectory directory;
  EXPECT_EQ(begin_epoch(directory.path()), 1);
  EXPECT_EQ(begin_epoch(directory.path()), 2);
  ASSERT_TRUE(note_number(directory.path(), 9).ok());
  EXPECT_EQ(begin_epoch(directory.path()), 3);
}

TEST(NodeMarks, TheNumberOfANodeIsNoted) {
  const test::TemporaryDirectory directory;
  EXPECT_EQ(noted_number(directory.path()), unknown_node);
  EXPECT_EQ(noted_number(directory.path() + "/nothing"), unknown_node);
  for (const char* const other : {"number-", "number-12", "number-12345", "number-xyz1"}) {
    std::ofstream(fmt::format("{}/{}", directory.path(), other));
  }
  EXPECT_EQ(noted_number(directory.path()), unknown_node);
  for (int times = 0; times < 2; ++times) {  // each process of the node notes it
    ASSERT_TRUE(note_number(directory.path(), 0x1f3).ok());
    EXPECT_EQ(noted_number(directory.path()), 0x1f3);
  }
}

TEST(NodeMarks, ALockThatIsHeldAFreeOneAndAMarkAreTold) {
  const test::TemporaryDirectory directory;
  const auto living = os::ProcessPage::create(directory.path(), owner(0, 2));
  ASSERT_TRUE(living.ok()) << living.status().text();
  const pid_t child = ::fork();
  if (child == 0) {
    const auto page = os::ProcessPage::create(directory.path(), owner(1, 0));
    ::_exit(page.ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(mark_left(directory.path(), 2, 5).ok());
  auto seen = seen_on_node(directory.path(), {of(0, PeerState::present, 2), of(1, PeerState::present, 0),
                                              of(2, PeerState::present, 5), of(3, PeerState::present, 0)});
  std::ranges::sort(seen, {}, &PeerRun::first);
  EXPECT_EQ(seen,
            (std::vector<PeerRun>{of(0, PeerState::present, 2), of(1, PeerState::lost, 0), of(2, PeerState::left, 5)}));
  EXPECT_TRUE(seen_on_node(directory.path(),
                           {of(0, PeerState::present, 1), of(1, PeerState::present, 3), of(2, PeerState::present, 4)})
                  .empty())
      << "of other incarnations";
}

}  // namespace
}  // namespace couplet::universe
