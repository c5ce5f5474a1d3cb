#include "halo/regions.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "base/counted.hpp"

namespace couplet::halo {
namespace {

using exchange::Direction;
using exchange::Region;
using layout::Box;

std::size_t index(int dimension) {
  return static_cast<std::size_t>(dimension);
}

// The last block along a dimension that ends there has one point more.
bool has_uppermost_point(const Grid& grid, const Places& coordinates, int dimension) {
  return !grid.is_periodic(dimension) && coordinates[index(dimension)] == grid.blocks(dimension) - 1;
}

// A point that a staggered field shares with the next block is received with any width.
std::int64_t shared_points(const Field& field, int dimension) {
  return field.is_staggered[index(dimension)] ? 1 : 0;
}

// The points that the block of `receiver` gets from `direction` if all widths are limited, in whole-grid numbers: they
// may be below 0 or beyond the grid, if it is periodic.
Box received_points(const Grid& grid, std::int32_t receiver, const Field& field, const Places& direction,
                    std::int64_t limit) {
  Box points = owned_points(grid, receiver, field.is_staggered);
  for (int dimension = 0; dimension < grid.dimensions(); ++dimension) {
    const std::size_t place = index(dimension);
    if (direction[place] < 0) {
      points.stop[place] = points.start[place];
      points.start[place] -= std::min(limit, field.below[place]);
    } else if (direction[place] > 0) {
      points.start[place] = points.stop[place];
      points.stop[place] += std::min(limit, field.above[place]) + shared_points(field, dimension);
    }
  }
  return points;
}

// Appends the points of `whole` that are not in `inner`, which has a corner in common with it, as boxes.
void append_rest(const Box& whole, const Box& inner, std::vector<Box>& boxes) {
  Box rest = whole;
  for (int dimension = 0; dimension < whole.dimensions; ++dimension) {
    const std::size_t place = index(dimension);
    Box slab = rest;
    if (inner.start[place] > whole.start[place]) {
      slab.stop[place] = inner.start[place];
    } else {
      slab.start[place] = inner.stop[place];
    }
    if (!slab.empty()) boxes.push_back(slab);
    rest.start[place] = inner.start[place];
    rest.stop[place] = inner.stop[place];
  }
}

// The widest width of the dimensions in which anything is received. It is at most that of a block.
std::int64_t widest_received(const Grid& grid, const Field& field) {
  std::int64_t width = 0;
  for (int dimension = 0; dimension < grid.dimensions(); ++dimension) {
    if (!grid.has_neighbors(dimension)) continue;
    width = std::max({width, field.below[index(dimension)], field.above[index(dimension)]});
  }
  return width;
}

// The received points as boxes. Layered: those within width 0 first, then those that width 1 adds, and so on.
struct Layers {
  std::vector<Box> boxes;
  std::vector<std::uint64_t> points_within;
};

Layers layers_of(const Grid& grid, std::int32_t receiver, const Field& field, const Places& direction,
                 bool is_layered) {
  Layers layers;
  const std::int64_t widest_limit = widest_received(grid, field);
  if (!is_layered) {
    const Box all = received_points(grid, receiver, field, direction, widest_limit);
    if (!all.empty()) layers.boxes.push_back(all);
    layers.points_within.assign(1, all.elements());
    return layers;
  }
  Box inner;
  for (std::int64_t limit = 0; limit <= widest_limit; ++limit) {
    const Box whole = received_points(grid, receiver, field, direction, limit);
    if (!whole.empty() && inner.empty()) {
      layers.boxes.push_back(whole);
    } else if (!whole.empty()) {
      append_rest(whole, inner, layers.boxes);
    }
    layers.points_within.push_back(whole.elements());
    inner = whole;
  }
  return layers;
}

// The dimensions from the largest distance in memory to the smallest. grid.dimensions(): the components of a point.
std::vector<int> memory_order(const Grid& grid, const Field& field) {
  std::vector<int> order(index(grid.dimensions()));
  std::iota(order.begin(), order.end(), 0);
  if (field.component_count > 1) order.push_back(grid.dimensions());
  const auto distance = [&](int one) {
    return std::abs(one == grid.dimensions() ? field.component_stride_bytes : field.stride_bytes[index(one)]);
  };
  std::stable_sort(order.begin(), order.end(), [&](int one, int other) { return distance(one) > distance(other); });
  return order;
}

// A box of the array, whose first element is `origin` in whole-grid numbers.
Region region_of(const Grid& grid, const Field& field, const Box& box, const Places& origin) {
  Region region{.memory = field.memory, .run_bytes = field.element_bytes};
  for (const int dimension : memory_order(grid, field)) {
    Region::Loop& loop = region.loops[index(region.loop_count++)];
    if (dimension == grid.dimensions()) {
      loop = {.count = static_cast<std::uint64_t>(field.component_count), .stride_bytes = field.component_stride_bytes};
      continue;
    }
    const std::size_t place = index(dimension);
    loop = {.count = static_cast<std::uint64_t>(box.extent(dimension)), .stride_bytes = field.stride_bytes[place]};
    region.memory += (box.start[place] - origin[place]) * field.stride_bytes[place];
  }
  return region;
}

// How far the numbers of a received point are from those of the same point in the block that sends it.
Places wrapped(const Grid& grid, std::int32_t receiver, const Places& direction) {
  const Places own = grid.coordinates(receiver);
  Places shift{};
  for (int dimension = 0; dimension < grid.dimensions(); ++dimension) {
    const std::size_t place = index(dimension);
    if (direction[place] < 0 && own[place] == 0) shift[place] = -grid.cells(dimension);
    if (direction[place] > 0 && own[place] == grid.blocks(dimension) - 1) shift[place] = grid.cells(dimension);
  }
  return shift;
}

// whole: all points that the edge may move. A dimension in which there is one has no order; the distance in memory of
// such a dimension may be anything.
std::string title_of(const Grid& grid, const Field& field, const Places& direction, const Box& whole) {
  std::string order;
  for (const int dimension : memory_order(grid, field)) {
    if (dimension == grid.dimensions()) {
      order += "c";
    } else if (whole.extent(dimension) > 1) {
      order += std::to_string(dimension);
    }
  }
  if (order.empty()) order = "any";
  std::string staggered;
  for (int dimension = 0; dimension < grid.dimensions(); ++dimension) {
    if (field.is_staggered[index(dimension)]) staggered += fmt::format(" {}", dimension);
  }
  return fmt::format("{}, halo from ({}): {} x {}, widths ({}) below and ({}) above{}{}, order {}; {}", field.name,
                     list_of(direction, grid.dimensions()), field.component_count, field.type_name,
                     list_of(field.below, grid.dimensions()), list_of(field.above, grid.dimensions()),
                     staggered.empty() ? "" : ", staggered in", staggered, order, grid.describe());
}

Status check_widths(const Grid& grid, const Field& field) {
  bool moves_any = false;
  for (int dimension = 0; dimension < grid.dimensions(); ++dimension) {
    const std::int64_t below = field.below[index(dimension)];
    const std::int64_t above = field.above[index(dimension)];
    if (below < 0 || above < 0) {
      return fail(Code::argument, "field '{}': the widths of dimension {} must be at least 0, not {} and {}",
                  field.name, grid.number_of(dimension), below, above);
    }
    moves_any = moves_any || below > 0 || above > 0 || shared_points(field, dimension) > 0;
    const std::int64_t most = grid.smallest_block(dimension) - shared_points(field, dimension);
    if (!grid.has_neighbors(dimension) || (below <= grid.smallest_block(dimension) && above <= most)) continue;
    return fail(
        Code::argument,
        "field '{}': the widths {} below and {} above in dimension {} are larger than the smallest block, which "
        "has {}{}; use fewer blocks in this dimension",
        field.name, below, above, grid.number_of(dimension), counted(grid.smallest_block(dimension), "cell"),
        field.is_staggered[index(dimension)] ? " (the field is staggered, so one of them is shared)" : "");
  }
  if (moves_any) return {};
  return fail(Code::argument,
              "field '{}': all its widths are 0, so that it has no halo; give a width, or below and above", field.name);
}

// No distance within the array may be more than can be counted.
Status check_extent(int dimensions, const Field& field) {
  constexpr std::int64_t max_bytes = std::int64_t{1} << 60U;
  std::int64_t extent = 0;
  bool is_too_large = __builtin_mul_overflow(field.component_count, field.component_stride_bytes, &extent) ||
                      extent > max_bytes || extent < -max_bytes;
  for (int dimension = 0; dimension < dimensions; ++dimension) {
    const std::size_t place = index(dimension);
    is_too_large = is_too_large || __builtin_mul_overflow(field.shape[place], field.stride_bytes[place], &extent) ||
                   extent > max_bytes || extent < -max_bytes;
  }
  if (!is_too_large) return {};
  return fail(Code::shape, "field '{}': the array has more than {} bytes", field.name, max_bytes);
}

// Each element has bytes of its own: from the shortest distance to the longest, one is at least as long as all that the
// shorter ones reach.
Status check_strides(int dimensions, const Field& field) {
  struct Step {
    std::int64_t count;
    std::int64_t bytes;
  };
  std::vector<Step> steps;
  if (field.component_count > 1) steps.push_back({field.component_count, std::abs(field.component_stride_bytes)});
  for (int dimension = 0; dimension < dimensions; ++dimension) {
    const std::size_t place = index(dimension);
    if (field.shape[place] > 1) steps.push_back({field.shape[place], std::abs(field.stride_bytes[place])});
  }
  std::sort(steps.begin(), steps.end(), [](const Step& one, const Step& other) { return one.bytes < other.bytes; });
  auto reach = static_cast<std::int64_t>(field.element_bytes);
  for (const Step& step : steps) {
    if (step.bytes < reach) {
      return fail(Code::shape,
                  "field '{}': a stride of {} bytes puts several elements at one place, since it must be at least {}; "
                  "strides are given in bytes",
                  field.name, step.bytes, reach);
    }
    reach += step.bytes * (step.count - 1);
  }
  return {};
}

Status check(const Grid& grid, std::int32_t rank, const Field& field) {
  COUPLET_TRY(check_widths(grid, field));
  if (field.component_count < 1) {
    return fail(Code::argument, "field '{}': a point must have at least 1 component, not {}", field.name,
                field.component_count);
  }
  if (field.memory == nullptr) return fail(Code::argument, "field '{}': the array is NULL", field.name);
  COUPLET_TRY(check_memory(grid.dimensions(), field));
  const Box block = grid.box(rank);
  for (int dimension = 0; dimension < grid.dimensions(); ++dimension) {
    const std::size_t place = index(dimension);
    const std::int64_t own = block.extent(dimension) + shared_points(field, dimension);
    const std::int64_t first = field.first[place];
    const std::int64_t shape = field.shape[place];
    const bool has_room = first >= field.below[place] && first <= shape && field.above[place] <= shape &&
                          own <= shape - first - field.above[place];
    if (has_room) continue;
    return fail(Code::shape,
                "field '{}': the array has {} in dimension {}, and the first one of the block is {}; it must hold "
                "{} below, the {} of the block of rank {}, and {} above",
                field.name, counted(shape, "point"), grid.number_of(dimension), first + grid.first_number(),
                field.below[place], own, rank, field.above[place]);
  }
  return {};
}

// All directions but that of the block itself, the last dimension fastest.
std::vector<Places> directions_of(const Grid& grid, bool has_corners) {
  std::vector<Places> found;
  int count = 1;
  for (int dimension = 0; dimension < grid.dimensions(); ++dimension) count *= 3;
  for (int number = 0; number < count; ++number) {
    Places direction{};
    int rest = number;
    int sides = 0;
    for (int dimension = grid.dimensions() - 1; dimension >= 0; --dimension) {
      direction[index(dimension)] = rest % 3 - 1;
      sides += rest % 3 == 1 ? 0 : 1;
      rest /= 3;
    }
    if (sides == 1 || (has_corners && sides > 1)) found.push_back(direction);
  }
  return found;
}

// Different for each direction and field, and the same at both ends.
std::int64_t tag_of(const Grid& grid, const Places& direction, std::uint32_t number) {
  std::int64_t code = number;
  for (int dimension = 0; dimension < grid.dimensions(); ++dimension) code = code * 3 + direction[index(dimension)] + 1;
  return code;
}

// One end of the edge by which `receiver` gets points from `direction`.
struct End {
  Direction direction = Direction::out;
  std::int32_t receiver = -1;
  std::int32_t peer = -1;
};

}  // namespace

Status check_memory(int dimensions, const Field& field) {
  COUPLET_TRY(check_extent(dimensions, field));
  return check_strides(dimensions, field);
}

Box owned_points(const Grid& grid, std::int32_t rank, const Flags& is_staggered) {
  const Places own = grid.coordinates(rank);
  Box points = grid.box(rank);
  for (int dimension = 0; dimension < grid.dimensions(); ++dimension) {
    if (is_staggered[index(dimension)] && has_uppermost_point(grid, own, dimension)) ++points.stop[index(dimension)];
  }
  return points;
}

std::int64_t widest(const Grid& grid, const Field& field) {
  std::int64_t width = 0;
  for (int dimension = 0; dimension < grid.dimensions(); ++dimension) {
    width = std::max({width, field.below[index(dimension)], field.above[index(dimension)]});
  }
  return width;
}

Result<std::vector<LayeredEdge>> edges_of(const Grid& grid, std::int32_t rank, const Field& field, std::uint32_t number,
                                          bool is_layered) {
  COUPLET_TRY(check(grid, rank, field));
  const Box block = grid.box(rank);
  Places origin{};
  for (int dimension = 0; dimension < grid.dimensions(); ++dimension) {
    origin[index(dimension)] = block.start[index(dimension)] - field.first[index(dimension)];
  }
  const std::uint64_t point_bytes = field.element_bytes * static_cast<std::uint64_t>(field.component_count);
  std::vector<LayeredEdge> edges;
  const auto append = [&](const End& end, const Places& direction) {
    const Layers layers = layers_of(grid, end.receiver, field, direction, is_layered);
    if (layers.boxes.empty()) return;
    LayeredEdge made;
    made.edge.direction = end.direction;
    made.edge.peer = end.peer;
    made.edge.tag = tag_of(grid, direction, number);
    made.edge.title = title_of(grid, field, direction,
                               received_points(grid, end.receiver, field, direction, widest_received(grid, field)));
    made.edge.is_variable = is_layered;
    const Places shift = end.direction == Direction::out ? wrapped(grid, end.receiver, direction) : Places{};
    for (Box box : layers.boxes) {
      for (int dimension = 0; dimension < grid.dimensions(); ++dimension) {
        box.start[index(dimension)] -= shift[index(dimension)];
        box.stop[index(dimension)] -= shift[index(dimension)];
      }
      made.edge.regions.push_back(region_of(grid, field, box, origin));
    }
    for (const std::uint64_t points : layers.points_within) made.bytes_within.push_back(points * point_bytes);
    edges.push_back(std::move(made));
  };
  for (const Places& direction : directions_of(grid, field.has_corners)) {
    Places opposite{};
    for (std::size_t place = 0; place < opposite.size(); ++place) opposite[place] = -direction[place];
    const std::int32_t receiver = grid.neighbor(rank, opposite);
    if (receiver >= 0) append({Direction::out, receiver, receiver}, direction);
    const std::int32_t sender = grid.neighbor(rank, direction);
    if (sender >= 0) append({Direction::in, rank, sender}, direction);
  }
  return edges;
}

}  // namespace couplet::halo
