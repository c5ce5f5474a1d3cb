// probe: measures what communication costs on this machine. Turns a design into timings, which couplet.cost (Python)
// makes a file of. Below: MPI alone (mpi/), no part of libcouplet. Above: `couplet probe`, which starts
// couplet-probe-FLAVOUR under any launcher. Invariants: all ranks make the same design out of the same options and
// places, so that nothing is sent about it; a message of a cell has one sender and one receiver, and one of the two is
// a hot spot. Tests: tests/cost/test_probe.py.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace couplet::probe {

// How remote partners are taken: one node after the other in turn, or all of a node before the next one.
enum class Partners { spread, packed };

struct Options {
  std::vector<std::size_t> message_bytes{std::size_t{4} << 20U};
  std::vector<std::size_t> curve_bytes;
  std::vector<int> node_of_rank;  // empty: the hosts are the nodes
  int repetitions = 10;
  int warm_up = 2;
  int half_star = 0;  // 0: chosen from the cores of the node
  int sub_groups = 1;
  bool off_diagonal = false;
  Partners partners = Partners::spread;
};

// The messages of one hot spot in one cell: from and to so many partners inside its node and on other nodes.
struct Cell {
  int intra_in = 0;
  int intra_out = 0;
  int inter_in = 0;
  int inter_out = 0;
};

// One hot spot with its partners, in the order in which they are used.
struct Star {
  int hot_spot = 0;
  std::vector<int> intra;
  std::vector<int> inter;
};

// Returns the cells for 0 to max_intra pairs inside a node and 0 to max_inter pairs across nodes. With `off_diagonal`,
// also those in which the numbers of incoming and outgoing messages differ by one. The empty cell is one of them: its
// time is the cost of exchanging nothing.
inline std::vector<Cell> make_cells(int max_intra, int max_inter, bool off_diagonal) {
  std::vector<Cell> cells;
  for (int intra = 0; intra <= max_intra; ++intra) {
    for (int inter = 0; inter <= max_inter; ++inter) {
      cells.push_back({intra, intra, inter, inter});
      if (off_diagonal && intra > 0) {
        cells.push_back({intra, intra - 1, inter, inter});
        cells.push_back({intra - 1, intra, inter, inter});
      }
      if (off_diagonal && inter > 0) {
        cells.push_back({intra, intra, inter, inter - 1});
        cells.push_back({intra, intra, inter - 1, inter});
      }
    }
  }
  return cells;
}

// The stars of `sub_groups` parts of the ranks: each node's ranks are cut into so many parts, and part g of node 0 has
// the g-th hot spot, whose partners are the other ranks of that part on node 0 and the ranks of part g on the other
// nodes.
inline std::vector<Star> make_stars(const std::vector<int>& node_of_rank, int sub_groups, Partners partners) {
  const int node_count = 1 + *std::max_element(node_of_rank.begin(), node_of_rank.end());
  std::vector<std::vector<int>> ranks(static_cast<std::size_t>(node_count));
  for (std::size_t rank = 0; rank < node_of_rank.size(); ++rank) {
    ranks[static_cast<std::size_t>(node_of_rank[rank])].push_back(static_cast<int>(rank));
  }
  std::vector<Star> stars(static_cast<std::size_t>(sub_groups));
  for (std::size_t group = 0; group < stars.size(); ++group) {
    std::vector<std::vector<int>> parts;
    for (const auto& node : ranks) {
      const auto cut = [&](std::size_t index) {
        return static_cast<std::ptrdiff_t>(node.size() * index / stars.size());
      };
      parts.emplace_back(node.begin() + cut(group), node.begin() + cut(group + 1));
    }
    if (parts[0].empty()) {
      return {};
    }
    Star& star = stars[group];
    star.hot_spot = parts[0].front();
    star.intra.assign(parts[0].begin() + 1, parts[0].end());
    if (partners == Partners::packed) {
      for (std::size_t node = 1; node < parts.size(); ++node) {
        star.inter.insert(star.inter.end(), parts[node].begin(), parts[node].end());
      }
      continue;
    }
    for (std::size_t index = 0; index < node_of_rank.size(); ++index) {
      for (std::size_t node = 1; node < parts.size(); ++node) {
        if (index < parts[node].size()) {
          star.inter.push_back(parts[node][index]);
        }
      }
    }
  }
  return stars;
}

}  // namespace couplet::probe
