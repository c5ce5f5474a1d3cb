// Groups that are freed and created again by members at different times, after calls that have failed: the members meet
// in the same creation, and never in one that some of them have left. Decision: docs/decisions/0030.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "conformance/collective/members.hpp"

namespace couplet::collective {
namespace {

using testing::HasSubstr;

void sleep_ms(int duration) {
  std::this_thread::sleep_for(std::chrono::milliseconds(duration));
}

std::vector<std::int32_t> all_of(int size) {
  std::vector<std::int32_t> ranks;
  for (int rank = 0; rank < size; ++rank) ranks.push_back(rank);
  return ranks;
}

// A group of all parties, which is freed and created again.
struct Creation {
  Member& member;
  message::Group* group = nullptr;

  Creation(Member& one, std::string_view name, int size) : member(one) {
    const auto made = one.party.messenger->groups().create(name, all_of(size));
    EXPECT_TRUE(made.ok()) << made.status().text();
    group = *made;
  }
  ~Creation() {
    const Status released = member.calls.release(*group);
    EXPECT_TRUE(released.ok()) << released.text();
    EXPECT_TRUE(member.party.messenger->groups().free(*group).ok());
  }
  Creation(const Creation&) = delete;
  Creation& operator=(const Creation&) = delete;
};

// Waits without sleeping through what the others send.
void wait_ms(Member& member, int duration) {
  const std::uint64_t until_ns = os::now_ns() + static_cast<std::uint64_t>(duration) * 1'000'000U;
  while (os::now_ns() < until_ns) {
    sleep_ms(1);
    member.party.engine->poll();
  }
}

TEST(Creations, OfWhichAGreetingIsOldAreMetAnew) {
  Parties parties(LaneKind::shm, 2);
  parties.run([](Party& party) {
    Member member(party);
    Arguments call = barrier();
    if (party.rank() == 1) {
      {
        const Creation first(member, "again", 2);
        call.timeout_s = 0.05;
        EXPECT_EQ(member.calls.run(*first.group, call).code(), Code::timeout);
      }
      wait_ms(member, 600);  // the other one has created the group twice, and its call waits
      const Creation second(member, "again", 2);
      const Status status = member.calls.run(*second.group, barrier());
      EXPECT_TRUE(status.ok()) << status.text();
      return;
    }
    wait_ms(member, 200);
    {
      const Creation first(member, "again", 2);
      const Status status = member.calls.run(*first.group, barrier());
      EXPECT_EQ(status.code(), Code::timeout) << status.text();
      EXPECT_THAT(status.text(), HasSubstr("revoked by rank 1"));
    }
    const Creation second(member, "again", 2);
    const Status status = member.calls.run(*second.group, barrier());
    EXPECT_TRUE(status.ok()) << status.text();
  });
}

// A member that was started again has created the group less often than the others.
TEST(Creations, ThatWereCountedDifferentlyAreMet) {
  for (int lowest = 0; lowest < 5; ++lowest) {
    Parties parties(LaneKind::shm, 5);
    parties.run([lowest](Party& party) {
      Member member(party);
      const int before = 2 * ((party.rank() + lowest) % 5);
      for (int n = 0; n < before; ++n) {
        const Creation unused(member, "again", 5);
        Arguments refused = barrier();
        refused.kind = Collective::broadcast;
        refused.root = 7;
        if (n > 0) continue;
        EXPECT_EQ(member.calls.run(*unused.group, refused).code(), Code::argument);
      }
      // The refused call has failed at those that had created the group as often as its member, and nowhere else.
      for (int n = 0; n < 20; ++n) {
        const Creation made(member, "again", 5);
        std::vector<std::int32_t> own = {party.rank()};
        std::vector<std::int32_t> sum = {0};
        const Status status = member.calls.run(*made.group, allreduce(own, sum, COUPLET_INT32));
        if (!status.ok()) continue;
        EXPECT_EQ(sum[0], 10);
        return;
      }
      FAIL() << "rank " << party.rank() << " has not met the others";
    });
  }
}

// Rank 2 passes the answer of the first member on to rank 3, and makes no call for a while. Ranks 0 and 1 have met, and
// ask rank 3 where it is.
TEST(Creations, WaitForAMemberThatComputesInTheFirstCall) {
  Parties parties(LaneKind::shm, 4);
  parties.run([](Party& party) {
    Member member(party);
    ASSERT_TRUE(member.run(barrier()).ok());  // all channels are open
    const Creation made(member, "computing", 4);
    std::vector<std::int32_t> own = {party.rank()};
    std::vector<std::int32_t> sum = {0};
    const Arguments call = allreduce(own, sum, COUPLET_INT32);
    Status status;
    if (party.rank() == 2) {
      message::Request* request = nullptr;
      ASSERT_TRUE(member.calls.start(*made.group, call, &request).ok());
      wait_ms(member, 100);
      sleep_ms(2500);
      status = party.messenger->wait(&request, os::deadline_after(30), nullptr);
    } else {
      status = member.calls.run(*made.group, call);
    }
    EXPECT_TRUE(status.ok()) << party.rank() << ": " << status.text();
    EXPECT_EQ(sum[0], 6);
  });
}

// Members give up at random times, until they have become patient. Whatever they compute together is of one creation:
// the sum of what the members give says so.
TEST(Creations, AtRandomTimesEndInAMeeting) {
  const auto seed = static_cast<unsigned>(os::now_ns());
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  for (int size = 2; size <= 6; ++size) {
    Parties parties(LaneKind::shm, size);
    std::atomic<int> patient = 0;
    parties.run([&](Party& party) {
      std::mt19937 random(seed + static_cast<unsigned>(100 * size + party.rank()));
      const auto below = [&random](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
      Member member(party);
      const int impatient = 3 + below(6);
      int failures = 0;
      for (int round = 0;; ++round) {
        if (round == impatient) ++patient;
        wait_ms(member, below(30));
        const Creation made(member, "again", size);
        const bool was_quiet = patient == size;
        std::vector<std::int64_t> own = {round >= impatient ? 1 : 0, party.rank()};
        std::vector<std::int64_t> sum = {0, 0};
        Arguments call = allreduce(own, sum, COUPLET_INT64);
        if (round < impatient) call.timeout_s = 0.001 * (1 + below(20));
        const Status status = member.calls.run(*made.group, call);
        if (status.ok()) {
          EXPECT_EQ(sum[1], size * (size - 1) / 2);
          if (sum[0] == size) break;  // the same at all members
          continue;
        }
        EXPECT_TRUE(status.code() == Code::timeout || status.code() == Code::mismatch) << status.text();
        if (was_quiet) ++failures;
        ASSERT_LE(failures, 3 + impatient) << status.text();
      }
    });
  }
}

// Chaos, 40000185: the call of a member failed since another one had left. It told this to the next life of that one,
// whose first call then failed.
TEST(Creations, AreNotDisturbedByWhatFailedForAnEarlierLife) {
  Parties parties(LaneKind::shm, 2);
  std::atomic<bool> has_failed{false};
  parties.run([&](Party& party) {
    const std::int32_t ranks[] = {0, 1};
    auto group = party.messenger->groups().create("pair", ranks);
    ASSERT_TRUE(group.ok());
    if (party.rank() == 1) {
      while (!has_failed) party.poll(0, 1);
    }
    Member member(party);
    if (party.rank() == 0) {
      message::Request* request = nullptr;
      ASSERT_TRUE(member.calls.start(**group, barrier(), &request).ok());
      party.messenger->peer_lost(1, Status(Code::end, "has left"));
      party.messenger->peer_returned(1);
      EXPECT_EQ(party.messenger->wait(&request, os::deadline_after(20), nullptr).code(), Code::peer_lost);
      ASSERT_TRUE(member.calls.release(**group).ok());
      ASSERT_TRUE(party.messenger->groups().free(**group).ok());
      group = party.messenger->groups().create("pair", ranks);
      ASSERT_TRUE(group.ok());
      has_failed = true;
    }
    const Status status = member.calls.run(**group, barrier());
    EXPECT_TRUE(status.ok()) << status.text();
  });
}

}  // namespace
}  // namespace couplet::collective
