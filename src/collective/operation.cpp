#include "collective/operation.hpp"

#include <array>
#include <complex>
#include <string_view>
#include <type_traits>

namespace couplet::collective {
namespace {

constexpr std::array<std::string_view, 12> names = {"sum",         "product",     "max",         "min",
                                                    "logical_and", "logical_or",  "logical_xor", "bitwise_and",
                                                    "bitwise_or",  "bitwise_xor", "maxloc",      "minloc"};
constexpr std::uint8_t user_mark = 128;

enum class Family : std::uint8_t { bytes, integers, reals, complex };

Family family_of(couplet_type type) noexcept {
  if (type == COUPLET_BYTE) return Family::bytes;
  if (type <= COUPLET_UINT64) return Family::integers;
  return type <= COUPLET_DOUBLE ? Family::reals : Family::complex;
}

bool is_defined(couplet_operation operation, Family family) noexcept {
  switch (operation) {
    case COUPLET_OPERATION_SUM:
    case COUPLET_OPERATION_PRODUCT:
      return family != Family::bytes;
    case COUPLET_OPERATION_MAX:
    case COUPLET_OPERATION_MIN:
    case COUPLET_OPERATION_MAXLOC:
    case COUPLET_OPERATION_MINLOC:
      return family == Family::integers || family == Family::reals;
    case COUPLET_OPERATION_LOGICAL_AND:
    case COUPLET_OPERATION_LOGICAL_OR:
    case COUPLET_OPERATION_LOGICAL_XOR:
      return family == Family::integers;
    default:
      return family == Family::integers || family == Family::bytes;
  }
}

// What is not a number stays, from whichever side it comes.
template <typename Number>
bool is_nan(Number number) noexcept {
  return number != number;
}

// Integers are combined without sign, so that an overflow wraps around.
template <typename Number, typename Wrapping>
void combine_wrapping(couplet_operation operation, const Number* from, Number* into, std::uint64_t count) noexcept {
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto a = static_cast<Wrapping>(static_cast<std::make_unsigned_t<Number>>(from[i]));
    const auto b = static_cast<Wrapping>(static_cast<std::make_unsigned_t<Number>>(into[i]));
    into[i] = static_cast<Number>(operation == COUPLET_OPERATION_SUM ? static_cast<Wrapping>(a + b)
                                                                     : static_cast<Wrapping>(a * b));
  }
}

template <typename Number>
void combine_sums(couplet_operation operation, const Number* from, Number* into, std::uint64_t count) noexcept {
  if constexpr (std::is_integral_v<Number>) {
    // Products of 16 bits would be computed as int, and could overflow.
    combine_wrapping<Number, std::conditional_t<(sizeof(Number) < 4), std::uint32_t, std::make_unsigned_t<Number>>>(
        operation, from, into, count);
  } else if (operation == COUPLET_OPERATION_SUM) {
    for (std::uint64_t i = 0; i < count; ++i) into[i] = from[i] + into[i];
  } else {
    for (std::uint64_t i = 0; i < count; ++i) into[i] = from[i] * into[i];
  }
}

template <typename Number>
void combine_extremes(couplet_operation operation, const Number* from, Number* into, std::uint64_t count) noexcept {
  if (operation == COUPLET_OPERATION_MAX) {
    for (std::uint64_t i = 0; i < count; ++i) into[i] = from[i] > into[i] || is_nan(from[i]) ? from[i] : into[i];
  } else {
    for (std::uint64_t i = 0; i < count; ++i) into[i] = from[i] < into[i] || is_nan(from[i]) ? from[i] : into[i];
  }
}

// Of two equal values, that with the lower index counts; what is not a number counts as the largest and the smallest.
template <typename Number>
void combine_places(couplet_operation operation, const Number* from, Number* into, std::uint64_t count) noexcept {
  for (std::uint64_t i = 0; i + 1 < count; i += 2) {
    const bool beats = operation == COUPLET_OPERATION_MAXLOC ? from[i] > into[i] : from[i] < into[i];
    const bool equal = from[i] == into[i] || (is_nan(from[i]) && is_nan(into[i]));
    const bool only_nan = is_nan(from[i]) && !is_nan(into[i]);
    if (only_nan || (beats && !is_nan(into[i])) || (equal && from[i + 1] < into[i + 1])) {
      into[i] = from[i];
      into[i + 1] = from[i + 1];
    }
  }
}

template <typename Number>
void combine_bits(couplet_operation operation, const Number* from, Number* into, std::uint64_t count) noexcept {
  for (std::uint64_t i = 0; i < count; ++i) {
    const Number a = from[i];
    const Number b = into[i];
    switch (operation) {
      case COUPLET_OPERATION_LOGICAL_AND:
        into[i] = a != 0 && b != 0 ? 1 : 0;
        break;
      case COUPLET_OPERATION_LOGICAL_OR:
        into[i] = a != 0 || b != 0 ? 1 : 0;
        break;
      case COUPLET_OPERATION_LOGICAL_XOR:
        into[i] = (a != 0) != (b != 0) ? 1 : 0;
        break;
      case COUPLET_OPERATION_BITWISE_AND:
        into[i] = static_cast<Number>(a & b);
        break;
      case COUPLET_OPERATION_BITWISE_OR:
        into[i] = static_cast<Number>(a | b);
        break;
      default:
        into[i] = static_cast<Number>(a ^ b);
        break;
    }
  }
}

template <typename Number>
void combine_numbers(couplet_operation operation, const std::byte* from_bytes, std::byte* into_bytes,
                     std::uint64_t count) noexcept {
  const auto* from = reinterpret_cast<const Number*>(from_bytes);
  auto* into = reinterpret_cast<Number*>(into_bytes);
  if (operation <= COUPLET_OPERATION_PRODUCT) return combine_sums(operation, from, into, count);
  if constexpr (std::is_arithmetic_v<Number>) {
    if (operation <= COUPLET_OPERATION_MIN) return combine_extremes(operation, from, into, count);
    if (operation >= COUPLET_OPERATION_MAXLOC) return combine_places(operation, from, into, count);
  }
  if constexpr (std::is_integral_v<Number>) combine_bits(operation, from, into, count);
}

using Combine = void (*)(couplet_operation, const std::byte*, std::byte*, std::uint64_t) noexcept;
// By couplet_type.
constexpr std::array<Combine, 13> combine_of_type = {combine_numbers<std::uint8_t>,
                                                     combine_numbers<std::int8_t>,
                                                     combine_numbers<std::int16_t>,
                                                     combine_numbers<std::int32_t>,
                                                     combine_numbers<std::int64_t>,
                                                     combine_numbers<std::uint8_t>,
                                                     combine_numbers<std::uint16_t>,
                                                     combine_numbers<std::uint32_t>,
                                                     combine_numbers<std::uint64_t>,
                                                     combine_numbers<float>,
                                                     combine_numbers<double>,
                                                     combine_numbers<std::complex<float>>,
                                                     combine_numbers<std::complex<double>>};

bool is_built_in(couplet_operation operation) noexcept {
  return operation >= 0 && static_cast<std::size_t>(operation) < names.size();
}

}  // namespace

Result<couplet_operation> Operations::add(UserOperation operation) {
  if (operation.name.empty()) return fail(Code::argument, "an operation has to have a name");
  if (operation.combine == nullptr) {
    return fail(Code::argument, "operation '{}': combine is NULL", operation.name);
  }
  for (const auto& other : users_) {
    if (other->name == operation.name) {
      return fail(Code::exists, "operation '{}' exists already: give it another name", operation.name);
    }
  }
  users_.push_back(std::make_unique<UserOperation>(std::move(operation)));
  return static_cast<couplet_operation>(COUPLET_OPERATION_USER + static_cast<std::int32_t>(users_.size()) - 1);
}

const UserOperation* Operations::find(couplet_operation operation) const noexcept {
  const auto place = static_cast<std::size_t>(operation - COUPLET_OPERATION_USER);
  return operation >= COUPLET_OPERATION_USER && place < users_.size() ? users_[place].get() : nullptr;
}

Status Operations::check(couplet_operation operation, couplet_type type, std::uint64_t count) const {
  if (find(operation) != nullptr) return {};
  if (!is_built_in(operation)) {
    return fail(Code::argument,
                "there is no operation {}; COUPLET_OPERATION_SUM to COUPLET_OPERATION_MINLOC are 0 to {}, and {} were "
                "made by couplet_operation_create",
                operation, names.size() - 1, users_.size());
  }
  if (!is_defined(operation, family_of(type))) {
    return fail(Code::type, "the operation {} is not defined for elements of type {}", name_of(operation),
                find_type(type)->name);
  }
  if (operation >= COUPLET_OPERATION_MAXLOC && count % 2 != 0) {
    return fail(Code::argument, "{} combines pairs of value and index, so that the count must be even, not {}",
                name_of(operation), count);
  }
  return {};
}

bool Operations::may_reorder(couplet_operation operation) const noexcept {
  const UserOperation* const user = find(operation);
  return user == nullptr || user->commutative;
}

std::string Operations::name_of(couplet_operation operation) const {
  if (is_built_in(operation)) return std::string(names[static_cast<std::size_t>(operation)]);
  const UserOperation* const user = find(operation);
  return user == nullptr ? fmt::format("{}", operation) : fmt::format("'{}'", user->name);
}

std::uint8_t Operations::mark_of(couplet_operation operation) const noexcept {
  const UserOperation* const user = find(operation);
  if (user == nullptr) return static_cast<std::uint8_t>(operation);
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char letter : user->name) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
  return static_cast<std::uint8_t>(user_mark | ((hash ^ (hash >> 16U)) & 0x7FU));
}

Status Operations::combine(couplet_operation operation, couplet_type type, const std::byte* from, std::byte* into,
                           std::uint64_t count) const {
  const UserOperation* const user = find(operation);
  if (user == nullptr) {
    combine_of_type[static_cast<std::size_t>(type)](operation, from, into, count);
    return {};
  }
  const std::int32_t answer = user->combine(from, into, count, type, user->context);
  if (answer == 0) return {};
  return fail(Code::state, "the operation '{}' has failed: its function has returned {}", user->name, answer);
}

}  // namespace couplet::collective
