#include "report.hpp"

#include <cstdio>

namespace waitio {
namespace {

std::string self_name = "WaitIO";  // NOLINT: the interface allows one instance per process

}  // namespace

void call_self(std::string name) {
  self_name = std::move(name);
}

void say(std::string_view function, std::string_view text) noexcept {
  if (text.empty()) {
    return;
  }
  std::fflush(stdout);
  std::fprintf(stderr, "%s: %.*s: %.*s\n", self_name.c_str(), static_cast<int>(function.size()), function.data(),
               static_cast<int>(text.size()), text.data());
  std::fflush(stderr);
}

void check(couplet_status status) {
  if (status < 0) {
    throw Error(couplet_error_text(), -status);
  }
  if (status == COUPLET_INTERRUPTED) {
    throw Error("the call was interrupted", status);
  }
}

}  // namespace waitio
