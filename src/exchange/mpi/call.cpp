#include "exchange/mpi/call.hpp"

#include <array>

namespace couplet::exchange {

Status mpi_failure(int code, std::string_view call) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return fail(Code::mpi, "{}: {}", call, std::string_view(text.data(), static_cast<std::size_t>(length)));
}

}  // namespace couplet::exchange
