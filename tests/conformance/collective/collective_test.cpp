// Every collective call by every algorithm over real lanes, with a thread for each member; calls that overlap; and what
// happens if members disagree, give up or die.
#include "collective/collective.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>

#include "support/parties.hpp"

namespace couplet::collective {
namespace {

using cost::Collective;
using cost::Method;
using test::LaneKind;
using test::Parties;
using test::Party;
using ::testing::HasSubstr;

// What is left of a failed call is given back when the channels of a party end, which is after its thread has ended.
void bury(std::unique_ptr<Collectives> calls) {
  static std::mutex mutex;
  static std::vector<std::unique_ptr<Collectives>> buried;
  const std::lock_guard lock(mutex);
  buried.push_back(std::move(calls));
}

// One member, as a test uses it.
struct Member {
  Party& party;
  std::unique_ptr<Collectives> own;
  Collectives& calls;

  explicit Member(Party& one, int systems = 1)
      : party(one), own(std::make_unique<Collectives>(*one.messenger, one.engine.get(), facts(systems))), calls(*own) {}
  ~Member() {
    calls.shut();
    bury(std::move(own));
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  static PeerFacts facts(int systems) {
    return {.system_of = [systems](channel::PeerId peer) { return peer % static_cast<std::uint32_t>(systems); },
            .has_left = {}};
  }
  [[nodiscard]] int rank() const { return party.rank(); }
  Status run(const Arguments& arguments) { return calls.run(party.group(), arguments); }
};

Arguments barrier() {
  return {.timeout_s = 30};
}
template <typename T>
Arguments broadcast(std::vector<T>& data, couplet_type type, std::int32_t root) {
  return {.kind = Collective::broadcast,
          .type = type,
          .root = root,
          .count = data.size(),
          .output = data.data(),
          .timeout_s = 30};
}
template <typename T>
Arguments allreduce(const std::vector<T>& data, std::vector<T>& result, couplet_type type,
                    couplet_operation operation = COUPLET_OPERATION_SUM) {
  return {.kind = Collective::allreduce,
          .type = type,
          .operation = operation,
          .count = data.size(),
          .input = data.data(),
          .output = result.data(),
          .timeout_s = 30};
}

// ---- every call by every method ----

struct Setting {
  Collective kind;
  Method method;
};

void PrintTo(const Setting& setting, std::ostream* stream) {
  *stream << cost::name_of(setting.kind) << " by " << cost::name_of(setting.method);
}

std::vector<Setting> all_settings() {
  std::vector<Setting> found;
  for (int kind = static_cast<int>(Collective::barrier); kind <= static_cast<int>(Collective::scan); ++kind) {
    for (std::uint8_t method = 1; method < cost::method_count; ++method) {
      cost::CollectiveShape shape;
      shape.kind = static_cast<Collective>(kind);
      if (cost::is_possible(static_cast<Method>(method), shape)) {
        found.push_back({shape.kind, static_cast<Method>(method)});
      }
    }
  }
  return found;
}

class Algorithms : public ::testing::TestWithParam<Setting> {};

std::int64_t value_of(int rank, std::size_t place) {
  return rank * 1'000'003 + static_cast<std::int64_t>(place) * 7;
}

// What the member `rank` gets, by brute force.
std::vector<std::int64_t> expected(Collective kind, int rank, int root, int size, std::size_t count) {
  std::vector<std::int64_t> result;
  const auto sum = [&](int ranks, std::size_t place) {
    std::int64_t all = 0;
    for (int one = 0; one < ranks; ++one) all += value_of(one, place);
    return all;
  };
  const std::size_t own = static_cast<std::size_t>(rank) * count;
  for (std::size_t place = 0; place < count; ++place) {
    if (kind == Collective::broadcast) result.push_back(value_of(root, place));
    if (kind == Collective::allreduce || (kind == Collective::reduce && rank == root))
      result.push_back(sum(size, place));
    if (kind == Collective::scan) result.push_back(sum(rank + 1, place));
    if (kind == Collective::reduce_scatter) result.push_back(sum(size, own + place));
    if (kind == Collective::scatter) result.push_back(value_of(root, own + place));
  }
  const bool collects =
      kind == Collective::allgather || kind == Collective::alltoall || (kind == Collective::gather && rank == root);
  for (int other = 0; collects && other < size; ++other) {
    for (std::size_t place = 0; place < count; ++place) {
      result.push_back(value_of(other, (kind == Collective::alltoall ? own : 0) + place));
    }
  }
  return result;
}

void run_one(Member& member, const Setting& setting, int root, int size, std::size_t count) {
  const bool many = setting.kind == Collective::alltoall || setting.kind == Collective::reduce_scatter ||
                    setting.kind == Collective::scatter;
  std::vector<std::int64_t> input(count * (many ? static_cast<std::size_t>(size) : 1));
  for (std::size_t place = 0; place < input.size(); ++place) input[place] = value_of(member.rank(), place);
  const auto wanted = expected(setting.kind, member.rank(), root, size, count);
  std::vector<std::int64_t> output(wanted.size(), -1);
  if (setting.kind == Collective::broadcast && member.rank() == root) output = input;
  const std::vector<std::uint64_t> counts(static_cast<std::size_t>(size), count);
  Arguments arguments{.kind = setting.kind,
                      .method = setting.method,
                      .uneven = setting.kind == Collective::reduce_scatter,
                      .type = COUPLET_INT64,
                      .operation = COUPLET_OPERATION_SUM,
                      .root = root,
                      .count = setting.kind == Collective::reduce_scatter ? 0 : count,
                      .input = input.data(),
                      .output = output.data(),
                      .timeout_s = 60};
  if (arguments.uneven) arguments.input_counts = counts.data();
  const Status status = member.run(arguments);
  ASSERT_TRUE(status.ok()) << status.text();
  ASSERT_EQ(output, wanted) << "rank " << member.rank() << " of " << size << ", root " << root << ", count " << count;
}

TEST_P(Algorithms, GiveWhatTheCallMeans) {
  for (const int size : {1, 2, 5}) {
    Parties parties(LaneKind::shm, size);
    parties.run([&](Party& party) {
      Member member(party, 2);
      for (const std::size_t count : std::initializer_list<std::size_t>{0, 1, 3, 700, 20000}) {
        for (const int root : {0, size - 1}) run_one(member, GetParam(), root, size, count);
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(All, Algorithms, ::testing::ValuesIn(all_settings()));

TEST(Collectives, GoOverSockets) {
  Parties parties(LaneKind::tcp, 3);
  parties.run([](Party& party) {
    Member member(party);
    for (const std::size_t count : std::initializer_list<std::size_t>{1, 300, 300000}) {
      run_one(member, {Collective::allreduce, Method::automatic}, 0, 3, count);
      run_one(member, {Collective::broadcast, Method::automatic}, 1, 3, count);
      run_one(member, {Collective::alltoall, Method::automatic}, 0, 3, count);
    }
  });
}

TEST(Collectives, OfManyMembersMeetInATree) {
  constexpr int size = 13;
  Parties parties(LaneKind::shm, size);
  parties.run([](Party& party) {
    Member member(party, 3);
    for (int round = 0; round < 3; ++round) {
      run_one(member, {Collective::allreduce, Method::automatic}, 0, size, 5);
      ASSERT_TRUE(member.run(barrier()).ok());
    }
  });
}

// ---- several calls and groups at a time ----

TEST(Collectives, OverlapInOneGroupAndWithMessages) {
  constexpr int size = 3;
  Parties parties(LaneKind::shm, size);
  parties.run([](Party& party) {
    Member member(party);
    constexpr std::size_t calls = 40;
    std::vector<std::vector<double>> data(calls);
    std::vector<std::vector<double>> result(calls);
    std::vector<message::Request*> requests(calls);
    std::vector<int> met(1);
    message::Request* receive = nullptr;
    ASSERT_TRUE(party.messenger
                    ->irecv(party.group(), met.data(), 1, COUPLET_INT32, COUPLET_ANY_SOURCE, COUPLET_ANY_TAG, &receive)
                    .ok());
    for (std::size_t call = 0; call < calls; ++call) {
      data[call].assign(call * call * 10, party.rank() + static_cast<double>(call));
      result[call].resize(data[call].size());
      ASSERT_TRUE(
          member.calls.start(party.group(), allreduce(data[call], result[call], COUPLET_DOUBLE), &requests[call]).ok());
    }
    for (std::size_t call = calls; call-- > 0;) {
      const Status waited = party.messenger->wait(&requests[call], os::deadline_after(30), nullptr);
      ASSERT_TRUE(waited.ok()) << waited.text();
      for (const double one : result[call]) ASSERT_EQ(one, 3.0 + 3.0 * static_cast<double>(call));
    }
    EXPECT_FALSE(receive->done);  // no collective call matches a receive of the user
    ASSERT_TRUE(member.run(barrier()).ok());
    const int value = party.rank();
    ASSERT_TRUE(party.messenger->send(party.group(), &value, 1, COUPLET_INT32, (party.rank() + 1) % size, 5).ok());
    ASSERT_TRUE(party.messenger->wait(&receive, os::deadline_after(30), nullptr).ok());
    EXPECT_EQ(met[0], (party.rank() + 2) % size);
  });
}

TEST(Collectives, OfTwoGroupsMayBeginInAnyOrder) {
  Parties parties(LaneKind::shm, 4);
  parties.run([](Party& party) {
    Member member(party);
    const std::int32_t backwards[] = {3, 2, 1, 0};
    auto other = party.messenger->create_group("backwards", backwards);
    ASSERT_TRUE(other.ok());
    message::Group* groups[] = {&party.group(), *other};
    std::vector<std::int32_t> data[] = {{party.rank()}, {(*other)->rank() * 100}};
    message::Request* requests[2] = {};
    for (const int which : {party.rank() % 2, 1 - party.rank() % 2}) {  // some begin with one, some with the other
      auto arguments = broadcast(data[which], COUPLET_INT32, 2);
      ASSERT_TRUE(member.calls.start(*groups[which], arguments, &requests[which]).ok());
    }
    for (auto& request : requests) {
      const Status waited = party.messenger->wait(&request, os::deadline_after(30), nullptr);
      ASSERT_TRUE(waited.ok()) << waited.text();
    }
    EXPECT_EQ(data[0][0], 2);
    EXPECT_EQ(data[1][0], 200);
  });
}

TEST(Collectives, GiveTheSameBitsInEveryRun) {
  for (const Method method : {Method::doubling, Method::ring, Method::systems}) {
    std::vector<double> first;
    for (int run = 0; run < 4; ++run) {
      std::vector<std::vector<double>> results(5);
      Parties parties(LaneKind::shm, 5);
      parties.run([&](Party& party) {
        Member member(party, 2);
        std::mt19937 random(static_cast<unsigned>(party.rank()));
        std::vector<double> data(1000);
        for (double& one : data) one = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 60) - 30);
        auto& result = results[static_cast<std::size_t>(party.rank())];
        result.resize(data.size());
        auto arguments = allreduce(data, result, COUPLET_DOUBLE);
        arguments.method = method;
        ASSERT_TRUE(member.run(arguments).ok());
      });
      if (run == 0) first = results[0];
      for (const auto& result : results) {
        ASSERT_EQ(std::memcmp(result.data(), first.data(), first.size() * sizeof(double)), 0);
      }
    }
  }
}

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
      if (round % 2 != 0) EXPECT_EQ(result[0], 3);
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
    if (party.rank() == 1) EXPECT_THAT(status.text(), HasSubstr("no member of group 'one'"));
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
