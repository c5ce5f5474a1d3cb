#include "exchange/plan.hpp"

#include <gtest/gtest.h>

namespace couplet::exchange {
namespace {

std::byte memory[4096];

Region boxes(std::uint64_t run, std::initializer_list<Region::Loop> loops) {
  Region region{.memory = memory, .run_bytes = run};
  for (const Region::Loop& loop : loops) region.loops[static_cast<std::size_t>(region.loop_count++)] = loop;
  return region;
}

std::vector<std::int64_t> runs_of(const Region& region) {
  std::vector<std::int64_t> places;
  for_each_run(region, [&](const std::byte* run) { places.push_back(run - memory); });
  return places;
}

TEST(Region, BytesAreThoseOfAllRuns) {
  EXPECT_EQ(boxes(8, {}).bytes(), 8U);
  EXPECT_EQ(boxes(8, {{3, 100}, {5, 16}}).bytes(), 120U);
  EXPECT_EQ((Region{.memory = memory, .run_bytes = 4, .offsets = {0, 40, 8}}).bytes(), 12U);
}

TEST(Region, RunsComeSlowestLoopFirst) {
  EXPECT_EQ(runs_of(boxes(8, {{2, 100}, {3, 16}})), (std::vector<std::int64_t>{0, 16, 32, 100, 116, 132}));
}

TEST(Simplified, DenseLoopsBecomeOneRun) {
  const Region simple = simplified(boxes(8, {{4, 800}, {10, 80}, {10, 8}}));
  EXPECT_EQ(simple.loop_count, 0);
  EXPECT_EQ(simple.run_bytes, 3200U);
}

TEST(Simplified, LoopsThatGoOnWithTheSameStrideBecomeOne) {
  const Region simple = simplified(boxes(8, {{2, 64}, {1, 12345}, {4, 16}}));
  EXPECT_EQ(simple.loop_count, 1);
  EXPECT_EQ(simple.loops[0].count, 8U);
  EXPECT_EQ(runs_of(simple), runs_of(boxes(8, {{2, 64}, {4, 16}})));
}

TEST(Simplified, NothingChangesForOtherRegions) {
  const Region region = boxes(8, {{2, 100}, {3, 16}});
  EXPECT_EQ(runs_of(simplified(region)), runs_of(region));
  const Region backwards = boxes(8, {{3, -24}});
  EXPECT_EQ(runs_of(simplified(backwards)), runs_of(backwards));
}

TEST(Simplified, DenseOffsetsBecomeOneRun) {
  const Region simple = simplified({.memory = memory, .run_bytes = 8, .offsets = {16, 24, 32}});
  EXPECT_TRUE(simple.offsets.empty());
  EXPECT_EQ(simple.memory, memory + 16);
  EXPECT_EQ(simple.run_bytes, 24U);
}

TEST(Edge, TakesPartInItsRounds) {
  const Edge edge{.every = 3, .offset = 2};
  const std::vector<bool> expected{false, false, true, false, false, true};
  for (std::uint64_t round = 0; round < expected.size(); ++round) {
    EXPECT_EQ(edge.takes_part(round), expected[round]) << round;
  }
}

TEST(CheckEdge, NamesWhatIsWrong) {
  const auto text = [](const Edge& edge) { return check(edge, 4).text(); };
  EXPECT_TRUE(check({.peer = 3, .regions = {boxes(8, {})}}, 4).ok());
  EXPECT_NE(text({.peer = 4}).find("0 to 3"), std::string::npos);
  EXPECT_NE(text({.peer = 0, .every = 0}).find("every must be at least 1"), std::string::npos);
  EXPECT_NE(text({.peer = 0, .regions = {{.run_bytes = 8}}}).find("NULL"), std::string::npos);
  EXPECT_NE(text({.peer = 0, .regions = {boxes(8, {{UINT64_MAX / 2, 8}, {16, 8}})}}).find("more than"),
            std::string::npos);
}

TEST(CheckApart, FindsBytesThatAreReceivedTwice) {
  const auto edge = [](Direction direction, std::int64_t tag, const Region& region) {
    return Edge{.direction = direction, .peer = 1, .tag = tag, .regions = {region}};
  };
  const Region first = boxes(8, {{4, 16}});
  Region between = first;
  between.memory += 8;
  EXPECT_TRUE(check_apart(std::vector<Edge>{edge(Direction::in, 0, first), edge(Direction::in, 1, between)}, 0).ok());
  EXPECT_TRUE(check_apart(std::vector<Edge>{edge(Direction::out, 0, first), edge(Direction::out, 1, first)}, 0).ok());
  between.memory -= 1;
  const Status overlap =
      check_apart(std::vector<Edge>{edge(Direction::in, 0, first), edge(Direction::in, 1, between)}, 0);
  EXPECT_EQ(overlap.code(), Code::argument);
  EXPECT_NE(overlap.text().find("tag 1"), std::string::npos) << overlap.text();
  EXPECT_FALSE(check_apart(std::vector<Edge>{edge(Direction::in, 0, boxes(8, {{2, 0}}))}, 0).ok());
}

// What is sent may be packed when another message of the round has been unpacked already.
TEST(CheckApart, FindsBytesThatAreSentAndReceived) {
  Region all = boxes(8, {{8, 8}});
  Region last = boxes(8, {{1, 8}});
  last.memory = all.memory + 56;
  for (const bool sends_all : {true, false}) {
    const Edge one{.direction = Direction::out, .peer = 1, .tag = 0, .regions = {sends_all ? all : last}};
    const Edge other{.direction = Direction::in, .peer = 1, .tag = 1, .regions = {sends_all ? last : all}};
    const Status overlap = check_apart(std::vector<Edge>{one, other}, 0);
    EXPECT_EQ(overlap.code(), Code::argument);
    EXPECT_NE(overlap.text().find("one of them receives into it: 8 bytes"), std::string::npos) << overlap.text();
  }
  last.memory += 8;
  EXPECT_TRUE(check_apart(std::vector<Edge>{{.direction = Direction::out, .peer = 1, .regions = {all}},
                                            {.direction = Direction::in, .peer = 1, .regions = {last}}},
                          0)
                  .ok());
}

// It would be a list of 2^40 runs.
TEST(CheckApart, FindsABoxThatIsFoldedWithoutListingItsRuns) {
  const Edge folded{.direction = Direction::in, .peer = 1, .regions = {boxes(8, {{std::uint64_t{1} << 40U, 0}})}};
  const Status overlap = check_apart(std::vector<Edge>{folded}, 0);
  EXPECT_EQ(overlap.code(), Code::argument) << overlap.text();
}

}  // namespace
}  // namespace couplet::exchange
