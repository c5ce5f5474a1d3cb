// What the compatibility layers throw inside: a sentence for the user. Their C functions catch it and print it.
// Tests: tests/compat.
#pragma once

#include <stdexcept>

namespace compat {

class Failure final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace compat
