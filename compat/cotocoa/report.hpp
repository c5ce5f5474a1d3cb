// Reports errors: one sentence on standard error that names role, program and rank, and the end of the program with a
// status that is not 0. It calls MPI_Abort, so that the launcher ends the other ranks as well. Everything here calls
// it; it calls MPI.
// Tests: tests/compat/cotocoa/test_mistakes.py.
#pragma once

#include <couplet/couplet.h>

#include <string>
#include <string_view>

namespace ctca {

// Sets the beginning of all later sentences, for example "CoToCoA worker 3, rank 1".
void call_self(std::string name);
// Prints the sentence and ends the program. It never returns, and calls nothing of MPI or Couplet but MPI_Abort.
[[noreturn]] void fatal(std::string_view function, std::string_view text) noexcept;
// Prints a sentence that the user should know while the program goes on.
void remark(std::string_view function, std::string_view text) noexcept;
// Ends the program with Couplet's sentence if `status` is an error.
void check(const char* function, couplet_status status);
// Ends the program if `code` is not MPI_SUCCESS.
void check_mpi(const char* function, int code);

}  // namespace ctca
