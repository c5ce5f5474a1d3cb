// What invented costs decide.
#include "cost/choices.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace couplet::cost {
namespace {

Curve line(double latency_s, double s_per_byte) {
  return {{{.bytes = 0, .time_s = latency_s}, {.bytes = 1'000'000, .time_s = latency_s + s_per_byte * 1e6}}};
}

TEST(Choices, WithoutCostsThereAreNone) {
  const MachineCosts nothing;
  EXPECT_FALSE(eager_limit(nothing, "shm"));
  EXPECT_FALSE(piece_size(nothing, "tcp"));
  EXPECT_FALSE(streaming_limit(nothing));
  EXPECT_TRUE(method_pieces(nothing).empty());
  const std::string methods[] = {"mapped", "two_sided"};
  EXPECT_EQ(exchange_times_ns(nothing, methods, 8), (std::vector<double>{unknown_time_ns, unknown_time_ns}));
  EXPECT_EQ(trial_order(std::vector<double>{unknown_time_ns, unknown_time_ns}), (std::vector<std::size_t>{0, 1}));
}

TEST(Choices, TheEagerLimitIsWhereAnAnnouncementPays) {
  MachineCosts costs;
  costs.links = {{.link = "shm", .way = LinkWay::eager, .times = line(1e-6, 4e-10)},
                 {.link = "shm", .way = LinkWay::announced, .times = line(5e-6, 1e-10)},
                 {.link = "tcp", .way = LinkWay::eager, .times = line(1e-6, 4e-10)}};
  const auto limit = eager_limit(costs, "shm");
  ASSERT_TRUE(limit);
  // 1e-6 + 4e-10 n = 1.03 (5e-6 + 1e-10 n)
  EXPECT_NEAR(static_cast<double>(*limit), 4.15e-6 / 2.97e-10, 1.5);
  EXPECT_FALSE(eager_limit(costs, "tcp")) << "one of the two ways is not known";
  costs.links[0].times = line(9e-6, 4e-10);
  EXPECT_EQ(eager_limit(costs, "shm"), 0U);
  costs.links[0].times = line(1e-6, 1e-10);
  EXPECT_EQ(eager_limit(costs, "shm"), any_bytes);
}

TEST(Choices, ThePieceSizeIsTheCheapestForALargeMessage) {
  MachineCosts costs;
  for (const auto& [bytes, slope] : {std::pair(65536ULL, 3e-10), {262144ULL, 2e-10}, {1048576ULL, 4e-10}}) {
    costs.links.push_back({.link = "tcp", .way = LinkWay::pieces, .piece_bytes = bytes, .times = line(1e-5, slope)});
  }
  EXPECT_EQ(piece_size(costs, "tcp"), 262144U);
  EXPECT_FALSE(piece_size(costs, "shm"));
  costs.links[0].times = line(1e-5, 2.01e-10);
  EXPECT_EQ(piece_size(costs, "tcp"), 65536U) << "a tie goes to the first one of the list";
}

TEST(Choices, CopiesStreamFromTheSizeAtWhichThatIsCheaper) {
  MachineCosts costs;
  costs.copies = {{.way = CopyWay::cached, .times = {{{.bytes = 1 << 20, .time_s = 1}, {4 << 20, 9}}}},
                  {.way = CopyWay::streaming, .times = {{{.bytes = 1 << 20, .time_s = 2}, {4 << 20, 5}}}}};
  const auto limit = streaming_limit(costs);
  ASSERT_TRUE(limit);
  EXPECT_GT(*limit, 1U << 20U);
  EXPECT_LT(*limit, 4U << 20U);
}

TEST(Choices, CollectiveMethodsFollowSizeMembersAndSystems) {
  MachineCosts costs;
  const auto add = [&](Method method, std::int32_t members, std::int32_t systems, Curve curve) {
    costs.collectives.push_back({.call = Collective::allreduce,
                                 .method = method,
                                 .members = members,
                                 .systems = systems,
                                 .times = std::move(curve)});
  };
  add(Method::doubling, 2, 1, line(1e-6, 1e-9));
  add(Method::ring, 2, 1, line(9e-6, 1e-10));
  add(Method::doubling, 8, 1, line(9e-6, 1e-9));
  add(Method::ring, 8, 1, line(1e-6, 1e-9));
  add(Method::systems, 4, 2, line(1e-6, 1e-10));
  add(Method::ring, 4, 2, line(2e-6, 2e-10));
  const auto pieces = method_pieces(costs);
  const auto choose = [&](std::uint64_t bytes, std::int32_t size, std::int32_t systems, bool may_reorder = true) {
    return choose_method(
        {.kind = Collective::allreduce, .bytes = bytes, .size = size, .systems = systems, .may_reorder = may_reorder},
        pieces);
  };
  EXPECT_EQ(choose(8, 2, 1), Method::doubling);
  EXPECT_EQ(choose(1 << 20, 2, 1), Method::ring);
  EXPECT_EQ(choose(1 << 20, 7, 1), Method::ring);
  EXPECT_EQ(choose(8, 8, 1), Method::ring) << "the curves for eight members";
  EXPECT_EQ(choose(8, 4, 2), Method::systems);
  EXPECT_EQ(choose(8, 3, 2), Method::doubling) << "there is no curve for so few members on two systems";
  EXPECT_EQ(choose(1 << 20, 2, 1, false), Method::doubling) << "the second best one, since a ring is not possible";
  EXPECT_EQ(choose(8, 1, 1), choose_method({.kind = Collective::allreduce, .bytes = 8, .size = 1}));
  EXPECT_EQ(choose_method({.kind = Collective::scan, .size = 2}, pieces), Method::linear) << "not measured";
}

TEST(Choices, APredictionIsThatOfTheCurvesThatDecide) {
  MachineCosts costs;
  costs.collectives = {{.call = Collective::barrier, .method = Method::doubling, .times = line(1e-6, 0)},
                       {.call = Collective::barrier, .method = Method::doubling, .members = 4, .times = line(3e-6, 0)}};
  CollectiveShape shape{.kind = Collective::barrier, .size = 3};
  EXPECT_EQ(find_call(costs, shape, Method::doubling), &costs.collectives[0].times);
  shape.size = 5;
  EXPECT_EQ(find_call(costs, shape, Method::doubling), &costs.collectives[1].times);
  EXPECT_EQ(find_call(costs, shape, Method::systems), nullptr);
}

TEST(Choices, MethodsOfExchangesAreTriedInTheOrderOfTheirTimes) {
  MachineCosts costs;
  costs.exchanges = {{.method = "mapped", .times = line(2e-6, 1e-10)},
                     {.method = "two_sided", .times = line(1e-6, 9e-10)}};
  const std::string methods[] = {"mapped", "persistent", "two_sided"};
  EXPECT_EQ(trial_order(exchange_times_ns(costs, methods, 8)), (std::vector<std::size_t>{2, 0, 1}));
  EXPECT_EQ(trial_order(exchange_times_ns(costs, methods, 1 << 20)), (std::vector<std::size_t>{0, 2, 1}));
  EXPECT_EQ(trial_order(std::vector<double>{102, 100, 50}), (std::vector<std::size_t>{2, 0, 1})) << "a tie";
  EXPECT_EQ(trial_order(std::vector<double>{HUGE_VAL, std::nan(""), 1}), (std::vector<std::size_t>{2, 0, 1}));
}

TEST(Choices, AMethodThatTakesNoTimeIsTriedFirst) {
  MachineCosts costs;
  costs.exchanges = {{.method = "mapped", .times = line(2e-6, 1e-10)}, {.method = "two_sided", .times = line(0, 0)}};
  const std::string methods[] = {"mapped", "persistent", "two_sided"};
  EXPECT_EQ(trial_order(exchange_times_ns(costs, methods, 8)), (std::vector<std::size_t>{2, 0, 1}));
}

}  // namespace
}  // namespace couplet::cost
