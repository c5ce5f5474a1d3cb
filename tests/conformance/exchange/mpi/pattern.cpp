#include "pattern.hpp"

namespace couplet::exchange::testing {
namespace {

constexpr std::uint64_t many_rounds = 300;

void add_ring(Pattern& pattern, std::int32_t first, std::int32_t size, const Arrow& arrow) {
  for (std::int32_t rank = 0; rank < size; ++rank) {
    pattern.arrows[{first + rank, first + (rank + 1) % size}] = arrow;
    pattern.arrows[{first + rank, first + (rank + size - 1) % size}] = arrow;
  }
}

// Arrows at random between the first `used` ranks, some in one direction only.
Pattern at_random(std::string name, std::int32_t used, std::uint64_t most_every, std::uint64_t seed) {
  Pattern pattern{std::move(name), many_rounds, {}};
  Random random(seed);
  for (std::int32_t from = 0; from < used; ++from) {
    for (std::int32_t to = 0; to < used; ++to) {
      if (from == to || random.chance(used > 2 ? 0.4 : 0.1)) {
        continue;
      }
      const std::uint64_t every = random.between(1, most_every);
      pattern.arrows[{from, to}] = {random.between(0, 5000), every, random.below(every + 1), false};
    }
  }
  return pattern;
}

}  // namespace

std::vector<Pattern> make_patterns(std::int32_t size) {
  std::vector<Pattern> all;
  add_ring(all.emplace_back(Pattern{"ring", many_rounds, {}}), 0, size, {800, 1, 0, true});
  add_ring(all.emplace_back(Pattern{"ring of variable lengths", many_rounds, {}}), 0, size, {3000, 1, 0, false});
  add_ring(all.emplace_back(Pattern{"empty", many_rounds, {}}), 0, size, {0, 1, 0, true});
  add_ring(all.emplace_back(Pattern{"long", 12, {}}), 0, size, {(1 << 20) + 13, 1, 0, false});
  Pattern& chain = all.emplace_back(Pattern{"one way", many_rounds, {}});
  for (std::int32_t rank = 0; rank + 1 < size; ++rank) {
    chain.arrows[{rank, rank + 1}] = {700, 1, 0, false};
  }
  Pattern& back = all.emplace_back(Pattern{"every third one back", many_rounds, {}});
  for (std::int32_t rank = 0; rank + 1 < size; ++rank) {
    back.arrows[{rank, rank + 1}] = {700, 1, 0, false};
    back.arrows[{rank + 1, rank}] = {90, 3, 1, false};
  }
  all.push_back(at_random("at random", size, 1, 11));
  all.push_back(at_random("at random, with periods", size, 4, 12));
  if (size > 2) {
    all.push_back(at_random("the last rank has no ports", size - 1, 3, 13));
  }
  if (size > 3) {
    Pattern& apart = all.emplace_back(Pattern{"two rings", many_rounds, {}});
    add_ring(apart, 0, size / 2, {500, 1, 0, false});
    add_ring(apart, size / 2, size - size / 2, {500, 1, 0, false});
  }
  return all;
}

}  // namespace couplet::exchange::testing
