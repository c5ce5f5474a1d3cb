// Members that leave as soon as they have ended their part of a call. What they sent before counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "conformance/collective/members.hpp"

namespace couplet::collective {
namespace {

struct Case {
  int size = 2;
  std::size_t count = 1;
  int root = 0;
};

Arguments reduce(const std::vector<double>& data, std::vector<double>& result, int root) {
  return {.kind = Collective::reduce,
          .type = COUPLET_DOUBLE,
          .operation = COUPLET_OPERATION_SUM,
          .root = root,
          .count = data.size(),
          .input = data.data(),
          .output = result.data(),
          .timeout_s = 30};
}

void reduce_and_leave(LaneKind kind, const Case& one) {
  Parties parties(kind, one.size);
  parties.run([&one](Party& party) {
    Member member(party);
    const std::vector<double> data(one.count, party.rank() + 1);
    std::vector<double> result(one.count);
    const Status status = member.run(reduce(data, result, one.root));
    ASSERT_TRUE(status.ok()) << party.rank() << ": " << status.text();
    if (party.rank() == one.root) {
      EXPECT_EQ(result.back(), one.size * (one.size + 1) / 2);
    }
  });
}

TEST(Leaving, AfterTheOwnPartOfAReduceHarmsNobody) {
  for (const LaneKind kind : {LaneKind::tcp, LaneKind::shm}) {
    for (const std::size_t count : {1U, 3000U, 200'000U}) {
      for (const int size : {2, 3, 6}) {
        for (int root = 0; root < 2; ++root) reduce_and_leave(kind, {.size = size, .count = count, .root = root});
        ASSERT_FALSE(::testing::Test::HasFailure())
            << "over " << test::lane_name(kind) << ", size " << size << ", count " << count;
      }
    }
  }
}

// The sockets of a universe are polled after the collective calls, so that a tick may find that a member has left while
// its last notice waits.
TEST(Leaving, CountsAfterWhatTheMemberSentBefore) {
  for (const std::size_t count : {3U, 3000U, 200'000U}) {
    SCOPED_TRACE(count);
    Parties parties(LaneKind::tcp, 3);
    std::atomic<bool> is_greeted = false;
    parties.run([&is_greeted, count](Party& party) {
      Member member(party);
      party.engine->remove(party);
      party.engine->add(party, engine::Rate::often);
      const std::vector<double> data(count, party.rank() + 1);
      std::vector<double> result(count);
      const Arguments arguments = reduce(data, result, 1);
      message::Request* request = nullptr;
      if (party.rank() == 2) {
        ASSERT_TRUE(member.calls.start(party.group(), arguments, &request).ok());
        const auto never = [] { return false; };
        EXPECT_EQ(party.engine->wait(never, os::deadline_after(0.3), [] { return std::string("ticks"); }).code(),
                  Code::timeout);
        is_greeted = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the others end meanwhile
        const Status status = party.messenger->wait(&request, os::deadline_after(30), nullptr);
        EXPECT_TRUE(status.ok()) << status.text();
        return;
      }
      while (!is_greeted) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const Status status = member.run(arguments);
      EXPECT_TRUE(status.ok()) << status.text();
    });
  }
}

}  // namespace
}  // namespace couplet::collective
