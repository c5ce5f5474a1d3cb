// Reads and writes integers as little endian bytes at any address.
#pragma once

#include <cstddef>
#include <type_traits>

namespace couplet::wire {

template <typename Number>
void put_little(std::byte* target, Number number) noexcept {
  const auto bits = static_cast<std::make_unsigned_t<Number>>(number);
  for (std::size_t index = 0; index < sizeof(Number); ++index) {
    target[index] = static_cast<std::byte>(bits >> (8 * index));
  }
}

template <typename Number>
[[nodiscard]] Number take_little(const std::byte* source) noexcept {
  std::make_unsigned_t<Number> number = 0;
  for (std::size_t index = 0; index < sizeof(Number); ++index) {
    number = static_cast<std::make_unsigned_t<Number>>(
        number | static_cast<std::make_unsigned_t<Number>>(std::to_integer<std::make_unsigned_t<Number>>(source[index])
                                                           << (8 * index)));
  }
  return static_cast<Number>(number);
}

}  // namespace couplet::wire
