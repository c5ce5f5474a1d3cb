// How a function of libc is defined a second time, for simulated processes, and how the real one is reached from there.
#pragma once

#include <dlfcn.h>

#include "kernel.hpp"

// Defines `name` of libc under a name of our own, so that our declaration needs not agree with each detail of the
// system's header.
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

// The next definition of `name`, which is that of the system.
#define WORLD_REAL(name)                                                            \
  ([] {                                                                             \
    static auto* const real = world::real_call<decltype(world_call_##name)>(#name); \
    return real;                                                                    \
  }())
