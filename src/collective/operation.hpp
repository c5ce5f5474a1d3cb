// Operation: combines arrays of elements, with the operations of couplet_collective.h or with one of user code.
// Pure, but for what user code does. Tests: tests/unit/collective/operation_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "base/types.hpp"

namespace couplet::collective {

// An operation of user code.
struct UserOperation {
  std::string name;
  couplet_combine combine = nullptr;
  void* context = nullptr;
  bool commutative = false;
};

// Which operand of a combination is the one that the result replaces.
enum class Side : std::uint8_t { left, right };

// The marks of user operations begin here.
inline constexpr std::uint32_t first_user_mark = 0x80000000;

class Operations {
 public:
  // Returns argument (no name, no function) or exists (another operation has the name).
  Result<couplet_operation> add(UserOperation operation);
  // Returns nullptr for a built-in operation, and for one that does not exist.
  [[nodiscard]] const UserOperation* find(couplet_operation operation) const noexcept;
  // Returns argument if there is no such operation; type if it is not defined for the type.
  [[nodiscard]] Status check(couplet_operation operation, couplet_type type, std::uint64_t count) const;
  // May operands change places?
  [[nodiscard]] bool may_reorder(couplet_operation operation) const noexcept;
  // Returns "sum", "maxloc" or the name of a user's operation.
  [[nodiscard]] std::string name_of(couplet_operation operation) const;
  // A number that is the same at all members that use the same operation.
  [[nodiscard]] std::uint32_t mark_of(couplet_operation operation) const noexcept;
  // Puts the combination of from[i] and into[i] into into[i], which is the left or the right operand. The same operands
  // give the same bits on either side. An operation of user code may change `from`. Returns state if user code has
  // failed. REQUIRES: check() returns ok.
  Status combine(couplet_operation operation, couplet_type type, Side own, std::byte* from, std::byte* into,
                 std::uint64_t count) const;

 private:
  std::vector<std::unique_ptr<UserOperation>> users_;
};

}  // namespace couplet::collective
