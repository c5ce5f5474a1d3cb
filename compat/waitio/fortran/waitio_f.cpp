// The Fortran externals, lower case with one underscore behind, as a compiler names WAITIO_MPI_ISEND. Those of the
// second set have _f before the underscore. A communicator is exactly 4 bytes: programs keep it in an INTEGER, in an
// undeclared REAL*8 or in a derived type. A request is 22 integers, and a status is 4.
// Tests: tests/compat/waitio.
#include "session.hpp"
#include "waitio_mpi.h"

namespace {

using waitio::enter;

static_assert(sizeof(int) == 4);

// Calls the function of C with the communicator of a number.
template <typename Body>
int with(const char* function, const int* comm, Body&& body) noexcept {
  WAITIO_MPI_Comm group = nullptr;
  const int error = enter(function, [&] { group = waitio::require_session().numbered(*comm); });
  return error != 0 ? error : body(group);
}

// Calls a function of C that makes a communicator, and writes its number. It is 0 after an error.
template <typename Body>
int make(const char* function, int* comm, Body&& body) noexcept {
  *comm = 0;
  WAITIO_MPI_Comm group = nullptr;
  if (const int error = body(&group); error != 0) {
    return error;
  }
  return enter(function, [&] { *comm = waitio::require_session().group(group).number; });
}

waitio_req_t* request(int* words) {
  return reinterpret_cast<waitio_req_t*>(words);
}

}  // namespace

#define WAITIO_FORTRAN_ extern "C" WAITIO_API_ void
// The same function under the name of the second set.
#define WAITIO_SECOND_(name, first, parameters) WAITIO_FORTRAN_ name parameters __attribute__((alias(#first)));

// NOLINTBEGIN(readability-identifier-naming): Fortran's compilers add the underscore
// ---- the universe ----

WAITIO_FORTRAN_ waitio_init_(const int* n, int* ierr) {
  *ierr = waitio_init(*n);
}

WAITIO_FORTRAN_ waitio_finalize_(int* ierr) {
  *ierr = waitio_finalize();
}

// Its argument is a literal number, and must not be written.
WAITIO_FORTRAN_ waitio_finalize_f_(const int* /*n*/) {
  static_cast<void>(waitio_finalize());
}

WAITIO_FORTRAN_ waitio_pb_size_(int* size, int* ierr) {
  *ierr = waitio_pb_size(size);
}
WAITIO_SECOND_(waitio_pb_size_f_, waitio_pb_size_, (int*, int*))

WAITIO_FORTRAN_ waitio_pb_rank_(int* rank, int* ierr) {
  *ierr = waitio_pb_rank(rank);
}
WAITIO_SECOND_(waitio_pb_rank_f_, waitio_pb_rank_, (int*, int*))

WAITIO_FORTRAN_ waitio_get_nprocs_(int* nprocs, int* ierr) {
  *ierr = waitio_get_nprocs(nprocs);
}

// ---- communicators ----

WAITIO_FORTRAN_ waitio_create_universe_(int* comm, int* ierr) {
  *ierr = make("waitio_create_universe", comm, waitio_create_universe);
}

WAITIO_FORTRAN_ waitio_create_universe_pbhead_(int* comm, int* ierr) {
  *ierr = make("waitio_create_universe_pbhead", comm, waitio_create_universe_pbhead);
}

WAITIO_FORTRAN_ waitio_create_pbgroup_(int* comm, const int* pbid, int* ierr) {
  *ierr =
      make("waitio_create_pbgroup", comm, [&](WAITIO_MPI_Comm* made) { return waitio_create_pbgroup(made, *pbid); });
}
WAITIO_SECOND_(waitio_create_pbgroup_f_, waitio_create_pbgroup_, (int*, const int*, int*))

WAITIO_FORTRAN_ waitio_group_rank_(const int* comm, int* rank, int* ierr) {
  *ierr = with("waitio_group_rank", comm, [&](WAITIO_MPI_Comm group) { return waitio_group_rank(group, rank); });
}
WAITIO_SECOND_(waitio_group_rank_f_, waitio_group_rank_, (const int*, int*, int*))

WAITIO_FORTRAN_ waitio_group_size_(const int* comm, int* size, int* ierr) {
  *ierr = with("waitio_group_size", comm, [&](WAITIO_MPI_Comm group) { return waitio_group_size(group, size); });
}
WAITIO_SECOND_(waitio_group_size_f_, waitio_group_size_, (const int*, int*, int*))

WAITIO_FORTRAN_ waitio_mpi_comm_rank_(const int* comm, int* rank, int* ierr) {
  *ierr = with("waitio_mpi_comm_rank", comm, [&](WAITIO_MPI_Comm group) { return waitio_mpi_comm_rank(group, rank); });
}

WAITIO_FORTRAN_ waitio_mpi_comm_size_(const int* comm, int* size, int* ierr) {
  *ierr = with("waitio_mpi_comm_size", comm, [&](WAITIO_MPI_Comm group) { return waitio_mpi_comm_size(group, size); });
}

WAITIO_FORTRAN_ waitio_mpi_type_size_(const int* type, int* size, int* ierr) {
  *ierr = waitio_mpi_type_size(*type, size);
}

// ---- messages ----

WAITIO_FORTRAN_ waitio_mpi_send_(const void* buf, const int* count, const int* type, const int* dest, const int* tag,
                                 const int* comm, int* ierr) {
  *ierr = with("waitio_mpi_send", comm,
               [&](WAITIO_MPI_Comm group) { return waitio_mpi_send(buf, *count, *type, *dest, *tag, group); });
}

WAITIO_FORTRAN_ waitio_mpi_isend_(const void* buf, const int* count, const int* type, const int* dest, const int* tag,
                                  const int* comm, int* req, int* ierr) {
  *ierr = with("waitio_mpi_isend", comm, [&](WAITIO_MPI_Comm group) {
    return waitio_mpi_isend(buf, *count, *type, *dest, *tag, group, request(req));
  });
}
WAITIO_SECOND_(waitio_mpi_isend_f_, waitio_mpi_isend_,
               (const void*, const int*, const int*, const int*, const int*, const int*, int*, int*))

WAITIO_FORTRAN_ waitio_mpi_recv_(void* buf, const int* count, const int* type, const int* source, const int* tag,
                                 const int* comm, int* ierr) {
  *ierr = with("waitio_mpi_recv", comm,
               [&](WAITIO_MPI_Comm group) { return waitio_mpi_recv(buf, *count, *type, *source, *tag, group); });
}

WAITIO_FORTRAN_ waitio_mpi_irecv_(void* buf, const int* count, const int* type, const int* source, const int* tag,
                                  const int* comm, int* req, int* ierr) {
  *ierr = with("waitio_mpi_irecv", comm, [&](WAITIO_MPI_Comm group) {
    return waitio_mpi_irecv(buf, *count, *type, *source, *tag, group, request(req));
  });
}
WAITIO_SECOND_(waitio_mpi_irecv_f_, waitio_mpi_irecv_,
               (void*, const int*, const int*, const int*, const int*, const int*, int*, int*))

WAITIO_FORTRAN_ waitio_wait_(int* req, int* ierr) {
  *ierr = waitio_wait(request(req));
}
WAITIO_SECOND_(waitio_wait_f_, waitio_wait_, (int*, int*))

WAITIO_FORTRAN_ waitio_mpi_waitall_(const int* count, int* reqs, int* statuses, int* ierr) {
  *ierr = waitio_mpi_waitall(*count, request(reqs), statuses);
}
WAITIO_SECOND_(waitio_mpi_waitall_f_, waitio_mpi_waitall_, (const int*, int*, int*, int*))

// ---- collective calls ----

WAITIO_FORTRAN_ waitio_mpi_barrier_(const int* comm, int* ierr) {
  *ierr = with("waitio_mpi_barrier", comm, [&](WAITIO_MPI_Comm group) { return waitio_mpi_barrier(group); });
}
WAITIO_SECOND_(waitio_barrier_, waitio_mpi_barrier_, (const int*, int*))
WAITIO_SECOND_(waitio_barrier_f_, waitio_mpi_barrier_, (const int*, int*))

WAITIO_FORTRAN_ waitio_mpi_bcast_(void* buf, const int* count, const int* type, const int* root, const int* comm,
                                  int* ierr) {
  *ierr = with("waitio_mpi_bcast", comm,
               [&](WAITIO_MPI_Comm group) { return waitio_mpi_bcast(buf, *count, *type, *root, group); });
}
WAITIO_SECOND_(waitio_mpi_bcast_f_, waitio_mpi_bcast_, (void*, const int*, const int*, const int*, const int*, int*))

WAITIO_FORTRAN_ waitio_mpi_reduce_(const void* sendbuf, void* recvbuf, const int* count, const int* type, const int* op,
                                   const int* root, const int* comm, int* ierr) {
  *ierr = with("waitio_mpi_reduce", comm, [&](WAITIO_MPI_Comm group) {
    return waitio_mpi_reduce(sendbuf, recvbuf, *count, *type, *op, *root, group);
  });
}
WAITIO_SECOND_(waitio_mpi_reduce_f_, waitio_mpi_reduce_,
               (const void*, void*, const int*, const int*, const int*, const int*, const int*, int*))

WAITIO_FORTRAN_ waitio_mpi_allreduce_(const void* sendbuf, void* recvbuf, const int* count, const int* type,
                                      const int* op, const int* comm, int* ierr) {
  *ierr = with("waitio_mpi_allreduce", comm, [&](WAITIO_MPI_Comm group) {
    return waitio_mpi_allreduce(sendbuf, recvbuf, *count, *type, *op, group);
  });
}
WAITIO_SECOND_(waitio_mpi_allreduce_f_, waitio_mpi_allreduce_,
               (const void*, void*, const int*, const int*, const int*, const int*, int*))

WAITIO_FORTRAN_ waitio_mpi_gather_(const void* sendbuf, void* recvbuf, const int* count, const int* type,
                                   const int* root, const int* comm, int* ierr) {
  *ierr = with("waitio_mpi_gather", comm,
               [&](WAITIO_MPI_Comm group) { return waitio_mpi_gather(sendbuf, recvbuf, *count, *type, *root, group); });
}
WAITIO_SECOND_(waitio_mpi_gather_f_, waitio_mpi_gather_,
               (const void*, void*, const int*, const int*, const int*, const int*, int*))

WAITIO_FORTRAN_ waitio_mpi_allgather_(const void* sendbuf, void* recvbuf, const int* count, const int* type,
                                      const int* comm, int* ierr) {
  *ierr = with("waitio_mpi_allgather", comm,
               [&](WAITIO_MPI_Comm group) { return waitio_mpi_allgather(sendbuf, recvbuf, *count, *type, group); });
}
WAITIO_SECOND_(waitio_mpi_allgather_f_, waitio_mpi_allgather_,
               (const void*, void*, const int*, const int*, const int*, int*))

WAITIO_FORTRAN_ waitio_mpi_scatter_(const void* sendbuf, const int* sendcount, const int* sendtype, void* recvbuf,
                                    const int* recvcount, const int* recvtype, const int* root, const int* comm,
                                    int* ierr) {
  *ierr = with("waitio_mpi_scatter", comm, [&](WAITIO_MPI_Comm group) {
    return waitio_mpi_scatter(sendbuf, *sendcount, *sendtype, recvbuf, *recvcount, *recvtype, *root, group);
  });
}
WAITIO_SECOND_(waitio_mpi_scatter_f_, waitio_mpi_scatter_,
               (const void*, const int*, const int*, void*, const int*, const int*, const int*, const int*, int*))

WAITIO_FORTRAN_ waitio_mpi_scatterv_(const void* sendbuf, const int* sendcounts, const int* displs, const int* sendtype,
                                     void* recvbuf, const int* recvcount, const int* recvtype, const int* root,
                                     const int* comm, int* ierr) {
  *ierr = with("waitio_mpi_scatterv", comm, [&](WAITIO_MPI_Comm group) {
    return waitio_mpi_scatterv(sendbuf, sendcounts, displs, *sendtype, recvbuf, *recvcount, *recvtype, *root, group);
  });
}

WAITIO_FORTRAN_ waitio_mpi_gatherv_(const void* sendbuf, const int* sendcount, const int* sendtype, void* recvbuf,
                                    const int* recvcounts, const int* displs, const int* recvtype, const int* root,
                                    const int* comm, int* ierr) {
  *ierr = with("waitio_mpi_gatherv", comm, [&](WAITIO_MPI_Comm group) {
    return waitio_mpi_gatherv(sendbuf, *sendcount, *sendtype, recvbuf, recvcounts, displs, *recvtype, *root, group);
  });
}
WAITIO_SECOND_(waitio_mpi_gatherv_f_, waitio_mpi_gatherv_,
               (const void*, const int*, const int*, void*, const int*, const int*, const int*, const int*, const int*,
                int*))
// NOLINTEND(readability-identifier-naming)
