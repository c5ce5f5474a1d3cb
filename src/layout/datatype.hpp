// Datatype: which bytes of a program's memory belong to one item of a message, and in which order they travel, as MPI's
// derived types say it. A datatype is made from elements or from other datatypes. Pure arithmetic and copies; the
// handles that programs have are in type_handles.hpp.
// Invariant: every offset, extent and size is below 2^62. Tests: tests/unit/layout/datatype_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "base/types.hpp"

namespace couplet::layout {

class Datatype {
 public:
  // One element, which lies alone.
  explicit Datatype(const TypeInfo& element);

  // ---- made from others; argument: a number is out of range; limit: too large, or nested too deeply ----
  // `count` items, one after the other.
  [[nodiscard]] static Result<Datatype> contiguous(std::uint64_t count, const Datatype& of);
  // `count` blocks of `block` items. The first items of two blocks are `stride` extents of an item apart.
  [[nodiscard]] static Result<Datatype> vector(std::uint64_t count, std::uint64_t block, std::int64_t stride,
                                               const Datatype& of);
  // Blocks of blocks[i] items that begin displacements[i] extents of an item after the start.
  [[nodiscard]] static Result<Datatype> indexed(std::span<const std::uint64_t> blocks,
                                                std::span<const std::int64_t> displacements, const Datatype& of);
  // The items [start, start + subsize) of an array of items in C order. Its extent is that of the whole array.
  [[nodiscard]] static Result<Datatype> subarray(std::span<const std::uint64_t> sizes,
                                                 std::span<const std::uint64_t> subsizes,
                                                 std::span<const std::uint64_t> starts, const Datatype& of);
  // Blocks of blocks[i] items of the datatype *types[i] that begin displacements[i] bytes after the start. The extent
  // is rounded up so that in an array of such items every element is aligned.
  [[nodiscard]] static Result<Datatype> structure(std::span<const std::uint64_t> blocks,
                                                  std::span<const std::int64_t> displacements,
                                                  std::span<const Datatype* const> types);
  // The same item with other bounds: in an array, the next one begins `extent` bytes later.
  [[nodiscard]] static Result<Datatype> resized(const Datatype& of, std::int64_t lower_bound, std::uint64_t extent);

  // The bytes of one item in a message.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  // The bytes from the start of one item in memory to that of the next.
  [[nodiscard]] std::uint64_t extent() const noexcept { return static_cast<std::uint64_t>(upper_ - lower_); }
  [[nodiscard]] std::int64_t lower_bound() const noexcept { return lower_; }
  // The elements, if all are of one type; else `mixed_type`, whose elements are single bytes.
  [[nodiscard]] const TypeInfo& element() const noexcept { return *element_; }
  // Do items lie in memory as they travel? Then none of the functions below is needed.
  [[nodiscard]] bool is_dense() const noexcept;
  // Returns a limit error if so many items are too large together.
  [[nodiscard]] Status check_count(std::uint64_t count) const;

  // Copies `count` items from memory to `packed`, which has room for count * bytes(). REQUIRES: check_count(count).
  void pack(const std::byte* memory, std::uint64_t count, std::byte* packed) const noexcept;
  // Copies the first `bytes` bytes of `count` items from `packed` to memory.
  void unpack(const std::byte* packed, std::uint64_t bytes, std::uint64_t count, std::byte* memory) const noexcept;
  // Turns the byte order of each number in the first `bytes` bytes of `count` packed items.
  void swap(std::byte* packed, std::uint64_t bytes, std::uint64_t count) const noexcept;

 private:
  // `count` times, `stride` bytes apart: a run of bytes or, if run_bytes is 0, the inner steps.
  struct Step {
    std::int64_t offset = 0;
    std::uint64_t count = 1;
    std::int64_t stride = 0;
    std::uint64_t run_bytes = 0;
    std::size_t swap_bytes = 1;                      // the size of the numbers of a run
    std::shared_ptr<const std::vector<Step>> steps;  // shared with the datatype of the inner items
  };
  using Steps = std::vector<Step>;
  class Build;
  class Packing;
  class Unpacking;
  class Swapping;

  Datatype() = default;
  // Returns one item or several as one step, and sets its levels. REQUIRES: bytes_ > 0 and count > 0.
  [[nodiscard]] Step step_of(std::int64_t offset, std::uint64_t count, int& depth) const;
  template <class Visitor>
  static void visit(const Step& step, std::int64_t base, Visitor& visitor) noexcept;
  template <class Visitor>
  void visit_items(std::uint64_t count, Visitor& visitor) const noexcept;

  std::uint64_t bytes_ = 0;
  std::int64_t lower_ = 0;
  std::int64_t upper_ = 0;
  std::uint64_t alignment_ = 1;
  bool has_given_bounds_ = false;      // by resized() or subarray(), of this type or of one of which it was made
  const TypeInfo* element_ = nullptr;  // nullptr while it is built: there is none yet
  int depth_ = 0;                      // the levels of the steps
  std::shared_ptr<const Steps> steps_ = std::make_shared<const Steps>();
};

// What a datatype with elements of several types has instead of one.
inline constexpr TypeInfo mixed_type{"mixed", 1, 1};

}  // namespace couplet::layout
