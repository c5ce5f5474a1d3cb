/* WaitIO's MPI conversion library in C, over Couplet: calls shaped like those of MPI, between the ranks of several PBs.
 * Every function returns 0, or another value after it has printed a sentence on standard error.
 * Guide: docs/guide/from-waitio.md. */
#ifndef WAITIO_MPI_H
#define WAITIO_MPI_H

#include "waitio.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef waitio_group_t WAITIO_MPI_Comm;
typedef waitio_req_t WAITIO_MPI_Request;
typedef int WAITIO_MPI_Datatype;
typedef int WAITIO_MPI_Op;

#define WAITIO_MPI_DEFTAG 524288

#define WAITIO_MPI_INT (1 + WAITIO_MPI_DEFTAG)
#define WAITIO_MPI_INTEGER (1 + WAITIO_MPI_DEFTAG)
#define WAITIO_MPI_LONG (2 + WAITIO_MPI_DEFTAG)
#define WAITIO_MPI_CHAR (3 + WAITIO_MPI_DEFTAG)
#define WAITIO_MPI_FLOAT (4 + WAITIO_MPI_DEFTAG)
#define WAITIO_MPI_DOUBLE (5 + WAITIO_MPI_DEFTAG)
#define WAITIO_MPI_DOUBLE_PRECISION (5 + WAITIO_MPI_DEFTAG)

#define WAITIO_MPI_SUM (1 + WAITIO_MPI_DEFTAG)
#define WAITIO_MPI_MAX (2 + WAITIO_MPI_DEFTAG)
#define WAITIO_MPI_MIN (3 + WAITIO_MPI_DEFTAG)

#define WAITIO_MPI_STATUS_SIZE 4
#define WAITIO_MPI_REQUEST_SIZE 22

/* Each of these joins the other PBs if waitio_init has not been called: all ranks of all PBs call the same ones. */
/* Gives the group of all ranks of all PBs. */
WAITIO_API_ int waitio_create_universe(WAITIO_MPI_Comm* comm);
/* Gives the group of the ranks 0 of all PBs. The rank of all others in it is -1. */
WAITIO_API_ int waitio_create_universe_pbhead(WAITIO_MPI_Comm* comm);
/* Gives the group of the ranks of one PB. */
WAITIO_API_ int waitio_create_pbgroup(WAITIO_MPI_Comm* comm, int pbid);

WAITIO_API_ int waitio_mpi_comm_rank(WAITIO_MPI_Comm comm, int* rank);
WAITIO_API_ int waitio_mpi_comm_size(WAITIO_MPI_Comm comm, int* size);
WAITIO_API_ int waitio_mpi_type_size(WAITIO_MPI_Datatype type, int* size);

WAITIO_API_ int waitio_mpi_send(const void* buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                                WAITIO_MPI_Comm comm);
WAITIO_API_ int waitio_mpi_recv(void* buf, int count, WAITIO_MPI_Datatype type, int source, int tag,
                                WAITIO_MPI_Comm comm);
WAITIO_API_ int waitio_mpi_isend(const void* buf, int count, WAITIO_MPI_Datatype type, int dest, int tag,
                                 WAITIO_MPI_Comm comm, WAITIO_MPI_Request* req);
WAITIO_API_ int waitio_mpi_irecv(void* buf, int count, WAITIO_MPI_Datatype type, int source, int tag,
                                 WAITIO_MPI_Comm comm, WAITIO_MPI_Request* req);
/* Waits for all requests. Each status has four ints: source and tag of a message that was received (-1 for a send),
 * what waitio_wait would have returned, and the bytes that were received. `statuses` may be NULL. */
WAITIO_API_ int waitio_mpi_waitall(int count, WAITIO_MPI_Request* reqs, int* statuses);

/* Collective over the ranks of the group. */
WAITIO_API_ int waitio_mpi_barrier(WAITIO_MPI_Comm comm);
WAITIO_API_ int waitio_mpi_bcast(void* buf, int count, WAITIO_MPI_Datatype type, int root, WAITIO_MPI_Comm comm);
WAITIO_API_ int waitio_mpi_reduce(const void* sendbuf, void* recvbuf, int count, WAITIO_MPI_Datatype type,
                                  WAITIO_MPI_Op op, int root, WAITIO_MPI_Comm comm);
WAITIO_API_ int waitio_mpi_allreduce(const void* sendbuf, void* recvbuf, int count, WAITIO_MPI_Datatype type,
                                     WAITIO_MPI_Op op, WAITIO_MPI_Comm comm);
/* These two take one count and one type: those of each rank's part. */
WAITIO_API_ int waitio_mpi_gather(const void* sendbuf, void* recvbuf, int count, WAITIO_MPI_Datatype type, int root,
                                  WAITIO_MPI_Comm comm);
WAITIO_API_ int waitio_mpi_allgather(const void* sendbuf, void* recvbuf, int count, WAITIO_MPI_Datatype type,
                                     WAITIO_MPI_Comm comm);
WAITIO_API_ int waitio_mpi_scatter(const void* sendbuf, int sendcount, WAITIO_MPI_Datatype sendtype, void* recvbuf,
                                   int recvcount, WAITIO_MPI_Datatype recvtype, int root, WAITIO_MPI_Comm comm);
WAITIO_API_ int waitio_mpi_scatterv(const void* sendbuf, const int* sendcounts, const int* displs,
                                    WAITIO_MPI_Datatype sendtype, void* recvbuf, int recvcount,
                                    WAITIO_MPI_Datatype recvtype, int root, WAITIO_MPI_Comm comm);
WAITIO_API_ int waitio_mpi_gatherv(const void* sendbuf, int sendcount, WAITIO_MPI_Datatype sendtype, void* recvbuf,
                                   const int* recvcounts, const int* displs, WAITIO_MPI_Datatype recvtype, int root,
                                   WAITIO_MPI_Comm comm);

#ifdef __cplusplus
}
#endif
#endif
