#include "link/ucx/ucp_library.hpp"

#include <dlfcn.h>
#include <signal.h>

#include <array>
#include <cstdlib>

namespace couplet::link {
namespace {

constexpr const char* library_name = "libucp.so.0";

// The library installs handlers for these signals when it is loaded. They belong to the program.
class KeptSignals {
 public:
  KeptSignals() noexcept {
    for (std::size_t index = 0; index < signals.size(); ++index) {
      ::sigaction(signals[index], nullptr, &kept_[index]);
    }
  }
  ~KeptSignals() {
    for (std::size_t index = 0; index < signals.size(); ++index) {
      ::sigaction(signals[index], &kept_[index], nullptr);
    }
  }
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;

 private:
  static constexpr std::array<int, 5> signals = {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
  std::array<struct sigaction, signals.size()> kept_{};
};

}  // namespace

Result<UcpLibrary> UcpLibrary::load() {
  const KeptSignals kept;
  // UCX reads the variable while it is loaded. Otherwise it prints to the output of the user's program what is returned
  // here as an error. A level that the user has set stays as it is.
  ::setenv("UCX_LOG_LEVEL", "fatal", 0);  // NOLINT(concurrency-mt-unsafe)
  void* const library = ::dlopen(library_name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    return fail(Code::unsupported, "UCX cannot be loaded: {}", why == nullptr ? library_name : why);
  }
  UcpLibrary ucp;
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(::dlsym(library, name));
    if (function == nullptr && missing == nullptr) {
      missing = name;
    }
  };
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define COUPLET_FIND_UCP(name) find(ucp.name, #name);
  COUPLET_UCP_FUNCTIONS(COUPLET_FIND_UCP)
#undef COUPLET_FIND_UCP
  if (missing != nullptr) {
    return fail(Code::unsupported, "{} has no function {}; this build needs UCX {}.{} or later", library_name, missing,
                UCP_API_MAJOR, UCP_API_MINOR);
  }
  return ucp;
}

Status ucx_failure(const UcpLibrary& ucp, Code code, std::string_view what, ucs_status_t status) {
  return fail(code, "{}: {}", what, ucp.ucs_status_string(status));
}

}  // namespace couplet::link
