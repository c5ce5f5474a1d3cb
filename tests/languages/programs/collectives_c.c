/* The collective calls of tests/languages in C; see test_collectives.py. Usage: collectives_c PROGRAM */
#include <couplet/couplet.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(couplet_status status, const char* what) {
  if (status != COUPLET_OK) {
    fprintf(stderr, "%s: %s: %s\n", what, couplet_status_name(status), couplet_error_text());
    exit(1);
  }
}

static void expect(int holds, const char* what) {
  if (!holds) {
    fprintf(stderr, "not so: %s\n", what);
    exit(1);
  }
}

static int32_t add_twice(const void* from, void* into, uint64_t count, couplet_type type, void* context) {
  expect(type == COUPLET_INT64, "type of the operation");
  *(int64_t*)context += 1;
  for (uint64_t i = 0; i < count; ++i) {
    ((int64_t*)into)[i] += ((const int64_t*)from)[i];
  }
  return 0;
}

/* What one member refuses fails at both, and the next call matches. */
static void expect_refused(couplet_group* group, couplet_status status, couplet_status wanted, const char* words) {
  expect(status == wanted, words);
  expect(strstr(couplet_error_text(), words) != NULL, couplet_error_text());
  const int64_t one = 1;
  int64_t sum = 0;
  check(couplet_allreduce(group, &one, &sum, 1, COUPLET_INT64, COUPLET_OPERATION_SUM, NULL),
        "call after a refused one");
  expect(sum == 2, "call after a refused one");
}

static void refuse_alone(couplet_group* group, int32_t rank) {
  const int refuses = rank == 1;
  couplet_collective_options options;
  couplet_collective_options_init(&options);
  options.timeout_s = refuses ? NAN : 60;
  expect_refused(group, couplet_barrier(group, &options), COUPLET_ERROR_ARGUMENT, "timeout");
  options.timeout_s = 60;
  options.method = refuses ? 99 : 0;
  expect_refused(group, couplet_barrier(group, &options), COUPLET_ERROR_ARGUMENT, "method is 99");
  options.method = 0;
  options.struct_bytes = refuses ? 3 : sizeof options;
  expect_refused(group, couplet_barrier(group, &options), COUPLET_ERROR_ARGUMENT, "struct_bytes");
  options.struct_bytes = sizeof options;
  options.result_size = refuses ? 1 : 2;
  int64_t numbers[2] = {1, 2};
  int64_t results[2];
  expect_refused(group, couplet_allreduce(group, numbers, results, 2, COUPLET_INT64, COUPLET_OPERATION_SUM, &options),
                 COUPLET_ERROR_ARGUMENT, "result has 1 element, and 2 are needed");
  if (refuses) {
    expect_refused(group, couplet_ibarrier(group, NULL, NULL), COUPLET_ERROR_ARGUMENT, "request is NULL");
    expect_refused(group, couplet_collective_refuse(group, "barrier", COUPLET_ERROR_STATE, "no mesh"),
                   COUPLET_ERROR_STATE, "no mesh");
  } else {
    expect_refused(group, couplet_barrier(group, NULL), COUPLET_ERROR_ARGUMENT, "request is NULL");
    expect_refused(group, couplet_barrier(group, NULL), COUPLET_ERROR_STATE, "no mesh");
  }
  expect_refused(group, couplet_collective_refuse(group, "barrier", 7, "no mesh"), COUPLET_ERROR_ARGUMENT,
                 "error is 7");
}

static int32_t is_last(int32_t rank, int32_t program, void* context) {
  (void)context;
  return rank + program == 2;
}

static int32_t rank_in(const couplet_group* group, int32_t* size) {
  int32_t rank = -2;
  check(couplet_group_rank(group, &rank, size), "rank");
  return rank;
}

static void make_groups(couplet_universe* universe, couplet_group* group, int32_t rank) {
  couplet_group* made = NULL;
  int32_t size = 0;
  check(couplet_group_create_heads(universe, "heads", &made), "heads");
  expect(rank_in(made, &size) == rank && size == 2, "heads");
  check(couplet_barrier(made, NULL), "barrier of the heads");
  check(couplet_group_create_program(universe, "left", &made), "program");
  expect(rank_in(made, &size) == (rank == 0 ? 0 : -1) && size == 1, "program");
  expect(couplet_group_create_program(universe, "middle", &made) == COUPLET_ERROR_NOT_FOUND, "no such program");
  expect(strstr(couplet_error_text(), "'left', 'right'") != NULL, couplet_error_text());
  check(couplet_group_create_filtered(universe, "last", is_last, NULL, &made), "filter");
  expect(rank_in(made, &size) == (rank == 1 ? 0 : -1) && size == 1, "filter");
  expect(couplet_group_create_filtered(universe, "none", NULL, NULL, &made) == COUPLET_ERROR_ARGUMENT, "no filter");
  check(couplet_group_split(group, "backwards", 0, -rank, NULL, &made), "split");
  expect(rank_in(made, &size) == 1 - rank && size == 2, "split");
  check(couplet_barrier(made, NULL), "barrier of a split group");
  check(couplet_group_split(group, "first", rank == 0 ? 3 : -1, 0, NULL, &made), "split");
  expect((made == NULL) == (rank == 1), "split without color");
  expect(couplet_group_split(group, rank == 0 ? "one" : "other", 0, 0, NULL, &made) == COUPLET_ERROR_MISMATCH,
         "two names");
  expect(couplet_group_split(group, rank == 0 ? "one" : NULL, 0, 0, NULL, &made) == COUPLET_ERROR_ARGUMENT, "no name");
}

int main(int argc, char** argv) {
  couplet_universe* universe = NULL;
  couplet_group* group = NULL;
  couplet_request* request = NULL;
  int32_t rank = -1;
  int32_t size = 0;
  check(couplet_join(argc > 1 ? argv[1] : NULL, NULL, &universe), "join");
  check(couplet_universe_group(universe, &group), "group");
  check(couplet_group_rank(group, &rank, &size), "rank");
  expect(size == 2, "two members");
  check(couplet_barrier(group, NULL), "barrier");

  int64_t data[2] = {rank + 1, 10 * (rank + 1)};
  int64_t result[4] = {0, 0, 0, 0};
  check(couplet_allreduce(group, data, result, 2, COUPLET_INT64, COUPLET_OPERATION_SUM, NULL), "allreduce");
  expect(result[0] == 3 && result[1] == 30, "allreduce");
  check(couplet_reduce(group, data, result, 2, COUPLET_INT64, COUPLET_OPERATION_MAX, 1, NULL), "reduce");
  expect(rank != 1 || result[1] == 20, "reduce");
  check(couplet_scan(group, data, result, 2, COUPLET_INT64, COUPLET_OPERATION_PRODUCT, NULL), "scan");
  expect(result[0] == (rank == 0 ? 1 : 2), "scan");
  check(couplet_allgather(group, data, 2, result, COUPLET_INT64, NULL), "allgather");
  expect(result[0] == 1 && result[3] == 20, "allgather");
  check(couplet_gather(group, data, 2, result, COUPLET_INT64, 0, NULL), "gather");
  check(couplet_scatter(group, result, data, 2, COUPLET_INT64, 0, NULL), "scatter");
  expect(data[0] == rank + 1 && data[1] == 10 * (rank + 1), "scatter");
  check(couplet_alltoall(group, data, result, 1, COUPLET_INT64, NULL), "alltoall");
  expect(result[0] == (rank == 0 ? 1 : 10) && result[1] == (rank == 0 ? 2 : 20), "alltoall");

  const uint64_t counts[2] = {1, 2};
  const int64_t uneven[2] = {100 * (rank + 1), 100 * (rank + 1) + 1};
  check(couplet_allgatherv(group, uneven, result, counts, NULL, COUPLET_INT64, NULL), "allgatherv");
  expect(result[0] == 100 && result[1] == 200 && result[2] == 201, "allgatherv");
  const int64_t three[3] = {1, 2, 3};
  check(couplet_reduce_scatter(group, three, result, counts, COUPLET_INT64, COUPLET_OPERATION_SUM, NULL),
        "reduce_scatter");
  expect(result[0] == (rank == 0 ? 2 : 4), "reduce_scatter");

  int64_t calls = 0;
  couplet_operation operation = 0;
  check(couplet_operation_create(universe, "add", add_twice, &calls, 1, &operation), "operation");
  check(couplet_iallreduce(group, data, result, 1, COUPLET_INT64, operation, NULL, &request), "iallreduce");
  check(couplet_wait(&request, -1, NULL), "wait");
  expect(result[0] == 3 && calls == 1, "operation of user code");

  const char* method = NULL;
  check(couplet_collective_method(group, "allreduce", 8, &method), "method");
  expect(strcmp(method, "doubling") == 0, "method");
  expect(couplet_collective_method(group, "all", 8, &method) == COUPLET_ERROR_NOT_FOUND, "no such call");

  couplet_collective_options options;
  couplet_collective_options_init(&options);
  options.method = COUPLET_COLLECTIVE_LINEAR;
  expect(couplet_allreduce(group, data, result, 2, COUPLET_INT64, COUPLET_OPERATION_SUM, &options) ==
             COUPLET_ERROR_ARGUMENT,
         "a method that is not possible");
  options.method = 99;
  expect(couplet_barrier(group, &options) == COUPLET_ERROR_ARGUMENT, "a method that does not exist");
  expect(strstr(couplet_error_text(), "method is 99") != NULL, "text");
  /* The counts differ: both are told what both have given. */
  couplet_status status =
      couplet_allreduce(group, three, result, 2 + (uint64_t)rank, COUPLET_INT64, COUPLET_OPERATION_SUM, NULL);
  expect(status == COUPLET_ERROR_MISMATCH, "mismatch");
  expect(strstr(couplet_error_text(), "of 2 int64") != NULL && strstr(couplet_error_text(), "of 3 int64") != NULL,
         "text of the mismatch");
  check(couplet_barrier(group, NULL), "barrier after a mismatch");
  refuse_alone(group, rank), make_groups(universe, group, rank);
  check(couplet_leave(universe), "leave");
  puts("c: all collective calls are right");
  return 0;
}
