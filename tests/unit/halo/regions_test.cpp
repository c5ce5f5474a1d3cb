#include "halo/regions.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace couplet::halo {
namespace {

using exchange::Direction;

std::byte memory[1 << 16];

Grid grid_of(const GridTerms& terms, std::int32_t ranks) {
  auto made = Grid::create(terms, ranks);
  EXPECT_TRUE(made.ok()) << made.status().text();
  return *std::move(made);
}

// A dense field of bytes that holds the block of the rank and its widths.
Field field_of(const Grid& grid, std::int32_t rank, std::int64_t below, std::int64_t above) {
  Field field;
  field.name = "eta";
  field.memory = memory;
  field.type_name = "byte";
  field.element_bytes = 1;
  const layout::Box box = grid.box(rank);
  std::int64_t distance = 1;
  for (int dimension = grid.dimensions() - 1; dimension >= 0; --dimension) {
    const auto place = static_cast<std::size_t>(dimension);
    field.below[place] = field.first[place] = below;
    field.above[place] = above;
    field.shape[place] = below + box.extent(dimension) + above;
    field.stride_bytes[place] = distance;
    distance *= field.shape[place];
  }
  return field;
}

std::vector<LayeredEdge> edges(const Grid& grid, std::int32_t rank, const Field& field, bool is_layered = false) {
  auto made = edges_of(grid, rank, field, 0, is_layered);
  EXPECT_TRUE(made.ok()) << made.status().text();
  return made.ok() ? *std::move(made) : std::vector<LayeredEdge>();
}

// The bytes of the array that an edge moves, in order.
std::vector<std::int64_t> places_of(const LayeredEdge& made) {
  std::vector<std::int64_t> places;
  for (const exchange::Region& region : made.edge.regions) {
    exchange::for_each_run(region, [&](const std::byte* run) {
      for (std::uint64_t byte = 0; byte < region.run_bytes; ++byte) {
        places.push_back(run - memory + static_cast<std::int64_t>(byte));
      }
    });
  }
  return places;
}

const LayeredEdge& edge_with(const std::vector<LayeredEdge>& all, Direction direction, std::int32_t peer) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const LayeredEdge& one) {
    return one.edge.direction == direction && one.edge.peer == peer;
  });
  EXPECT_NE(found, all.end());
  return *found;
}

TEST(HaloEdges, ALineGivesItsEndsToBothSides) {
  const Grid grid = grid_of({.dimensions = 1, .cells = {12}}, 3);
  const auto all = edges(grid, 1, field_of(grid, 1, 2, 1));  // 2 + 4 + 1 points
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(places_of(edge_with(all, Direction::in, 0)), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(places_of(edge_with(all, Direction::in, 2)), (std::vector<std::int64_t>{6}));
  EXPECT_EQ(places_of(edge_with(all, Direction::out, 0)), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(places_of(edge_with(all, Direction::out, 2)), (std::vector<std::int64_t>{4, 5}));
}

TEST(HaloEdges, FacesOnlyOrAllSides) {
  const Grid grid = grid_of({.dimensions = 3, .cells = {9, 9, 9}, .blocks = {3, 3, 3}}, 27);
  Field field = field_of(grid, 13, 1, 1);
  EXPECT_EQ(edges(grid, 13, field).size(), 12U);
  field.has_corners = true;
  EXPECT_EQ(edges(grid, 13, field).size(), 52U);
  EXPECT_EQ(edges(grid, 0, field_of(grid, 0, 1, 1)).size(), 6U);
}

TEST(HaloEdges, BothEndsHaveTheSameTerms) {
  const Grid grid = grid_of({.dimensions = 2, .cells = {7, 9}, .blocks = {2, 1}, .is_periodic = {true, true}}, 2);
  std::vector<std::vector<LayeredEdge>> all;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    Field field = field_of(grid, rank, 2, 1);
    field.has_corners = true;
    all.push_back(edges(grid, rank, field));
  }
  int compared = 0;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    for (const LayeredEdge& sent : all[static_cast<std::size_t>(rank)]) {
      if (sent.edge.direction != Direction::out) continue;
      for (const LayeredEdge& received : all[static_cast<std::size_t>(sent.edge.peer)]) {
        if (received.edge.direction != Direction::in || received.edge.peer != rank) continue;
        if (received.edge.tag != sent.edge.tag) continue;
        EXPECT_EQ(received.edge.bytes(), sent.edge.bytes());
        EXPECT_EQ(received.edge.title, sent.edge.title);
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 16);
}

TEST(HaloEdges, TheUppermostPointOfAStaggeredFieldBelongsToTheLastBlock) {
  const Grid line = grid_of({.dimensions = 1, .cells = {6}}, 2);
  EXPECT_EQ(owned_points(line, 0, {true}).stop[0], 3);
  EXPECT_EQ(owned_points(line, 1, {true}).stop[0], 7);
  const Grid ring = grid_of({.dimensions = 1, .cells = {6}, .is_periodic = {true}}, 2);
  EXPECT_EQ(owned_points(ring, 1, {true}).stop[0], 6);
}

TEST(HaloEdges, ASharedPointComesFromItsOwnerEvenWithoutAWidth) {
  const Grid grid = grid_of({.dimensions = 1, .cells = {6}}, 2);
  Field field = field_of(grid, 0, 0, 0);
  field.is_staggered[0] = true;
  field.shape[0] = 4;
  const auto lower = edges(grid, 0, field);
  ASSERT_EQ(lower.size(), 1U);
  EXPECT_EQ(lower[0].edge.direction, Direction::in);
  EXPECT_EQ(places_of(lower[0]), (std::vector<std::int64_t>{3}));
  const auto upper = edges(grid, 1, field);
  ASSERT_EQ(upper.size(), 1U);
  EXPECT_EQ(upper[0].edge.direction, Direction::out);
  EXPECT_EQ(places_of(upper[0]), (std::vector<std::int64_t>{0}));
}

TEST(HaloEdges, LayersComeNearestFirst) {
  const Grid grid = grid_of({.dimensions = 2, .cells = {8, 8}, .blocks = {2, 2}}, 4);
  Field field = field_of(grid, 3, 2, 0);  // 6 x 6 points, of which 4 x 4 are the block
  field.has_corners = true;
  const auto all = edges(grid, 3, field, true);
  const LayeredEdge& corner = edge_with(all, Direction::in, 0);
  EXPECT_EQ(corner.bytes_within, (std::vector<std::uint64_t>{0, 1, 4}));
  const auto places = places_of(corner);
  ASSERT_EQ(places.size(), 4U);
  EXPECT_EQ(places[0], 7);  // the one at the block
  EXPECT_EQ(std::vector<std::int64_t>(places.begin() + 1, places.end()), (std::vector<std::int64_t>{0, 1, 6}));
  const LayeredEdge& face = edge_with(all, Direction::in, 1);
  EXPECT_EQ(face.bytes_within, (std::vector<std::uint64_t>{0, 4, 8}));
  EXPECT_EQ(places_of(face), (std::vector<std::int64_t>{8, 9, 10, 11, 2, 3, 4, 5}));
  EXPECT_TRUE(face.edge.is_variable);
}

TEST(HaloEdges, FortranOrderMovesRunsAlongItsFirstDimension) {
  const Grid grid = grid_of({.dimensions = 2, .cells = {8, 8}, .blocks = {1, 2}}, 2);
  Field field = field_of(grid, 0, 0, 1);
  field.above[0] = 0;
  field.shape = {8, 5, 0, 0};
  field.stride_bytes = {1, 8, 0, 0};
  const auto all = edges(grid, 0, field);
  const auto received = edge_with(all, Direction::in, 1).edge;
  EXPECT_EQ(exchange::simplified(received.regions.front()).run_bytes, 8U);
}

TEST(HaloEdges, ADimensionWithOnePointHasNoOrderInMemory) {
  const Grid grid = grid_of({.dimensions = 3, .cells = {4, 1, 6}, .blocks = {2, 1, 1}}, 2);
  Field field = field_of(grid, 0, 1, 1);
  field.below = field.above = field.first = {1, 0, 0, 0};
  field.shape = {4, 1, 6, 0};
  field.stride_bytes = {6, 6, 1, 0};
  const std::string title = edges(grid, 0, field).front().edge.title;
  field.stride_bytes[1] = 1000;  // as NumPy may have it
  EXPECT_EQ(edges(grid, 0, field).front().edge.title, title);
  field.stride_bytes = {1, 1000, 6, 0};
  field.below[0] = field.above[0] = 2;
  field.first[0] = 2;
  field.shape[0] = 6;
  const std::string fortran = edges(grid, 0, field).front().edge.title;
  EXPECT_NE(fortran.find("order 20"), std::string::npos) << fortran;
}

TEST(HaloEdges, EachComponentMoves) {
  const Grid grid = grid_of({.dimensions = 1, .cells = {6}}, 2);
  Field field = field_of(grid, 0, 1, 1);
  field.component_count = 3;
  field.component_stride_bytes = 100;
  const auto all = edges(grid, 0, field);
  EXPECT_EQ(places_of(edge_with(all, Direction::in, 1)), (std::vector<std::int64_t>{4, 104, 204}));
}

TEST(HaloEdges, RefusesWidthsThatTheSmallestBlockHasNot) {
  const Grid grid = grid_of({.dimensions = 1, .cells = {10}, .blocks = {3}, .block_cells = {4, 2, 4}}, 3);
  const auto wide = edges_of(grid, 0, field_of(grid, 0, 3, 1), 0, false);
  EXPECT_EQ(wide.code(), Code::argument);
  EXPECT_NE(wide.status().text().find("'eta'"), std::string::npos) << wide.status().text();
  EXPECT_NE(wide.status().text().find("2 cells"), std::string::npos) << wide.status().text();
  Field staggered = field_of(grid, 0, 1, 2);
  EXPECT_TRUE(edges_of(grid, 0, staggered, 0, false).ok());
  staggered.is_staggered[0] = true;
  ++staggered.shape[0];
  EXPECT_EQ(edges_of(grid, 0, staggered, 0, false).code(), Code::argument);
  const Grid alone = grid_of({.dimensions = 1, .cells = {2}}, 1);
  EXPECT_TRUE(edges_of(alone, 0, field_of(alone, 0, 5, 5), 0, false).ok()) << "nothing is received";
}

TEST(HaloEdges, RefusesStridesThatPutSeveralElementsAtOnePlace) {
  const Grid grid = grid_of({.dimensions = 2, .cells = {8, 6}, .blocks = {2, 1}}, 2);
  Field field = field_of(grid, 0, 1, 1);
  EXPECT_TRUE(edges_of(grid, 0, field, 0, false).ok());
  const std::int64_t bytes = field.stride_bytes[1];
  for (const Places& strides :
       {Places{bytes * field.shape[1], bytes / 2}, Places{0, bytes}, Places{2 * bytes, bytes}}) {
    field.stride_bytes = strides;
    const auto made = edges_of(grid, 0, field, 0, false);
    EXPECT_EQ(made.code(), Code::shape);
    EXPECT_NE(made.status().text().find("several elements at one place"), std::string::npos) << made.status().text();
  }
  field.stride_bytes = {bytes, bytes * field.shape[0]};  // in Fortran order
  EXPECT_TRUE(edges_of(grid, 0, field, 0, false).ok());
}

TEST(HaloEdges, RefusesAnArrayThatIsTooSmall) {
  const Grid grid = grid_of({.dimensions = 1, .cells = {10}}, 2);
  Field field = field_of(grid, 1, 2, 1);
  field.shape[0] = 7;
  const auto made = edges_of(grid, 1, field, 0, false);
  EXPECT_EQ(made.code(), Code::shape);
  EXPECT_NE(made.status().text().find("has 7 points in dimension 0"), std::string::npos) << made.status().text();
  field.shape[0] = 8;
  field.first[0] = 1;
  EXPECT_EQ(edges_of(grid, 1, field, 0, false).code(), Code::shape) << "no room below";
  field.first[0] = 3;
  EXPECT_EQ(edges_of(grid, 1, field, 0, false).code(), Code::shape) << "no room above";
  field.first[0] = 2;
  EXPECT_TRUE(edges_of(grid, 1, field, 0, false).ok());
  field.stride_bytes[0] = std::int64_t{1} << 62U;
  EXPECT_EQ(edges_of(grid, 1, field, 0, false).code(), Code::shape) << "too many bytes";
  field.stride_bytes[0] = 1;
  field.memory = nullptr;
  EXPECT_EQ(edges_of(grid, 1, field, 0, false).code(), Code::argument);
}

}  // namespace
}  // namespace couplet::halo
