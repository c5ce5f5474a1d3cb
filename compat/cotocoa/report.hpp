// How the library speaks: an error is one sentence on standard error that names role, program and rank, and the end of the
// program with a status that is not 0 (MPI_Abort, so that the launcher ends the other ranks as well).
// Above: everything here. Below: MPI. Tests: tests/compat/cotocoa/test_mistakes.py.
#pragma once

#include <couplet/couplet.h>

#include <string>
#include <string_view>

namespace ctca {

// From now on sentences begin with this: "CoToCoA worker 3, rank 1".
void call_self(std::string name);
// Never returns; no further call of MPI or Couplet is made but MPI_Abort.
[[noreturn]] void fatal(std::string_view function, std::string_view text) noexcept;
// Something that the user should know while the program goes on.
void remark(std::string_view function, std::string_view text) noexcept;
// Fatal where `status` is an error, with Couplet's sentence.
void check(const char* function, couplet_status status);
// Fatal where `code` is not MPI_SUCCESS.
void check_mpi(const char* function, int code);

}  // namespace ctca
