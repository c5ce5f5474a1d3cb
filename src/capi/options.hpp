// Option structs begin with struct_bytes: an older caller's shorter struct is filled up with defaults.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/status.hpp"
#include "couplet/couplet.h"

namespace couplet::capi {

// `given` (may be NULL) over the defaults that `init` writes; argument where struct_bytes makes no sense.
template <typename Options>
Result<Options> complete(const Options* given, void (*init)(Options*), const char* function) {
  Options options;
  init(&options);
  if (given == nullptr) {
    return options;
  }
  if (given->struct_bytes < sizeof(std::size_t) || given->struct_bytes > 4096) {
    return fail(Code::argument, "{}: options.struct_bytes is {}; initialise options with their _init function",
                function, given->struct_bytes);
  }
  std::memcpy(&options, given, std::min(given->struct_bytes, sizeof options));
  options.struct_bytes = sizeof options;
  return options;
}

// Writes as much of `result` as the caller's struct holds.
template <typename Struct>
Status give(Struct* target, Struct result, const char* function) {
  if (target == nullptr || target->struct_bytes < sizeof(std::size_t) || target->struct_bytes > 4096) {
    return fail(Code::argument, "{}: set struct_bytes of the result to its sizeof", function);
  }
  const std::size_t bytes = std::min(target->struct_bytes, sizeof result);
  result.struct_bytes = target->struct_bytes;
  std::memcpy(target, &result, bytes);
  return {};
}

}  // namespace couplet::capi
