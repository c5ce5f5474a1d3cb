#include "halo.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "base/random.hpp"

namespace couplet::bench {
namespace {

constexpr int values_1d = 100;

double value_of(int rank, int direction, std::size_t index) {
  return rank * 1e6 + direction * 1e3 + static_cast<double>(index) + 1;
}

// Faces, then edges, then corners.
std::vector<std::array<int, 3>> directions_3d() {
  std::vector<std::array<int, 3>> all;
  for (int distance = 1; distance <= 3; ++distance) {
    for (int code = 0; code < 27; ++code) {
      const std::array<int, 3> step{code / 9 - 1, code / 3 % 3 - 1, code % 3 - 1};
      if (std::abs(step[0]) + std::abs(step[1]) + std::abs(step[2]) == distance) {
        all.push_back(step);
      }
    }
  }
  return all;
}

int length_3d(int rank, int direction) {
  Random random(static_cast<std::uint64_t>(rank) * 100 + static_cast<std::uint64_t>(direction) + 42);
  return static_cast<int>(random.between(10, 100));
}

int wrapped(int value, int size) {
  return ((value % size) + size) % size;
}

}  // namespace

Halo::Halo(std::string_view kind, int neighbors, int rank, int size) : rank_(rank) {
  if (kind != "3d") {
    for (int direction = 0; direction < (kind == "ring" ? 2 : neighbors); ++direction) {
      const int step = (direction / 2 + 1) * (direction % 2 == 0 ? 1 : -1);
      add(direction, wrapped(rank + step, size), wrapped(rank - step, size), values_1d, values_1d);
    }
  } else {
    const std::array<int, 3> shape{size >= 8 ? 2 : 1, size >= 4 ? 2 : 1, size >= 2 ? 2 : 1};
    const std::array<int, 3> place{rank / (shape[1] * shape[2]), rank / shape[2] % shape[1], rank % shape[2]};
    const auto all = directions_3d();
    for (int direction = 0; direction < neighbors; ++direction) {
      const auto at = [&](int sign) {
        int found = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          const int step = all[static_cast<std::size_t>(direction)][axis];
          found = found * shape[axis] + wrapped(place[axis] + sign * step, shape[axis]);
        }
        return found;
      };
      add(direction, at(1), at(-1), length_3d(rank, direction), length_3d(at(-1), direction));
    }
  }
  bundle();
}

void Halo::add(int direction, int to, int from, int count_out, int count_in) {
  out.push_back({to, direction, std::vector<double>(static_cast<std::size_t>(count_out))});
  in.push_back({from, direction, std::vector<double>(static_cast<std::size_t>(count_in))});
  for (std::size_t index = 0; index < out.back().values.size(); ++index) {
    out.back().values[index] = value_of(rank_, direction, index);
  }
  if (to == rank_) {  // then it also comes from this rank
    own_.emplace_back(out.size() - 1, in.size() - 1);
  }
}

void Halo::bundle() {
  std::map<int, Bundle> by_peer;
  for (std::size_t index = 0; index < out.size(); ++index) {
    by_peer[out[index].peer].out.push_back(index);
    by_peer[out[index].peer].out_count += out[index].values.size();
    by_peer[in[index].peer].in.push_back(index);
    by_peer[in[index].peer].in_count += in[index].values.size();
  }
  for (auto& [peer, one] : by_peer) {
    one.peer = peer;
    if (peer != rank_) {
      bundles.push_back(std::move(one));
    }
  }
}

void Halo::copy_own() noexcept {
  for (const auto& [from, to] : own_) {
    std::memcpy(in[to].values.data(), out[from].values.data(), out[from].values.size() * sizeof(double));
  }
}

void Halo::clear() {
  for (HaloEdge& edge : in) {
    std::fill(edge.values.begin(), edge.values.end(), 0.0);
  }
}

bool Halo::is_right() const {
  return std::all_of(in.begin(), in.end(), [](const HaloEdge& edge) {
    for (std::size_t index = 0; index < edge.values.size(); ++index) {
      if (edge.values[index] != value_of(edge.peer, edge.direction, index)) {
        return false;
      }
    }
    return true;
  });
}

double* pack(const Halo& halo, const Bundle& bundle, double* to) noexcept {
  for (const std::size_t index : bundle.out) {
    const auto& values = halo.out[index].values;
    std::memcpy(to, values.data(), values.size() * sizeof(double));
    to += values.size();
  }
  return to;
}

const double* unpack(Halo& halo, const Bundle& bundle, const double* from) noexcept {
  for (const std::size_t index : bundle.in) {
    auto& values = halo.in[index].values;
    std::memcpy(values.data(), from, values.size() * sizeof(double));
    from += values.size();
  }
  return from;
}

}  // namespace couplet::bench
