#include "report.hpp"

#include <mpi.h>

#include <cstdio>
#include <cstdlib>

namespace ctca {
namespace {

std::string self_name = "CoToCoA";  // NOLINT: the interface allows one instance per process

void say(std::string_view function, std::string_view text) noexcept {
  std::fprintf(stderr, "%s: %.*s: %.*s\n", self_name.c_str(), static_cast<int>(function.size()), function.data(),
               static_cast<int>(text.size()), text.data());
  std::fflush(stderr);
}

}  // namespace

void call_self(std::string name) {
  self_name = std::move(name);
}

void fatal(std::string_view function, std::string_view text) noexcept {
  std::fflush(stdout);
  say(function, text);
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized != 0 && finalized == 0) {
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  std::_Exit(EXIT_FAILURE);
}

void remark(std::string_view function, std::string_view text) noexcept {
  say(function, text);
}

void check(const char* function, couplet_status status) {
  if (status < 0) {
    fatal(function, couplet_error_text());
  }
}

void check_mpi(const char* function, int code) {
  if (code != MPI_SUCCESS) {
    fatal(function, "a call of MPI failed");
  }
}

}  // namespace ctca
