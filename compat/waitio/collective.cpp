// The collective functions of waitio_mpi.h, over Couplet's collective calls. Only reductions know types; everything
// else moves bytes.
// Invariant: a rank that cannot make a call, because of an argument, refuses it for all, so that none waits for it.
// Tests: tests/compat/waitio.
#include <fmt/format.h>

#include <vector>

#include "conversion.hpp"
#include "entry.hpp"
#include "session.hpp"
#include "waitio_mpi.h"

namespace waitio {
namespace {

// Runs the body with the group. name: of Couplet's call.
template <typename Body>
int together(const char* function, const char* name, WAITIO_MPI_Comm comm, Body&& body) {
  return enter(function, [&] {
    const waitio_group_& group = require_session().group(comm);
    couplet_status status = COUPLET_OK;
    try {
      status = body(group);
    } catch (const Error& error) {
      if (group.rank >= 0) {
        static_cast<void>(couplet_collective_refuse(group.group, name, COUPLET_ERROR_ARGUMENT, error.what()));
      }
      throw;
    }
    check(status);
  });
}

// Counts or offsets of elements as those of bytes.
std::vector<std::uint64_t> in_bytes(const int* numbers, int size, int type, const char* name) {
  require_pointer(numbers, name);
  std::vector<std::uint64_t> bytes;
  bytes.reserve(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    if (numbers[rank] < 0) {
      throw Error(fmt::format("{} is {} for rank {}; it has to be at least 0", name, numbers[rank], rank));
    }
    bytes.push_back(bytes_of(numbers[rank], type));
  }
  return bytes;
}

void require_count(int count) {
  static_cast<void>(bytes_of(count, WAITIO_MPI_CHAR));
}

void require_root(const waitio_group_& group, int root) {
  if (root < 0 || root >= group.size) {
    throw Error(fmt::format("the group has no rank {} for a root; it has 0 to {}", root, group.size - 1));
  }
}

}  // namespace
}  // namespace waitio

using waitio::bytes_of;
using waitio::Error;
using waitio::in_bytes;
using waitio::operation_of;
using waitio::require_count;
using waitio::require_root;
using waitio::together;
using waitio::type_of;

extern "C" {

int waitio_mpi_barrier(WAITIO_MPI_Comm comm) {
  return together("waitio_mpi_barrier", "barrier", comm,
                  [](const waitio_group_& group) { return couplet_barrier(group.group, nullptr); });
}

int waitio_mpi_bcast(void* buf, int count, WAITIO_MPI_Datatype type, int root, WAITIO_MPI_Comm comm) {
  return together("waitio_mpi_bcast", "broadcast", comm, [&](const waitio_group_& group) {
    require_root(group, root);
    return couplet_broadcast(group.group, buf, bytes_of(count, type), COUPLET_BYTE, root, nullptr);
  });
}

int waitio_mpi_reduce(const void* sendbuf, void* recvbuf, int count, WAITIO_MPI_Datatype type, WAITIO_MPI_Op op,
                      int root, WAITIO_MPI_Comm comm) {
  return together("waitio_mpi_reduce", "reduce", comm, [&](const waitio_group_& group) {
    require_root(group, root);
    require_count(count);
    return couplet_reduce(group.group, sendbuf, recvbuf, static_cast<std::uint64_t>(count), type_of(type),
                          operation_of(op), root, nullptr);
  });
}

int waitio_mpi_allreduce(const void* sendbuf, void* recvbuf, int count, WAITIO_MPI_Datatype type, WAITIO_MPI_Op op,
                         WAITIO_MPI_Comm comm) {
  return together("waitio_mpi_allreduce", "allreduce", comm, [&](const waitio_group_& group) {
    require_count(count);
    return couplet_allreduce(group.group, sendbuf, recvbuf, static_cast<std::uint64_t>(count), type_of(type),
                             operation_of(op), nullptr);
  });
}

int waitio_mpi_gather(const void* sendbuf, void* recvbuf, int count, WAITIO_MPI_Datatype type, int root,
                      WAITIO_MPI_Comm comm) {
  return together("waitio_mpi_gather", "gather", comm, [&](const waitio_group_& group) {
    require_root(group, root);
    return couplet_gather(group.group, sendbuf, bytes_of(count, type), recvbuf, COUPLET_BYTE, root, nullptr);
  });
}

int waitio_mpi_allgather(const void* sendbuf, void* recvbuf, int count, WAITIO_MPI_Datatype type,
                         WAITIO_MPI_Comm comm) {
  return together("waitio_mpi_allgather", "allgather", comm, [&](const waitio_group_& group) {
    return couplet_allgather(group.group, sendbuf, bytes_of(count, type), recvbuf, COUPLET_BYTE, nullptr);
  });
}

int waitio_mpi_scatter(const void* sendbuf, int sendcount, WAITIO_MPI_Datatype sendtype, void* recvbuf, int recvcount,
                       WAITIO_MPI_Datatype recvtype, int root, WAITIO_MPI_Comm comm) {
  return together("waitio_mpi_scatter", "scatter", comm, [&](const waitio_group_& group) {
    require_root(group, root);
    const std::uint64_t bytes = bytes_of(recvcount, recvtype);
    if (group.rank == root && bytes_of(sendcount, sendtype) != bytes) {
      throw Error(
          fmt::format("the root sends {} bytes to each rank and receives {}", bytes_of(sendcount, sendtype), bytes));
    }
    return couplet_scatter(group.group, sendbuf, recvbuf, bytes, COUPLET_BYTE, root, nullptr);
  });
}

int waitio_mpi_scatterv(const void* sendbuf, const int* sendcounts, const int* displs, WAITIO_MPI_Datatype sendtype,
                        void* recvbuf, int recvcount, WAITIO_MPI_Datatype recvtype, int root, WAITIO_MPI_Comm comm) {
  return together("waitio_mpi_scatterv", "scatterv", comm, [&](const waitio_group_& group) {
    require_root(group, root);
    std::vector<std::uint64_t> counts;
    std::vector<std::uint64_t> offsets;
    if (group.rank == root) {
      counts = in_bytes(sendcounts, group.size, sendtype, "sendcounts");
      offsets = in_bytes(displs, group.size, sendtype, "displs");
    }
    return couplet_scatterv(group.group, sendbuf, counts.data(), offsets.data(), recvbuf, bytes_of(recvcount, recvtype),
                            COUPLET_BYTE, root, nullptr);
  });
}

int waitio_mpi_gatherv(const void* sendbuf, int sendcount, WAITIO_MPI_Datatype sendtype, void* recvbuf,
                       const int* recvcounts, const int* displs, WAITIO_MPI_Datatype recvtype, int root,
                       WAITIO_MPI_Comm comm) {
  return together("waitio_mpi_gatherv", "gatherv", comm, [&](const waitio_group_& group) {
    require_root(group, root);
    std::vector<std::uint64_t> counts;
    std::vector<std::uint64_t> offsets;
    if (group.rank == root) {
      counts = in_bytes(recvcounts, group.size, recvtype, "recvcounts");
      offsets = in_bytes(displs, group.size, recvtype, "displs");
    }
    return couplet_gatherv(group.group, sendbuf, bytes_of(sendcount, sendtype), recvbuf, counts.data(), offsets.data(),
                           COUPLET_BYTE, root, nullptr);
  });
}

}  // extern "C"
