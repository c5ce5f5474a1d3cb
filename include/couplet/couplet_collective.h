/* Collective calls: what all members of a group do together.
 *
 * Every member makes the same calls in the same order, with the same count, type, operation, root and method. Several
 * may be under way at a time, and none matches a message of couplet_send and couplet_recv. Reductions combine in an
 * order that depends only on arguments and group: the same call gives the same bits in every run, and at all members. A
 * result that is not a number is the quiet NaN without sign. A call that fails at one member, or is refused there, is
 * revoked at all (docs/guide/collectives.md). The buffers of a non-blocking call belong to the library until its
 * request is complete. Every function with an options argument can return COUPLET_ERROR_MISMATCH (members have given
 * different things, which the text names), COUPLET_ERROR_PEER_LOST, COUPLET_ERROR_TYPE, COUPLET_ERROR_STATE (this
 * process is no member), COUPLET_ERROR_PROTOCOL, COUPLET_ERROR_TIMEOUT (the text names the member that has given up),
 * whatever made another member refuse the call, and, if it waits, COUPLET_INTERRUPTED: the interrupt check ended the
 * call, which is revoked for all, and is not to be made again alone. The result of a failed call is undefined. */
#ifndef COUPLET_COUPLET_COLLECTIVE_H
#define COUPLET_COUPLET_COLLECTIVE_H

#include <couplet/couplet_message.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Operations of reductions. Those of user code have numbers from COUPLET_OPERATION_USER on. */
typedef int32_t couplet_operation;
enum {
  COUPLET_OPERATION_SUM = 0,
  COUPLET_OPERATION_PRODUCT = 1,
  COUPLET_OPERATION_MAX = 2, /* NaN if one of the operands is NaN */
  COUPLET_OPERATION_MIN = 3,
  COUPLET_OPERATION_LOGICAL_AND = 4, /* of integers; the result is 0 or 1 */
  COUPLET_OPERATION_LOGICAL_OR = 5,
  COUPLET_OPERATION_LOGICAL_XOR = 6,
  COUPLET_OPERATION_BITWISE_AND = 7, /* of integers and bytes */
  COUPLET_OPERATION_BITWISE_OR = 8,
  COUPLET_OPERATION_BITWISE_XOR = 9,
  /* Of pairs of elements, value and index, one after the other; the count is that of elements, and even. If values are
   * equal, the lower index counts. */
  COUPLET_OPERATION_MAXLOC = 10,
  COUPLET_OPERATION_MINLOC = 11,
  COUPLET_OPERATION_USER = 1000
};

/* Methods of collective calls. */
enum {
  COUPLET_COLLECTIVE_AUTOMATIC = 0,     /* the library chooses by the size of the message and by the group */
  COUPLET_COLLECTIVE_LINEAR = 1,        /* gather, scatter, scan */
  COUPLET_COLLECTIVE_BINOMIAL = 2,      /* broadcast, reduce, gather, scatter */
  COUPLET_COLLECTIVE_DOUBLING = 3,      /* barrier, allreduce, allgather, scan */
  COUPLET_COLLECTIVE_RING = 4,          /* broadcast, allreduce, allgather, reduce_scatter */
  COUPLET_COLLECTIVE_PAIRWISE = 5,      /* alltoall */
  COUPLET_COLLECTIVE_REDUCE_LINEAR = 6, /* reduce_scatter */
  COUPLET_COLLECTIVE_SYSTEMS = 7        /* barrier, broadcast, reduce, allreduce: once between each two hosts */
};

typedef struct couplet_collective_options {
  size_t struct_bytes;
  double timeout_s; /* after which this member revokes the call; default -1: never */
  int32_t method;   /* COUPLET_COLLECTIVE_*; default COUPLET_COLLECTIVE_AUTOMATIC */
  int32_t reserved;
  /* How many elements `data` and `result` have, and how many entries each array of counts or offsets. A call that needs
   * more is refused. Default UINT64_MAX: not known. For broadcast, result_size is that of `data`. */
  uint64_t data_size;
  uint64_t result_size;
  uint64_t counts_size;
} couplet_collective_options;

/* Sets the options to their defaults. */
COUPLET_API void couplet_collective_options_init(couplet_collective_options* options);

/* Combines into[i] = from[i] (operation) into[i] for `count` elements. It returns 0; another value fails the call. It
 * must not call Couplet, and must give the same result for the same operands. */
typedef int32_t (*couplet_combine)(const void* from, void* into, uint64_t count, couplet_type type, void* context);

/* Makes an operation of user code under a name, by which the members' operations are compared. It has to be
 * associative. commutative: 1 if operands may change places, else 0; `combine` is called by any function that waits or
 * tests.
 * COUPLET_ERROR_EXISTS: this process has made an operation of that name. */
COUPLET_API couplet_status couplet_operation_create(couplet_universe* universe, const char* name,
                                                    couplet_combine combine, void* context, int32_t commutative,
                                                    couplet_operation* operation);

/* Refuses the next call of the group: for a member that cannot make the call which the others make, because its data
 * are missing, for instance. The call counts as made, and fails at all members with `error` (COUPLET_ERROR_*) and
 * `text`.
 * `call`: the name of the function without "couplet_", such as "allreduce". Returns `error`.
 * COUPLET_ERROR_ARGUMENT: `error` is none; the call is refused all the same. */
COUPLET_API couplet_status couplet_collective_refuse(couplet_group* group, const char* call, couplet_status error,
                                                     const char* text);

/* Gives the method that a call would use: `call` is the name of the function without "couplet_", such as "allreduce" or
 * "gatherv", and `bytes` the size of the message of one member.
 * Ownership: the text is the library's and is never freed.
 * COUPLET_ERROR_NOT_FOUND: there is no collective call of that name. */
COUPLET_API couplet_status couplet_collective_method(couplet_group* group, const char* call, uint64_t bytes,
                                                     const char** method);

/* Splits a group into groups of the members that give the same color, which is at least 0. The members of a new group,
 * "NAME:COLOR", are in the order of their keys, and of their ranks if keys are equal. A member with a negative color
 * gets no group: *made is NULL.
 * Ownership: as of couplet_group_create. Blocking: until all members have called it. Collective over the group.
 * COUPLET_ERROR_MISMATCH: the members have given different names. */
COUPLET_API couplet_status couplet_group_split(couplet_group* group, const char* name, int32_t color, int32_t key,
                                               const couplet_collective_options* options, couplet_group** made);

/* ---- blocking calls; options may be NULL ---- */

/* Waits until every member of the group has called it.
 * Blocking: until then. Collective over the group. */
COUPLET_API couplet_status couplet_barrier(couplet_group* group, const couplet_collective_options* options);

/* Copies `count` elements from the member `root` to all others.
 * Blocking: until the own part is done. Collective over the group. */
COUPLET_API couplet_status couplet_broadcast(couplet_group* group, void* data, uint64_t count, couplet_type type,
                                             int32_t root, const couplet_collective_options* options);

/* Combines `count` elements of each member, element by element, at the member `root`. `result` may be `data`; at other
 * members than the root it may be NULL.
 * Blocking: until the own part is done. Collective over the group. */
COUPLET_API couplet_status couplet_reduce(couplet_group* group, const void* data, void* result, uint64_t count,
                                          couplet_type type, couplet_operation operation, int32_t root,
                                          const couplet_collective_options* options);

/* Combines `count` elements of each member, element by element, at all members. `result` may be `data`.
 * Blocking: until the result is there. Collective over the group. */
COUPLET_API couplet_status couplet_allreduce(couplet_group* group, const void* data, void* result, uint64_t count,
                                             couplet_type type, couplet_operation operation,
                                             const couplet_collective_options* options);

/* Collects `count` elements of each member at the member `root`, in the order of the ranks. At other members, `result`
 * may be NULL.
 * Blocking: until the own part is done. Collective over the group. */
COUPLET_API couplet_status couplet_gather(couplet_group* group, const void* data, uint64_t count, void* result,
                                          couplet_type type, int32_t root, const couplet_collective_options* options);

/* Does the same with a count of its own for each member. At the root, `counts` has the count of each member, and
 * `offsets` says at which element of `result` its block begins (NULL: one block after the other). At other members,
 * both and `result` may be NULL.
 * Blocking: until the own part is done. Collective over the group. */
COUPLET_API couplet_status couplet_gatherv(couplet_group* group, const void* data, uint64_t count, void* result,
                                           const uint64_t* counts, const uint64_t* offsets, couplet_type type,
                                           int32_t root, const couplet_collective_options* options);

/* Collects `count` elements of each member at all members, in the order of the ranks.
 * Blocking: until the result is there. Collective over the group. */
COUPLET_API couplet_status couplet_allgather(couplet_group* group, const void* data, uint64_t count, void* result,
                                             couplet_type type, const couplet_collective_options* options);

/* Does the same with a count of its own for each member: `counts` has all of them, the same at each member. `offsets`:
 * as in couplet_gatherv.
 * Blocking: until the result is there. Collective over the group. */
COUPLET_API couplet_status couplet_allgatherv(couplet_group* group, const void* data, void* result,
                                              const uint64_t* counts, const uint64_t* offsets, couplet_type type,
                                              const couplet_collective_options* options);

/* Gives each member `count` elements of those that the member `root` has in `data`, in the order of the ranks. At other
 * members, `data` may be NULL.
 * Blocking: until the own part is done. Collective over the group. */
COUPLET_API couplet_status couplet_scatter(couplet_group* group, const void* data, void* result, uint64_t count,
                                           couplet_type type, int32_t root, const couplet_collective_options* options);

/* Does the same with a count of its own for each member. `counts` and `offsets`: of `data` at the root, as in
 * couplet_gatherv.
 * Blocking: until the own part is done. Collective over the group. */
COUPLET_API couplet_status couplet_scatterv(couplet_group* group, const void* data, const uint64_t* counts,
                                            const uint64_t* offsets, void* result, uint64_t count, couplet_type type,
                                            int32_t root, const couplet_collective_options* options);

/* Sends the block r of `data` to the member r, and puts what comes from there into the block r of `result`. Each block
 * has `count` elements.
 * Blocking: until the result is there and `data` may be changed. Collective over the group. */
COUPLET_API couplet_status couplet_alltoall(couplet_group* group, const void* data, void* result, uint64_t count,
                                            couplet_type type, const couplet_collective_options* options);

/* Does the same with a count of its own for each block. Offsets may be NULL: one block after the other.
 * Blocking: until the result is there and `data` may be changed. Collective over the group. */
COUPLET_API couplet_status couplet_alltoallv(couplet_group* group, const void* data, const uint64_t* counts,
                                             const uint64_t* offsets, void* result, const uint64_t* result_counts,
                                             const uint64_t* result_offsets, couplet_type type,
                                             const couplet_collective_options* options);

/* Combines the elements of all members, and gives the block r of the combination to the member r. `counts` has the
 * number of elements of each block, the same at each member; `data` has all blocks, `result` the own one.
 * Blocking: until the result is there. Collective over the group. */
COUPLET_API couplet_status couplet_reduce_scatter(couplet_group* group, const void* data, void* result,
                                                  const uint64_t* counts, couplet_type type,
                                                  couplet_operation operation,
                                                  const couplet_collective_options* options);

/* Gives each member the combination of the elements of the members 0 to itself. `result` may be `data`.
 * Blocking: until the own part is done. Collective over the group. */
COUPLET_API couplet_status couplet_scan(couplet_group* group, const void* data, void* result, uint64_t count,
                                        couplet_type type, couplet_operation operation,
                                        const couplet_collective_options* options);

/* ---- non-blocking calls: each starts the call of the same name without waiting ---- */

/* Starts couplet_barrier without waiting. */
COUPLET_API couplet_status couplet_ibarrier(couplet_group* group, const couplet_collective_options* options,
                                            couplet_request** request);

/* Starts couplet_broadcast without waiting. */
COUPLET_API couplet_status couplet_ibroadcast(couplet_group* group, void* data, uint64_t count, couplet_type type,
                                              int32_t root, const couplet_collective_options* options,
                                              couplet_request** request);

/* Starts couplet_reduce without waiting. */
COUPLET_API couplet_status couplet_ireduce(couplet_group* group, const void* data, void* result, uint64_t count,
                                           couplet_type type, couplet_operation operation, int32_t root,
                                           const couplet_collective_options* options, couplet_request** request);

/* Starts couplet_allreduce without waiting. */
COUPLET_API couplet_status couplet_iallreduce(couplet_group* group, const void* data, void* result, uint64_t count,
                                              couplet_type type, couplet_operation operation,
                                              const couplet_collective_options* options, couplet_request** request);

/* Starts couplet_gather without waiting. */
COUPLET_API couplet_status couplet_igather(couplet_group* group, const void* data, uint64_t count, void* result,
                                           couplet_type type, int32_t root, const couplet_collective_options* options,
                                           couplet_request** request);

/* Starts couplet_gatherv without waiting. Its arrays of counts and offsets are read at once. */
COUPLET_API couplet_status couplet_igatherv(couplet_group* group, const void* data, uint64_t count, void* result,
                                            const uint64_t* counts, const uint64_t* offsets, couplet_type type,
                                            int32_t root, const couplet_collective_options* options,
                                            couplet_request** request);

/* Starts couplet_allgather without waiting. */
COUPLET_API couplet_status couplet_iallgather(couplet_group* group, const void* data, uint64_t count, void* result,
                                              couplet_type type, const couplet_collective_options* options,
                                              couplet_request** request);

/* Starts couplet_allgatherv without waiting. Its arrays of counts and offsets are read at once. */
COUPLET_API couplet_status couplet_iallgatherv(couplet_group* group, const void* data, void* result,
                                               const uint64_t* counts, const uint64_t* offsets, couplet_type type,
                                               const couplet_collective_options* options, couplet_request** request);

/* Starts couplet_scatter without waiting. */
COUPLET_API couplet_status couplet_iscatter(couplet_group* group, const void* data, void* result, uint64_t count,
                                            couplet_type type, int32_t root, const couplet_collective_options* options,
                                            couplet_request** request);

/* Starts couplet_scatterv without waiting. Its arrays of counts and offsets are read at once. */
COUPLET_API couplet_status couplet_iscatterv(couplet_group* group, const void* data, const uint64_t* counts,
                                             const uint64_t* offsets, void* result, uint64_t count, couplet_type type,
                                             int32_t root, const couplet_collective_options* options,
                                             couplet_request** request);

/* Starts couplet_alltoall without waiting. */
COUPLET_API couplet_status couplet_ialltoall(couplet_group* group, const void* data, void* result, uint64_t count,
                                             couplet_type type, const couplet_collective_options* options,
                                             couplet_request** request);

/* Starts couplet_alltoallv without waiting. Its arrays of counts and offsets are read at once. */
COUPLET_API couplet_status couplet_ialltoallv(couplet_group* group, const void* data, const uint64_t* counts,
                                              const uint64_t* offsets, void* result, const uint64_t* result_counts,
                                              const uint64_t* result_offsets, couplet_type type,
                                              const couplet_collective_options* options, couplet_request** request);

/* Starts couplet_reduce_scatter without waiting. Its arrays of counts and offsets are read at once. */
COUPLET_API couplet_status couplet_ireduce_scatter(couplet_group* group, const void* data, void* result,
                                                   const uint64_t* counts, couplet_type type,
                                                   couplet_operation operation,
                                                   const couplet_collective_options* options,
                                                   couplet_request** request);

/* Starts couplet_scan without waiting. */
COUPLET_API couplet_status couplet_iscan(couplet_group* group, const void* data, void* result, uint64_t count,
                                         couplet_type type, couplet_operation operation,
                                         const couplet_collective_options* options, couplet_request** request);

#ifdef __cplusplus
}
#endif
#endif
