// Option structs begin with struct_bytes. The shorter struct of an older caller is completed with defaults.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "couplet/couplet.h"

namespace couplet::capi {

// Copies `given` (may be NULL) over the defaults that `init` writes. Returns argument if struct_bytes is out of range.
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

// Checks the struct that gives the caller a result. A call that takes something away checks it before.
template <typename Struct>
Status check_result(const Struct* target, const char* function) {
  if (target == nullptr || target->struct_bytes < sizeof(std::size_t) || target->struct_bytes > 4096) {
    return fail(Code::argument, "{}: set struct_bytes of the result to its sizeof", function);
  }
  return {};
}

// Writes as much of `result` as the caller's struct can hold.
template <typename Struct>
Status give(Struct* target, Struct result, const char* function) {
  COUPLET_TRY(check_result(target, function));
  const std::size_t bytes = std::min(target->struct_bytes, sizeof result);
  result.struct_bytes = target->struct_bytes;
  std::memcpy(target, &result, bytes);
  return {};
}

// Writes a text and its final 0 to memory of the caller. needed: gets how many bytes it takes; may be NULL.
inline Status give_text(std::string_view given, char* text, std::size_t bytes, std::size_t* needed,
                        const char* function) {
  if (needed != nullptr) {
    *needed = given.size() + 1;
  }
  if (text == nullptr && bytes != 0) {
    return fail(Code::argument, "{}: text is NULL, but bytes is {}", function, bytes);
  }
  if (bytes != 0) {
    const std::size_t copied = std::min(bytes - 1, given.size());
    std::memcpy(text, given.data(), copied);
    text[copied] = '\0';
  }
  if (bytes != 0 && given.size() + 1 > bytes) {
    return fail(Code::limit, "{}: {} bytes are needed, {} were given", function, given.size() + 1, bytes);
  }
  return {};
}

// Checks a time in seconds from a user. Negative, infinite and huge values are unlimited, but NaN is an error.
inline Status check_timeout(double seconds, const char* function, const char* what = "timeout_s") {
  return std::isnan(seconds) ? fail(Code::argument, "{}: {} must be a number of seconds, not NaN", function, what)
                             : Status();
}

// Splits "a, b" into names.
inline std::vector<std::string> split_names(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    auto name = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    while (!name.empty() && name.front() == ' ') {
      name.remove_prefix(1);
    }
    while (!name.empty() && name.back() == ' ') {
      name.remove_suffix(1);
    }
    if (!name.empty()) {
      names.emplace_back(name);
    }
  }
  return names;
}

}  // namespace couplet::capi
