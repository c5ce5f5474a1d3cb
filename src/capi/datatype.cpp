#include <span>
#include <vector>

#include "capi/call.hpp"
#include "layout/type_handles.hpp"

namespace {

using couplet::Code;
using couplet::fail;
using couplet::Result;
using couplet::Status;
using couplet::layout::Datatype;
using couplet::layout::find_datatype_or_element;
namespace capi = couplet::capi;

Status no_type(couplet_type type) {
  return fail(Code::type, "{} is neither an element type nor a datatype (was it freed?)", static_cast<int>(type));
}

// Makes a type with the function `make`, to which it gives the datatype that the handle `of` names.
template <typename Make>
couplet_status make_of(const char* function, couplet_type of, couplet_type* made, const Make& make) {
  return capi::guarded([&]() -> Status {
    COUPLET_TRY(capi::given(made, function, "made"));
    const auto item = find_datatype_or_element(of);
    if (item == nullptr) {
      return no_type(of).within(function);
    }
    Result<Datatype> datatype = make(*item);
    if (!datatype) {
      return datatype.status().within(function);
    }
    COUPLET_TRY_VALUE(*made, couplet::layout::keep_datatype(std::move(*datatype)));
    return {};
  });
}

template <typename Number>
Result<std::span<const Number>> numbers(const Number* first, std::uint64_t count, const char* what) {
  constexpr std::uint64_t max_count = std::uint64_t{1} << 40;
  if (count > 0 && first == nullptr) {
    return fail(Code::argument, "{} is NULL", what);
  }
  if (count > max_count) {
    return fail(Code::argument, "count is {}, at most {} are possible", count, max_count);
  }
  return std::span<const Number>(first, static_cast<std::size_t>(count));
}

Result<Datatype> make_subarray(int32_t dimensions, const uint64_t* sizes, const uint64_t* subsizes,
                               const uint64_t* starts, const Datatype& of) {
  if (dimensions < 1 || dimensions > COUPLET_MAX_DIMENSIONS) {
    return fail(Code::argument, "dimensions is {}, and has to be 1 to {}", dimensions, COUPLET_MAX_DIMENSIONS);
  }
  const auto count = static_cast<std::uint64_t>(dimensions);
  COUPLET_TRY_VALUE(const auto all, numbers(sizes, count, "sizes"));
  COUPLET_TRY_VALUE(const auto part, numbers(subsizes, count, "subsizes"));
  COUPLET_TRY_VALUE(const auto first, numbers(starts, count, "starts"));
  return Datatype::subarray(all, part, first, of);
}

Result<Datatype> make_structure(uint64_t count, const uint64_t* blocks, const int64_t* displacements,
                                const couplet_type* types) {
  COUPLET_TRY_VALUE(const auto lengths, numbers(blocks, count, "blocks"));
  COUPLET_TRY_VALUE(const auto places, numbers(displacements, count, "displacements"));
  COUPLET_TRY_VALUE(const auto handles, numbers(types, count, "types"));
  std::vector<std::shared_ptr<const Datatype>> kept;
  std::vector<const Datatype*> datatypes;
  for (const couplet_type type : handles) {
    kept.push_back(find_datatype_or_element(type));
    if (kept.back() == nullptr) {
      return no_type(type);
    }
    datatypes.push_back(kept.back().get());
  }
  return Datatype::structure(lengths, places, datatypes);
}

}  // namespace

extern "C" {

size_t couplet_type_bytes(couplet_type type) {
  if (const couplet::TypeInfo* const element = couplet::find_type(type); element != nullptr) {
    return element->element_bytes;
  }
  const auto datatype = couplet::layout::find_datatype(type);
  return datatype == nullptr ? 0 : static_cast<size_t>(datatype->bytes());
}

couplet_status couplet_type_create_contiguous(uint64_t count, couplet_type of, couplet_type* made) {
  return make_of("couplet_type_create_contiguous", of, made,
                 [=](const Datatype& item) { return Datatype::contiguous(count, item); });
}

couplet_status couplet_type_create_vector(uint64_t count, uint64_t block, int64_t stride, couplet_type of,
                                          couplet_type* made) {
  return make_of("couplet_type_create_vector", of, made,
                 [=](const Datatype& item) { return Datatype::vector(count, block, stride, item); });
}

couplet_status couplet_type_create_indexed(uint64_t count, const uint64_t* blocks, const int64_t* displacements,
                                           couplet_type of, couplet_type* made) {
  return make_of("couplet_type_create_indexed", of, made, [=](const Datatype& item) -> Result<Datatype> {
    COUPLET_TRY_VALUE(const auto lengths, numbers(blocks, count, "blocks"));
    COUPLET_TRY_VALUE(const auto places, numbers(displacements, count, "displacements"));
    return Datatype::indexed(lengths, places, item);
  });
}

couplet_status couplet_type_create_subarray(int32_t dimensions, const uint64_t* sizes, const uint64_t* subsizes,
                                            const uint64_t* starts, couplet_type of, couplet_type* made) {
  return make_of("couplet_type_create_subarray", of, made,
                 [=](const Datatype& item) { return make_subarray(dimensions, sizes, subsizes, starts, item); });
}

couplet_status couplet_type_create_struct(uint64_t count, const uint64_t* blocks, const int64_t* displacements,
                                          const couplet_type* types, couplet_type* made) {
  return make_of("couplet_type_create_struct", COUPLET_BYTE, made,
                 [=](const Datatype& /*unused*/) { return make_structure(count, blocks, displacements, types); });
}

couplet_status couplet_type_create_resized(couplet_type of, int64_t lower_bound, uint64_t extent, couplet_type* made) {
  return make_of("couplet_type_create_resized", of, made,
                 [=](const Datatype& item) { return Datatype::resized(item, lower_bound, extent); });
}

couplet_status couplet_type_extent(couplet_type type, int64_t* lower_bound, uint64_t* extent) {
  return capi::guarded([&]() -> Status {
    const auto datatype = find_datatype_or_element(type);
    if (datatype == nullptr) {
      return no_type(type).within("couplet_type_extent");
    }
    if (lower_bound != nullptr) {
      *lower_bound = datatype->lower_bound();
    }
    if (extent != nullptr) {
      *extent = datatype->extent();
    }
    return {};
  });
}

couplet_status couplet_type_free(couplet_type* type) {
  return capi::guarded([&]() -> Status {
    COUPLET_TRY(capi::given(type, "couplet_type_free", "type"));
    if (!couplet::layout::free_datatype(*type)) {
      return couplet::find_type(*type) == nullptr
                 ? fail(Code::type, "couplet_type_free: {} is no datatype (was it freed?)", static_cast<int>(*type))
                 : fail(Code::type, "couplet_type_free: {} is an element type, which is not freed",
                        static_cast<int>(*type));
    }
    *type = -1;
    return {};
  });
}

}  // extern "C"
