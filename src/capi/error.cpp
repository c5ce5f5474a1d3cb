#include <cstring>
#include <string>

#include "base/types.hpp"
#include "capi/call.hpp"
#include "capi/private.h"
#include "runtime/relay_start.hpp"

namespace couplet::capi {
namespace {
struct InterruptCheck {
  couplet_interrupt_check check = nullptr;
  void* context = nullptr;
};
struct Taker {
  void (*take)(void*) = nullptr;
  void* context = nullptr;
};
thread_local std::string last_text;
thread_local std::uint64_t finished = 0;
thread_local Taker taker;
thread_local InterruptCheck interrupt_check;
}  // namespace

bool interrupted() {
  return interrupt_check.check != nullptr && interrupt_check.check(interrupt_check.context) != 0;
}

void take_outputs() {
  if (taker.take != nullptr) {
    taker.take(taker.context);
  }
}

std::uint64_t finished_count() noexcept {
  return finished;
}

couplet_status finish(const Status& status) noexcept {
  ++finished;
  try {
    last_text = status.text();
  } catch (...) {
    last_text.clear();
  }
  return static_cast<couplet_status>(status.code());
}

const char* last_error_text() noexcept {
  return last_text.c_str();
}

}  // namespace couplet::capi

#define COUPLET_TEXT_(x) #x
#define COUPLET_TEXT(x) COUPLET_TEXT_(x)

extern "C" {

const char* couplet_status_name(couplet_status status) {
  return couplet::code_name(status);
}

const char* couplet_error_text(void) {
  return couplet::capi::last_error_text();
}

const char* couplet_version(void) {
  return COUPLET_TEXT(COUPLET_VERSION_MAJOR) "." COUPLET_TEXT(COUPLET_VERSION_MINOR) "." COUPLET_TEXT(
      COUPLET_VERSION_PATCH);
}

void couplet_set_interrupt_check(couplet_interrupt_check check, void* context) {
  couplet::capi::interrupt_check = {check, context};
}

void couplet_private_set_taker(void (*take)(void* context), void* context) {
  couplet::capi::taker = {take, context};
}

couplet_status couplet_private_find_program(const char* name, char* path, size_t bytes) {
  return couplet::capi::guarded([&]() -> couplet::Status {
    COUPLET_TRY_VALUE(const std::string found, couplet::runtime::find_helper(name));
    if (found.size() >= bytes) {
      return couplet::fail(couplet::Code::limit, "{} is longer than {} bytes", found, bytes);
    }
    std::memcpy(path, found.c_str(), found.size() + 1);
    return {};
  });
}

couplet_status couplet_private_fail(couplet_status status, const char* text) {
  return couplet::capi::finish(couplet::Status(static_cast<couplet::Code>(status), text));
}

}  // extern "C"
