/* WaitIO's C interface, over Couplet: a program written for WaitIO compiles and links against this header unchanged.
 * A parallel block (PB) is one separately launched application. Every function that returns an int returns 0, or
 * another value after it has printed a sentence on standard error. MPI_Init comes before waitio_init, and
 * waitio_finalize before MPI_Finalize.
 * Guide: docs/guide/from-waitio.md. */
#ifndef WAITIO_H
#define WAITIO_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WAITIO_API_ __attribute__((visibility("default")))

/* A group of ranks of several PBs. Compare it with NULL, and pass it by value. It is valid until waitio_finalize. */
typedef struct waitio_group_* waitio_group_t;

/* A request. It needs no set-up, may be copied, and is all zeros once it is complete. */
typedef struct waitio_req_ {
  int words[22];
} waitio_req_t;

/* Returns another value than 0 for the ranks of a PB that belong to a group. */
typedef int (*waitio_filter_func_t)(int pbid, int rank);

/* A filter that takes all ranks. A program may define one of this name itself. */
extern WAITIO_API_ int truef(int pbid, int rank);

/* Joins the other PBs, as the WAITIO_* variables say. Collective over the ranks of all PBs. `n` has no effect. */
WAITIO_API_ int waitio_init(int n);
/* Delivers what was sent, and leaves. Rank 0 of PB 0 waits until the ranks of all PBs have left. */
WAITIO_API_ int waitio_finalize(void);

/* Gives the number of PBs, and the id of the own one. */
WAITIO_API_ int waitio_pb_size(int* num_pb);
WAITIO_API_ int waitio_pb_rank(int* pb_id);
/* Gives the number of ranks of each PB. `nprocs` has an entry for each PB. */
WAITIO_API_ int waitio_get_nprocs(int* nprocs);

/* Makes a group, in the order of PBs and ranks. f[i] chooses the ranks of PB i; NULL leaves the PB out. At most n
 * entries of `f`, and at most as many as there are PBs, are read. `a` has no effect and may be NULL. Returns NULL after
 * an error. */
WAITIO_API_ waitio_group_t waitio_create_group(int n, waitio_filter_func_t f[], int a[]);
/* Makes a group of the ranks ranks[i][0] to ranks[i][nranks[i] - 1] of each PB i; NULL leaves the PB out. */
WAITIO_API_ waitio_group_t waitio_create_group_wranks(int n, int* ranks[], int nranks[]);
/* Gives the own rank in the group, or -1 if this process is not in it, and the number of ranks. */
WAITIO_API_ int waitio_group_rank(waitio_group_t group, int* rank);
WAITIO_API_ int waitio_group_size(waitio_group_t group, int* size);

/* Start to send to and to receive from a rank of the group. The memory belongs to the library until waitio_wait. */
WAITIO_API_ int waitio_isend(waitio_group_t group, int dest, char* buf, size_t nbytes, int tag, waitio_req_t* req);
WAITIO_API_ int waitio_irecv(waitio_group_t group, int source, char* buf, size_t nbytes, int tag, waitio_req_t* req);
/* Waits until the request is complete. A request of zeros is complete. */
WAITIO_API_ int waitio_wait(waitio_req_t* req);

#ifdef __cplusplus
}
#endif
#endif
