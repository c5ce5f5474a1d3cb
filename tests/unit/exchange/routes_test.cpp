#include "exchange/routes.hpp"

#include <gtest/gtest.h>

namespace couplet::exchange {
namespace {

std::byte memory[4096];

Edge edge(Direction direction, std::int32_t peer, std::int64_t tag, std::uint64_t bytes, std::uint64_t every = 1,
          std::uint64_t offset = 0) {
  return {.direction = direction,
          .peer = peer,
          .tag = tag,
          .regions = {{.memory = memory, .run_bytes = bytes}},
          .every = every,
          .offset = offset};
}

TEST(Routes, OnePortForEachNeighborWithEdgesInOrderOfTags) {
  const std::vector<Edge> edges{edge(Direction::out, 2, 9, 10), edge(Direction::out, 2, 1, 20),
                                edge(Direction::in, 2, 5, 30), edge(Direction::out, 1, 0, 40)};
  const auto routes = Routes::of(edges, 0);
  ASSERT_TRUE(routes.ok());
  ASSERT_EQ(routes->ports.size(), 2U);
  EXPECT_EQ(routes->ports[0].peer, 1);
  EXPECT_FALSE(routes->ports[0].receives);
  EXPECT_FALSE(routes->ports[0].is_paired);
  EXPECT_EQ(routes->ports[1].out_bytes, 30U);
  EXPECT_EQ(routes->ports[1].in_bytes, 30U);
  EXPECT_TRUE(routes->ports[1].is_paired);
  EXPECT_EQ(routes->out[1].edges, (std::vector<std::uint32_t>{1, 0}));
}

TEST(Routes, APortIsPairedOnlyIfBothDirectionsHaveAMessageInEachRound) {
  const std::vector<Edge> seldom{edge(Direction::out, 1, 0, 8, 2), edge(Direction::in, 1, 0, 8, 2)};
  EXPECT_FALSE(Routes::of(seldom, 0)->ports[0].is_paired);
  std::vector<Edge> late{edge(Direction::out, 1, 0, 8, 1, 1), edge(Direction::in, 1, 0, 8)};
  EXPECT_FALSE(Routes::of(late, 0)->ports[0].is_paired);
  late.push_back(edge(Direction::out, 1, 3, 8));
  EXPECT_TRUE(Routes::of(late, 0)->ports[0].is_paired);
}

TEST(Routes, VariableEdgesNeedRoomForTheirLengths) {
  std::vector<Edge> edges{edge(Direction::out, 1, 0, 8)};
  edges[0].is_variable = true;
  const auto routes = Routes::of(edges, 0);
  EXPECT_EQ(routes->ports[0].out_bytes, 16U);
  EXPECT_FALSE(routes->is_plain);
}

// What is copied without looking at edges: only if no region has gaps, and each edge moves all its bytes in each round.
TEST(Routes, APlainRouteIsListedPieceByPiece) {
  std::vector<Edge> edges{edge(Direction::out, 1, 0, 16), edge(Direction::out, 1, 1, 8), edge(Direction::out, 1, 2, 8)};
  edges[1].regions[0].memory = memory + 16;  // directly behind the first one
  edges[2].regions[0].memory = memory + 64;
  edges[2].regions.push_back({.memory = memory + 128, .run_bytes = 0});
  const auto runs = [&] { return Routes::of(edges, 0)->out[0].runs; };
  ASSERT_EQ(runs().size(), 2U);
  EXPECT_EQ(runs()[0].memory, memory);
  EXPECT_EQ(runs()[0].bytes, 24U);
  EXPECT_EQ(runs()[1].memory, memory + 64);
  EXPECT_EQ(runs()[1].bytes, 8U);
  edges[1].every = 2;
  EXPECT_TRUE(runs().empty()) << "not in each round";
  edges[1].every = 1;
  edges[1].is_variable = true;
  EXPECT_TRUE(runs().empty()) << "of variable length";
  edges[1].is_variable = false;
  edges[1].regions[0].loop_count = 1;
  edges[1].regions[0].loops[0] = {.count = 2, .stride_bytes = 32};
  EXPECT_TRUE(runs().empty()) << "with a gap";
}

// Their sum would be 0.
TEST(Routes, EdgesToOneRankAreTooLongTogether) {
  for (const Direction direction : {Direction::out, Direction::in}) {
    std::vector<Edge> edges;
    for (std::int64_t tag = 0; tag < 16; ++tag) {
      edges.push_back(edge(direction, 1, tag, max_edge_bytes));
      edges.back().is_variable = true;
    }
    const auto routes = Routes::of(edges, 0);
    EXPECT_EQ(routes.code(), Code::argument);
  }
}

TEST(Routes, TwoEdgesOfOneNameAreAnError) {
  const std::vector<Edge> edges{edge(Direction::out, 1, 4, 8), edge(Direction::out, 1, 4, 8)};
  EXPECT_EQ(Routes::of(edges, 0).code(), Code::exists);
}

TEST(Routes, AnEdgeToOneselfHasTwoEnds) {
  const std::vector<Edge> edges{edge(Direction::out, 0, 4, 8)};
  EXPECT_EQ(Routes::of(edges, 0).code(), Code::mismatch);
}

std::string name_of(std::int32_t rank) {
  return fmt::format("rank {}", rank);
}

// What both members of a pair find.
struct Verdict {
  Status lower;
  Status higher;
};

Verdict compare(const std::vector<Edge>& lower, const std::vector<Edge>& higher) {
  const auto one = terms_with(lower, 1);
  const auto other = terms_with(higher, 0);
  return {.lower = compare_terms(one, 0, other, 1, name_of), .higher = compare_terms(other, 1, one, 0, name_of)};
}

TEST(CompareTerms, TheOrderOfEdgesDoesNotMatter) {
  const auto verdict = compare({edge(Direction::out, 1, 0, 8), edge(Direction::out, 1, 1, 16)},
                               {edge(Direction::in, 0, 1, 16), edge(Direction::in, 0, 0, 8)});
  EXPECT_TRUE(verdict.lower.ok()) << verdict.lower.text();
  EXPECT_TRUE(verdict.higher.ok());
}

TEST(CompareTerms, BothFindTheSameDifference) {
  Edge titled = edge(Direction::in, 0, 0, 8);
  titled.title = "face";
  const std::vector<std::vector<Edge>> others{
      {}, {edge(Direction::in, 0, 0, 9)}, {edge(Direction::in, 0, 0, 8, 2)}, {titled}, {edge(Direction::in, 0, 1, 8)}};
  for (const auto& other : others) {
    const auto verdict = compare({edge(Direction::out, 1, 0, 8)}, other);
    EXPECT_EQ(verdict.lower.code(), Code::mismatch);
    EXPECT_EQ(verdict.lower.text(), verdict.higher.text());
    EXPECT_NE(verdict.lower.text().find("from rank 0 to rank 1"), std::string::npos) << verdict.lower.text();
  }
}

Edge of_type(Edge edge, couplet_type type) {
  for (Region& region : edge.regions) region.type = type;
  return edge;
}

TEST(CompareTerms, OtherElementsOfTheSameSizeAreADifference) {
  const auto verdict = compare({of_type(edge(Direction::out, 1, 0, 16), COUPLET_DOUBLE)},
                               {of_type(edge(Direction::in, 0, 0, 16), COUPLET_FLOAT)});
  EXPECT_EQ(verdict.lower.code(), Code::mismatch);
  EXPECT_NE(verdict.lower.text().find("the sender has 2 double, and the receiver 4 float"), std::string::npos)
      << verdict.lower.text();
  EXPECT_EQ(verdict.lower.text(), verdict.higher.text());
}

TEST(CompareTerms, BytesGoWithAllElements) {
  const auto verdict = compare({of_type(edge(Direction::out, 1, 0, 16), COUPLET_DOUBLE)},
                               {of_type(edge(Direction::in, 0, 0, 16), COUPLET_BYTE)});
  EXPECT_TRUE(verdict.lower.ok()) << verdict.lower.text();
  EXPECT_TRUE(verdict.higher.ok());
}

// Only the order of the elements counts, not the regions in which they were given.
TEST(CompareTerms, TheSameElementsInOtherRegionsAreNoDifference) {
  const Edge whole = of_type(edge(Direction::out, 1, 0, 24), COUPLET_DOUBLE);
  Edge parts = of_type(edge(Direction::in, 0, 0, 8), COUPLET_DOUBLE);
  parts.regions.push_back(of_type(edge(Direction::in, 0, 0, 16), COUPLET_DOUBLE).regions.front());
  const auto verdict = compare({whole}, {parts});
  EXPECT_TRUE(verdict.lower.ok()) << verdict.lower.text();
}

TEST(CompareTerms, OtherByteOrdersAreUnsupported) {
  auto one = terms_with(std::vector<Edge>{edge(Direction::out, 1, 0, 8)}, 1);
  auto other = terms_with(std::vector<Edge>{edge(Direction::in, 0, 0, 8)}, 0);
  other.big_endian = !other.big_endian;
  EXPECT_EQ(compare_terms(one, 0, other, 1, name_of).code(), Code::unsupported);
}

}  // namespace
}  // namespace couplet::exchange
