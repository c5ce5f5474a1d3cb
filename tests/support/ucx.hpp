// Workers of UCX for tests, and whether there can be any.
#pragma once

#include <memory>
#include <string>

#include "link/ucx/ucx_worker.hpp"

namespace couplet::test {

// Memory that the processes of a node share; and what goes over any network.
inline constexpr const char* ucx_memory = "posix,cma";
inline constexpr const char* ucx_network = "tcp";

[[nodiscard]] inline link::UcxOptions ucx_over(const std::string& transports) {
  link::UcxOptions options;
  options.transports = transports;
  options.max_ending_ns = 20'000'000;  // both workers are in one thread, so the other one does not answer meanwhile
  return options;
}

// Returns ok if UCX can be used on this machine, or why not.
[[nodiscard]] inline Status ucx_is_there() {
#if defined(__SANITIZE_THREAD__)
  return fail(Code::unsupported, "nobody has tried UCX, which has a thread of its own, under ThreadSanitizer");
#else
  return link::UcxWorker::open(ucx_over(ucx_network)).status();
#endif
}

}  // namespace couplet::test
