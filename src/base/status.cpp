#include "base/status.hpp"

#include <array>
#include <new>

namespace couplet {
namespace {

struct CodeName {
  couplet_status code;
  const char* name;
};

#define COUPLET_NAME(code) \
  CodeName { code, #code }
constexpr std::array names = {
    COUPLET_NAME(COUPLET_OK),
    COUPLET_NAME(COUPLET_NOT_YET),
    COUPLET_NAME(COUPLET_FULL),
    COUPLET_NAME(COUPLET_END),
    COUPLET_NAME(COUPLET_RESTARTED),
    COUPLET_NAME(COUPLET_INTERRUPTED),
    COUPLET_NAME(COUPLET_ERROR_ARGUMENT),
    COUPLET_NAME(COUPLET_ERROR_STATE),
    COUPLET_NAME(COUPLET_ERROR_NOT_FOUND),
    COUPLET_NAME(COUPLET_ERROR_EXISTS),
    COUPLET_NAME(COUPLET_ERROR_TYPE),
    COUPLET_NAME(COUPLET_ERROR_SHAPE),
    COUPLET_NAME(COUPLET_ERROR_STEP),
    COUPLET_NAME(COUPLET_ERROR_LIMIT),
    COUPLET_NAME(COUPLET_ERROR_UNSUPPORTED),
    COUPLET_NAME(COUPLET_ERROR_FORKED),
    COUPLET_NAME(COUPLET_ERROR_THREAD),
    COUPLET_NAME(COUPLET_ERROR_MEMORY),
    COUPLET_NAME(COUPLET_ERROR_CONFIG),
    COUPLET_NAME(COUPLET_ERROR_MPI),
    COUPLET_NAME(COUPLET_ERROR_TIMEOUT),
    COUPLET_NAME(COUPLET_ERROR_TRUNCATED),
    COUPLET_NAME(COUPLET_ERROR_EVICTED),
    COUPLET_NAME(COUPLET_ERROR_MISMATCH),
    COUPLET_NAME(COUPLET_ERROR_PEER_LOST),
    COUPLET_NAME(COUPLET_ERROR_AUTHENTICATION),
    COUPLET_NAME(COUPLET_ERROR_VERSION),
    COUPLET_NAME(COUPLET_ERROR_PROTOCOL),
    COUPLET_NAME(COUPLET_ERROR_SYSTEM),
    COUPLET_NAME(COUPLET_ERROR_NO_SPACE),
    COUPLET_NAME(COUPLET_ERROR_HUB_LOST),
    COUPLET_NAME(COUPLET_ERROR_INTERNAL),
};
#undef COUPLET_NAME

}  // namespace

const char* code_name(couplet_status code) noexcept {
  for (const auto& entry : names) {
    if (entry.code == code) {
      return entry.name;
    }
  }
  return "unknown";
}

std::unique_ptr<std::string> Status::keep(std::string text) noexcept {
  try {
    return std::make_unique<std::string>(std::move(text));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

std::unique_ptr<std::string> Status::keep_copy() const noexcept {
  try {
    return std::make_unique<std::string>(*text_);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

Status Status::within(std::string_view context) const& noexcept {
  try {
    return {code_, fmt::format("{}: {}", context, text())};
  } catch (const std::bad_alloc&) {
    return *this;
  }
}

Status fail_formatted(Code code, fmt::string_view format, fmt::format_args arguments) noexcept {
  try {
    return {code, fmt::vformat(format, arguments)};
  } catch (const std::bad_alloc&) {
    return code;
  }
}

}  // namespace couplet
