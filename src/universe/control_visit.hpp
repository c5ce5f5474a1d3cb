// Two visitors of a message's fields: one writes them, the other reads and checks them. So each field of a control
// message is named once, in control.cpp. Private to it. Tests: tests/unit/universe/control_test.cpp.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "universe/control.hpp"
#include "wire/fields.hpp"

namespace couplet::universe {

// Writes fields. It ignores the bounds, which are for the reader, but cuts sentences that are too long.
class FieldsOut {
 public:
  static constexpr bool reads = false;

  explicit FieldsOut(wire::FieldWriter& out) : out_(out) {}

  template <typename Number>
  void number(const char* /*field*/, const Number& value, Number /*min*/ = {}, Number /*max*/ = {}) {
    out_.put(value);
  }
  void flag(const char* /*field*/, const bool& value) { out_.put(value); }
  void real(const char* /*field*/, const double& value) { out_.put(value); }
  void text(const char* /*field*/, const std::string& value, std::size_t /*max_bytes*/) { out_.put_text(value); }
  void sentence(const char* /*field*/, const std::string& value) {
    out_.put_text(std::string_view(value).substr(0, max_text_bytes));
  }
  void bytes(const char* /*field*/, const std::string& value, std::size_t /*max_bytes*/) { out_.put_bytes(value); }
  template <typename Array>
  void raw(const char* /*field*/, const Array& value) {
    out_.put_raw({reinterpret_cast<const char*>(value.data()), value.size()});
  }
  void contacts(const char* /*field*/, const link::ContactList& value) {
    out_.put(static_cast<std::uint8_t>(value.bytes().size()));
    out_.put_raw(value.bytes());
  }
  template <typename Enumeration>
  void choice(const char* /*field*/, const Enumeration& value, Enumeration /*last*/) {
    out_.put(static_cast<std::uint8_t>(value));
  }
  void status(const char* /*field*/, const Code& value) { out_.put(static_cast<couplet_status>(value)); }
  template <typename Element, typename Visit>
  void list(const char* /*field*/, const std::vector<Element>& values, std::size_t /*max*/,
            std::size_t /*min_bytes_each*/, const Visit& visit) {
    out_.put(static_cast<std::uint32_t>(values.size()));
    for (const auto& value : values) {
      visit(value);
    }
  }
  template <typename Visit>
  void map(const char* /*field*/, const SettingMap& values, std::size_t /*max*/, std::size_t /*min_bytes_each*/,
           const Visit& visit) {
    out_.put(static_cast<std::uint32_t>(values.size()));
    for (const auto& [key, value] : values) {
      visit(key, value);
    }
  }
  template <typename Value, typename Visit>
  void optional(const char* /*field*/, const std::optional<Value>& value, const Visit& visit) {
    out_.put(value.has_value());
    if (value) {
      visit(*value);
    }
  }
  void expect(bool /*good*/, const char* /*field*/, std::string_view /*wrong*/) {}

 private:
  wire::FieldWriter& out_;
};

// Reads fields. After the first mistake all values are zero, and FieldReader::finish says what was wrong.
class FieldsIn {
 public:
  static constexpr bool reads = true;

  explicit FieldsIn(wire::FieldReader& in) : in_(in) {}

  template <typename Number>
  void number(const char* field, Number& value, Number min = std::numeric_limits<Number>::lowest(),
              Number max = std::numeric_limits<Number>::max()) {
    value = in_.take<Number>(field, min, max);
  }
  void flag(const char* field, bool& value) { value = in_.take_flag(field); }
  void real(const char* field, double& value) { value = in_.take_real(field); }
  void text(const char* field, std::string& value, std::size_t max_bytes) { value = in_.take_text(field, max_bytes); }
  void sentence(const char* field, std::string& value) { value = in_.take_text(field, max_text_bytes); }
  void bytes(const char* field, std::string& value, std::size_t max_bytes) { value = in_.take_bytes(field, max_bytes); }
  template <typename Array>
  void raw(const char* field, Array& value) {
    const auto bytes = in_.take_raw(field, value.size());
    std::copy(bytes.begin(), bytes.end(), value.begin());
  }
  void contacts(const char* field, link::ContactList& value) {
    auto taken = link::ContactList::decode(in_.take_raw(field, in_.take<std::uint8_t>(field)));
    if (taken.ok()) {
      value = std::move(*taken);
    } else {
      in_.complain(field, taken.status().text());
    }
  }
  template <typename Enumeration>
  void choice(const char* field, Enumeration& value, Enumeration last) {
    value = static_cast<Enumeration>(in_.take<std::uint8_t>(field, 0, static_cast<std::uint8_t>(last)));
  }
  void status(const char* field, Code& value) {
    const auto code = in_.take<couplet_status>(field);
    const bool known = std::string_view(code_name(code)) != "unknown";
    expect(known, field, "no status");
    value = known ? static_cast<Code>(code) : Code::internal;
  }
  template <typename Element, typename Visit>
  void list(const char* field, std::vector<Element>& values, std::size_t max, std::size_t min_bytes_each,
            const Visit& visit) {
    values.resize(in_.take_count(field, max, min_bytes_each));
    for (auto& value : values) {
      visit(value);
      if (in_.failed()) {
        break;
      }
    }
  }
  template <typename Visit>
  void map(const char* field, SettingMap& values, std::size_t max, std::size_t min_bytes_each, const Visit& visit) {
    const auto count = in_.take_count(field, max, min_bytes_each);
    for (std::size_t index = 0; index < count && !in_.failed(); ++index) {
      std::string key;
      std::string value;
      visit(key, value);
      values[std::move(key)] = std::move(value);
    }
  }
  template <typename Value, typename Visit>
  void optional(const char* field, std::optional<Value>& value, const Visit& visit) {
    if (in_.take_flag(field)) {
      visit(value.emplace());
    }
  }
  void expect(bool good, const char* field, std::string_view wrong) {
    if (!good) {
      in_.complain(field, wrong);
    }
  }

 private:
  wire::FieldReader& in_;
};

}  // namespace couplet::universe
