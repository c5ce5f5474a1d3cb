// Requests to the hub that several threads of a process share.
#include "universe/hub_requests.hpp"

#include <gtest/gtest.h>

namespace couplet::universe {
namespace {

class SharedRequests : public ::testing::Test {
 protected:
  RequestId ask(const std::string& key = "sky\n0") {
    return requests_.begin_or_go_on(key, [](RequestId number) { return FindMessage{number, "sky", 0, true}; });
  }
  void answer(RequestId request) {
    AnswerMessage message;
    message.request = request;
    message.code = Code::not_yet;
    message.text = "said once";
    requests_.answered(message);
  }
  std::vector<MemberMessage> sent_;
  HubRequests requests_{[this](const MemberMessage& message) { sent_.push_back(message); }};
};

// Fault: the second thread began another request while the first one waited, and the first request was never cancelled:
// after 256 of them the hub refused each further question of this process.
TEST_F(SharedRequests, ThreadsThatAskTheSameShareOneRequest) {
  for (int round = 0; round < 300; ++round) {
    const auto first = ask();
    const auto second = ask();
    EXPECT_EQ(first, second);
    EXPECT_TRUE(requests_.keep(first));
    EXPECT_TRUE(requests_.keep(second));
  }
  EXPECT_EQ(sent_.size(), 1U);
  EXPECT_EQ(requests_.end_all_kept("sky\n").size(), 1U);
  EXPECT_TRUE(requests_.end_all_kept("sky\n").empty());
}

TEST_F(SharedRequests, EachThreadGetsTheAnswer) {
  const auto first = ask();
  const auto second = ask();
  answer(first);
  EXPECT_FALSE(requests_.keep(first));
  const auto one = requests_.finish(first);
  ASSERT_TRUE(one.has_value());
  EXPECT_NE(ask(), first) << "the answer has been given, so who asks now asks anew";
  const auto other = requests_.finish(second);
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(other->text, "said once");
  EXPECT_FALSE(requests_.is_open(first));
}

TEST_F(SharedRequests, AnAnswerThatComesWhileNobodyWaitsIsForTheNextThatAsks) {
  const auto kept = ask();
  EXPECT_TRUE(requests_.keep(kept));
  answer(kept);
  EXPECT_EQ(ask(), kept);
  EXPECT_TRUE(requests_.finish(kept).has_value());
  EXPECT_NE(ask(), kept);
}

TEST_F(SharedRequests, OnlyTheLastOneThatGivesUpEndsIt) {
  const auto first = ask();
  const auto second = ask();
  EXPECT_FALSE(requests_.finish(first).has_value());
  EXPECT_TRUE(requests_.is_open(second)) << "the other thread still waits";
  EXPECT_TRUE(requests_.end_all_kept("sky\n").empty()) << "a reader that is closed does not end another one's wait";
  EXPECT_FALSE(requests_.finish(second).has_value());
  EXPECT_FALSE(requests_.is_open(second));
  EXPECT_NE(ask(), first);
}

TEST_F(SharedRequests, AQuestionWithoutAKeyIsNotShared) {
  const auto first = ask("");
  EXPECT_NE(ask(""), first);
  EXPECT_FALSE(requests_.keep(first));
}

}  // namespace
}  // namespace couplet::universe
