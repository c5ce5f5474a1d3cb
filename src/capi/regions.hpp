// Parts of arrays, as callers of exchanges and of coalesced rounds give them, as regions of a plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/types.hpp"
#include "capi/call.hpp"
#include "exchange/plan.hpp"
#include "layout/type_handles.hpp"

namespace couplet::capi {

// The array of a call, of which a part is sent or received.
struct Array {
  std::byte* data = nullptr;
  couplet_type type = 0;
};

// A box of an array, as the caller gives it.
struct BoxArguments {
  std::int32_t dimensions = 0;
  const std::int64_t* shape = nullptr;
  const std::int64_t* stride_bytes = nullptr;
  const std::int64_t* start = nullptr;
  const std::int64_t* stop = nullptr;
};

inline Result<const TypeInfo*> type_of(couplet_type type, const char* function) {
  const TypeInfo* const found = find_type(type);
  if (found == nullptr) return fail(Code::type, "{}: {}", function, layout::why_no_element(type));
  return found;
}

inline Result<exchange::Region> box_region(const Array& array, const BoxArguments& box, const char* function) {
  COUPLET_TRY_VALUE(const TypeInfo* const type, type_of(array.type, function));
  if (box.dimensions < 1 || box.dimensions > COUPLET_MAX_DIMENSIONS) {
    return fail(Code::argument, "{}: dimensions must be 1 to {}, not {}", function, COUPLET_MAX_DIMENSIONS,
                box.dimensions);
  }
  COUPLET_TRY(given(box.shape, function, "shape"));
  COUPLET_TRY(given(box.start, function, "start"));
  COUPLET_TRY(given(box.stop, function, "stop"));
  exchange::Region region{.memory = array.data, .run_bytes = type->element_bytes, .loop_count = box.dimensions};
  region.type = array.type;
  auto dense_bytes = static_cast<std::int64_t>(type->element_bytes);
  for (int dimension = box.dimensions - 1; dimension >= 0; --dimension) {
    const auto place = static_cast<std::size_t>(dimension);
    const std::int64_t start = box.start[place];
    const std::int64_t stop = box.stop[place];
    if (start < 0 || stop < start || stop > box.shape[place]) {
      return fail(Code::shape, "{}: the box is [{}, {}) in dimension {}, and the array has {} there", function, start,
                  stop, dimension, box.shape[place]);
    }
    const std::int64_t stride = box.stride_bytes != nullptr ? box.stride_bytes[place] : dense_bytes;
    std::int64_t offset = 0;
    if (__builtin_mul_overflow(dense_bytes, box.shape[place], &dense_bytes) ||
        __builtin_mul_overflow(stride, start, &offset)) {
      return fail(Code::shape, "{}: the array has more bytes than can be counted", function);
    }
    if (region.memory != nullptr) region.memory += offset;
    region.loops[place] = {.count = static_cast<std::uint64_t>(stop - start), .stride_bytes = stride};
  }
  return region;
}

inline Result<exchange::Region> list_region(const Array& array, std::uint64_t block,
                                            std::span<const std::int64_t> indices, const char* function) {
  COUPLET_TRY_VALUE(const TypeInfo* const type, type_of(array.type, function));
  std::int64_t step = 0;
  if (block == 0 || __builtin_mul_overflow(block, type->element_bytes, &step)) {
    return fail(Code::argument, "{}: block is {}; it must be at least 1", function, block);
  }
  exchange::Region region{.memory = array.data};
  region.type = array.type;
  if (indices.empty()) return region;
  region.run_bytes = static_cast<std::uint64_t>(step);
  region.offsets.reserve(indices.size());
  for (const std::int64_t index : indices) {
    std::int64_t offset = 0;
    if (index < 0 || __builtin_mul_overflow(index, step, &offset)) {
      return fail(Code::argument, "{}: index {} of {} is {}", function, region.offsets.size(), indices.size(), index);
    }
    region.offsets.push_back(offset);
  }
  return region;
}

// What is only read is not written to: the region of an edge that sends has no other use.
inline Array reading(const void* data, couplet_type type) {
  return {.data = const_cast<std::byte*>(static_cast<const std::byte*>(data)), .type = type};  // NOLINT
}

inline Array writing(void* data, couplet_type type) {
  return {.data = static_cast<std::byte*>(data), .type = type};
}

}  // namespace couplet::capi
