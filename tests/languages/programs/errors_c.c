/* Provokes errors in C and prints "case<TAB>code<TAB>sentence"; see test_errors.py.
 * Usage: errors_c provoke WRONG_SECRET | errors_c join PROGRAM... | errors_c meet CASE */
#include <couplet/couplet.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const int64_t shape[2] = {4, 3};
static const int64_t zero[2] = {0, 0};
static double eta[4 * 3];

static void print(const char* name, couplet_status status) {
  printf("%s\t%d\t%s\n", name, status, status < 0 ? couplet_error_text() : "");
}

static void need(couplet_status status, int line) {
  if (status != COUPLET_OK) {
    fprintf(stderr, "line %d: %s: %s\n", line, couplet_status_name(status), couplet_error_text());
    exit(1);
  }
}
#define NEED(call) need((call), __LINE__)

static couplet_status try_join(const char* program, const char* hub, const char* secret_file) {
  couplet_join_options options;
  couplet_join_options_init(&options);
  options.hub = hub;
  options.secret_file = secret_file;
  options.timeout_s = 2;
  couplet_universe* universe;
  return couplet_join(program, &options, &universe);
}

static couplet_status try_create(couplet_universe* universe, const char* name, const int64_t* extents, uint64_t slots,
                                 couplet_series** series) {
  couplet_series_create_options options;
  couplet_series_create_options_init(&options);
  options.slots = slots;
  options.wait_timeout_s = 0;
  return couplet_series_create(universe, name, COUPLET_DOUBLE, 2, extents, zero, extents, &options, series);
}

static couplet_status try_open(couplet_universe* universe, const char* name, couplet_type type, int64_t rows,
                               couplet_series** series) {
  const int64_t stop[2] = {rows, 3};
  couplet_series_open_options options;
  couplet_series_open_options_init(&options);
  options.start = zero;
  options.stop = stop;
  options.dimensions = 2;
  options.type = type;
  options.timeout_s = 0.2;
  return couplet_series_open(universe, name, &options, series);
}

static void provoke_series(couplet_universe* universe) {
  const int64_t enormous[2] = {1000000000, 1000000};
  couplet_series *writer, *reader, *other;
  couplet_series_batch batch = {.struct_bytes = sizeof batch};
  NEED(try_create(universe, "eta", shape, 2, &writer));
  print("exists", try_create(universe, "eta", shape, 2, &other));
  print("no_space", try_create(universe, "ocean", enormous, 2, &other));
  print("state", couplet_series_publish(writer));
  print("type", try_open(universe, "eta", COUPLET_INT32, 4, &other));
  print("shape", try_open(universe, "eta", COUPLET_DOUBLE, 5, &other));
  print("timeout", try_open(universe, "never", COUPLET_DOUBLE, 4, &other));
  NEED(try_open(universe, "eta", COUPLET_DOUBLE, 4, &reader));
  print("argument", couplet_series_read(reader, 5, 2, 0, NULL, 0, &batch));
  print("limit", couplet_series_read(reader, 3, 3, 0, NULL, 0, &batch));
  print("not_yet", couplet_series_read(reader, 1, 1, 0, NULL, 0, &batch));
  NEED(couplet_series_put(writer, eta, 10));
  print("step", couplet_series_put(writer, eta, 10));
  NEED(couplet_series_put(writer, eta, 20));
  print("full", couplet_series_put(writer, eta, 30));
  NEED(couplet_series_close(writer));
  NEED(couplet_series_read(reader, 1, 2, 0, NULL, 0, &batch));
  print("end", couplet_series_read(reader, 1, 2, 0, NULL, 0, &batch));
  NEED(try_create(universe, "eta", shape, 2, &writer));
  couplet_status again = COUPLET_END;  // each look for the new series lasts for at most 0.2 s
  for (int attempt = 0; attempt < 100 && again == COUPLET_END; ++attempt) {
    again = couplet_series_read(reader, 1, 2, 20, NULL, 0, &batch);
  }
  print("restarted", again);
  NEED(couplet_series_close(reader));
  NEED(couplet_series_close(writer));
}

static void provoke_eviction(couplet_universe* universe) {
  couplet_series *writer, *reader;
  couplet_series_batch batch = {.struct_bytes = sizeof batch};
  couplet_series_create_options options;
  couplet_series_create_options_init(&options);
  options.slots = 2;
  options.evict_after_held_s = 0.05;
  NEED(couplet_series_create(universe, "tides", COUPLET_DOUBLE, 2, shape, NULL, NULL, &options, &writer));
  NEED(try_open(universe, "tides", COUPLET_DOUBLE, 4, &reader));
  for (int64_t step = 1; step <= 3; ++step) NEED(couplet_series_put(writer, eta, step));
  print("evicted", couplet_series_read(reader, 1, 2, 0, NULL, 0, &batch));
  NEED(couplet_series_close(reader));
  NEED(couplet_series_close(writer));
}

/* Limits the memory to what the process has now, and 16 MiB. */
static void provoke_memory(couplet_universe* universe) {
  const int64_t large[2] = {2048, 1024};
  couplet_series* series;
  struct rlimit before, tight;
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld", &pages) != 1) exit(1);
  fclose(file);
  getrlimit(RLIMIT_AS, &before);
  tight = before;
  tight.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (16u << 20);
  setrlimit(RLIMIT_AS, &tight);
  print("memory", try_create(universe, "ocean", large, 2, &series));
  setrlimit(RLIMIT_AS, &before);
}

static atomic_int is_waiting, is_enough;

static int32_t tell(void* nothing) {
  (void)nothing;
  is_waiting = 1;
  return is_enough;
}

static void* receive_what_never_comes(void* request) {
  couplet_set_interrupt_check(tell, NULL);
  couplet_wait(request, -1, NULL);
  return NULL;
}

static void provoke_thread(couplet_universe* universe) {
  couplet_group* group;
  couplet_request* request;
  pthread_t thread;
  double never;
  NEED(couplet_universe_group(universe, &group));
  NEED(couplet_irecv(group, &never, 1, COUPLET_DOUBLE, 0, 99, &request));
  pthread_create(&thread, NULL, receive_what_never_comes, &request);
  while (!is_waiting) sched_yield();
  print("thread", couplet_universe_progress(universe));
  is_enough = 1;
  pthread_join(thread, NULL);
}

static int32_t end_at_once(void* asked) {
  ++*(int*)asked;
  return 1;
}

static void provoke_interrupt(couplet_universe* universe) {
  couplet_group* group;
  int asked = 0;
  NEED(couplet_universe_group(universe, &group));
  couplet_set_interrupt_check(end_at_once, &asked);
  print("interrupted", couplet_recv(group, eta, 12, COUPLET_DOUBLE, 0, 98, NULL));
  couplet_set_interrupt_check(NULL, NULL);
  if (asked != 1) exit(1);
}

/* Exchanges messages with a program that is lost, or that cannot be reached. */
static void meet(const char* name) {
  couplet_universe* universe;
  couplet_group* group;
  NEED(couplet_join("solo", NULL, &universe));
  NEED(couplet_universe_group(universe, &group));
  couplet_status status = couplet_send(group, eta, 1, COUPLET_DOUBLE, 1, 1);
  if (status == COUPLET_OK) status = couplet_recv(group, eta, 1, COUPLET_DOUBLE, 1, 1, NULL);
  print(name, status);
  NEED(couplet_leave(universe));
}

static void provoke_message(couplet_universe* universe) {
  couplet_group* group;
  couplet_request* request;
  couplet_message message;
  NEED(couplet_universe_group(universe, &group));
  NEED(couplet_isend(group, eta, 12, COUPLET_DOUBLE, 0, 7, &request));
  print("truncated", couplet_recv(group, eta, 5, COUPLET_DOUBLE, 0, 7, &message));
  NEED(couplet_wait(&request, 10, NULL));
}

static void provoke_fork(couplet_universe* universe) {
  int32_t rank, size;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    print("forked", couplet_universe_rank(universe, &rank, &size));
    fflush(stdout);
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

int main(int argc, char** argv) {
  if (strcmp(argv[1], "join") == 0) {
    for (int i = 2; i < argc; ++i) print(argv[i], try_join(argv[i], NULL, NULL));
    return 0;
  }
  if (strcmp(argv[1], "meet") == 0) {
    meet(argv[2]);
    return 0;
  }
  print("not_found", try_join("nobody", NULL, NULL));
  print("authentication", try_join("solo", NULL, argv[2]));
  print("hub_lost", try_join("solo", "127.0.0.1:1", NULL));
  print("config", try_join("solo", "nonsense", NULL));
  couplet_universe* universe;
  NEED(couplet_join("solo", NULL, &universe));
  provoke_series(universe);
  provoke_eviction(universe);
  provoke_memory(universe);
  provoke_message(universe);
  provoke_thread(universe);
  provoke_interrupt(universe);
  provoke_fork(universe);
  NEED(couplet_leave(universe));
  return 0;
}
