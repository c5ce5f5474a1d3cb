/* The part that all measured programs share: a program is kept alive, and blocks in read() until bench/run tells it
 * over a named pipe which sample to take, so that only the measured pair is busy.
 *   P <bytes> <count>   ping-pong: `count` round trips
 *   S <bytes> <count>   stream: role 0 sends `count` messages, role 1 answers the last one
 *   Q                   end
 * Role 0 answers each sample with its seconds. */
#ifndef COUPLET_BENCH_CONTROL_H
#define COUPLET_BENCH_CONTROL_H

#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct bench_transport {
  void (*send)(const void* data, size_t bytes);
  void (*receive)(void* data, size_t bytes);
} bench_transport;

enum { BENCH_BUFFERS = 4 };
static const size_t bench_most_bytes = (size_t)16 << 20;

static inline double bench_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline void bench_die(const char* what) {
  perror(what);
  exit(1);
}

static inline FILE* bench_pipe(const char* stem, int role, const char* end, const char* mode) {
  char path[512];
  snprintf(path, sizeof path, "%s.%d.%s", stem, role, end);
  FILE* pipe = fopen(path, mode);
  if (pipe == NULL) bench_die(path);
  setvbuf(pipe, NULL, _IOLBF, 0);
  return pipe;
}

/* Binds the two roles to two cores, if there are two. */
static inline void bench_pin(int role) {
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)(role % (cores > 0 ? cores : 1)), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) perror("sched_setaffinity");
}

static inline double bench_ping_pong(const bench_transport* transport, int role, char* buffer, size_t bytes,
                                     long count) {
  double begin = 0;
  for (long round = -1; round < count; ++round) { /* the first one wakes both up */
    if (round == 0) begin = bench_seconds();
    if (role == 0) transport->send(buffer, bytes);
    transport->receive(buffer, bytes);
    if (role == 1) transport->send(buffer, bytes);
  }
  return bench_seconds() - begin;
}

static inline double bench_stream(const bench_transport* transport, int role, char* buffer, size_t bytes, long count) {
  char answer[8] = {0};
  double begin = 0;
  for (int part = 0; part < 2; ++part) { /* the first one wakes both up */
    const long messages = part == 0 ? 1 : count;
    begin = bench_seconds();
    for (long index = 0; index < messages; ++index) {
      char* data = buffer + (size_t)(index % BENCH_BUFFERS) * bench_most_bytes;
      role == 0 ? transport->send(data, bytes) : transport->receive(data, bytes);
    }
    role == 0 ? transport->receive(answer, sizeof answer) : transport->send(answer, sizeof answer);
  }
  return bench_seconds() - begin;
}

/* stem: the beginning of the names of the pipes, <stem>.<number>.in and <stem>.<number>.out. number: the role, and
 * twice the number of the pair, if several pairs are measured at the same time. */
static inline void bench_serve(const char* stem, int number, const bench_transport* transport) {
  const int role = number % 2;
  FILE* in = bench_pipe(stem, number, "in", "r");
  FILE* out = bench_pipe(stem, number, "out", "w");
  char* buffer = NULL;
  if (posix_memalign((void**)&buffer, 4096, BENCH_BUFFERS * bench_most_bytes) != 0) bench_die("memory");
  memset(buffer, 1 + role, BENCH_BUFFERS * bench_most_bytes);
  bench_pin(role);
  fprintf(out, "ready\n");
  char line[128];
  while (fgets(line, sizeof line, in) != NULL && line[0] != 'Q') {
    unsigned long long bytes = 0;
    long count = 0;
    if (sscanf(line + 1, "%llu %ld", &bytes, &count) != 2 || bytes > bench_most_bytes) bench_die("bad command");
    const double seconds = line[0] == 'P' ? bench_ping_pong(transport, role, buffer, bytes, count)
                                          : bench_stream(transport, role, buffer, bytes, count);
    fprintf(out, "%.9f\n", seconds);
  }
  free(buffer);
  fclose(in);
  fclose(out);
}

#endif
