// The fields of a message as bytes, one after the other: little endian integers, and texts after their length. It turns
// values into bytes, and checked bytes into values. Pure. universe/control uses it; it includes base and numbers.
// Invariants: FieldReader never reads past the end, and never allocates more than the message has bytes; after the
// first mistake it returns zeros, and `finish` says what was wrong.
// Tests: tests/unit/universe/control_test.cpp, tests/fuzz/control.cpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/status.hpp"

namespace couplet::wire {

class FieldWriter {
 public:
  template <typename Number>
  void put(Number number) {
    if constexpr (std::is_same_v<Number, bool>) {
      put(static_cast<std::uint8_t>(number ? 1 : 0));
    } else if constexpr (std::is_same_v<Number, double>) {
      put(std::bit_cast<std::uint64_t>(number));
    } else {
      const auto bits = static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<Number>>(number));
      for (std::size_t index = 0; index < sizeof(Number); ++index) {
        bytes_.push_back(static_cast<char>(bits >> (8 * index)));
      }
    }
  }
  // Writes a 16-bit length and then the text. A text of more than 65535 bytes is cut.
  void put_text(std::string_view text);
  // Writes a 32-bit length and then the bytes.
  void put_bytes(std::string_view bytes);
  // Writes the bytes without a length, which both sides know.
  void put_raw(std::string_view bytes) { bytes_.append(bytes); }
  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class FieldReader {
 public:
  // `message` is the name of the message, for the sentence that says what is wrong.
  FieldReader(std::string_view bytes, std::string_view message) : rest_(bytes), message_(message) {}

  template <typename Number>
  [[nodiscard]] Number take(const char* field, Number min = std::numeric_limits<Number>::lowest(),
                            Number max = std::numeric_limits<Number>::max()) {
    static_assert(std::is_integral_v<Number> && !std::is_same_v<Number, bool>);
    const std::string_view bytes = take_raw(field, sizeof(Number));
    std::uint64_t bits = 0;
    for (std::size_t index = 0; index < bytes.size(); ++index) {
      bits |= std::uint64_t{static_cast<unsigned char>(bytes[index])} << (8 * index);
    }
    const auto number = static_cast<Number>(bits);
    if (number < min || number > max) {
      complain(field, fmt::format("{}, expected {} to {}", number, min, max));
      return min;
    }
    return failed() ? Number{} : number;
  }
  [[nodiscard]] bool take_flag(const char* field) { return take<std::uint8_t>(field, 0, 1) != 0; }
  // Reads a finite number.
  [[nodiscard]] double take_real(const char* field);
  [[nodiscard]] std::string take_text(const char* field, std::size_t max_bytes);
  [[nodiscard]] std::string_view take_bytes(const char* field, std::size_t max_bytes);
  // Reads a 32-bit count of elements that have at least min_bytes_each. A count that is impossible is a mistake before
  // memory is allocated for it.
  [[nodiscard]] std::size_t take_count(const char* field, std::size_t max, std::size_t min_bytes_each);
  [[nodiscard]] std::string_view take_raw(const char* field, std::size_t bytes);

  void complain(std::string_view field, std::string_view wrong);
  [[nodiscard]] bool failed() const noexcept { return !status_.ok(); }
  [[nodiscard]] std::size_t remaining() const noexcept { return rest_.size(); }
  // Returns a protocol error that names the message and the field, also if bytes are left; or ok.
  [[nodiscard]] Status finish();

 private:
  std::string_view rest_;
  std::string_view message_;
  Status status_;
};

}  // namespace couplet::wire
