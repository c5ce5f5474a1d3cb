#include "collective/operation.hpp"

#include <array>
#include <complex>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>

namespace couplet::collective {
namespace {

constexpr std::array<std::string_view, 12> names = {"sum",         "product",     "max",         "min",
                                                    "logical_and", "logical_or",  "logical_xor", "bitwise_and",
                                                    "bitwise_or",  "bitwise_xor", "maxloc",      "minloc"};

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

template <typename Number>
bool is_nan(Number number) noexcept {
  return number != number;
}

// What a processor makes of two numbers that are none depends on the order in which the compiler names them: a result
// that is not a number has always the same bits.
template <typename Number>
Number settled(Number number) noexcept {
  if constexpr (std::is_floating_point_v<Number>) {
    return is_nan(number) ? std::numeric_limits<Number>::quiet_NaN() : number;
  } else if constexpr (std::is_integral_v<Number>) {
    return number;
  } else {
    return {settled(number.real()), settled(number.imag())};
  }
}

// Calls combine(left, right) for each element. own_left: `into` has the left operands.
template <bool own_left, typename Number, typename Combination>
void combine_each(const Number* from, Number* into, std::uint64_t count, const Combination& combine) noexcept {
  for (std::uint64_t i = 0; i < count; ++i) {
    into[i] = own_left ? combine(into[i], from[i]) : combine(from[i], into[i]);
  }
}

// Integers are combined without sign, so that an overflow wraps around. Products of 16 bits would be computed as int,
// and could overflow.
template <bool own_left, typename Number>
void combine_sums(couplet_operation operation, const Number* from, Number* into, std::uint64_t count) noexcept {
  if constexpr (std::is_integral_v<Number>) {
    using Unsigned = std::make_unsigned_t<Number>;
    using Wrapping = std::conditional_t<(sizeof(Number) < 4), std::uint32_t, Unsigned>;
    const auto wrapping = [](Number number) { return static_cast<Wrapping>(static_cast<Unsigned>(number)); };
    if (operation == COUPLET_OPERATION_SUM) {
      combine_each<own_left>(from, into, count, [&](Number left, Number right) {
        return static_cast<Number>(wrapping(left) + wrapping(right));
      });
    } else {
      combine_each<own_left>(from, into, count, [&](Number left, Number right) {
        return static_cast<Number>(wrapping(left) * wrapping(right));
      });
    }
  } else if (operation == COUPLET_OPERATION_SUM) {
    combine_each<own_left>(from, into, count, [](Number left, Number right) { return settled<Number>(left + right); });
  } else {
    combine_each<own_left>(from, into, count, [](Number left, Number right) { return settled<Number>(left * right); });
  }
}

// What is not a number stays, from whichever side it comes. Of two equal values (zeros of unlike sign) the right one is
// the result.
template <bool own_left, typename Number>
void combine_extremes(couplet_operation operation, const Number* from, Number* into, std::uint64_t count) noexcept {
  if (operation == COUPLET_OPERATION_MAX) {
    combine_each<own_left>(from, into, count, [](Number left, Number right) {
      return settled<Number>(left > right || is_nan(left) ? left : right);
    });
  } else {
    combine_each<own_left>(from, into, count, [](Number left, Number right) {
      return settled<Number>(left < right || is_nan(left) ? left : right);
    });
  }
}

// Of two equal values, that with the lower index counts, and the right one if the indices are equal; what is not a
// number counts as the largest and the smallest.
template <bool own_left, typename Number>
void combine_places(couplet_operation operation, const Number* from, Number* into, std::uint64_t count) noexcept {
  const bool largest = operation == COUPLET_OPERATION_MAXLOC;
  for (std::uint64_t i = 0; i + 1 < count; i += 2) {
    const Number* const left = own_left ? into + i : from + i;
    const Number* const right = own_left ? from + i : into + i;
    const bool beats = largest ? *left > *right : *left < *right;
    const bool equal = *left == *right || (is_nan(*left) && is_nan(*right));
    const bool only_nan = is_nan(*left) && !is_nan(*right);
    const bool is_left = only_nan || (beats && !is_nan(*right)) || (equal && left[1] < right[1]);
    const Number value = settled<Number>(is_left ? left[0] : right[0]);
    const Number index = settled<Number>(is_left ? left[1] : right[1]);
    into[i] = value;
    into[i + 1] = index;
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

template <bool own_left, typename Number>
void combine_ordered(couplet_operation operation, const Number* from, Number* into, std::uint64_t count) noexcept {
  if (operation <= COUPLET_OPERATION_PRODUCT) return combine_sums<own_left>(operation, from, into, count);
  if constexpr (std::is_arithmetic_v<Number>) {
    if (operation <= COUPLET_OPERATION_MIN) return combine_extremes<own_left>(operation, from, into, count);
    if (operation >= COUPLET_OPERATION_MAXLOC) return combine_places<own_left>(operation, from, into, count);
  }
  if constexpr (std::is_integral_v<Number>) combine_bits(operation, from, into, count);  // in any order
}

template <typename Number>
void combine_numbers(couplet_operation operation, Side own, const std::byte* from_bytes, std::byte* into_bytes,
                     std::uint64_t count) noexcept {
  const auto* from = reinterpret_cast<const Number*>(from_bytes);
  auto* into = reinterpret_cast<Number*>(into_bytes);
  own == Side::left ? combine_ordered<true>(operation, from, into, count)
                    : combine_ordered<false>(operation, from, into, count);
}

using Combine = void (*)(couplet_operation, Side, const std::byte*, std::byte*, std::uint64_t) noexcept;
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

std::uint32_t Operations::mark_of(couplet_operation operation) const noexcept {
  const UserOperation* const user = find(operation);
  if (user == nullptr) return static_cast<std::uint8_t>(operation);
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char letter : user->name) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
  hash = user->commutative ? hash : ~hash;
  return first_user_mark | hash;
}

Status Operations::combine(couplet_operation operation, couplet_type type, Side own, std::byte* from, std::byte* into,
                           std::uint64_t count) const {
  const UserOperation* const user = find(operation);
  if (user == nullptr) {
    combine_of_type[static_cast<std::size_t>(type)](operation, own, from, into, count);
    return {};
  }
  // A user's operation puts the result behind its right operand.
  const bool is_left = own == Side::left;
  const std::int32_t answer = user->combine(is_left ? into : from, is_left ? from : into, count, type, user->context);
  if (answer != 0) {
    return fail(Code::state, "the operation '{}' has failed: its function has returned {}", user->name, answer);
  }
  if (is_left) std::memcpy(into, from, count * find_type(type)->element_bytes);
  return {};
}

}  // namespace couplet::collective
