#include "base/swap.hpp"

#include <cstring>

namespace couplet {
namespace {

std::uint16_t reversed(std::uint16_t number) noexcept {
  return __builtin_bswap16(number);
}
std::uint32_t reversed(std::uint32_t number) noexcept {
  return __builtin_bswap32(number);
}
std::uint64_t reversed(std::uint64_t number) noexcept {
  return __builtin_bswap64(number);
}

template <typename Number>
void swap_all(std::byte* data, std::uint64_t bytes) noexcept {
  for (std::uint64_t offset = 0; offset + sizeof(Number) <= bytes; offset += sizeof(Number)) {
    Number number;
    std::memcpy(&number, data + offset, sizeof number);
    number = reversed(number);
    std::memcpy(data + offset, &number, sizeof number);
  }
}

}  // namespace

void swap_numbers(std::byte* data, std::uint64_t bytes, std::size_t swap_bytes) noexcept {
  switch (swap_bytes) {
    case 2:
      return swap_all<std::uint16_t>(data, bytes);
    case 4:
      return swap_all<std::uint32_t>(data, bytes);
    case 8:
      return swap_all<std::uint64_t>(data, bytes);
    default:
      return;
  }
}

}  // namespace couplet
