#include "base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace couplet {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
  std::fprintf(stderr, "couplet: broken invariant: %s (%s:%d)\n", expression, file, line);
  std::abort();
}

}  // namespace couplet
