// Plan: turns the arguments of a collective call into the schedule of this member: chooses the method, lays out input
// and output, and lets the algorithm append its steps. Pure. Tests: tests/unit/collective/schedule_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "collective/algorithms.hpp"
#include "collective/operation.hpp"
#include "cost/collective_method.hpp"

namespace couplet::collective {

// How many elements input and output have, and how many entries each array of counts or offsets.
struct Sizes {
  static constexpr std::uint64_t unknown = UINT64_MAX;  // the caller does not say
  std::uint64_t input = unknown;
  std::uint64_t output = unknown;
  std::uint64_t counts = unknown;
};

// The arguments of one call, as in couplet_collective.h.
struct Arguments {
  cost::Collective kind = cost::Collective::barrier;
  cost::Method method = cost::Method::automatic;
  bool uneven = false;  // a call whose name ends with v, or reduce_scatter
  couplet_type type = COUPLET_BYTE;
  couplet_operation operation = -1;
  std::int32_t root = -1;
  std::uint64_t count = 0;
  const void* input = nullptr;
  void* output = nullptr;
  const std::uint64_t* input_counts = nullptr;  // alltoallv, scatterv, reduce_scatter
  const std::uint64_t* input_offsets = nullptr;
  const std::uint64_t* output_counts = nullptr;  // alltoallv, gatherv, allgatherv
  const std::uint64_t* output_offsets = nullptr;
  double timeout_s = -1;
  Sizes sizes;

  [[nodiscard]] bool reduces() const noexcept;
  [[nodiscard]] bool has_root() const noexcept;
  // The count that has to be the same at all members; 0: there is none.
  [[nodiscard]] std::uint64_t common_count() const noexcept { return uneven ? 0 : count; }
};

// Returns the name of a call, such as "allgatherv".
[[nodiscard]] std::string name_of(cost::Collective kind, bool uneven);
[[nodiscard]] inline std::string name_of(const Arguments& arguments) {
  return name_of(arguments.kind, arguments.uneven);
}
// Forgets the arrays that only the root has to give, if this member is not the root.
void forget_unused(Arguments& arguments, std::int32_t own) noexcept;

// Returns argument or type if this member alone can tell that the arguments are wrong. REQUIRES: what the member does
// not use was forgotten.
[[nodiscard]] Status check(const Arguments& arguments, std::int32_t own, std::int32_t size,
                           const Operations& operations);

// Does the part of check() that depends on the memory: whether it is large enough.
[[nodiscard]] Status check_memory(const Arguments& arguments, std::int32_t own, std::int32_t size);

// Returns what the choice of a method depends on. REQUIRES: check() has returned ok.
[[nodiscard]] cost::CollectiveShape shape_of(const Arguments& arguments, std::int32_t size, const Systems& systems,
                                             const Operations& operations);

// Returns the method that is asked for, or the choice of the table; argument if the call has no such method. measured:
// the entries that come before those of the library.
[[nodiscard]] Result<cost::Method> method_of(const Arguments& arguments, const cost::CollectiveShape& shape,
                                             std::span<const cost::MethodPiece> measured);

// Returns the steps of the member `own`. REQUIRES: check() has returned ok, and method_of() has returned
// `method`.
[[nodiscard]] Schedule make_schedule(const Arguments& arguments, cost::Method method, std::int32_t own,
                                     const Systems& systems, const Operations& operations);

}  // namespace couplet::collective
