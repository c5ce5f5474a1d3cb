#include "options.hpp"

#include <charconv>
#include <numeric>
#include <string_view>

namespace tile_io {

const char* const usage =
    "usage: tile_io [options], started by an MPI launcher with one rank for each tile\n"
    "  --tiles RxC            rows and columns of tiles (4x4)\n"
    "  --tile RxC             rows and columns of elements of a tile, of 8 bytes each (128x256); 2048x4096 makes 1 GB\n"
    "  --node-set N,...       ranks on each node (4,4,2,2,1,1,1,1)\n"
    "  --cb-buffer-size N     bytes of the collective buffer (16777216)\n"
    "  --order WORD           which messages are posted first: intra_first or inter_first (intra_first)\n"
    "  --repetitions N        of each way (5)\n"
    "  --folder FOLDER        where the two files are written (.)\n"
    "Prints a JSON object. Exit status: 0; 1 if the contents are wrong, or a file cannot be used; 2 wrong options.\n";

namespace {

constexpr std::int64_t max_extent = 1 << 20;
constexpr std::int64_t max_tile_bytes = std::int64_t{1} << 30;  // counts of MPI are 32-bit numbers
constexpr std::int64_t max_buffer_bytes = std::int64_t{1} << 32;

bool parse_number(std::string_view text, std::int64_t max, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && number >= 1 && number <= max;
}

bool parse_pair(std::string_view text, std::int64_t& rows, std::int64_t& columns) {
  const auto cross = text.find('x');
  return cross != std::string_view::npos && parse_number(text.substr(0, cross), max_extent, rows) &&
         parse_number(text.substr(cross + 1), max_extent, columns);
}

bool parse_node_set(std::string_view text, std::vector<int>& node_set) {
  node_set.clear();
  while (true) {
    const auto comma = text.find(',');
    std::int64_t count = 0;
    if (!parse_number(text.substr(0, comma), max_extent, count)) {
      return false;
    }
    node_set.push_back(static_cast<int>(count));
    if (comma == std::string_view::npos) {
      return true;
    }
    text.remove_prefix(comma + 1);
  }
}

bool parse_value(std::string_view name, std::string_view value, Options& options) {
  std::int64_t first = 0;
  std::int64_t second = 0;
  if (name == "--tiles" && parse_pair(value, first, second)) {
    options.tiles.rows = static_cast<int>(first);
    options.tiles.columns = static_cast<int>(second);
    return true;
  }
  if (name == "--tile") {
    return parse_pair(value, options.tiles.tile_rows, options.tiles.tile_columns);
  }
  if (name == "--node-set") {
    return parse_node_set(value, options.node_set);
  }
  if (name == "--cb-buffer-size") {
    return parse_number(value, max_buffer_bytes, options.buffer_bytes) && options.buffer_bytes % element_bytes == 0;
  }
  if (name == "--order") {
    options.order = value == "inter_first" ? PostingOrder::inter_first : PostingOrder::intra_first;
    return value == "inter_first" || value == "intra_first";
  }
  if (name == "--repetitions" && parse_number(value, max_extent, first)) {
    options.repetitions = static_cast<int>(first);
    return true;
  }
  options.folder = value;
  return name == "--folder";
}

}  // namespace

std::string parse_options(int count, char** words, Options& options) {
  for (int index = 1; index < count; index += 2) {
    const std::string name = words[index];
    if (index + 1 == count) {
      return "option " + name + " has no value";
    }
    if (!parse_value(name, words[index + 1], options)) {
      return "option " + name + " " + words[index + 1] + " makes no sense";
    }
  }
  const auto ranks = std::accumulate(options.node_set.begin(), options.node_set.end(), std::int64_t{0});
  if (ranks != options.tiles.rank_count()) {
    return "the node set holds " + std::to_string(ranks) + " ranks, and there are " +
           std::to_string(options.tiles.rank_count()) + " tiles: the numbers have to add up to that";
  }
  if (options.tiles.tile_count() * element_bytes > max_tile_bytes) {
    return "a tile may have at most 1 GiB";
  }
  return {};
}

}  // namespace tile_io
