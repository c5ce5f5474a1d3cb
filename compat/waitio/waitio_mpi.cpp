// The functions of waitio_mpi.h, except the collective calls: communicators, and messages with types. Data travel as
// bytes, as in WaitIO, so that the types of a send and its receive need not be the same.
// Tests: tests/compat/waitio.
#include "waitio_mpi.h"

#include <fmt/format.h>

#include "conversion.hpp"
#include "entry.hpp"
#include "session.hpp"

using waitio::bytes_of;
using waitio::check;
using waitio::enter;
using waitio::require_peer;
using waitio::require_pointer;
using waitio::require_session;

static_assert(sizeof(waitio_req_t) == WAITIO_MPI_REQUEST_SIZE * sizeof(int));

extern "C" {

int waitio_create_universe(WAITIO_MPI_Comm* comm) {
  return enter("waitio_create_universe", [&] {
    require_pointer(comm, "comm");
    *comm = waitio::start_session().make_universe();
  });
}

int waitio_create_universe_pbhead(WAITIO_MPI_Comm* comm) {
  return enter("waitio_create_universe_pbhead", [&] {
    require_pointer(comm, "comm");
    *comm = waitio::start_session().make_heads();
  });
}

int waitio_create_pbgroup(WAITIO_MPI_Comm* comm, int pbid) {
  return enter("waitio_create_pbgroup", [&] {
    require_pointer(comm, "comm");
    *comm = waitio::start_session().make_block(pbid);
  });
}

int waitio_mpi_comm_rank(WAITIO_MPI_Comm comm, int* rank) {
  return enter("waitio_mpi_comm_rank", [&] {
    require_pointer(rank, "rank");
    *rank = require_session().group(comm).rank;
  });
}

int waitio_mpi_comm_size(WAITIO_MPI_Comm comm, int* size) {
  return enter("waitio_mpi_comm_size", [&] {
    require_pointer(size, "size");
    *size = require_session().group(comm).size;
  });
}

int waitio_mpi_type_size(WAITIO_MPI_Datatype type, int* size) {
  return enter("waitio_mpi_type_size", [&] {
    require_pointer(size, "size");
    *size = static_cast<int>(bytes_of(1, type));
  });
}

int waitio_mpi_send(const void* buf, int count, WAITIO_MPI_Datatype type, int dest, int tag, WAITIO_MPI_Comm comm) {
  return enter("waitio_mpi_send", [&] {
    const waitio_group_& group = require_session().group(comm);
    require_peer(group, dest, tag);
    check(couplet_send(group.group, buf, bytes_of(count, type), COUPLET_BYTE, dest, tag));
  });
}

int waitio_mpi_recv(void* buf, int count, WAITIO_MPI_Datatype type, int source, int tag, WAITIO_MPI_Comm comm) {
  return enter("waitio_mpi_recv", [&] {
    const waitio_group_& group = require_session().group(comm);
    require_peer(group, source, tag);
    check(couplet_recv(group.group, buf, bytes_of(count, type), COUPLET_BYTE, source, tag, nullptr));
  });
}

int waitio_mpi_isend(const void* buf, int count, WAITIO_MPI_Datatype type, int dest, int tag, WAITIO_MPI_Comm comm,
                     WAITIO_MPI_Request* req) {
  return enter("waitio_mpi_isend", [&] { waitio::start_send(comm, buf, bytes_of(count, type), dest, tag, req); });
}

int waitio_mpi_irecv(void* buf, int count, WAITIO_MPI_Datatype type, int source, int tag, WAITIO_MPI_Comm comm,
                     WAITIO_MPI_Request* req) {
  return enter("waitio_mpi_irecv", [&] { waitio::start_receive(comm, buf, bytes_of(count, type), source, tag, req); });
}

int waitio_mpi_waitall(int count, WAITIO_MPI_Request* reqs, int* statuses) {
  return enter("waitio_mpi_waitall", [&] {
    waitio::Session& session = require_session();
    if (count < 0) {
      throw waitio::Error(fmt::format("the number of requests is {}", count));
    }
    if (count > 0) {
      require_pointer(reqs, "reqs");
      session.wait_all(count, reqs, statuses);
    }
  });
}

}  // extern "C"
