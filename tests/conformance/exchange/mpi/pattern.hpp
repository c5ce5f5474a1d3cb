// Pattern: which rank sends to which, in which rounds, and how much; the same at all ranks, from a seed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "exchange/method.hpp"

namespace couplet::exchange::testing {

struct Arrow {
  std::uint64_t bytes = 0;  // the length of its longest message
  std::uint64_t every = 1;
  std::uint64_t offset = 0;
  bool is_fixed = false;  // all messages are the longest

  [[nodiscard]] bool takes_part(std::uint64_t round) const noexcept {
    return round >= offset && (round - offset) % every == 0;
  }
};

struct Pattern {
  std::string name;
  std::uint64_t rounds = 0;
  std::map<std::pair<std::int32_t, std::int32_t>, Arrow> arrows;  // from, to

  [[nodiscard]] const Arrow* find(std::int32_t from, std::int32_t to) const {
    const auto found = arrows.find({from, to});
    return found == arrows.end() ? nullptr : &found->second;
  }
  // Returns the ports of a rank, by rising rank of the peer.
  [[nodiscard]] std::vector<Port> ports_of(std::int32_t rank, std::int32_t size) const {
    std::vector<Port> ports;
    for (std::int32_t peer = 0; peer < size; ++peer) {
      const Arrow* const out = find(rank, peer);
      const Arrow* const in = find(peer, rank);
      if (out == nullptr && in == nullptr) {
        continue;
      }
      Port& port = ports.emplace_back();
      port.peer = peer;
      port.sends = out != nullptr;
      port.receives = in != nullptr;
      port.out_bytes = port.sends ? out->bytes : 0;
      port.in_bytes = port.receives ? in->bytes : 0;
      const auto is_always = [](const Arrow* arrow) {
        return arrow != nullptr && arrow->every == 1 && arrow->offset == 0;
      };
      port.is_paired = is_always(out) && is_always(in);
    }
    return ports;
  }
};

// One number for each message, from which its length and its contents follow.
inline Random randomness_of(const Pattern& pattern, std::int32_t from, std::int32_t to, std::uint64_t round) {
  std::uint64_t seed = round * 1'000'003 + static_cast<std::uint64_t>(from) * 1009 + static_cast<std::uint64_t>(to);
  for (const char letter : pattern.name) {
    seed = seed * 31 + static_cast<std::uint64_t>(letter);
  }
  return Random(seed);
}

inline std::uint64_t length_of_message(const Arrow& arrow, Random& random) {
  // Every fourth message is the longest, every eighth empty.
  const std::uint64_t choice = random.below(8);
  if (arrow.is_fixed || choice < 2) {
    return arrow.bytes;
  }
  return choice == 2 ? 0 : random.between(0, arrow.bytes);
}

std::vector<Pattern> make_patterns(std::int32_t size);

}  // namespace couplet::exchange::testing
