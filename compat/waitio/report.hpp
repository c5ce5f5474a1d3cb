// Reports errors: one sentence on standard error that names PB, rank and function. The functions of the interface then
// return the error's code. Everything here calls it; it calls Couplet for the texts of its errors.
// Tests: tests/compat/waitio/test_mistakes.py.
#pragma once

#include <couplet/couplet.h>

#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "failure.hpp"

namespace waitio {

// What a function of the interface returns if the caller has made a mistake. It is -COUPLET_ERROR_ARGUMENT. Other
// errors are the negative of Couplet's status.
inline constexpr int error_argument = 1;
inline constexpr int error_other = 2;

// An error. `text` is empty if another rank of the PB prints the sentence.
class Error final : public std::runtime_error {
 public:
  explicit Error(const std::string& text, int code = error_argument) : std::runtime_error(text), code_(code) {}
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

// Sets the beginning of all later sentences, for example "WaitIO PB 1, rank 0".
void call_self(std::string name);
// Prints the sentence, or nothing if it is empty.
void say(std::string_view function, std::string_view text) noexcept;
// Throws Couplet's sentence if `status` is an error.
void check(couplet_status status);

// Runs the body of a function of the interface, and returns 0. Nothing is thrown: an error is printed, and its code is
// returned.
template <typename Body>
int enter(const char* function, Body&& body) noexcept {
  try {
    body();
    return 0;
  } catch (const Error& error) {
    say(function, error.what());
    return error.code();
  } catch (const std::bad_alloc&) {
    say(function, "no memory");
  } catch (const std::exception& error) {
    say(function, error.what());
  }
  return error_other;
}

}  // namespace waitio
