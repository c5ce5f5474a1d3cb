/* What the ported calls are built on (couplet_ported.h): joining and leaving, MPI's special values, errors that end the
 * process, and the counts of MPI as those of Couplet. Tests: tests/convert. */
#ifndef COUPLET_COUPLET_PORTED_BASE_H
#define COUPLET_COUPLET_PORTED_BASE_H

#include <couplet/couplet.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COUPLET_PORTED_UNLIKE "a block that is sent and one that is received differ in size"
#define COUPLET_PORTED static inline __attribute__((unused))

typedef couplet_group* couplet_ported_comm;
typedef couplet_request* couplet_ported_request;

/* Each file that includes this header has a weak definition; the linker makes them one. */
__attribute__((weak)) couplet_group* couplet_world;              /* has taken the place of the communicator */
__attribute__((weak)) couplet_universe* couplet_ported_universe; /* NULL: not joined */

/* What one process knows of a group that it has split: each split gets a name of its own. */
typedef struct couplet_ported_split {
  couplet_group* group;
  int splits;
  char path[200];
} couplet_ported_split;
__attribute__((weak)) couplet_ported_split* couplet_ported_splits;
__attribute__((weak)) int couplet_ported_split_count;

#define COUPLET_NULL_RANK (-2) /* messages to it and from it are not sent */
#define COUPLET_UNDEFINED (-32766)
#define COUPLET_IN_PLACE ((void*)-1)
#define COUPLET_PAIRS 1000 /* pairs of value and index: a count of pairs is half of that of elements */
#define COUPLET_PAIR_INT32 (COUPLET_PAIRS + COUPLET_INT32)
#define COUPLET_PORTED_LONG (sizeof(long) == 8 ? COUPLET_INT64 : COUPLET_INT32)
#define COUPLET_PORTED_UNSIGNED_LONG (sizeof(long) == 8 ? COUPLET_UINT64 : COUPLET_UINT32)
enum { COUPLET_THREAD_SINGLE, COUPLET_THREAD_FUNNELED, COUPLET_THREAD_SERIALIZED, COUPLET_THREAD_MULTIPLE };

/* Ends the process if the status is an error. Returns 0. */
COUPLET_PORTED int couplet_ported_need(couplet_status status, const char* call) {
  if (status == COUPLET_OK) return 0;
  fflush(stdout);
  fprintf(stderr, "couplet_ported_%s: %s: %s\n", call, couplet_status_name(status), couplet_error_text());
  exit(1);
}

/* Ends the process because of an argument that Couplet cannot take. */
COUPLET_PORTED void couplet_ported_refuse(int refused, const char* call, const char* why) {
  if (!refused) return;
  fflush(stdout);
  fprintf(stderr, "couplet_ported_%s: %s\n", call, why);
  exit(1);
}

/* Joins the universe. program: NULL is the variable COUPLET_PROGRAM. couplet_world is the group of the ranks of this
 * program or, with whole_universe, of all programs. With threads, threads may call and take turns. A second call does
 * nothing.
 * Blocking: until all required programs are complete. */
COUPLET_PORTED int couplet_ported_join(const char* program, int whole_universe, int threads) {
  couplet_join_options options;
  if (couplet_ported_universe != NULL) return 0;
  couplet_join_options_init(&options);
  options.threads = threads != 0;
  couplet_ported_need(couplet_join(program, &options, &couplet_ported_universe), "join");
  if (whole_universe)
    return couplet_ported_need(couplet_universe_group(couplet_ported_universe, &couplet_world), "join");
  return couplet_ported_need(couplet_universe_program_group(couplet_ported_universe, &couplet_world), "join");
}

/* Leaves the universe in good order: what was sent is delivered. Without a join it does nothing. */
COUPLET_PORTED int couplet_ported_leave(void) {
  couplet_universe* universe = couplet_ported_universe;
  if (universe == NULL) return 0;
  couplet_ported_universe = NULL;
  couplet_world = NULL;
  couplet_ported_split_count = 0;
  free(couplet_ported_splits);
  couplet_ported_splits = NULL;
  return couplet_ported_need(couplet_leave(universe), "leave");
}

/* These take the place of MPI_Finalize, MPI_Initialized, MPI_Abort and MPI_Wtime in a program without MPI. */
COUPLET_PORTED int couplet_ported_finalize(void) {
  return couplet_ported_leave();
}

COUPLET_PORTED int couplet_ported_initialized(int* flag) {
  *flag = couplet_ported_universe != NULL;
  return 0;
}

COUPLET_PORTED int couplet_ported_abort(couplet_group* comm, int code) {
  (void)comm;
  exit(code == 0 ? 1 : code);
}

COUPLET_PORTED double couplet_ported_wtime(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Tells pairs from element types and from the handles of datatypes, which are larger. */
COUPLET_PORTED int couplet_ported_is_pair(couplet_type type) {
  return type >= COUPLET_PAIRS && type < 2 * COUPLET_PAIRS;
}

COUPLET_PORTED uint64_t couplet_ported_elements(int count, couplet_type type) {
  return (uint64_t)count * (couplet_ported_is_pair(type) ? 2 : 1);
}

COUPLET_PORTED couplet_type couplet_ported_type(couplet_type type) {
  return couplet_ported_is_pair(type) ? type - COUPLET_PAIRS : type;
}

COUPLET_PORTED uint64_t couplet_ported_bytes(int count, couplet_type type) {
  return couplet_ported_elements(count, type) * couplet_type_bytes(couplet_ported_type(type));
}

COUPLET_PORTED void* couplet_ported_block(const void* start, uint64_t bytes) {
  return (char*)start + bytes;
}

COUPLET_PORTED int couplet_ported_rank_of(couplet_group* group, int* members) {
  int32_t rank, size;
  couplet_ported_need(couplet_group_rank(group, &rank, &size), "comm_rank");
  if (members != NULL) *members = size;
  return rank;
}

/* Returns the counts as 64-bit ones, to be freed. */
COUPLET_PORTED uint64_t* couplet_ported_wide(const int* counts, int members, couplet_type type) {
  uint64_t* wide = (uint64_t*)malloc((size_t)(members > 0 ? members : 1) * sizeof *wide);
  couplet_ported_refuse(wide == NULL, "counts", "there is no memory");
  for (int i = 0; i < members; ++i) wide[i] = couplet_ported_elements(counts[i], type);
  return wide;
}

/* Sets what is received from the null rank. */
COUPLET_PORTED void couplet_ported_nothing(couplet_message* message, int source) {
  if (message == NULL) return;
  memset(message, 0, sizeof *message);
  message->source = source;
  message->tag = COUPLET_ANY_TAG;
}

/* Says whether a message can be received, after at most timeout_s. */
COUPLET_PORTED int couplet_ported_look(int source, int tag, couplet_group* comm, double timeout_s,
                                       couplet_message* status) {
  couplet_awaited awaited;
  couplet_status code;
  int32_t index;
  couplet_ported_nothing(status, COUPLET_NULL_RANK);
  if (source == COUPLET_NULL_RANK) return 1;
  memset(&awaited, 0, sizeof awaited);
  awaited.group = comm;
  awaited.source = source;
  awaited.tag = tag;
  code = couplet_wait_any(&awaited, 1, timeout_s, &index, status);
  if (code == COUPLET_NOT_YET) return 0;
  return couplet_ported_need(code, "probe") == 0;
}

/* Returns the record of a group that is to be split. If there is none, makes one with this path. */
COUPLET_PORTED couplet_ported_split* couplet_ported_known(couplet_group* group, const char* path) {
  couplet_ported_split* all;
  for (int i = 0; i < couplet_ported_split_count; ++i)
    if (couplet_ported_splits[i].group == group) return &couplet_ported_splits[i];
  all = (couplet_ported_split*)realloc(couplet_ported_splits,
                                       (size_t)(couplet_ported_split_count + 1) * sizeof *couplet_ported_splits);
  couplet_ported_refuse(all == NULL, "comm_split", "there is no memory");
  couplet_ported_splits = all;
  all += couplet_ported_split_count++;
  all->group = group;
  all->splits = 0;
  snprintf(all->path, sizeof all->path, "%s", path);
  return all;
}

COUPLET_PORTED int couplet_ported_comm_split(couplet_group* comm, int color, int key, couplet_group** made) {
  couplet_ported_split* known = couplet_ported_known(comm, "ported");
  char name[sizeof known->path + 40];
  snprintf(name, sizeof name, "%s/%d", known->path, ++known->splits);
  couplet_ported_refuse(strlen(name) > 180, "comm_split", "groups are split more deeply than names allow");
  couplet_ported_need(couplet_group_split(comm, name, color == COUPLET_UNDEFINED ? -1 : color, key, NULL, made),
                      "comm_split");
  if (*made != NULL) {
    char path[sizeof known->path];
    snprintf(path, sizeof path, "%.180s:%d", name, color);
    couplet_ported_known(*made, path);
  }
  return 0;
}

COUPLET_PORTED int couplet_ported_comm_dup(couplet_group* comm, couplet_group** made) {
  return couplet_ported_comm_split(comm, 0, 0, made);
}

COUPLET_PORTED int couplet_ported_comm_free(couplet_group** comm) {
  for (int i = 0; i < couplet_ported_split_count; ++i)
    if (couplet_ported_splits[i].group == *comm) {
      couplet_ported_splits[i] = couplet_ported_splits[--couplet_ported_split_count];
      break;
    }
  couplet_ported_need(couplet_group_free(*comm), "comm_free");
  *comm = NULL;
  return 0;
}

#ifdef __cplusplus
}
#endif
#endif
