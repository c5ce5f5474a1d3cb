// The cache of choices: a file that says which method was the fastest in which situation, so that a freeze need not try
// all of them again. docs/formats/exchange.md describes the file. Only the first member of an exchange reads and writes
// it. Invariants: a line that cannot be read is passed over; the file is replaced as a whole, so that a reader sees the
// old one or the new one; if two jobs write at the same time, the lines of one are lost, which
// costs only new trials.
// Tests: tests/unit/exchange/choice_cache_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace couplet::exchange {

// What a choice depends on. The same at all members.
struct Situation {
  std::string machine;           // processor and cores of the first member, and the library of its MPI
  std::uint32_t node_ranks = 1;  // the most members on one node
  std::uint32_t neighbors = 0;   // the most ports of a member
  std::uint32_t size_class = 0;  // the number of bits of the bytes of the longest message
  bool is_paired = true;         // all ports are
  std::vector<std::string> methods;
};

struct RememberedChoice {
  std::string method;
  double time_ns = 0;  // that a round took in the trials
};

class ChoiceCache {
 public:
  // path: "" is a cache that remembers nothing.
  explicit ChoiceCache(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] bool is_on() const noexcept { return !path_.empty(); }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // Returns nothing also if there is no file, or if it cannot be read.
  [[nodiscard]] std::optional<RememberedChoice> find(const Situation& situation) const;
  // Writes the choice, in place of an older one for the same situation. system: the file cannot be written.
  [[nodiscard]] Status store(const Situation& situation, const RememberedChoice& choice) const;

 private:
  std::string path_;
};

}  // namespace couplet::exchange
