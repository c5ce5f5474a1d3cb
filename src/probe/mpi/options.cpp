#include "probe/mpi/options.hpp"

#include <charconv>
#include <limits>
#include <string_view>

namespace couplet::probe {

const char* const usage =
    "usage: couplet-probe-FLAVOUR [options], started by an MPI launcher; `couplet probe` does that and makes a file of "
    "it\n"
    "  --bytes N,...         message sizes of the cells (4194304)\n"
    "  --curve-bytes N,...   message sizes of ping-pong inside a node and between nodes; with them, latency, overhead\n"
    "                        and gap are measured, too (none)\n"
    "  --node-of-rank N,...  the node of each rank, from 0 on (the hosts)\n"
    "  --half-star N         pairs go from 0 to N - 1 (half the cores of the node, or the ranks of node 0 if\n"
    "                        --node-of-rank is given; at least 3)\n"
    "  --repetitions N       of each cell (10)\n"
    "  --warm-up N           exchanges before them (2)\n"
    "  --sub-groups N        hot spots that exchange at the same time (1)\n"
    "  --partners WORD       remote partners: spread over the other nodes, or packed (spread)\n"
    "  --off-diagonal        also cells with unequal numbers of messages in and out\n\n"
    "Exit status: 0; 2 wrong options.\n";

namespace {

constexpr std::size_t max_message_bytes = std::size_t{1} << 30U;
constexpr int max_number = 1 << 20;

// The numbers of a list like 8,64; false if it is none or one of them is not in min .. max.
template <class Number>
bool parse_list(std::string_view text, Number min, Number max, std::vector<Number>& numbers) {
  numbers.clear();
  while (true) {
    const auto comma = text.find(',');
    const auto word = text.substr(0, comma);
    Number number{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc{} || end != word.data() + word.size() || number < min || number > max) {
      return false;
    }
    numbers.push_back(number);
    if (comma == std::string_view::npos) {
      return true;
    }
    text.remove_prefix(comma + 1);
  }
}

bool parse_number(std::string_view text, int min, int& number) {
  std::vector<int> numbers;
  if (!parse_list(text, min, max_number, numbers) || numbers.size() != 1) {
    return false;
  }
  number = numbers.front();
  return true;
}

bool parse_partners(std::string_view text, Partners& partners) {
  partners = text == "packed" ? Partners::packed : Partners::spread;
  return text == "packed" || text == "spread";
}

bool parse_value(std::string_view name, std::string_view value, Options& options) {
  if (name == "--bytes") {
    return parse_list(value, std::size_t{1}, max_message_bytes, options.message_bytes);
  }
  if (name == "--curve-bytes") {
    return parse_list(value, std::size_t{0}, max_message_bytes, options.curve_bytes);
  }
  if (name == "--node-of-rank") {
    return parse_list(value, 0, max_number, options.node_of_rank);
  }
  if (name == "--half-star") {
    return parse_number(value, 1, options.half_star);
  }
  if (name == "--repetitions") {
    return parse_number(value, 1, options.repetitions);
  }
  if (name == "--warm-up") {
    return parse_number(value, 0, options.warm_up);
  }
  if (name == "--sub-groups") {
    return parse_number(value, 1, options.sub_groups);
  }
  return name == "--partners" && parse_partners(value, options.partners);
}

}  // namespace

std::string parse_options(int count, char** words, Options& options) {
  for (int index = 1; index < count; ++index) {
    const std::string_view name = words[index];
    if (name == "--off-diagonal") {
      options.off_diagonal = true;
      continue;
    }
    if (index + 1 == count) {
      return "option " + std::string(name) + " is not known, or has no value";
    }
    ++index;
    if (!parse_value(name, words[index], options)) {
      return "option " + std::string(name) + " " + words[index] + " makes no sense";
    }
  }
  return {};
}

}  // namespace couplet::probe
