// Every collective call by every algorithm over real lanes, with a thread for each member; and calls that overlap.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "conformance/collective/members.hpp"

namespace couplet::collective {
namespace {

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

// The heads of the messages of a call may then be announced, too.
TEST_P(Algorithms, GiveWhatTheCallMeansWithAnyEagerLimit) {
  constexpr int size = 3;
  for (const LaneKind kind : {LaneKind::shm, LaneKind::tcp}) {
    for (const unsigned limit : {0U, 1U, 8U, 9U, 16U, 24U, 25U, 31U, 32U, 64U}) {
      message::MessengerOptions options;
      options.eager_bytes = limit;
      Parties parties(kind, size, options);
      parties.run([&](Party& party) {
        Member member(party, 2);
        for (const std::size_t count : std::initializer_list<std::size_t>{0, 1, 1, 1, 5}) {
          run_one(member, GetParam(), size - 1, size, count);
        }
        EXPECT_TRUE(member.run(barrier()).ok());  // a member that leaves earlier ends the calls of the others
      });
      if (HasFailure()) FAIL() << "over " << test::lane_name(kind) << " with an eager limit of " << limit << " bytes";
    }
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
    auto other = party.messenger->groups().create("backwards", backwards);
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

}  // namespace
}  // namespace couplet::collective
