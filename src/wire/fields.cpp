#include "wire/fields.hpp"

#include <algorithm>
#include <cmath>

namespace couplet::wire {
namespace {

constexpr std::size_t max_text_bytes = 65535;

}  // namespace

void FieldWriter::put_text(std::string_view text) {
  const auto shown = text.substr(0, max_text_bytes);
  put(static_cast<std::uint16_t>(shown.size()));
  bytes_.append(shown);
}

void FieldWriter::put_bytes(std::string_view bytes) {
  put(static_cast<std::uint32_t>(bytes.size()));
  bytes_.append(bytes);
}

void FieldReader::complain(std::string_view field, std::string_view wrong) {
  if (status_.ok()) {
    status_ = fail(Code::protocol, "message '{}': field '{}' is {}", message_, field, wrong);
  }
  rest_ = {};
}

std::string_view FieldReader::take_raw(const char* field, std::size_t bytes) {
  if (bytes > rest_.size()) {
    if (!failed()) {
      complain(field, fmt::format("cut off: {} bytes are left of {}", rest_.size(), bytes));
    }
    return {};
  }
  const auto taken = rest_.substr(0, bytes);
  rest_.remove_prefix(bytes);
  return taken;
}

double FieldReader::take_real(const char* field) {
  const auto value = std::bit_cast<double>(take<std::uint64_t>(field));
  if (!std::isfinite(value)) {
    complain(field, "not a finite number");
    return 0;
  }
  return value;
}

std::string FieldReader::take_text(const char* field, std::size_t max_bytes) {
  const std::size_t bytes = take<std::uint16_t>(field);
  if (bytes > max_bytes) {
    complain(field, fmt::format("a text of {} bytes, at most {} are allowed", bytes, max_bytes));
    return {};
  }
  return std::string(take_raw(field, bytes));
}

std::string_view FieldReader::take_bytes(const char* field, std::size_t max_bytes) {
  const std::size_t bytes = take<std::uint32_t>(field);
  if (bytes > max_bytes) {
    complain(field, fmt::format("{} bytes, at most {} are allowed", bytes, max_bytes));
    return {};
  }
  return take_raw(field, bytes);
}

std::size_t FieldReader::take_count(const char* field, std::size_t max, std::size_t min_bytes_each) {
  const std::size_t count = take<std::uint32_t>(field);
  if (count > max || count > rest_.size() / std::max<std::size_t>(min_bytes_each, 1)) {
    complain(field,
             fmt::format("a list of {} elements, at most {} are allowed, in {} bytes", count, max, rest_.size()));
    return 0;
  }
  return count;
}

Status FieldReader::finish() {
  if (!failed() && !rest_.empty()) {
    status_ = fail(Code::protocol, "message '{}': {} bytes follow its last field", message_, rest_.size());
  }
  return status_;
}

}  // namespace couplet::wire
