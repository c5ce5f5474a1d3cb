// The command line of tile_io.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "two_phase.hpp"

namespace tile_io {

struct Options {
  Tiles tiles;
  std::vector<int> node_set{4, 4, 2, 2, 1, 1, 1, 1};
  std::int64_t buffer_bytes = std::int64_t{16} << 20;
  PostingOrder order = PostingOrder::intra_first;
  int repetitions = 5;
  std::string folder = ".";
};

extern const char* const usage;

// Reads the options of `count` words. Returns what is wrong with them, or an empty text.
std::string parse_options(int count, char** words, Options& options);

}  // namespace tile_io
