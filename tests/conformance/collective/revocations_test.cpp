// Revocations reach every member that waits: many calls under way, many that have failed before they begin, members
// that wait to send, members that are lost. What belongs to a call that has failed is given back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "conformance/collective/members.hpp"

namespace couplet::collective {
namespace {

using ::testing::HasSubstr;

// Twice as many calls as a member remembers otherwise.
TEST(Revocations, OfManyCallsUnderWayAreHeard) {
  constexpr std::size_t count = 150;
  Parties parties(LaneKind::shm, 2);
  parties.run([](Party& party) {
    Member member(party);
    ASSERT_TRUE(member.run(barrier()).ok());
    std::vector<std::vector<double>> data(count, std::vector<double>(3, 1));
    std::vector<std::vector<double>> results = data;
    if (party.rank() == 1) {
      for (std::size_t call = 0; call < count; ++call) {
        EXPECT_EQ(member.calls.refuse(party.group(), "allreduce", fail(Code::shape, "no mesh")).code(), Code::shape);
      }
    } else {
      std::vector<message::Request*> requests(count);
      for (std::size_t call = 0; call < count; ++call) {
        const Status status =
            member.calls.start(party.group(), allreduce(data[call], results[call], COUPLET_DOUBLE), &requests[call]);
        EXPECT_TRUE(status.ok() || status.code() == Code::shape) << call << ": " << status.text();
      }
      for (std::size_t call = 0; call < count; ++call) {
        if (requests[call] == nullptr) continue;
        const Status status = party.messenger->wait(&requests[call], os::deadline_after(20), nullptr);
        ASSERT_EQ(status.code(), Code::shape) << call << ": " << status.text();
      }
    }
    EXPECT_TRUE(member.run(barrier()).ok());
  });
}

TEST(Revocations, OfManyCallsThatHaveNotBegunAreKept) {
  constexpr int count = 1000;
  Parties parties(LaneKind::shm, 2);
  std::atomic<bool> is_done = false;
  parties.run([&](Party& party) {
    Member member(party);
    ASSERT_TRUE(member.run(barrier()).ok());
    for (int call = 0; party.rank() == 1 && call < count; ++call) {
      EXPECT_EQ(member.calls.refuse(party.group(), "barrier", fail(Code::shape, "no mesh")).code(), Code::shape);
    }
    if (party.rank() == 1) is_done = true;
    while (!is_done) party.engine->poll();
    for (int call = 0; party.rank() == 0 && call < count; ++call) {
      const Status status = member.run(barrier());
      ASSERT_EQ(status.code(), Code::shape) << call << ": " << status.text();
    }
    EXPECT_TRUE(member.run(barrier()).ok());
  });
}

// Both send, and wait until the other one takes the elements.
TEST(Revocations, ReachTwoMembersThatBothTakeThemselvesForTheRoot) {
  Parties parties(LaneKind::shm, 2);
  parties.run([](Party& party) {
    Member member(party);
    ASSERT_TRUE(member.run(barrier()).ok());
    std::vector<double> data(300000);
    const Status status = member.run(broadcast(data, COUPLET_DOUBLE, party.rank()));
    EXPECT_EQ(status.code(), Code::mismatch) << status.text();
    EXPECT_THAT(status.text(), HasSubstr("with root"));
    EXPECT_TRUE(member.run(barrier()).ok());
  });
}

// The elements of a call that this member has not begun when it fails are dropped.
TEST(Revocations, DropWhatHasComeForTheCall) {
  Parties parties(LaneKind::shm, 2);
  std::atomic<bool> is_sent = false;
  parties.run([&](Party& party) {
    Member member(party);
    ASSERT_TRUE(member.run(barrier()).ok());
    std::vector<double> data(400);
    if (party.rank() == 0) {
      for (int call = 0; call < 20; ++call) {
        auto arguments = allreduce(data, data, COUPLET_DOUBLE);
        arguments.timeout_s = 0.01;
        EXPECT_EQ(member.run(arguments).code(), Code::timeout);
      }
      is_sent = true;
    } else {
      while (!is_sent) party.engine->poll();
      const std::uint64_t until_ns = os::deadline_after(0.2);  // the last revocation was sent, and may not be here
      while (os::now_ns() < until_ns) party.engine->poll();
      EXPECT_GT(party.messenger->stored_bytes(), 0U);
      for (int call = 0; call < 20; ++call) {
        EXPECT_EQ(member.run(allreduce(data, data, COUPLET_DOUBLE)).code(), Code::timeout);
      }
      EXPECT_EQ(party.messenger->stored_bytes(), 0U);
    }
    EXPECT_TRUE(member.run(barrier()).ok());
  });
}

// All others are lost when the group is used for the first time: making its mailbox polls the calls.
void sleep_ms(int duration) {
  std::this_thread::sleep_for(std::chrono::milliseconds(duration));
}

// All three take part again, also with long messages.
void expect_whole(Member& member) {
  ASSERT_TRUE(member.run(barrier()).ok());
  const std::vector<double> own(100'000, member.rank());
  std::vector<double> sum(own.size());
  const Status status = member.run(allreduce(own, sum, COUPLET_DOUBLE));
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(sum, std::vector<double>(own.size(), 3));
}

// What members 0 and 1 have sent for the call is there when member 2 begins it, and so is the revocation.
TEST(Revocations, ThatCameWhileAMemberComputedAreHeardBeforeItsNextCall) {
  Parties parties(LaneKind::shm, 3);
  parties.run([](Party& party) {
    Member member(party);
    for (int round = 0; round < 3; ++round) {
      ASSERT_TRUE(member.run(barrier()).ok());
      if (party.rank() == 2) sleep_ms(300);
      const std::vector<std::int32_t> own = {1};
      std::vector<std::int32_t> sum = {0};
      Arguments call = allreduce(own, sum, COUPLET_INT32);
      if (party.rank() == 1) call.timeout_s = 0.1;
      EXPECT_EQ(member.run(call).code(), Code::timeout) << party.rank();
    }
    EXPECT_TRUE(member.run(barrier()).ok());
  });
}

// Members 0 and 1 have given up, and make no call, when member 2 asks for a long message of the call.
TEST(Revocations, OfALongMessageForALateMemberCutNobodyOff) {
  for (const LaneKind kind : {LaneKind::shm, LaneKind::tcp}) {
    Parties parties(kind, 3);
    parties.run([kind](Party& party) {
      SCOPED_TRACE(test::lane_name(kind));
      Member member(party);
      ASSERT_TRUE(member.run(barrier()).ok());
      std::vector<double> data(2'000'000, party.rank());
      Arguments call = broadcast(data, COUPLET_DOUBLE, 0);
      if (party.rank() == 2) sleep_ms(700);
      call.timeout_s = party.rank() == 2 ? 30 : 0.2;
      const std::uint64_t start_ns = os::now_ns();
      const Status status = member.run(call);
      // The first two may have exchanged their messages before.
      EXPECT_TRUE(status.code() == Code::timeout || (status.ok() && party.rank() != 2)) << status.text();
      EXPECT_LT(os::now_ns() - start_ns, 2'500'000'000U) << party.rank();
      std::fill(data.begin(), data.end(), -1);  // the memory is the caller's again
      if (party.rank() != 2) sleep_ms(1500);
      for (int more = 0; more < 2; ++more) static_cast<void>(member.run(barrier()));
      expect_whole(member);
    });
  }
}

// Member 2 has asked for the long message, and computes while it is sent. The root gives up in the middle.
TEST(Revocations, OfALongMessageForOneThatComputesCutNobodyOff) {
  Parties parties(LaneKind::tcp, 3);
  parties.run([](Party& party) {
    Member member(party);
    ASSERT_TRUE(member.run(barrier()).ok());
    std::vector<double> data(4'000'000, party.rank());
    Arguments call = broadcast(data, COUPLET_DOUBLE, 0);
    call.timeout_s = party.rank() == 0 ? 0.3 : 30;
    if (party.rank() == 2) {
      message::Request* request = nullptr;
      ASSERT_TRUE(member.calls.start(party.group(), call, &request).ok());
      for (int turn = 0; turn < 5 && !request->done; ++turn) party.engine->poll();
      sleep_ms(1500);
      const Status status = party.messenger->wait(&request, os::deadline_after(20), nullptr);
      EXPECT_TRUE(status.ok() || status.code() == Code::timeout) << status.text();
    } else {
      const std::uint64_t start_ns = os::now_ns();
      static_cast<void>(member.run(call));
      EXPECT_LT(os::now_ns() - start_ns, 2'500'000'000U) << party.rank();
    }
    std::fill(data.begin(), data.end(), -1);
    for (int more = 0; more < 2; ++more) static_cast<void>(member.run(barrier()));
    expect_whole(member);
  });
}

// Fault: a member that was told of a failure passed it on as that of the call in which it was then. So it went on from
// call to call, as long as some member had ended each before it was told.
TEST(Revocations, ThatFailTheNextCallAreNotPassedOnToTheOneAfterIt) {
  Parties parties(LaneKind::shm, 3);  // rank 0 is a neighbor of both others
  std::atomic<bool> is_sent = false;
  std::atomic<bool> is_refused = false;
  std::atomic<bool> is_gathering = false;
  std::atomic<bool> has_failed = false;
  parties.run([&](Party& party) {
    Member member(party);
    const auto await = [&party](const std::atomic<bool>& flag) {
      while (!flag) party.engine->poll();
    };
    ASSERT_TRUE(member.run(barrier()).ok());
    std::vector<double> data(4);
    std::vector<double> all(12);
    Arguments gather = {.kind = Collective::gather, .type = COUPLET_DOUBLE, .root = 0, .count = 4, .timeout_s = 30};
    gather.input = data.data();
    gather.output = all.data();
    if (party.rank() == 2) {  // it ends its call, and fails the next one when it hears that rank 1 has refused that
      EXPECT_TRUE(member.run(broadcast(data, COUPLET_DOUBLE, 2)).ok());
      is_sent = true;
      await(is_gathering);
      for (int polls = 0; polls < 3; ++polls)
        party.engine->poll();  // the thread may have slept since rank 1 has refused
      EXPECT_EQ(member.run(gather).code(), Code::shape);
    } else if (party.rank() == 1) {  // it fails the first call, and ends the second one
      await(is_sent);
      const Status refused = member.calls.refuse(party.group(), "broadcast", fail(Code::shape, "no mesh"));
      EXPECT_EQ(refused.code(), Code::shape);
      EXPECT_TRUE(member.run(gather).ok());
      is_refused = true;
      await(has_failed);
    } else {  // it fails both
      await(is_refused);
      EXPECT_EQ(member.run(broadcast(data, COUPLET_DOUBLE, 2)).code(), Code::shape);
      message::Request* request = nullptr;
      ASSERT_TRUE(member.calls.start(party.group(), gather, &request).ok());
      is_gathering = true;
      const Status gathered = party.messenger->wait(&request, os::deadline_after(30), nullptr);
      EXPECT_EQ(gathered.code(), Code::shape) << gathered.text();
      has_failed = true;
    }
    const Status next = member.run(barrier());
    EXPECT_TRUE(next.ok()) << party.rank() << ": " << next.text();
  });
}

TEST(Revocations, AreNotNeededWhereAllOthersAreLost) {
  Parties parties(LaneKind::tcp, 2);
  parties.run(
      [](Party& party) {
        Member member(party);
        ASSERT_TRUE(member.run(barrier()).ok());
        if (party.rank() == 1) return party.die();
        EXPECT_EQ(member.run(barrier()).code(), Code::peer_lost);
        const std::int32_t both[] = {0, 1};
        auto group = party.messenger->groups().create("again", both);
        ASSERT_TRUE(group.ok());
        auto arguments = barrier();
        arguments.timeout_s = 0.3;
        const Status status = member.calls.run(**group, arguments);
        EXPECT_TRUE(status.code() == Code::peer_lost || status.code() == Code::timeout) << status.text();
      },
      false);
}

// The caller of start() was interrupted.
TEST(Revocations, OfAnInterruptedCallerReachAll) {
  Parties parties(LaneKind::shm, 3);
  std::atomic<bool> is_interrupted = false;
  parties.run([&](Party& party) {
    Member member(party);
    ASSERT_TRUE(member.run(barrier()).ok());
    std::vector<double> data(4, 1);
    std::vector<double> result(4);
    if (party.rank() == 1) {
      message::Request* request = nullptr;
      ASSERT_TRUE(member.calls.start(party.group(), allreduce(data, result, COUPLET_DOUBLE), &request).ok());
      member.calls.interrupt(*request);
      EXPECT_EQ(party.messenger->wait(&request, os::deadline_after(20), nullptr).code(), Code::interrupted);
      is_interrupted = true;
    } else {
      while (party.rank() == 0 && !is_interrupted) party.engine->poll();  // so that nobody can end the call
      const Status status = member.run(allreduce(data, result, COUPLET_DOUBLE));
      EXPECT_EQ(status.code(), Code::timeout) << status.text();
      EXPECT_THAT(status.text(), HasSubstr("was interrupted at rank 1"));
    }
    ASSERT_TRUE(member.run(allreduce(data, result, COUPLET_DOUBLE)).ok());
    EXPECT_EQ(result[3], 3);
  });
}

}  // namespace
}  // namespace couplet::collective
