// Halo: the arrays of one rank of a benchmark, with an edge for each direction. Several edges may lead to one rank, or
// to the own one.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

namespace couplet::bench {

struct HaloEdge {
  int peer = 0;
  int direction = 0;  // the same number at both ends
  std::vector<double> values;
};

// All edges of one direction of travel between this rank and another one, in the same order at both.
struct Bundle {
  int peer = 0;
  std::vector<std::size_t> out;  // indices of edges
  std::vector<std::size_t> in;
  std::size_t out_count = 0;  // values
  std::size_t in_count = 0;
};

class Halo {
 public:
  // "ring": one neighbour on each side; "1d" with 2 x n neighbours; "3d" with the first n of the 26 directions.
  // The lengths are 100 values, in 3-D 10 to 100 from a fixed seed.
  Halo(std::string_view kind, int neighbors, int rank, int size);

  std::vector<HaloEdge> out;
  std::vector<HaloEdge> in;
  std::vector<Bundle> bundles;  // without the own rank

  void copy_own() noexcept;
  void clear();
  // Returns whether everything has arrived.
  [[nodiscard]] bool is_right() const;

 private:
  void add(int direction, int to, int from, int count_out, int count_in);
  void bundle();
  int rank_;
  std::vector<std::pair<std::size_t, std::size_t>> own_;  // out, in
};

// Copy the edges of a bundle to and from one run of memory.
double* pack(const Halo& halo, const Bundle& bundle, double* to) noexcept;
const double* unpack(Halo& halo, const Bundle& bundle, const double* from) noexcept;

}  // namespace couplet::bench
