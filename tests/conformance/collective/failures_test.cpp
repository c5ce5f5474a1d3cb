// What happens to collective calls if members disagree, make mistakes, give up or die.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "conformance/collective/members.hpp"

namespace couplet::collective {
namespace {

using ::testing::HasSubstr;

// ---- members that disagree ----

// Makes `wrong` at member 1 and `right` at the others. All are to hear of the mismatch, with these words.
void expect_mismatch(const std::function<Arguments(int rank)>& arguments, const std::vector<std::string>& words) {
  constexpr int size = 3;
  Parties parties(LaneKind::shm, size);
  parties.run([&](Party& party) {
    Member member(party);
    ASSERT_TRUE(member.run(barrier()).ok());
    Status status = member.run(arguments(party.rank()));
    if (status.ok()) status = member.run(barrier());  // it had ended its part before the others found the error
    EXPECT_EQ(status.code(), Code::mismatch) << party.rank() << ": " << status.text();
    for (const std::string& word : words) EXPECT_THAT(status.text(), HasSubstr(word)) << party.rank();
  });
}

TEST(Mismatch, OfTheCountIsNamedAtAll) {
  std::vector<std::vector<double>> data(3, std::vector<double>(10));
  data[1].resize(12);
  std::vector<std::vector<double>> result = data;
  expect_mismatch(
      [&](int rank) {
        const auto which = static_cast<std::size_t>(rank);
        return allreduce(data[which], result[which], COUPLET_DOUBLE);
      },
      {"rank 1", "of 12 double", "of 10 double"});
}

TEST(Mismatch, OfALongCountIsNamedAtAll) {
  std::vector<std::vector<double>> data(3, std::vector<double>(200000));
  data[1].resize(10);
  std::vector<std::vector<double>> result = data;
  expect_mismatch(
      [&](int rank) {
        const auto which = static_cast<std::size_t>(rank);
        auto made = allreduce(data[which], result[which], COUPLET_DOUBLE);
        made.method = Method::doubling;
        return made;
      },
      {"rank 1", "of 10 double", "of 200000 double"});
}

TEST(Mismatch, OfTheTypeIsNamedAtAll) {
  std::vector<std::vector<double>> data(3, std::vector<double>(4));
  std::vector<std::vector<double>> result = data;
  expect_mismatch(
      [&](int rank) {
        const auto which = static_cast<std::size_t>(rank);
        return allreduce(data[which], result[which], rank == 1 ? COUPLET_INT64 : COUPLET_DOUBLE);
      },
      {"rank 1", "int64", "double"});
}

TEST(Mismatch, OfTheOperationIsNamedAtAll) {
  std::vector<std::vector<double>> data(3, std::vector<double>(4));
  std::vector<std::vector<double>> result = data;
  expect_mismatch(
      [&](int rank) {
        const auto which = static_cast<std::size_t>(rank);
        return allreduce(data[which], result[which], COUPLET_DOUBLE,
                         rank == 1 ? COUPLET_OPERATION_MAX : COUPLET_OPERATION_SUM);
      },
      {"rank 1", "by max", "by sum"});
}

// Nobody sends: each waits for another one.
TEST(Mismatch, OfTheRootIsNamedAtAllEvenIfAllWait) {
  std::vector<std::vector<double>> data(3, std::vector<double>(4));
  expect_mismatch(
      [&](int rank) { return broadcast(data[static_cast<std::size_t>(rank)], COUPLET_DOUBLE, (rank + 1) % 3); },
      {"with root"});
}

TEST(Mismatch, OfTheCallIsNamedAtAll) {
  std::vector<std::vector<double>> data(3, std::vector<double>(4));
  std::vector<std::vector<double>> result = data;
  expect_mismatch(
      [&](int rank) {
        const auto which = static_cast<std::size_t>(rank);
        return rank == 1 ? barrier() : allreduce(data[which], result[which], COUPLET_DOUBLE);
      },
      {"rank 1", "barrier", "allreduce"});
}

TEST(Mismatch, OfTheMethodIsNamedAtAll) {
  std::vector<std::vector<double>> data(3, std::vector<double>(4));
  std::vector<std::vector<double>> result = data;
  expect_mismatch(
      [&](int rank) {
        const auto which = static_cast<std::size_t>(rank);
        auto made = allreduce(data[which], result[which], COUPLET_DOUBLE);
        made.method = rank == 1 ? Method::ring : Method::doubling;
        return made;
      },
      {"rank 1", "(ring)", "(doubling)"});
}

TEST(Mismatch, LeavesTheGroupFitForTheNextCall) {
  constexpr int size = 3;
  Parties parties(LaneKind::shm, size);
  parties.run([](Party& party) {
    Member member(party);
    for (int round = 0; round < 10; ++round) {
      const bool wrong = round % 2 == 0 && party.rank() == 2;
      std::vector<double> data(wrong ? 5 : 4, 1);
      std::vector<double> result(data.size());
      const Status status = member.run(allreduce(data, result, COUPLET_DOUBLE));
      EXPECT_EQ(status.code(), round % 2 == 0 ? Code::mismatch : Code::ok) << status.text();
      if (round % 2 != 0) {
        EXPECT_EQ(result[0], 3);
      }
    }
  });
}

// ---- errors of one member ----

TEST(Misuse, OfOneMemberFailsAtAll) {
  Parties parties(LaneKind::shm, 3);
  parties.run([](Party& party) {
    Member member(party);
    std::vector<double> data(4);
    std::vector<double> result(4);
    auto arguments = allreduce(data, result, COUPLET_DOUBLE);
    if (party.rank() == 2) arguments.type = 99;
    const Status status = member.run(arguments);
    EXPECT_EQ(status.code(), Code::type) << status.text();
    EXPECT_THAT(status.text(), HasSubstr("99 is no element type"));
    ASSERT_TRUE(member.run(barrier()).ok());
  });
}

TEST(Misuse, IsNamed) {
  Parties parties(LaneKind::shm, 2);
  parties.run([](Party& party) {
    Member member(party);
    std::vector<double> data(4);
    std::vector<double> result(4);
    const auto expect = [&](Code code, const std::string& words, const std::function<void(Arguments&)>& change) {
      auto arguments = allreduce(data, result, COUPLET_DOUBLE);
      change(arguments);
      const Status status = member.run(arguments);
      EXPECT_EQ(status.code(), code) << status.text();
      EXPECT_THAT(status.text(), HasSubstr(words));
    };
    expect(Code::argument, "there is no operation 77", [](Arguments& one) { one.operation = 77; });
    expect(Code::type, "bitwise_or is not defined for elements of type double",
           [](Arguments& one) { one.operation = COUPLET_OPERATION_BITWISE_OR; });
    expect(Code::argument, "the count must be even, not 3", [](Arguments& one) {
      one.operation = COUPLET_OPERATION_MAXLOC;
      one.count = 3;
    });
    expect(Code::argument, "result is NULL", [](Arguments& one) { one.output = nullptr; });
    expect(Code::argument, "data is NULL", [](Arguments& one) { one.input = nullptr; });
    expect(Code::argument, "the method binomial is not possible",
           [](Arguments& one) { one.method = Method::binomial; });
    expect(Code::argument, "root is 2, but the group has ranks 0 to 1", [](Arguments& one) {
      one.kind = Collective::reduce;
      one.root = 2;
    });
    expect(Code::argument, "counts is NULL", [](Arguments& one) {
      one.kind = Collective::allgather;
      one.uneven = true;
    });
    const std::int32_t only_one[] = {0};
    auto group = party.messenger->create_group("one", only_one);
    ASSERT_TRUE(group.ok());
    const Status status = member.calls.run(**group, barrier());
    EXPECT_EQ(status.code(), party.rank() == 0 ? Code::ok : Code::state) << status.text();
    if (party.rank() == 1) {
      EXPECT_THAT(status.text(), HasSubstr("no member of group 'one'"));
    }
    ASSERT_TRUE(member.run(barrier()).ok());
  });
}

TEST(GivingUp, AfterTheTimeoutEndsTheCallAtAll) {
  Parties parties(LaneKind::shm, 3);
  std::atomic<bool> gave_up = false;
  parties.run([&](Party& party) {
    Member member(party);
    ASSERT_TRUE(member.run(barrier()).ok());
    if (party.rank() == 1) {
      while (!gave_up) party.engine->poll();
    }
    auto arguments = barrier();
    if (party.rank() == 0) arguments.timeout_s = 0.2;
    const Status status = member.run(arguments);
    if (party.rank() == 0) gave_up = true;
    EXPECT_EQ(status.code(), Code::timeout) << status.text();
    EXPECT_THAT(status.text(), HasSubstr("has given up after 0.2 s"));
    ASSERT_TRUE(member.run(barrier()).ok());
  });
}

TEST(GivingUp, BeforeTheMembersHaveMetEndsTheCallAtAll) {
  Parties parties(LaneKind::shm, 4);
  std::atomic<bool> gave_up = false;
  parties.run([&](Party& party) {
    Member member(party);
    if (party.rank() == 0) {
      while (!gave_up) party.engine->poll();
    }
    auto arguments = barrier();
    if (party.rank() == 3) arguments.timeout_s = 0.2;
    const Status status = member.run(arguments);
    if (party.rank() == 3) gave_up = true;
    EXPECT_EQ(status.code(), Code::timeout) << status.text();
    for (int round = 0; round < 3; ++round) {
      const Status next = member.run(barrier());
      ASSERT_TRUE(next.ok()) << next.text();
    }
  });
}

// The member that gives up may change its memory at once: what it had offered is never taken for the data.
TEST(GivingUp, OfALongMessageFreesItsMemory) {
  Parties parties(LaneKind::shm, 2);
  std::atomic<bool> gave_up = false;
  parties.run([&](Party& party) {
    Member member(party);
    ASSERT_TRUE(member.run(barrier()).ok());
    std::vector<double> data(500000, 1.0);
    if (party.rank() == 1) {
      while (!gave_up) party.engine->poll();
    }
    auto arguments = broadcast(data, COUPLET_DOUBLE, 0);
    if (party.rank() == 0) arguments.timeout_s = 0.2;
    const Status status = member.run(arguments);
    data.assign(data.size(), -1.0);
    gave_up = true;
    EXPECT_EQ(status.code(), Code::timeout) << status.text();
    ASSERT_TRUE(member.run(barrier()).ok());
  });
}

TEST(Operations, OfUserCodeKeepTheirOrder) {
  Parties parties(LaneKind::shm, 5);
  parties.run([](Party& party) {
    Member member(party);
    // (a, b) stands for x -> a x + b, and the operation for one after the other.
    const auto compose = [](const void* from, void* into, std::uint64_t count, couplet_type /*type*/,
                            void* /*context*/) {
      const auto* left = static_cast<const std::int64_t*>(from);
      auto* right = static_cast<std::int64_t*>(into);
      for (std::uint64_t i = 0; i + 1 < count; i += 2) {
        const std::int64_t a = left[i] * right[i];
        right[i + 1] = left[i + 1] * right[i] + right[i + 1];
        right[i] = a;
      }
      return 0;
    };
    const auto operation = member.calls.operations().add({"compose", compose, nullptr, false});
    ASSERT_TRUE(operation.ok());
    const std::vector<std::int64_t> data = {party.rank() + 2, party.rank() * 7 + 1};
    std::int64_t a = 1;
    std::int64_t b = 0;
    for (std::int64_t rank = 0; rank < 5; ++rank) {
      b = b * (rank + 2) + rank * 7 + 1;
      a *= rank + 2;
    }
    for (const Method method : {Method::doubling, Method::automatic}) {
      std::vector<std::int64_t> result(2);
      auto arguments = allreduce(data, result, COUPLET_INT64, *operation);
      arguments.method = method;
      const Status status = member.run(arguments);
      ASSERT_TRUE(status.ok()) << status.text();
      EXPECT_EQ(result, (std::vector<std::int64_t>{a, b}));
    }
    auto broken = member.calls.operations().add(
        {"broken", [](const void*, void*, std::uint64_t, couplet_type, void*) { return 3; }, nullptr, true});
    std::vector<std::int64_t> result(2);
    const Status status = member.run(allreduce(data, result, COUPLET_INT64, *broken));
    EXPECT_EQ(status.code(), Code::state) << status.text();
    EXPECT_THAT(status.text(), HasSubstr("'broken' has failed: its function has returned 3"));
  });
}

// The process is gone, as after kill -9: all others are told within 5 s, and may go on in a group without it.
TEST(Deaths, EndTheCallAtAllOthers) {
  constexpr int size = 5;
  for (const int victim : {0, 1, 4}) {
    Parties parties(LaneKind::tcp, size);
    parties.run(
        [&](Party& party) {
          Member member(party);
          std::vector<double> data(100000, 1);
          std::vector<double> result(data.size());
          ASSERT_TRUE(member.run(barrier()).ok());
          if (party.rank() == victim) return party.die();
          Status status;
          const std::uint64_t begun_ns = os::now_ns();
          while (status.ok()) status = member.run(allreduce(data, result, COUPLET_DOUBLE));
          EXPECT_EQ(status.code(), Code::peer_lost) << status.text();
          EXPECT_LT(os::now_ns() - begun_ns, 5'000'000'000U);
          EXPECT_EQ(member.run(barrier()).code(), Code::peer_lost);
          std::vector<std::int32_t> left;
          for (int rank = 0; rank < size; ++rank) {
            if (rank != victim) left.push_back(rank);
          }
          auto group = party.messenger->create_group("left", left);
          ASSERT_TRUE(group.ok());
          for (int round = 0; round < 3; ++round) {
            const Status again = member.calls.run(**group, allreduce(data, result, COUPLET_DOUBLE));
            ASSERT_TRUE(again.ok()) << again.text();
            EXPECT_EQ(result[99999], size - 1);
          }
        },
        false);
  }
}

TEST(Groups, ThatAreMadeAgainCountAnew) {
  Parties parties(LaneKind::shm, 3);
  parties.run([](Party& party) {
    Member member(party);
    const std::int32_t ranks[] = {2, 0, 1};
    for (int round = 0; round < 5; ++round) {
      auto group = party.messenger->create_group("again", ranks);
      ASSERT_TRUE(group.ok());
      for (int call = 0; call < 1 + round; ++call) {
        const Status status = member.calls.run(**group, barrier());
        ASSERT_TRUE(status.ok()) << status.text();
      }
      ASSERT_TRUE(member.calls.release(**group).ok());
      ASSERT_TRUE(party.messenger->free_group(**group).ok());
    }
  });
}

}  // namespace
}  // namespace couplet::collective
