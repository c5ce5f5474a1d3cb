// What happens to collective calls if members disagree, make mistakes, give up or die.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cstring>
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

// The other members make the call that one of them refuses: it counts at all.
TEST(Misuse, ThatIsFoundBeforeTheCallCountsAtAll) {
  Parties parties(LaneKind::shm, 3);
  parties.run([](Party& party) {
    Member member(party);
    for (int round = 0; round < 5; ++round) {
      std::vector<std::int64_t> data = {100 * (round + 1)};
      std::vector<std::int64_t> result(1);
      const Status status = party.rank() == 1
                                ? member.calls.refuse(party.group(), "allreduce", fail(Code::shape, "no mesh"))
                                : member.run(allreduce(data, result, COUPLET_INT64));
      EXPECT_EQ(status.code(), Code::shape) << status.text();
      EXPECT_THAT(status.text(), HasSubstr("no mesh"));
      EXPECT_THAT(status.text(), HasSubstr("(allreduce)"));
      const Status next = member.run(allreduce(data, result, COUPLET_INT64));
      ASSERT_TRUE(next.ok()) << next.text();
      EXPECT_EQ(result[0], 300 * (round + 1));
    }
  });
}

// The root of a broadcast ends its call before another member refuses it. The next call that it begins after it was
// told fails, and so it does at all.
TEST(Misuse, OfACallThatHasEndedElsewhereFailsTheNextOneAtAll) {
  Parties parties(LaneKind::shm, 3);
  std::atomic<bool> is_sent = false;
  std::atomic<bool> is_refused = false;
  parties.run([&](Party& party) {
    Member member(party);
    ASSERT_TRUE(member.run(barrier()).ok());
    std::vector<double> data(4);
    if (party.rank() == 0) {
      ASSERT_TRUE(member.run(broadcast(data, COUPLET_DOUBLE, 0)).ok());
      is_sent = true;
      while (!is_refused) party.engine->poll();
    } else {
      while (!(party.rank() == 1 ? is_sent : is_refused)) party.engine->poll();
      const Status status = party.rank() == 1
                                ? member.calls.refuse(party.group(), "broadcast", fail(Code::shape, "no mesh"))
                                : member.run(broadcast(data, COUPLET_DOUBLE, 0));
      EXPECT_TRUE(status.code() == Code::shape || (party.rank() == 2 && status.ok())) << status.text();
      is_refused = true;
    }
    // One call fails, or two if a second member had ended the call and was told later.
    Status last;
    int failures = 0;
    for (int round = 0; round < 6; ++round) {
      last = member.run(barrier());
      if (last.ok() && failures > 0) break;
      if (last.ok()) continue;
      ++failures;
      EXPECT_EQ(last.code(), Code::shape) << party.rank() << ": " << last.text();
      EXPECT_THAT(last.text(), HasSubstr("had ended here before it failed"));
    }
    EXPECT_TRUE(last.ok()) << last.text();
    EXPECT_GE(failures, 1);
    EXPECT_LE(failures, 2);
  });
}

// Member 2 has ended its part of the gather, and waits in the barrier, when the others find that they disagree.
TEST(Misuse, OfACallThatHasEndedElsewhereFailsTheOneThatIsUnderWay) {
  Parties parties(LaneKind::shm, 3);
  parties.run([](Party& party) {
    Member member(party);
    ASSERT_TRUE(member.run(barrier()).ok());
    std::vector<std::int32_t> own = {party.rank()};
    std::vector<std::int32_t> all(3);
    Arguments gather = {.kind = Collective::gather, .type = COUPLET_INT32, .root = party.rank() == 1 ? 1 : 0};
    gather.count = 1;
    gather.input = own.data();
    gather.output = all.data();
    gather.timeout_s = 30;
    const Status first = member.run(gather);
    EXPECT_EQ(first.code(), party.rank() == 2 ? Code::ok : Code::mismatch) << first.text();
    const Status second = member.run(barrier());
    EXPECT_TRUE(second.code() == Code::mismatch || party.rank() != 2) << second.text();
    const Status third = member.run(barrier());  // it fails if one of the others had ended the second one
    EXPECT_TRUE(third.ok() || third.code() == Code::mismatch) << third.text();
    const Status fourth = member.run(barrier());
    EXPECT_TRUE(fourth.ok()) << fourth.text();
  });
}

TEST(Misuse, OfSizesIsNamed) {
  Parties parties(LaneKind::shm, 2);
  parties.run([](Party& party) {
    Member member(party);
    std::vector<double> data(4);
    std::vector<double> result(8);
    const std::uint64_t counts[] = {2, 2};
    const std::uint64_t far[] = {0, UINT64_MAX - 1};
    const auto expect = [&](const std::string& words, const std::function<void(Arguments&)>& change) {
      auto arguments = allreduce(data, result, COUPLET_DOUBLE);
      change(arguments);
      const Status status = member.run(arguments);
      EXPECT_EQ(status.code(), Code::argument) << status.text();
      EXPECT_THAT(status.text(), HasSubstr(words));
    };
    expect("data has 3 elements, and 4 are needed", [](Arguments& one) { one.sizes.input = 3; });
    expect("result has 3 elements, and 4 are needed", [](Arguments& one) { one.sizes.output = 3; });
    expect("result has 7 elements, and 8 are needed", [](Arguments& one) {
      one.kind = Collective::allgather;
      one.sizes.output = 7;
    });
    expect("data has 5 elements, which cannot be divided among 2 members", [](Arguments& one) {
      one.kind = Collective::alltoall;
      one.sizes.input = 5;
      one.count = 2;
    });
    const auto uneven = [&](Arguments& one) {
      one.kind = Collective::allgather;
      one.uneven = true;
      one.output_counts = counts;
    };
    expect("counts and its offsets have 3 entries; one for each of 2 members is needed", [&](Arguments& one) {
      uneven(one);
      one.sizes.counts = 3;
    });
    expect("result has 3 elements, and 4 are needed", [&](Arguments& one) {
      uneven(one);
      one.sizes.output = 3;
    });
    expect("the offset of the block of rank 1 is 18446744073709551614 elements", [&](Arguments& one) {
      uneven(one);
      one.output_offsets = far;
    });
    expect("gives itself 1 element and takes 2", [&](Arguments& one) {
      uneven(one);
      one.kind = Collective::gather;
      one.root = party.rank();
      one.count = 1;
    });
    expect("gives itself 2 elements and takes 1", [&](Arguments& one) {
      uneven(one);
      one.kind = Collective::scatter;
      one.root = party.rank();
      one.count = 1;
      one.input_counts = counts;
    });
    const std::uint64_t others[] = {1, 1};
    expect("gives itself 1 element and takes 2", [&](Arguments& one) {
      uneven(one);
      one.kind = Collective::alltoall;
      one.input_counts = others;
    });
    expect("data has 1 element, and 2 are needed", [&](Arguments& one) {
      uneven(one);
      one.sizes.input = 1;
    });
    ASSERT_TRUE(member.run(barrier()).ok());
  });
}

// At other members than the root, the arrays of counts are not looked at.
TEST(Misuse, IsNotLookedForInWhatOnlyTheRootGives) {
  Parties parties(LaneKind::shm, 2);
  parties.run([](Party& party) {
    Member member(party);
    const double own = party.rank() + 1;
    std::vector<double> all(2);
    const std::vector<std::uint64_t> counts(party.rank() == 0 ? 2 : 1, 1);
    const Arguments arguments = {.kind = Collective::gather,
                                 .uneven = true,
                                 .type = COUPLET_DOUBLE,
                                 .root = 0,
                                 .count = 1,
                                 .input = &own,
                                 .output = all.data(),
                                 .output_counts = counts.data(),
                                 .timeout_s = 30,
                                 .sizes = {1, party.rank() == 0 ? 2U : 0U, counts.size()}};
    const Status status = member.run(arguments);
    ASSERT_TRUE(status.ok()) << status.text();
    if (party.rank() == 0) {
      EXPECT_EQ(all, (std::vector<double>{1, 2}));
    }
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
    auto group = party.messenger->groups().create("one", only_one);
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
    EXPECT_THAT(status.text(), HasSubstr(party.rank() == 3 ? "given up after 0.2 s; it has waited for rank " : ""));
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

TEST(Operations, WithOtherNamesAreAMismatch) {
  Parties parties(LaneKind::shm, 2);
  parties.run([](Party& party) {
    Member member(party);
    const auto keep = [](const void* /*from*/, void* /*into*/, std::uint64_t /*count*/, couplet_type /*type*/,
                         void* /*context*/) { return 0; };
    // 200 names: a mark of 7 bits would be the same for some of them.
    couplet_operation first = 0;
    for (int number = 0; number < 200; ++number) {
      const std::string name = party.rank() == 0 ? "operation" : fmt::format("operation {}", number);
      couplet_operation operation = first;
      if (number == 0 || party.rank() == 1) {
        const auto made = member.calls.operations().add({name, keep, nullptr, true});
        ASSERT_TRUE(made.ok()) << made.status().text();
        operation = *made;
        if (party.rank() == 0) first = operation;
      }
      std::vector<double> data(1);
      std::vector<double> result(1);
      const Status status = member.run(allreduce(data, result, COUPLET_DOUBLE, operation));
      ASSERT_EQ(status.code(), Code::mismatch) << name << ": " << status.text();
    }
  });
}

// Zeros of unlike sign, and what is not a number: what a processor or a compiler makes of them depends on their order.
TEST(Operations, GiveTheSameBitsAtAllMembers) {
  constexpr int size = 5;
  for (const Method method : {Method::doubling, Method::ring}) {
    for (const couplet_operation operation :
         {COUPLET_OPERATION_SUM, COUPLET_OPERATION_PRODUCT, COUPLET_OPERATION_MAX, COUPLET_OPERATION_MIN,
          COUPLET_OPERATION_MAXLOC, COUPLET_OPERATION_MINLOC}) {
      Parties parties(LaneKind::shm, size);
      std::vector<std::vector<double>> results(size, std::vector<double>(240));
      parties.run([&](Party& party) {
        Member member(party);
        const double values[] = {0.0, -0.0, std::bit_cast<double>(0x7FF8000000000001U + std::uint64_t(party.rank())),
                                 std::bit_cast<double>(0xFFF8000000000100U + std::uint64_t(party.rank())), 1.0};
        std::vector<double> data(240);
        for (std::size_t place = 0; place < data.size(); ++place) {
          const auto which = (place * 7 + place / 5 * static_cast<std::size_t>(party.rank() + 1)) % std::size(values);
          data[place] = values[which];
        }
        auto arguments = allreduce(data, results[static_cast<std::size_t>(party.rank())], COUPLET_DOUBLE, operation);
        arguments.method = method;
        const Status status = member.run(arguments);
        ASSERT_TRUE(status.ok()) << status.text();
      });
      for (std::size_t rank = 1; rank < size; ++rank) {
        EXPECT_EQ(std::memcmp(results[rank].data(), results[0].data(), 240 * sizeof(double)), 0)
            << "operation " << operation << ", rank " << rank << ", method " << cost::name_of(method);
      }
    }
  }
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
          auto group = party.messenger->groups().create("left", left);
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

TEST(Deaths, OfAMemberThatLeftBeforeTheFirstCallAreNoticed) {
  Parties parties(LaneKind::shm, 3);
  parties.run([](Party& party) {
    if (party.rank() == 1) return;
    PeerFacts facts = Member::facts(1);
    facts.membership.has_left = [](channel::PeerId peer) { return peer == 1; };
    Member member(party, std::move(facts));
    const std::uint64_t start_ns = os::now_ns();
    const Status status = member.run(barrier());
    EXPECT_EQ(status.code(), Code::peer_lost) << status.text();
    EXPECT_THAT(status.text(), HasSubstr("rank 1 (party 1) has left, and has not made this call"));
    EXPECT_LT(os::now_ns() - start_ns, 5'000'000'000U);
  });
}

TEST(Groups, ThatAreMadeAgainCountAnew) {
  Parties parties(LaneKind::shm, 3);
  parties.run([](Party& party) {
    Member member(party);
    const std::int32_t ranks[] = {2, 0, 1};
    for (int round = 0; round < 5; ++round) {
      auto group = party.messenger->groups().create("again", ranks);
      ASSERT_TRUE(group.ok());
      for (int call = 0; call < 1 + round; ++call) {
        const Status status = member.calls.run(**group, barrier());
        ASSERT_TRUE(status.ok()) << status.text();
      }
      ASSERT_TRUE(member.calls.release(**group).ok());
      ASSERT_TRUE(party.messenger->groups().free(**group).ok());
    }
  });
}

}  // namespace
}  // namespace couplet::collective
