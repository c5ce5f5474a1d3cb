// Proposal: what one writer rank brings to the collective creation of a series, and its text. Neighbours:
// writer_creation.cpp. Tests: tests/unit/series/create_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "series/writer.hpp"

namespace couplet::series {

struct Proposal {
  WriterSpecification specification;
  std::uint64_t slots = 0;
  std::vector<std::string> required_readers;
  double linger_s = 0;
  std::uint64_t creation = 0;  // SeriesRecord::creation; that of the first rank counts
  channel::PeerId peer = 0;
  std::uint16_t incarnation = 0;  // that of the process
  std::uint16_t node = 0;
  bool in_window = false;
  bool collective = false;
  std::string file;
};

[[nodiscard]] std::string encode_proposal(const Proposal& proposal);
// Returns protocol if the text is not a proposal, or has an impossible box or type.
[[nodiscard]] Result<Proposal> decode_proposal(const std::string& text, std::size_t rank);

}  // namespace couplet::series
