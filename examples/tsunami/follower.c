/* The follower: a slow analysis without MPI, which must never hold up the ocean. It follows the series "eta". Steps for
 * which it is too slow are overwritten, and it accounts for them. Usage: follower FOLDER (for its results). */
#include <couplet/couplet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS = 600, COLUMNS = 600, STEPS_PER_CALL = 4 };
static const int64_t box_start[] = {150, 150};
static const int64_t box_stop[] = {150 + ROWS, 150 + COLUMNS};

static void demand(couplet_status status, const char* what) {
  if (status < 0) {
    fprintf(stderr, "follower: %s: %s: %s\n", what, couplet_status_name(status), couplet_error_text());
    exit(EXIT_FAILURE);
  }
}

static FILE* create(const char* folder, const char* name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE* file = fopen(path, "wb");
  if (file == NULL) {
    perror(path);
    exit(EXIT_FAILURE);
  }
  return file;
}

/* Computes the check sum that checksums.f90 describes. */
static int64_t checksum(const float* values) {
  const uint64_t modulus = ((uint64_t)1 << 53) - 111;
  uint64_t total = 0;
  uint64_t weight = 0;
  for (int row = 0; row < ROWS; ++row) {
    uint64_t row_sum = 0;
    for (int column = 0; column < COLUMNS; ++column) {
      uint32_t bits;
      memcpy(&bits, values++, sizeof bits);
      row_sum += ++weight * bits;
    }
    total = (total + row_sum) % modulus;
  }
  return (int64_t)total;
}

/* Takes the place of an analysis that needs 200 ms for each step, many times as long as the ocean needs for it. */
static void analyse_slowly(void) {
  const struct timespec duration = {.tv_nsec = 200 * 1000 * 1000};
  nanosleep(&duration, NULL);
}

/* Reads until the ocean has ended, and writes pairs of a step and its check sum. */
static void follow(couplet_series* eta, FILE* sums) {
  for (;;) {
    couplet_series_batch batch = {.struct_bytes = sizeof batch};
    const couplet_status status = couplet_series_read(eta, 1, STEPS_PER_CALL, 120.0, NULL, 0, &batch);
    demand(status, "read");
    if (status == COUPLET_END) {
      return;
    }
    if (status != COUPLET_OK) {
      fprintf(stderr, "follower: read: %s\n", couplet_status_name(status));
      exit(EXIT_FAILURE);
    }
    for (uint64_t i = 0; i < batch.count; ++i) {
      const float* surface = (const float*)batch.data + i * ROWS * COLUMNS;
      const int64_t pair[] = {batch.steps[i], checksum(surface)};
      fwrite(pair, sizeof pair, 1, sums);
      analyse_slowly();
    }
  }
}

static void report(couplet_series* eta, FILE* file) {
  couplet_series_statistics counts = {.struct_bytes = sizeof counts};
  demand(couplet_series_get_statistics(eta, &counts), "count");
  fprintf(file, "{\"name\": \"follower\", \"ranks\": 1, \"mpi\": \"none\", \"published\": %" PRIu64, counts.published);
  fprintf(file, ", \"first\": %" PRIu64 ", \"delivered\": %" PRIu64, counts.first, counts.delivered);
  fprintf(file, ", \"lost\": %" PRIu64 ", \"lost_torn\": %" PRIu64, counts.lost, counts.lost_torn);
  fprintf(file, ", \"skipped\": %" PRIu64 ", \"pending\": %" PRIu64, counts.skipped, counts.pending);
  fprintf(file, ", \"steps_per_call\": %" PRIu64 "}\n", counts.largest_batch);
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return EXIT_FAILURE;
  }
  couplet_universe* universe = NULL;
  demand(couplet_join("follower", NULL, &universe), "join");

  couplet_series_open_options options;
  couplet_series_open_options_init(&options);
  options.mode = COUPLET_SERIES_FOLLOW;
  options.start = box_start;
  options.stop = box_stop;
  options.dimensions = 2;
  options.type = COUPLET_FLOAT;
  couplet_series* eta = NULL;
  demand(couplet_series_open(universe, "eta", &options, &eta), "open");

  FILE* sums = create(argv[1], "checksums_follower.bin");
  follow(eta, sums);
  fclose(sums);
  FILE* file = create(argv[1], "follower.json");
  report(eta, file);
  fclose(file);

  demand(couplet_series_close(eta), "close");
  demand(couplet_leave(universe), "leave");
  return EXIT_SUCCESS;
}
