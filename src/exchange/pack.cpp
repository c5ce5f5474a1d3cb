#include "exchange/pack.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace couplet::exchange {
namespace {

// Which way the bytes go: from the regions to the message, or back.
enum class Way : std::uint8_t { pack, unpack };

template <Way way>
using Message = std::conditional_t<way == Way::pack, std::byte*, const std::byte*>;

template <Way way>
void move(std::byte* memory, Message<way> message, std::size_t bytes) noexcept {
  if constexpr (way == Way::pack) {
    std::memcpy(message, memory, bytes);
  } else {
    std::memcpy(memory, message, bytes);
  }
}

// Runs of `fixed` bytes each, a number that the compiler knows; 0: of `bytes`.
template <Way way, std::size_t fixed>
Message<way> move_loop(std::byte* memory, Message<way> message, const Region::Loop& loop, std::size_t bytes) noexcept {
  const std::size_t length = fixed == 0 ? bytes : fixed;
  for (std::uint64_t number = 0; number < loop.count; ++number) {
    if constexpr (fixed == 0) {
      move<way>(memory, message, length);
    } else {
      move<way>(memory, message, fixed);
    }
    memory += loop.stride_bytes;
    message += length;
  }
  return message;
}

template <Way way>
Message<way> move_fastest(std::byte* memory, Message<way> message, const Region::Loop& loop,
                          std::size_t bytes) noexcept {
  switch (bytes) {
    case 4:
      return move_loop<way, 4>(memory, message, loop, bytes);
    case 8:
      return move_loop<way, 8>(memory, message, loop, bytes);
    case 16:
      return move_loop<way, 16>(memory, message, loop, bytes);
    case 24:
      return move_loop<way, 24>(memory, message, loop, bytes);
    case 32:
      return move_loop<way, 32>(memory, message, loop, bytes);
    default:
      return move_loop<way, 0>(memory, message, loop, bytes);
  }
}

template <Way way>
Message<way> move_offsets(const Region& region, Message<way> message) noexcept {
  if (region.run_bytes == 8) {
    for (const std::int64_t offset : region.offsets) {
      move<way>(region.memory + offset, message, 8);
      message += 8;
    }
    return message;
  }
  for (const std::int64_t offset : region.offsets) {
    move<way>(region.memory + offset, message, region.run_bytes);
    message += region.run_bytes;
  }
  return message;
}

// All runs of a region with at least two loops: the last one is the fastest.
template <Way way>
Message<way> move_loops(const Region& region, Message<way> message) noexcept {
  Region outer = region;
  const Region::Loop fastest = region.loops[static_cast<std::size_t>(region.loop_count - 1)];
  --outer.loop_count;
  for_each_run(outer,
               [&](std::byte* memory) { message = move_fastest<way>(memory, message, fastest, region.run_bytes); });
  return message;
}

template <Way way>
Message<way> move_whole(const Region& region, Message<way> message) noexcept {
  if (!region.offsets.empty()) return move_offsets<way>(region, message);
  if (region.loop_count == 0) {
    move<way>(region.memory, message, region.run_bytes);
    return message + region.run_bytes;
  }
  if (region.loop_count == 1) return move_fastest<way>(region.memory, message, region.loops[0], region.run_bytes);
  return move_loops<way>(region, message);
}

// The first `bytes` bytes of a region that has more.
template <Way way>
void move_part(const Region& region, Message<way> message, std::uint64_t bytes) noexcept {
  std::uint64_t rest = bytes;
  for_each_run(region, [&](std::byte* memory) {
    const std::uint64_t now = std::min(rest, region.run_bytes);
    if (now == 0) return;
    move<way>(memory, message, now);
    message += now;
    rest -= now;
  });
}

template <Way way>
void move_all(std::span<const Region> regions, Message<way> message, std::uint64_t bytes) noexcept {
  for (const Region& region : regions) {
    if (region.loop_count == 0 && region.offsets.empty()) [[likely]] {
      const std::uint64_t now = std::min(bytes, region.run_bytes);
      if (now != 0) move<way>(region.memory, message, now);
      message += now;
      bytes -= now;
      continue;
    }
    const std::uint64_t whole = region.bytes();
    if (whole > bytes) return move_part<way>(region, message, bytes);
    message = move_whole<way>(region, message);
    bytes -= whole;
  }
}

}  // namespace

void pack(std::span<const Region> regions, std::byte* target, std::uint64_t bytes) noexcept {
  move_all<Way::pack>(regions, target, bytes);
}

void unpack(std::span<const Region> regions, const std::byte* source, std::uint64_t bytes) noexcept {
  move_all<Way::unpack>(regions, source, bytes);
}

}  // namespace couplet::exchange
