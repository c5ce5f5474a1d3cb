// The errors of MPI's calls as Status.
#pragma once

#include <mpi.h>

#include <string_view>

#include "base/status.hpp"

namespace couplet::exchange {

// Returns mpi with the name of the call and MPI's text for the code.
[[nodiscard]] Status mpi_failure(int code, std::string_view call);

[[nodiscard]] inline Status check_mpi(int code, std::string_view call) {
  return code == MPI_SUCCESS ? Status() : mpi_failure(code, call);
}

}  // namespace couplet::exchange
