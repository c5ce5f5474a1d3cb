/* Messages and collective calls with the arguments of MPI's, for programs that `couplet convert` has made of MPI ones.
 *
 * couplet_ported_send stands for MPI_Send, and so on: the same arguments in the same order, counts and offsets that are
 * int, MPI's special values. As in MPI by default, an error ends the process, with its sentence on standard error; each
 * function returns 0. They are built on the public interface only. One universe and one group, couplet_world, serve the
 * whole process. This header is not part of <couplet/couplet.h>.
 * Guide: docs/guide/converting-an-mpi-code.md. Tests: tests/convert. */
#ifndef COUPLET_COUPLET_PORTED_H
#define COUPLET_COUPLET_PORTED_H

#include <couplet/couplet_ported_base.h>
#include <couplet/couplet_ported_datatype.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- messages ---- */

COUPLET_PORTED int couplet_ported_isend(const void* data, int count, couplet_type type, int target, int tag,
                                        couplet_group* comm, couplet_request** request) {
  *request = NULL;
  if (target == COUPLET_NULL_RANK) return 0;
  return couplet_ported_need(
      couplet_isend(comm, data, couplet_ported_elements(count, type), couplet_ported_type(type), target, tag, request),
      "isend");
}

COUPLET_PORTED int couplet_ported_irecv(void* data, int count, couplet_type type, int source, int tag,
                                        couplet_group* comm, couplet_request** request) {
  *request = NULL;
  if (source == COUPLET_NULL_RANK) return 0;
  return couplet_ported_need(
      couplet_irecv(comm, data, couplet_ported_elements(count, type), couplet_ported_type(type), source, tag, request),
      "irecv");
}

COUPLET_PORTED int couplet_ported_send(const void* data, int count, couplet_type type, int target, int tag,
                                       couplet_group* comm) {
  if (target == COUPLET_NULL_RANK) return 0;
  return couplet_ported_need(
      couplet_send(comm, data, couplet_ported_elements(count, type), couplet_ported_type(type), target, tag), "send");
}

COUPLET_PORTED int couplet_ported_recv(void* data, int count, couplet_type type, int source, int tag,
                                       couplet_group* comm, couplet_message* status) {
  couplet_ported_nothing(status, COUPLET_NULL_RANK);
  if (source == COUPLET_NULL_RANK) return 0;
  return couplet_ported_need(
      couplet_recv(comm, data, couplet_ported_elements(count, type), couplet_ported_type(type), source, tag, status),
      "recv");
}

COUPLET_PORTED int couplet_ported_wait(couplet_request** request, couplet_message* status) {
  couplet_ported_nothing(status, COUPLET_ANY_SOURCE);
  return couplet_ported_need(couplet_wait(request, -1, status), "wait");
}

COUPLET_PORTED int couplet_ported_waitall(int count, couplet_request** requests, couplet_message* statuses) {
  for (int i = 0; i < count && statuses != NULL; ++i) couplet_ported_nothing(&statuses[i], COUPLET_ANY_SOURCE);
  if (count < 1) return 0;
  return couplet_ported_need(couplet_waitall(count, requests, -1, NULL, statuses), "waitall");
}

COUPLET_PORTED int couplet_ported_waitany(int count, couplet_request** requests, int* index, couplet_message* status) {
  int32_t found = -1;
  couplet_ported_nothing(status, COUPLET_ANY_SOURCE);
  if (count > 0) couplet_ported_need(couplet_waitany(count, requests, -1, &found, status), "waitany");
  *index = found < 0 ? COUPLET_UNDEFINED : found;
  return 0;
}

COUPLET_PORTED int couplet_ported_test(couplet_request** request, int* flag, couplet_message* status) {
  int32_t done = 0;
  couplet_message message;
  couplet_ported_nothing(&message, COUPLET_ANY_SOURCE);
  couplet_ported_need(couplet_test(request, &done, &message), "test");
  if (done && status != NULL) *status = message;
  *flag = done;
  return 0;
}

/* Requests that are complete are freed, also if others are not. */
COUPLET_PORTED int couplet_ported_testall(int count, couplet_request** requests, int* flag, couplet_message* statuses) {
  int done;
  *flag = 1;
  for (int i = 0; i < count; ++i) {
    if (requests[i] == NULL) continue;
    couplet_ported_test(&requests[i], &done, statuses == NULL ? NULL : &statuses[i]);
    if (!done) *flag = 0;
  }
  return 0;
}

COUPLET_PORTED int couplet_ported_testany(int count, couplet_request** requests, int* index, int* flag,
                                          couplet_message* status) {
  int pending = 0;
  *index = COUPLET_UNDEFINED;
  *flag = 0;
  for (int i = 0; i < count && !*flag; ++i) {
    if (requests[i] == NULL) continue;
    pending = 1;
    couplet_ported_test(&requests[i], flag, status);
    if (*flag) *index = i;
  }
  if (!pending) *flag = 1;
  return 0;
}

/* Waits for one request, and then takes all that are complete. */
COUPLET_PORTED int couplet_ported_waitsome(int count, couplet_request** requests, int* done_count, int* indices,
                                           couplet_message* statuses) {
  int index, done;
  couplet_message message;
  *done_count = COUPLET_UNDEFINED;
  couplet_ported_waitany(count, requests, &index, &message);
  if (index == COUPLET_UNDEFINED) return 0;
  indices[0] = index;
  if (statuses != NULL) statuses[0] = message;
  *done_count = 1;
  for (int i = 0; i < count; ++i) {
    if (requests[i] == NULL) continue;
    couplet_ported_test(&requests[i], &done, statuses == NULL ? NULL : &statuses[*done_count]);
    if (done) indices[(*done_count)++] = i;
  }
  return 0;
}

COUPLET_PORTED int couplet_ported_sendrecv(const void* data, int count, couplet_type type, int target, int tag,
                                           void* result, int result_count, couplet_type result_type, int source,
                                           int result_tag, couplet_group* comm, couplet_message* status) {
  couplet_request* request;
  couplet_ported_irecv(result, result_count, result_type, source, result_tag, comm, &request);
  couplet_ported_send(data, count, type, target, tag, comm);
  couplet_ported_wait(&request, status);
  if (source == COUPLET_NULL_RANK) couplet_ported_nothing(status, COUPLET_NULL_RANK);
  return 0;
}

COUPLET_PORTED int couplet_ported_sendrecv_replace(void* data, int count, couplet_type type, int target, int tag,
                                                   int source, int result_tag, couplet_group* comm,
                                                   couplet_message* status) {
  const size_t bytes = (size_t)couplet_ported_bytes(count, type);
  void* sent = malloc(bytes > 0 ? bytes : 1);
  couplet_ported_refuse(couplet_ported_is_made(type), "sendrecv_replace", COUPLET_PORTED_ELEMENTS_ONLY);
  couplet_ported_refuse(sent == NULL, "sendrecv_replace", "there is no memory");
  memcpy(sent, data, bytes);
  couplet_ported_sendrecv(sent, count, type, target, tag, data, count, type, source, result_tag, comm, status);
  free(sent);
  return 0;
}

COUPLET_PORTED int couplet_ported_probe(int source, int tag, couplet_group* comm, couplet_message* status) {
  couplet_ported_look(source, tag, comm, -1, status);
  return 0;
}

COUPLET_PORTED int couplet_ported_iprobe(int source, int tag, couplet_group* comm, int* flag, couplet_message* status) {
  *flag = couplet_ported_look(source, tag, comm, 0, status);
  return 0;
}

COUPLET_PORTED int couplet_ported_get_count(const couplet_message* status, couplet_type type, int* count) {
  const uint64_t bytes = couplet_ported_bytes(1, type);
  if (bytes == 0)
    *count = status->bytes == 0 ? 0 : COUPLET_UNDEFINED;
  else
    *count = status->bytes % bytes == 0 ? (int)(status->bytes / bytes) : COUPLET_UNDEFINED;
  return 0;
}

COUPLET_PORTED int couplet_ported_comm_rank(couplet_group* comm, int* rank) {
  *rank = couplet_ported_rank_of(comm, NULL);
  return 0;
}

COUPLET_PORTED int couplet_ported_comm_size(couplet_group* comm, int* size) {
  couplet_ported_rank_of(comm, size);
  return 0;
}

COUPLET_PORTED int couplet_ported_init(int* argc, char*** argv) {
  (void)argc;
  (void)argv;
  return couplet_ported_join(NULL, 0, 0);
}

COUPLET_PORTED int couplet_ported_init_thread(int* argc, char*** argv, int required, int* provided) {
  (void)argc;
  (void)argv;
  *provided = required;
  return couplet_ported_join(NULL, 0, required >= COUPLET_THREAD_SERIALIZED);
}

/* ---- collective calls; a name that begins with i starts the call without waiting ---- */

COUPLET_PORTED int couplet_ported_barrier(couplet_group* comm) {
  return couplet_ported_need(couplet_barrier(comm, NULL), "barrier");
}

COUPLET_PORTED int couplet_ported_bcast(void* data, int count, couplet_type type, int root, couplet_group* comm) {
  return couplet_ported_need(
      couplet_broadcast(comm, data, couplet_ported_elements(count, type), couplet_ported_type(type), root, NULL),
      "bcast");
}

COUPLET_PORTED int couplet_ported_reduce(const void* data, void* result, int count, couplet_type type,
                                         couplet_operation operation, int root, couplet_group* comm) {
  if (data == COUPLET_IN_PLACE) data = result;
  return couplet_ported_need(couplet_reduce(comm, data, result, couplet_ported_elements(count, type),
                                            couplet_ported_type(type), operation, root, NULL),
                             "reduce");
}

COUPLET_PORTED int couplet_ported_allreduce(const void* data, void* result, int count, couplet_type type,
                                            couplet_operation operation, couplet_group* comm) {
  if (data == COUPLET_IN_PLACE) data = result;
  return couplet_ported_need(couplet_allreduce(comm, data, result, couplet_ported_elements(count, type),
                                               couplet_ported_type(type), operation, NULL),
                             "allreduce");
}

COUPLET_PORTED int couplet_ported_scan(const void* data, void* result, int count, couplet_type type,
                                       couplet_operation operation, couplet_group* comm) {
  if (data == COUPLET_IN_PLACE) data = result;
  return couplet_ported_need(couplet_scan(comm, data, result, couplet_ported_elements(count, type),
                                          couplet_ported_type(type), operation, NULL),
                             "scan");
}

COUPLET_PORTED int couplet_ported_gather(const void* data, int count, couplet_type type, void* result, int result_count,
                                         couplet_type result_type, int root, couplet_group* comm) {
  if (data == COUPLET_IN_PLACE) {
    data = couplet_ported_block(
        result, (uint64_t)couplet_ported_rank_of(comm, NULL) * couplet_ported_bytes(result_count, result_type));
    count = result_count;
    type = result_type;
  }
  return couplet_ported_need(
      couplet_gather(comm, data, couplet_ported_elements(count, type), result, couplet_ported_type(type), root, NULL),
      "gather");
}

COUPLET_PORTED int couplet_ported_allgather(const void* data, int count, couplet_type type, void* result,
                                            int result_count, couplet_type result_type, couplet_group* comm) {
  if (data == COUPLET_IN_PLACE) {
    data = couplet_ported_block(
        result, (uint64_t)couplet_ported_rank_of(comm, NULL) * couplet_ported_bytes(result_count, result_type));
    count = result_count;
    type = result_type;
  }
  return couplet_ported_need(
      couplet_allgather(comm, data, couplet_ported_elements(count, type), result, couplet_ported_type(type), NULL),
      "allgather");
}

COUPLET_PORTED int couplet_ported_scatter(const void* data, int count, couplet_type type, void* result,
                                          int result_count, couplet_type result_type, int root, couplet_group* comm) {
  if (result == COUPLET_IN_PLACE) {
    result =
        couplet_ported_block(data, (uint64_t)couplet_ported_rank_of(comm, NULL) * couplet_ported_bytes(count, type));
    result_count = count;
    result_type = type;
  }
  return couplet_ported_need(couplet_scatter(comm, data, result, couplet_ported_elements(result_count, result_type),
                                             couplet_ported_type(result_type), root, NULL),
                             "scatter");
}

COUPLET_PORTED int couplet_ported_alltoall(const void* data, int count, couplet_type type, void* result,
                                           int result_count, couplet_type result_type, couplet_group* comm) {
  couplet_ported_refuse(couplet_ported_bytes(count, type) != couplet_ported_bytes(result_count, result_type),
                        "alltoall", COUPLET_PORTED_UNLIKE);
  couplet_ported_refuse(data == COUPLET_IN_PLACE, "alltoall", "COUPLET_IN_PLACE is not possible for this call");
  return couplet_ported_need(
      couplet_alltoall(comm, data, result, couplet_ported_elements(count, type), couplet_ported_type(type), NULL),
      "alltoall");
}

COUPLET_PORTED int couplet_ported_gatherv(const void* data, int count, couplet_type type, void* result,
                                          const int* counts, const int* offsets, couplet_type result_type, int root,
                                          couplet_group* comm) {
  int members, rank = couplet_ported_rank_of(comm, &members);
  uint64_t *wide = NULL, *places = NULL, own = couplet_ported_elements(count, type);
  couplet_status status;
  if (rank == root) {
    wide = couplet_ported_wide(counts, members, result_type);
    places = couplet_ported_wide(offsets, members, result_type);
  }
  if (data == COUPLET_IN_PLACE) {
    couplet_ported_refuse(wide == NULL, "gatherv", "COUPLET_IN_PLACE is for the root");
    type = couplet_ported_type(result_type);
    data = couplet_ported_block(result, places[rank] * couplet_type_bytes(type));
    own = wide[rank];
  }
  status = couplet_gatherv(comm, data, own, result, wide, places, couplet_ported_type(type), root, NULL);
  free(wide);
  free(places);
  return couplet_ported_need(status, "gatherv");
}

COUPLET_PORTED int couplet_ported_allgatherv(const void* data, int count, couplet_type type, void* result,
                                             const int* counts, const int* offsets, couplet_type result_type,
                                             couplet_group* comm) {
  int members, rank = couplet_ported_rank_of(comm, &members);
  uint64_t* wide = couplet_ported_wide(counts, members, result_type);
  uint64_t* places = couplet_ported_wide(offsets, members, result_type);
  couplet_status status;
  couplet_ported_refuse(
      data != COUPLET_IN_PLACE && couplet_ported_bytes(count, type) != couplet_ported_bytes(counts[rank], result_type),
      "allgatherv", COUPLET_PORTED_UNLIKE);
  type = couplet_ported_type(result_type);
  if (data == COUPLET_IN_PLACE) data = couplet_ported_block(result, places[rank] * couplet_type_bytes(type));
  status = couplet_allgatherv(comm, data, result, wide, places, type, NULL);
  free(wide);
  free(places);
  return couplet_ported_need(status, "allgatherv");
}

COUPLET_PORTED int couplet_ported_scatterv(const void* data, const int* counts, const int* offsets, couplet_type type,
                                           void* result, int result_count, couplet_type result_type, int root,
                                           couplet_group* comm) {
  int members, rank = couplet_ported_rank_of(comm, &members);
  uint64_t *wide = NULL, *places = NULL, own = couplet_ported_elements(result_count, result_type);
  couplet_status status;
  if (rank == root) {
    wide = couplet_ported_wide(counts, members, type);
    places = couplet_ported_wide(offsets, members, type);
  }
  if (result == COUPLET_IN_PLACE) {
    couplet_ported_refuse(wide == NULL, "scatterv", "COUPLET_IN_PLACE is for the root");
    result_type = couplet_ported_type(type);
    result = couplet_ported_block(data, places[rank] * couplet_type_bytes(result_type));
    own = wide[rank];
  }
  status = couplet_scatterv(comm, data, wide, places, result, own, couplet_ported_type(result_type), root, NULL);
  free(wide);
  free(places);
  return couplet_ported_need(status, "scatterv");
}

COUPLET_PORTED int couplet_ported_alltoallv(const void* data, const int* counts, const int* offsets, couplet_type type,
                                            void* result, const int* result_counts, const int* result_offsets,
                                            couplet_type result_type, couplet_group* comm) {
  int members;
  uint64_t* wide[4];
  couplet_status status;
  couplet_ported_refuse(data == COUPLET_IN_PLACE, "alltoallv", "COUPLET_IN_PLACE is not possible for this call");
  couplet_ported_rank_of(comm, &members);
  wide[0] = couplet_ported_wide(counts, members, type);
  wide[1] = couplet_ported_wide(offsets, members, type);
  wide[2] = couplet_ported_wide(result_counts, members, result_type);
  wide[3] = couplet_ported_wide(result_offsets, members, result_type);
  status = couplet_alltoallv(comm, data, wide[0], wide[1], result, wide[2], wide[3], couplet_ported_type(type), NULL);
  for (int i = 0; i < 4; ++i) free(wide[i]);
  return couplet_ported_need(status, "alltoallv");
}

COUPLET_PORTED int couplet_ported_reduce_scatter(const void* data, void* result, const int* counts, couplet_type type,
                                                 couplet_operation operation, couplet_group* comm) {
  int members;
  uint64_t* wide;
  couplet_status status;
  couplet_ported_refuse(data == COUPLET_IN_PLACE, "reduce_scatter", "COUPLET_IN_PLACE is not possible for this call");
  couplet_ported_rank_of(comm, &members);
  wide = couplet_ported_wide(counts, members, type);
  status = couplet_reduce_scatter(comm, data, result, wide, couplet_ported_type(type), operation, NULL);
  free(wide);
  return couplet_ported_need(status, "reduce_scatter");
}

COUPLET_PORTED int couplet_ported_ibarrier(couplet_group* comm, couplet_request** request) {
  return couplet_ported_need(couplet_ibarrier(comm, NULL, request), "ibarrier");
}

COUPLET_PORTED int couplet_ported_ibcast(void* data, int count, couplet_type type, int root, couplet_group* comm,
                                         couplet_request** request) {
  return couplet_ported_need(couplet_ibroadcast(comm, data, couplet_ported_elements(count, type),
                                                couplet_ported_type(type), root, NULL, request),
                             "ibcast");
}

COUPLET_PORTED int couplet_ported_ireduce(const void* data, void* result, int count, couplet_type type,
                                          couplet_operation operation, int root, couplet_group* comm,
                                          couplet_request** request) {
  if (data == COUPLET_IN_PLACE) data = result;
  return couplet_ported_need(couplet_ireduce(comm, data, result, couplet_ported_elements(count, type),
                                             couplet_ported_type(type), operation, root, NULL, request),
                             "ireduce");
}

COUPLET_PORTED int couplet_ported_iallreduce(const void* data, void* result, int count, couplet_type type,
                                             couplet_operation operation, couplet_group* comm,
                                             couplet_request** request) {
  if (data == COUPLET_IN_PLACE) data = result;
  return couplet_ported_need(couplet_iallreduce(comm, data, result, couplet_ported_elements(count, type),
                                                couplet_ported_type(type), operation, NULL, request),
                             "iallreduce");
}

COUPLET_PORTED int couplet_ported_iscan(const void* data, void* result, int count, couplet_type type,
                                        couplet_operation operation, couplet_group* comm, couplet_request** request) {
  if (data == COUPLET_IN_PLACE) data = result;
  return couplet_ported_need(couplet_iscan(comm, data, result, couplet_ported_elements(count, type),
                                           couplet_ported_type(type), operation, NULL, request),
                             "iscan");
}

COUPLET_PORTED int couplet_ported_igather(const void* data, int count, couplet_type type, void* result,
                                          int result_count, couplet_type result_type, int root, couplet_group* comm,
                                          couplet_request** request) {
  if (data == COUPLET_IN_PLACE) {
    data = couplet_ported_block(
        result, (uint64_t)couplet_ported_rank_of(comm, NULL) * couplet_ported_bytes(result_count, result_type));
    count = result_count;
    type = result_type;
  }
  return couplet_ported_need(couplet_igather(comm, data, couplet_ported_elements(count, type), result,
                                             couplet_ported_type(type), root, NULL, request),
                             "igather");
}

COUPLET_PORTED int couplet_ported_iallgather(const void* data, int count, couplet_type type, void* result,
                                             int result_count, couplet_type result_type, couplet_group* comm,
                                             couplet_request** request) {
  if (data == COUPLET_IN_PLACE) {
    data = couplet_ported_block(
        result, (uint64_t)couplet_ported_rank_of(comm, NULL) * couplet_ported_bytes(result_count, result_type));
    count = result_count;
    type = result_type;
  }
  return couplet_ported_need(couplet_iallgather(comm, data, couplet_ported_elements(count, type), result,
                                                couplet_ported_type(type), NULL, request),
                             "iallgather");
}

COUPLET_PORTED int couplet_ported_iscatter(const void* data, int count, couplet_type type, void* result,
                                           int result_count, couplet_type result_type, int root, couplet_group* comm,
                                           couplet_request** request) {
  if (result == COUPLET_IN_PLACE) {
    result =
        couplet_ported_block(data, (uint64_t)couplet_ported_rank_of(comm, NULL) * couplet_ported_bytes(count, type));
    result_count = count;
    result_type = type;
  }
  return couplet_ported_need(couplet_iscatter(comm, data, result, couplet_ported_elements(result_count, result_type),
                                              couplet_ported_type(result_type), root, NULL, request),
                             "iscatter");
}

COUPLET_PORTED int couplet_ported_ialltoall(const void* data, int count, couplet_type type, void* result,
                                            int result_count, couplet_type result_type, couplet_group* comm,
                                            couplet_request** request) {
  couplet_ported_refuse(couplet_ported_bytes(count, type) != couplet_ported_bytes(result_count, result_type),
                        "alltoall", COUPLET_PORTED_UNLIKE);
  couplet_ported_refuse(data == COUPLET_IN_PLACE, "alltoall", "COUPLET_IN_PLACE is not possible for this call");
  return couplet_ported_need(couplet_ialltoall(comm, data, result, couplet_ported_elements(count, type),
                                               couplet_ported_type(type), NULL, request),
                             "ialltoall");
}

COUPLET_PORTED int couplet_ported_igatherv(const void* data, int count, couplet_type type, void* result,
                                           const int* counts, const int* offsets, couplet_type result_type, int root,
                                           couplet_group* comm, couplet_request** request) {
  int members, rank = couplet_ported_rank_of(comm, &members);
  uint64_t *wide = NULL, *places = NULL, own = couplet_ported_elements(count, type);
  couplet_status status;
  if (rank == root) {
    wide = couplet_ported_wide(counts, members, result_type);
    places = couplet_ported_wide(offsets, members, result_type);
  }
  if (data == COUPLET_IN_PLACE) {
    couplet_ported_refuse(wide == NULL, "gatherv", "COUPLET_IN_PLACE is for the root");
    type = couplet_ported_type(result_type);
    data = couplet_ported_block(result, places[rank] * couplet_type_bytes(type));
    own = wide[rank];
  }
  status = couplet_igatherv(comm, data, own, result, wide, places, couplet_ported_type(type), root, NULL, request);
  free(wide);
  free(places);
  return couplet_ported_need(status, "gatherv");
}

COUPLET_PORTED int couplet_ported_iallgatherv(const void* data, int count, couplet_type type, void* result,
                                              const int* counts, const int* offsets, couplet_type result_type,
                                              couplet_group* comm, couplet_request** request) {
  int members, rank = couplet_ported_rank_of(comm, &members);
  uint64_t* wide = couplet_ported_wide(counts, members, result_type);
  uint64_t* places = couplet_ported_wide(offsets, members, result_type);
  couplet_status status;
  couplet_ported_refuse(
      data != COUPLET_IN_PLACE && couplet_ported_bytes(count, type) != couplet_ported_bytes(counts[rank], result_type),
      "allgatherv", COUPLET_PORTED_UNLIKE);
  type = couplet_ported_type(result_type);
  if (data == COUPLET_IN_PLACE) data = couplet_ported_block(result, places[rank] * couplet_type_bytes(type));
  status = couplet_iallgatherv(comm, data, result, wide, places, type, NULL, request);
  free(wide);
  free(places);
  return couplet_ported_need(status, "allgatherv");
}

COUPLET_PORTED int couplet_ported_iscatterv(const void* data, const int* counts, const int* offsets, couplet_type type,
                                            void* result, int result_count, couplet_type result_type, int root,
                                            couplet_group* comm, couplet_request** request) {
  int members, rank = couplet_ported_rank_of(comm, &members);
  uint64_t *wide = NULL, *places = NULL, own = couplet_ported_elements(result_count, result_type);
  couplet_status status;
  if (rank == root) {
    wide = couplet_ported_wide(counts, members, type);
    places = couplet_ported_wide(offsets, members, type);
  }
  if (result == COUPLET_IN_PLACE) {
    couplet_ported_refuse(wide == NULL, "scatterv", "COUPLET_IN_PLACE is for the root");
    result_type = couplet_ported_type(type);
    result = couplet_ported_block(data, places[rank] * couplet_type_bytes(result_type));
    own = wide[rank];
  }
  status =
      couplet_iscatterv(comm, data, wide, places, result, own, couplet_ported_type(result_type), root, NULL, request);
  free(wide);
  free(places);
  return couplet_ported_need(status, "scatterv");
}

COUPLET_PORTED int couplet_ported_ialltoallv(const void* data, const int* counts, const int* offsets, couplet_type type,
                                             void* result, const int* result_counts, const int* result_offsets,
                                             couplet_type result_type, couplet_group* comm, couplet_request** request) {
  int members;
  uint64_t* wide[4];
  couplet_status status;
  couplet_ported_refuse(data == COUPLET_IN_PLACE, "alltoallv", "COUPLET_IN_PLACE is not possible for this call");
  couplet_ported_rank_of(comm, &members);
  wide[0] = couplet_ported_wide(counts, members, type);
  wide[1] = couplet_ported_wide(offsets, members, type);
  wide[2] = couplet_ported_wide(result_counts, members, result_type);
  wide[3] = couplet_ported_wide(result_offsets, members, result_type);
  status = couplet_ialltoallv(comm, data, wide[0], wide[1], result, wide[2], wide[3], couplet_ported_type(type), NULL,
                              request);
  for (int i = 0; i < 4; ++i) free(wide[i]);
  return couplet_ported_need(status, "alltoallv");
}

COUPLET_PORTED int couplet_ported_ireduce_scatter(const void* data, void* result, const int* counts, couplet_type type,
                                                  couplet_operation operation, couplet_group* comm,
                                                  couplet_request** request) {
  int members;
  uint64_t* wide;
  couplet_status status;
  couplet_ported_refuse(data == COUPLET_IN_PLACE, "reduce_scatter", "COUPLET_IN_PLACE is not possible for this call");
  couplet_ported_rank_of(comm, &members);
  wide = couplet_ported_wide(counts, members, type);
  status = couplet_ireduce_scatter(comm, data, result, wide, couplet_ported_type(type), operation, NULL, request);
  free(wide);
  return couplet_ported_need(status, "reduce_scatter");
}

#ifdef __cplusplus
}
#endif
#endif
