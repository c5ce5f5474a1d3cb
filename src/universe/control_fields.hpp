// Fields of a JSON object that came from outside, each taken with a check. Private to universe/control*.cpp.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.hpp"
#include "universe/registry.hpp"

namespace couplet::universe {

using Json = nlohmann::json;

// Remembers the first thing that was wrong, so that a decoder reads all its fields and asks once at the end.
class Fields {
 public:
  Fields(const Json& object, std::string_view what) : object_(object), what_(what) {}

  [[nodiscard]] Status status() const { return status_; }
  void complain(std::string_view field, std::string_view expected) {
    if (status_.ok()) {
      status_ = fail(Code::protocol, "message '{}': field '{}' is not {}", what_, field, expected);
    }
  }

  [[nodiscard]] const Json* find(const char* field) const {
    const auto found = object_.find(field);
    return found == object_.end() ? nullptr : &*found;
  }

  template <typename T>
  [[nodiscard]] T integer(const char* field, T least = std::numeric_limits<T>::min(),
                          T most = std::numeric_limits<T>::max()) {
    const auto* const value = find(field);
    if (value != nullptr) {
      if (const auto number = to_integer<T>(*value); number && *number >= least && *number <= most) {
        return *number;
      }
    }
    complain(field, fmt::format("an integer from {} to {}", least, most));
    return least;
  }

  template <typename T>
  [[nodiscard]] static std::optional<T> to_integer(const Json& value) {
    if (value.is_number_unsigned()) {
      const auto number = value.get<std::uint64_t>();
      if (std::in_range<T>(number)) {
        return static_cast<T>(number);
      }
    } else if (value.is_number_integer()) {
      const auto number = value.get<std::int64_t>();
      if (std::in_range<T>(number)) {
        return static_cast<T>(number);
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] double number(const char* field);
  [[nodiscard]] bool boolean(const char* field);
  [[nodiscard]] std::string text(const char* field, std::size_t most_bytes);
  // A list with at most `most` elements; complains and gives an empty one otherwise.
  [[nodiscard]] const Json& list(const char* field, std::size_t most);

 private:
  const Json& object_;
  std::string_view what_;
  Status status_;
};

[[nodiscard]] Json json_of(const SeriesRecord& record);
Result<SeriesRecord> series_from(const Json& json);
// Never throws: bytes that are no UTF-8 become replacement characters.
[[nodiscard]] std::string text_of(const Json& json);

}  // namespace couplet::universe
