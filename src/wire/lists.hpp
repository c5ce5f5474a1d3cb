// Lists of numbers, and parcels with such lists on their way, as members of an exchange send them to each other before
// there is a plan. Page: docs/formats/exchange.md. Tests: tests/unit/wire/lists_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "wire/numbers.hpp"

namespace couplet::wire {

// Each number in as many bytes as it has, little endian.
template <typename Number>
[[nodiscard]] std::string encode_list(std::span<const Number> numbers) {
  std::string image(numbers.size() * sizeof(Number), '\0');
  auto* place = reinterpret_cast<std::byte*>(image.data());
  for (const Number number : numbers) {
    put_little(place, number);
    place += sizeof(Number);
  }
  return image;
}

// Returns protocol if the text ends within a number.
template <typename Number>
[[nodiscard]] Result<std::vector<Number>> decode_list(std::string_view image) {
  if (image.size() % sizeof(Number) != 0) {
    return fail(Code::protocol, "a list of {} bytes does not consist of numbers of {}", image.size(), sizeof(Number));
  }
  const auto* place = reinterpret_cast<const std::byte*>(image.data());
  std::vector<Number> numbers(image.size() / sizeof(Number));
  for (Number& number : numbers) {
    number = take_little<Number>(place);
    place += sizeof(Number);
  }
  return numbers;
}

// Bytes that one member has for another one.
struct MovingParcel {
  std::int32_t from = -1;
  std::int32_t to = -1;
  std::string bytes;
};
inline constexpr std::size_t parcel_head_bytes = 16;

// Appends the head and the bytes of a parcel.
void append_parcel(const MovingParcel& parcel, std::string& image);
// Appends what is in the image. Returns protocol if it is malformed, or if a rank is not one of `size` members.
[[nodiscard]] Status take_parcels(std::string_view image, std::int32_t size, std::vector<MovingParcel>& parcels);

}  // namespace couplet::wire
