// Whether a process still listens is found out by calling it, without its taking part.
#include "universe/hub/listener_calls.hpp"

#include <gtest/gtest.h>

#include "support/child.hpp"

namespace couplet::universe {
namespace {

os::Descriptor listener() {
  return os::listen_tcp(os::resolve("127.0.0.1:0").value()).value();
}

TEST(ListenerCalls, ReachAProcessThatTakesNoCalls) {
  const auto busy = listener();
  ListenerCalls calls;
  const std::vector<ListenerCalls::Target> targets = {{7, os::local_endpoint(busy).value()}};
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<ListenerCalls::Answer> answers;
    ASSERT_TRUE(test::eventually([&] { return !(answers = calls.call(targets)).empty(); }));
    EXPECT_EQ(answers, (std::vector<ListenerCalls::Answer>{{7, true}}));
  }
}

TEST(ListenerCalls, AreRefusedByAPortThatNobodyHolds) {
  auto ended = listener();
  const std::vector<ListenerCalls::Target> targets = {{7, os::local_endpoint(ended).value()}};
  ended.close();
  ListenerCalls calls;
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<ListenerCalls::Answer> answers;
    ASSERT_TRUE(test::eventually([&] { return !(answers = calls.call(targets)).empty(); }));
    EXPECT_EQ(answers, (std::vector<ListenerCalls::Answer>{{7, false}}));
  }
}

// Each dial took a place in the queue of the port of a member that computes. When the queue was full, the member seemed
// to be gone.
TEST(ListenerCalls, KeepOneConnectionToAPortWhoseQueueIsShort) {
  auto busy = os::listen_tcp(os::resolve("127.0.0.1:0").value(), 1).value();
  const std::vector<ListenerCalls::Target> targets = {{7, os::local_endpoint(busy).value()}};
  ListenerCalls calls;
  std::vector<ListenerCalls::Answer> answers;
  for (int turn = 0; turn < 8; ++turn) {
    ASSERT_TRUE(test::eventually([&] { return !(answers = calls.call(targets)).empty(); })) << "turn " << turn;
    EXPECT_EQ(answers, (std::vector<ListenerCalls::Answer>{{7, true}}));
  }
  busy.close();
  EXPECT_TRUE(test::eventually([&] {
    return (answers = calls.call(targets)) == std::vector<ListenerCalls::Answer>{{7, false}};
  })) << "the connection has ended with the port";
}

// The member was started again at another port. What a dial of the old port shows is not true of it.
TEST(ListenerCalls, AnswerForThePortThatIsMeant) {
  const auto busy = listener();
  auto ended = listener();
  const auto meant = os::local_endpoint(ended).value();
  ended.close();
  ListenerCalls calls;
  ASSERT_TRUE(calls.call({{7, os::local_endpoint(busy).value()}}).empty()) << "the dial is under way";
  std::vector<ListenerCalls::Answer> answers;
  ASSERT_TRUE(test::eventually([&] { return !(answers = calls.call({{7, meant}})).empty(); }));
  EXPECT_EQ(answers, (std::vector<ListenerCalls::Answer>{{7, false}}));
}

TEST(ListenerCalls, AreBoundedAndEndForThoseThatAreNotWanted) {
  const auto busy = listener();
  ListenerCalls calls;
  std::vector<ListenerCalls::Target> targets;
  for (channel::PeerId peer = 0; peer < 2 * ListenerCalls::max_calls; ++peer) {
    targets.push_back({peer, os::local_endpoint(busy).value()});
  }
  EXPECT_TRUE(calls.call(targets).empty());
  EXPECT_TRUE(calls.call({}).empty());
  targets.resize(1);
  EXPECT_TRUE(test::eventually([&] { return !calls.call(targets).empty(); }));
}

}  // namespace
}  // namespace couplet::universe
