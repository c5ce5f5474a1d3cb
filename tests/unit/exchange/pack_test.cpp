#include "exchange/pack.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "base/random.hpp"

namespace couplet::exchange {
namespace {

std::vector<std::byte> numbered(std::size_t bytes) {
  std::vector<std::byte> memory(bytes);
  for (std::size_t place = 0; place < bytes; ++place) memory[place] = static_cast<std::byte>(place * 7 + place / 251);
  return memory;
}

// What pack has to give, run by run.
std::vector<std::byte> expected(const std::vector<Region>& regions, std::uint64_t bytes) {
  std::vector<std::byte> all;
  for (const Region& region : regions) {
    for_each_run(region, [&](const std::byte* run) { all.insert(all.end(), run, run + region.run_bytes); });
  }
  all.resize(bytes);
  return all;
}

Region drawn(Random& random, std::byte* memory) {
  Region region{.memory = memory, .run_bytes = random.between(1, 40)};
  if (random.chance(0.3)) {
    for (std::uint64_t run = random.below(9); run > 0; --run) {
      region.offsets.push_back(static_cast<std::int64_t>(random.below(4000)));
    }
    if (region.offsets.empty()) region.run_bytes = 0;
    return region;
  }
  if (random.chance(0.3)) region.run_bytes = 8;
  region.loop_count = static_cast<int>(random.below(4));
  std::int64_t stride = static_cast<std::int64_t>(region.run_bytes);
  for (int loop = region.loop_count - 1; loop >= 0; --loop) {
    const std::uint64_t count = random.below(5);
    stride += static_cast<std::int64_t>(random.below(3) * 5);
    region.loops[static_cast<std::size_t>(loop)] = {.count = count, .stride_bytes = stride};
    stride *= static_cast<std::int64_t>(count + 1);
  }
  return region;
}

TEST(Pack, GivesTheRunsInOrderWhateverTheirShape) {
  auto memory = numbered(1U << 20U);
  Random random(5);
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<Region> regions;
    std::vector<Region> simple;
    std::uint64_t whole = 0;
    for (std::uint64_t count = random.between(1, 4); count > 0; --count) {
      regions.push_back(drawn(random, memory.data()));
      simple.push_back(simplified(regions.back()));
      whole += regions.back().bytes();
    }
    const std::uint64_t bytes = random.chance(0.5) ? whole : random.below(whole + 1);
    std::vector<std::byte> message(bytes + 1, std::byte{0x5A});
    pack(regions, message.data(), bytes);
    ASSERT_EQ(message.back(), std::byte{0x5A});
    message.resize(bytes);
    ASSERT_EQ(message, expected(regions, bytes)) << "trial " << trial;
    std::vector<std::byte> again(bytes);
    pack(simple, again.data(), bytes);
    ASSERT_EQ(again, message) << "trial " << trial;
  }
}

TEST(Unpack, ChangesOnlyTheRunsUpToTheLength) {
  Random random(6);
  for (int trial = 0; trial < 2000; ++trial) {
    const auto before = numbered(1U << 16U);
    auto memory = before;
    const std::vector<Region> regions{drawn(random, memory.data())};
    if (!check_apart(std::vector<Edge>{{.direction = Direction::in, .regions = regions}}, 0).ok()) continue;
    const std::uint64_t whole = regions.front().bytes();
    const std::uint64_t bytes = random.below(whole + 1);
    const std::vector<std::byte> message(bytes, std::byte{0xEE});
    unpack(regions, message.data(), bytes);
    auto wanted = before;
    std::uint64_t rest = bytes;
    for_each_run(regions.front(), [&](const std::byte* run) {
      const std::uint64_t now = std::min(rest, regions.front().run_bytes);
      std::memset(wanted.data() + (run - memory.data()), 0xEE, now);
      rest -= now;
    });
    ASSERT_EQ(memory, wanted) << "trial " << trial;
  }
}

}  // namespace
}  // namespace couplet::exchange
