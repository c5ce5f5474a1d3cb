/* Couplet for programs that use MPI: joining with a communicator, from which rank and size come.
 *
 * Link with the libcouplet_mpi_* of your MPI. A process can load only one of these libraries. */
#ifndef COUPLET_COUPLET_MPI_H
#define COUPLET_COUPLET_MPI_H

#include <couplet/couplet.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Joins as couplet_join does, with the rank and size of `comm` in place of those of the options. MPI must be
 * initialised.
 * Blocking: until all required programs are complete. Collective over `comm`: if joining fails on one rank, it fails on
 * all. If COUPLET_MPI_WINDOW_BYTES is set, it is collective over MPI_COMM_WORLD.
 * COUPLET_ERROR_MPI: MPI is not initialised, or two MPI libraries are loaded in this process.
 * Otherwise it returns what couplet_join returns. */
COUPLET_API couplet_status couplet_join_mpi(const char* program, MPI_Comm comm, const couplet_join_options* options,
                                            couplet_universe** universe);

/* Joins as couplet_join_mpi does, with a Fortran communicator handle (an integer, or the mpi_val of mpi_f08). */
COUPLET_API couplet_status couplet_join_mpi_f(const char* program, MPI_Fint comm, const couplet_join_options* options,
                                              couplet_universe** universe);

/* Joins as couplet_join_mpi does, with a pointer to an MPI_Comm, for callers that cannot name the type (Python). */
COUPLET_API couplet_status couplet_join_mpi_pointer(const char* program, const void* comm,
                                                    const couplet_join_options* options, couplet_universe** universe);

/* Returns the first line of the version string of this MPI. Ownership: the text is the library's and stays valid. */
COUPLET_API const char* couplet_mpi_version(void);

#ifdef __cplusplus
}
#endif
#endif
