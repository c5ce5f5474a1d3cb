// Short calls that are made again and again, which a ShortRun carries out as far as it can: members that come late in
// any step, calls of many kinds in turn, and disturbances in the middle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "conformance/collective/members.hpp"

namespace couplet::collective {
namespace {

using ::testing::HasSubstr;

// A member that computes for a while, in one of some calls.
void compute(std::mt19937& random) {
  if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 600));
}

std::int64_t sum_of(int size, std::int64_t call) {
  return size * (size - 1) / 2 + size * call * 10;
}

void expect_sum(Member& member, int size, std::int64_t call, std::size_t count, Method method = Method::automatic) {
  const std::vector<std::int64_t> data(count, member.rank() + call * 10);
  std::vector<std::int64_t> result(count, -1);
  auto arguments = allreduce(data, result, COUPLET_INT64);
  arguments.method = method;
  const Status status = member.run(arguments);
  ASSERT_TRUE(status.ok()) << status.text();
  ASSERT_EQ(result, std::vector<std::int64_t>(count, sum_of(size, call))) << "call " << call;
}

TEST(Repeats, OfAllreducesGiveTheSumOfEachCall) {
  for (const int size : {1, 2, 3, 5}) {
    for (const Method method : {Method::doubling, Method::ring, Method::systems}) {
      Parties parties(LaneKind::shm, size);
      parties.run([&](Party& party) {
        Member member(party, 2);
        std::mt19937 random(static_cast<unsigned>(party.rank() + size));
        for (std::int64_t call = 0; call < 200; ++call) {
          compute(random);
          expect_sum(member, size, call, 1 + static_cast<std::size_t>(call % 3), method);
        }
      });
    }
  }
}

TEST(Repeats, OverSocketsGiveTheSumOfEachCall) {
  Parties parties(LaneKind::tcp, 3);
  parties.run([](Party& party) {
    Member member(party);
    std::mt19937 random(static_cast<unsigned>(party.rank()));
    for (std::int64_t call = 0; call < 200; ++call) {
      compute(random);
      expect_sum(member, 3, call, 2);
    }
  });
}

// One number that does not fit is longer than a short message may be.
TEST(Repeats, OfShortAndLongCallsInTurn) {
  Parties parties(LaneKind::shm, 2);
  parties.run([](Party& party) {
    Member member(party);
    for (std::int64_t call = 0; call < 120; ++call) {
      const std::size_t counts[] = {1, ShortRun::max_bytes / 8, ShortRun::max_bytes / 8 + 1, 5000};
      expect_sum(member, 2, call, counts[call % 4]);
    }
  });
}

// Broadcasts with each root, gathers, scans and calls that are not waited for, in an order that all members know.
TEST(Repeats, OfManyKindsInTurn) {
  constexpr int size = 4;
  Parties parties(LaneKind::shm, size);
  parties.run([](Party& party) {
    Member member(party);
    std::mt19937 common(4711);
    std::mt19937 own(static_cast<unsigned>(party.rank()));
    for (std::int64_t call = 0; call < 400; ++call) {
      compute(own);
      const auto kind = common() % 5;
      const auto root = static_cast<std::int32_t>(common() % size);
      if (kind == 0) {
        std::vector<std::int64_t> data(2, member.rank() == root ? call : -1);
        ASSERT_TRUE(member.run(broadcast(data, COUPLET_INT64, root)).ok());
        ASSERT_EQ(data, std::vector<std::int64_t>(2, call));
      } else if (kind == 1) {
        ASSERT_TRUE(member.run(barrier()).ok());
      } else if (kind == 2) {
        const std::int64_t data = member.rank() + call;
        std::vector<std::int64_t> result(size, -1);
        const Arguments arguments{.kind = Collective::allgather,
                                  .type = COUPLET_INT64,
                                  .count = 1,
                                  .input = &data,
                                  .output = result.data(),
                                  .timeout_s = 30};
        ASSERT_TRUE(member.run(arguments).ok());
        for (int rank = 0; rank < size; ++rank) ASSERT_EQ(result[static_cast<std::size_t>(rank)], rank + call);
      } else if (kind == 3) {
        const std::vector<std::int64_t> data(1, member.rank() + call * 10);
        std::vector<std::int64_t> result(1);
        message::Request* request = nullptr;
        ASSERT_TRUE(member.calls.start(party.group(), allreduce(data, result, COUPLET_INT64), &request).ok());
        expect_sum(member, size, call + 1, 1);  // while the other call is under way
        ASSERT_TRUE(party.messenger->wait(&request, os::deadline_after(30), nullptr).ok());
        ASSERT_EQ(result[0], sum_of(size, call));
      } else {
        expect_sum(member, size, call, 1);
      }
    }
  });
}

// ---- disturbances ----

TEST(Repeats, FindAMemberThatGivesAnotherCount) {
  constexpr int size = 3;
  Parties parties(LaneKind::shm, size);
  parties.run([](Party& party) {
    Member member(party);
    for (std::int64_t call = 0; call < 20; ++call) expect_sum(member, size, call, 1);
    std::vector<std::int64_t> data(party.rank() == 1 ? 2 : 1);
    std::vector<std::int64_t> result(data.size());
    Status status = member.run(allreduce(data, result, COUPLET_INT64));
    if (status.ok()) status = member.run(barrier());
    EXPECT_EQ(status.code(), Code::mismatch) << status.text();
    EXPECT_THAT(status.text(), HasSubstr("allreduce of 2 int64"));
    EXPECT_THAT(status.text(), HasSubstr("allreduce of 1 int64"));
  });
}

// One member had ended the unlike call when the other one revoked it. Each fails one call for it.
TEST(Repeats, GoOnAfterOneUnlikeCall) {
  for (int attempt = 0; attempt < 3; ++attempt) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{1000}}) {  // short calls, and others
      Parties parties(LaneKind::shm, 2);
      parties.run([count](Party& party) {
        Member member(party);
        const auto allreduce_once = [&](std::int64_t call) {
          const std::vector<std::int64_t> data(count, member.rank() + call * 10);
          std::vector<std::int64_t> result(count, -1);
          return member.run(allreduce(data, result, COUPLET_INT64));
        };
        for (std::int64_t call = 0; call < 200; ++call) ASSERT_TRUE(allreduce_once(call).ok());
        std::vector<std::int64_t> data(party.rank() == 0 ? 2 : 1);
        std::vector<std::int64_t> result(4);
        const Arguments gather{.kind = Collective::gather,
                               .type = COUPLET_INT64,
                               .root = 0,
                               .count = data.size(),
                               .input = data.data(),
                               .output = result.data(),
                               .timeout_s = 30};
        const bool was_found = !member.run(gather).ok();
        int failures = 0;
        for (std::int64_t call = 0; call < 2000; ++call) failures += allreduce_once(call).ok() ? 0 : 1;
        EXPECT_TRUE(was_found || party.rank() == 1);
        EXPECT_LE(failures, 3) << "rank " << party.rank();
      });
    }
  }
}

// The root sends at once and goes on; the others hear of it in their next message.
TEST(Repeats, FindAMemberThatHasMadeAnotherCallBefore) {
  Parties parties(LaneKind::shm, 2);
  parties.run([](Party& party) {
    Member member(party);
    std::vector<std::int64_t> data(1);
    for (int call = 0; call < 10; ++call) {
      ASSERT_TRUE(member.run(broadcast(data, COUPLET_INT64, 0)).ok());
      expect_sum(member, 2, call, 1);
    }
    std::vector<std::int64_t> more(party.rank() == 0 ? 1 : 0);
    Status status = member.run(broadcast(party.rank() == 0 ? data : more, COUPLET_INT64, 0));
    std::vector<std::int64_t> result(1);
    for (int call = 0; call < 2 && status.ok(); ++call) status = member.run(allreduce(data, result, COUPLET_INT64));
    EXPECT_EQ(status.code(), Code::mismatch) << status.text();
  });
}

TEST(Repeats, FailAtAllIfAMemberRefusesOne) {
  constexpr int size = 4;
  for (const int refusing : {0, 1, 3}) {
    Parties parties(LaneKind::shm, size);
    parties.run([refusing](Party& party) {
      Member member(party);
      std::mt19937 random(static_cast<unsigned>(party.rank()));
      Status status;
      for (std::int64_t call = 0; call < 60 && status.ok(); ++call) {
        compute(random);
        if (call == 50 && party.rank() == refusing) {
          status = member.calls.refuse(party.group(), "allreduce", fail(Code::no_space, "no room for the result"));
          break;
        }
        const std::vector<std::int64_t> data(1, member.rank() + call * 10);
        std::vector<std::int64_t> result(1);
        status = member.run(allreduce(data, result, COUPLET_INT64));
        if (status.ok()) {
          ASSERT_EQ(result[0], sum_of(size, call));
        }
      }
      EXPECT_EQ(status.code(), Code::no_space) << status.text();
      EXPECT_THAT(status.text(), HasSubstr("no room for the result"));
    });
  }
}

TEST(Repeats, EndIfAMemberDies) {
  constexpr int size = 3;
  Parties parties(LaneKind::shm, size);
  parties.run(
      [](Party& party) {
        Member member(party);
        Status status;
        for (std::int64_t call = 0; call < 100 && status.ok(); ++call) {
          if (call == 50 && party.rank() == 2) return party.die();
          const std::vector<std::int64_t> data(1, call);
          std::vector<std::int64_t> result(1);
          status = member.run(allreduce(data, result, COUPLET_INT64));
        }
        EXPECT_EQ(status.code(), Code::peer_lost) << status.text();
      },
      false);
}

TEST(Repeats, OfWhichOneIsTooLateEndInATimeout) {
  Parties parties(LaneKind::shm, 2);
  parties.run([](Party& party) {
    Member member(party);
    for (std::int64_t call = 0; call < 20; ++call) expect_sum(member, 2, call, 1);
    const std::vector<std::int64_t> data(1);
    std::vector<std::int64_t> result(1);
    auto arguments = allreduce(data, result, COUPLET_INT64);
    if (party.rank() == 0) {
      arguments.timeout_s = 0.05;
      const Status status = member.run(arguments);
      EXPECT_EQ(status.code(), Code::timeout) << status.text();
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      const Status status = member.run(arguments);
      EXPECT_EQ(status.code(), Code::timeout) << status.text();
      EXPECT_THAT(status.text(), HasSubstr("rank 0 (party 0) has given up after 0.05 s"));
    }
  });
}

}  // namespace
}  // namespace couplet::collective
