// The patterns of the exchange under SimGrid: the neighbours of each rank, and how much it exchanges with them. Each is
// symmetric.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/random.hpp"

namespace scale {

struct Pattern {
  std::string kind = "1d";  // 1d, 3d, or axes: 3-D, with neighbours along the three axes only
  int neighbors = 2;
  int min_doubles = 100;
  int max_doubles = 100;
  std::uint64_t seed = 1;
};

// One neighbour: edges to the same rank are merged into one message.
struct Neighbor {
  int rank = 0;
  std::int64_t out_doubles = 0;
  std::int64_t in_doubles = 0;
};

struct Offset {
  int x = 0;
  int y = 0;
  int z = 0;
};

// Returns pairs of opposite offsets, and as many as there are neighbours: faces before edges before corners.
inline std::vector<Offset> offsets_of(const Pattern& pattern) {
  std::vector<Offset> all;
  const auto add = [&](const Offset& one) {
    if (static_cast<int>(all.size()) + 2 <= pattern.neighbors) {
      all.push_back(one);
      all.push_back({-one.x, -one.y, -one.z});
    }
  };
  for (int distance = 1; pattern.kind == "1d" && distance <= pattern.neighbors; ++distance) {
    add({distance, 0, 0});
  }
  for (int distance = 1; pattern.kind == "axes" && distance <= pattern.neighbors; ++distance) {
    add({distance, 0, 0});
    add({0, distance, 0});
    add({0, 0, distance});
  }
  for (int moved = 1; pattern.kind == "3d" && moved <= 3; ++moved) {
    for (int x = 0; x <= 1; ++x) {
      for (int y = -x; y <= 1; ++y) {
        for (int z = x == 0 && y <= 0 ? 0 : -1; z <= 1; ++z) {
          const bool is_first = x > 0 || y > 0 || (y == 0 && z > 0);  // the other one is its opposite
          if (is_first && (x != 0) + (y != 0) + (z != 0) == moved) {
            add({x, y, z});
          }
        }
      }
    }
  }
  return all;
}

// Returns the extents of a grid of so many ranks, as equal as possible; {size, 1, 1} for 1-D.
inline Offset grid_of(const Pattern& pattern, int size) {
  if (pattern.kind == "1d") {
    return {size, 1, 1};
  }
  Offset best{size, 1, 1};
  for (int x = 1; x * x * x <= size; ++x) {
    for (int y = x; size % x == 0 && x * y * y <= size; ++y) {
      if (size % (x * y) == 0) {
        best = {size / (x * y), y, x};
      }
    }
  }
  return best;
}

// The doubles of a rank's edge along an offset. All ranks compute the same.
inline std::int64_t doubles_of(const Pattern& pattern, int rank, std::size_t offset) {
  couplet::Random random((pattern.seed << 32U) + static_cast<std::uint64_t>(rank) * 64 + offset);
  const auto range = static_cast<std::uint64_t>(pattern.max_doubles - pattern.min_doubles);
  return pattern.min_doubles + static_cast<std::int64_t>(random.below(range + 1));
}

// Returns the neighbours of a rank on a periodic grid, in the order of their ranks; itself is left out.
inline std::vector<Neighbor> neighbors_of(const Pattern& pattern, int rank, int size) {
  const auto offsets = offsets_of(pattern);
  const Offset grid = grid_of(pattern, size);
  const auto wrap = [](int place, int extent) { return ((place % extent) + extent) % extent; };
  std::map<int, Neighbor> found;
  for (std::size_t index = 0; index < offsets.size(); ++index) {
    const int x = wrap(rank % grid.x + offsets[index].x, grid.x);
    const int y = wrap(rank / grid.x % grid.y + offsets[index].y, grid.y);
    const int z = wrap(rank / (grid.x * grid.y) + offsets[index].z, grid.z);
    const int peer = x + grid.x * (y + grid.y * z);
    if (peer == rank) {
      continue;
    }
    Neighbor& one = found[peer];
    one.rank = peer;
    one.out_doubles += doubles_of(pattern, rank, index);
    one.in_doubles += doubles_of(pattern, peer, index ^ 1U);  // the opposite offset, seen from there
  }
  std::vector<Neighbor> all;
  for (const auto& [peer, one] : found) {
    all.push_back(one);
  }
  return all;
}

}  // namespace scale
