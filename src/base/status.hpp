// base: names and values that every layer uses. It turns an error into a value. It includes no other folder, and every
// folder may include it. No I/O, no clock, no globals.
// Invariants: a Status is either ok, an answer (positive code) or an error (negative code) with a sentence; the codes
// are those of couplet.h. The function that decides an error writes its sentence; callers may only add context in
// front. Making and copying a Status never throws: if there is no memory, the code is kept and the sentence is left
// out.
// Tests: tests/unit/base.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "couplet/couplet.h"

namespace couplet {

// The codes of couplet.h under short names.
enum class Code : couplet_status {
  ok = COUPLET_OK,
  not_yet = COUPLET_NOT_YET,
  full = COUPLET_FULL,
  end = COUPLET_END,
  restarted = COUPLET_RESTARTED,
  interrupted = COUPLET_INTERRUPTED,
  argument = COUPLET_ERROR_ARGUMENT,
  state = COUPLET_ERROR_STATE,
  not_found = COUPLET_ERROR_NOT_FOUND,
  exists = COUPLET_ERROR_EXISTS,
  type = COUPLET_ERROR_TYPE,
  shape = COUPLET_ERROR_SHAPE,
  step = COUPLET_ERROR_STEP,
  limit = COUPLET_ERROR_LIMIT,
  unsupported = COUPLET_ERROR_UNSUPPORTED,
  forked = COUPLET_ERROR_FORKED,
  thread = COUPLET_ERROR_THREAD,
  memory = COUPLET_ERROR_MEMORY,
  config = COUPLET_ERROR_CONFIG,
  mpi = COUPLET_ERROR_MPI,
  timeout = COUPLET_ERROR_TIMEOUT,
  truncated = COUPLET_ERROR_TRUNCATED,
  evicted = COUPLET_ERROR_EVICTED,
  mismatch = COUPLET_ERROR_MISMATCH,
  peer_lost = COUPLET_ERROR_PEER_LOST,
  authentication = COUPLET_ERROR_AUTHENTICATION,
  version = COUPLET_ERROR_VERSION,
  protocol = COUPLET_ERROR_PROTOCOL,
  system = COUPLET_ERROR_SYSTEM,
  no_space = COUPLET_ERROR_NO_SPACE,
  hub_lost = COUPLET_ERROR_HUB_LOST,
  internal = COUPLET_ERROR_INTERNAL,
};

// Returns the name as in couplet.h ("COUPLET_ERROR_SHAPE"), or "unknown" for a value that is no code.
[[nodiscard]] const char* code_name(couplet_status code) noexcept;

class [[nodiscard]] Status {
 public:
  Status() noexcept = default;                 // ok
  Status(Code code) noexcept : code_(code) {}  // NOLINT: an answer needs no sentence
  Status(Code code, std::string text) noexcept : code_(code), text_(keep(std::move(text))) {}
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  Status(const Status& other) noexcept : code_(other.code_), text_(other.copy_text()) {}
  Status& operator=(const Status& other) noexcept {
    auto text = other.copy_text();
    code_ = other.code_;
    text_ = std::move(text);
    return *this;
  }
  ~Status() = default;

  [[nodiscard]] bool ok() const noexcept { return code_ == Code::ok; }
  [[nodiscard]] bool error() const noexcept { return static_cast<couplet_status>(code_) < 0; }
  [[nodiscard]] bool answer() const noexcept { return static_cast<couplet_status>(code_) > 0; }
  [[nodiscard]] Code code() const noexcept { return code_; }
  // Returns the sentence, or the code's name if none was written.
  [[nodiscard]] std::string text() const {
    return text_ ? *text_ : std::string(code_name(static_cast<couplet_status>(code_)));
  }
  // Returns the same status with "context: " in front of its sentence.
  [[nodiscard]] Status within(std::string_view context) const& noexcept;

 private:
  [[nodiscard]] static std::unique_ptr<std::string> keep(std::string text) noexcept;
  [[nodiscard]] std::unique_ptr<std::string> copy_text() const noexcept { return text_ ? keep_copy() : nullptr; }
  [[nodiscard]] std::unique_ptr<std::string> keep_copy() const noexcept;
  Code code_ = Code::ok;
  std::unique_ptr<std::string> text_;
};

[[nodiscard]] Status fail_formatted(Code code, fmt::string_view format, fmt::format_args arguments) noexcept;

// Makes a failure with a formatted sentence: fail(Code::shape, "box {} lies outside ...", box).
template <typename... Arguments>
[[nodiscard]] Status fail(Code code, fmt::format_string<Arguments...> format, Arguments&&... arguments) noexcept {
  return fail_formatted(code, format, fmt::make_format_args(arguments...));
}

// A value, or the Status that says why there is none. That Status is never ok.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}         // NOLINT: a value is a result
  Result(Status status) : content_(std::in_place_index<1>, std::move(status)) {}  // NOLINT: a failure is a result
  Result(Code code) : content_(std::in_place_index<1>, Status(code)) {}           // NOLINT: an answer is a result

  [[nodiscard]] bool ok() const noexcept { return content_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }
  [[nodiscard]] Status status() const { return ok() ? Status() : std::get<1>(content_); }
  [[nodiscard]] Code code() const noexcept { return ok() ? Code::ok : std::get_if<1>(&content_)->code(); }
  [[nodiscard]] T& value() & { return *std::get_if<0>(&content_); }
  [[nodiscard]] const T& value() const& { return *std::get_if<0>(&content_); }
  [[nodiscard]] T&& value() && { return std::move(*std::get_if<0>(&content_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Status> content_;
};

}  // namespace couplet

// Returns from the function with the status of `expression` if that is not ok.
#define COUPLET_TRY(expression)                       \
  do {                                                \
    if (auto status_ = (expression); !status_.ok()) { \
      return status_;                                 \
    }                                                 \
  } while (false)

#define COUPLET_CONCAT_(a, b) a##b
#define COUPLET_CONCAT(a, b) COUPLET_CONCAT_(a, b)
// Declares `file`, or returns from the function with the status: COUPLET_TRY_VALUE(auto file, File::open(path)).
#define COUPLET_TRY_VALUE(declaration, expression)       \
  auto COUPLET_CONCAT(result_, __LINE__) = (expression); \
  if (!COUPLET_CONCAT(result_, __LINE__).ok()) {         \
    return COUPLET_CONCAT(result_, __LINE__).status();   \
  }                                                      \
  declaration = std::move(COUPLET_CONCAT(result_, __LINE__)).value()
