// Macros that define a function of libc a second time, for simulated processes, and that find the real one.
#pragma once

#include <dlfcn.h>

#include "kernel.hpp"

// Defines the function `name` of libc under another name in C++. So this declaration may differ in details from that of
// the system's header.
#define WORLD_CALL(result, name, ...)                                                                     \
  extern "C" __attribute__((visibility("default"))) result world_call_##name(__VA_ARGS__) __asm__(#name); \
  result world_call_##name(__VA_ARGS__)

namespace world {

template <typename Function>
Function* real_call(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

inline int failed(int error) noexcept {
  errno = error;
  return -1;
}

}  // namespace world

// Finds the next definition of `name`, which is that of the system.
#define WORLD_REAL(name)                                                            \
  ([] {                                                                             \
    static auto* const real = world::real_call<decltype(world_call_##name)>(#name); \
    return real;                                                                    \
  }())
