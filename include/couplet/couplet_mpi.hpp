// Couplet for C++20 programs that use MPI: couplet.hpp, and a function that joins with a communicator. Link with the
// library libcouplet_mpi_* of your MPI.
// Guide: docs/guide/cpp.md. Tests: tests/languages.
#ifndef COUPLET_COUPLET_MPI_HPP
#define COUPLET_COUPLET_MPI_HPP

#include <couplet/couplet_mpi.h>

#include <couplet/couplet.hpp>

namespace couplet {

/// Joins as couplet::join does, with the rank and size of `comm` in place of those of the options. Collective over
/// comm.
[[nodiscard]] inline Universe join(const std::string& program, MPI_Comm comm, const JoinOptions& options = {}) {
  const couplet_join_options c = options.c_options();
  couplet_universe* universe = nullptr;
  detail::check(couplet_join_mpi(detail::text_or_null(program), comm, &c, &universe));
  return Universe(universe);
}

}  // namespace couplet

#endif
