/* Couplet for programs that use MPI: rank and size come from a communicator. Link with the libcouplet_mpi_* of your
 * MPI. */
#ifndef COUPLET_COUPLET_MPI_H
#define COUPLET_COUPLET_MPI_H

#include <couplet/couplet.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As couplet_join, with rank and size of `comm`. MPI has to be initialised. Collective over comm: when joining
 * fails on one rank it fails on all. ERROR_MPI: MPI is not initialised, or two MPI libraries are loaded in this
 * process. */
COUPLET_API couplet_status couplet_join_mpi(const char* program, MPI_Comm comm, const couplet_join_options* options,
                                            couplet_universe** universe);
/* The same for a Fortran communicator handle (integer, or the mpi_val of mpi_f08). */
COUPLET_API couplet_status couplet_join_mpi_f(const char* program, MPI_Fint comm, const couplet_join_options* options,
                                              couplet_universe** universe);
/* The same for a pointer to an MPI_Comm, for callers that cannot name the type (Python). */
COUPLET_API couplet_status couplet_join_mpi_pointer(const char* program, const void* comm,
                                                    const couplet_join_options* options, couplet_universe** universe);
/* First line of the version string of this MPI; valid for ever. */
COUPLET_API const char* couplet_mpi_version(void);

#ifdef __cplusplus
}
#endif
#endif
