/* One of several programs whose ranks exchange values of every element type with each other. The programs may run on
 * machines of unlike byte orders, so every value is checked. Usage: mixed NAME
 * See tests/cross/test_universe.py. */
#include <couplet/couplet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                                       \
  do {                                                                                                    \
    couplet_status status_ = (call);                                                                      \
    if (status_ < 0) {                                                                                    \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, couplet_status_name(status_), couplet_error_text()); \
      exit(1);                                                                                            \
    }                                                                                                     \
  } while (0)
#define REQUIRE(condition)                                              \
  do {                                                                  \
    if (!(condition)) {                                                 \
      fprintf(stderr, "line %d: not true: %s\n", __LINE__, #condition); \
      exit(1);                                                          \
    }                                                                   \
  } while (0)

enum { TYPES = 13, MOST_RANKS = 8, MOST = 60000, STEPS = 12, ROUNDS = 100 };
enum { ROWS = 6, COLUMNS = 5 };

static couplet_universe* universe;
static couplet_group* group; /* all ranks */
static int32_t rank, size;
static char* given;       /* MOST elements of the largest type for each rank */
static char* gotten;      /* the same */
static char* right;       /* the same: what should have come */
static char* part_of_sum; /* the same */

static int is_big_endian(void) {
  const uint16_t one = 1;
  return *(const uint8_t*)&one == 0;
}

static void* room(void) {
  void* memory = malloc((size_t)16 * MOST * MOST_RANKS);
  REQUIRE(memory != NULL);
  return memory;
}

/* Stores a value as element i. The bytes of a stored number differ from each other, so that a number in the wrong byte
 * order is another number; sums of the values of all ranks are exact in each type. value: at most 15. */
static void put(couplet_type type, void* data, uint64_t i, uint32_t value) {
  switch (type) {
    case COUPLET_BYTE:
    case COUPLET_UINT8:
      ((uint8_t*)data)[i] = (uint8_t)value;
      return;
    case COUPLET_INT8:
      ((int8_t*)data)[i] = (int8_t) - (int32_t)value;
      return;
    case COUPLET_INT16:
      ((int16_t*)data)[i] = (int16_t)(-0x102 * (int32_t)value);
      return;
    case COUPLET_UINT16:
      ((uint16_t*)data)[i] = (uint16_t)(0x201 * value);
      return;
    case COUPLET_INT32:
      ((int32_t*)data)[i] = -0x1020304 * (int32_t)value;
      return;
    case COUPLET_UINT32:
      ((uint32_t*)data)[i] = 0x1020304 * value;
      return;
    case COUPLET_INT64:
      ((int64_t*)data)[i] = -0x102030405060708 * (int64_t)value;
      return;
    case COUPLET_UINT64:
      ((uint64_t*)data)[i] = 0x102030405060708 * (uint64_t)value;
      return;
    case COUPLET_FLOAT:
      ((float*)data)[i] = 0.0625f + (float)value;
      return;
    case COUPLET_DOUBLE:
      ((double*)data)[i] = 0.0009765625 + value;
      return;
    case COUPLET_COMPLEX_FLOAT:
      ((float*)data)[2 * i] = 0.125f + (float)value;
      ((float*)data)[2 * i + 1] = -0.5f * (float)value;
      return;
    default:
      ((double*)data)[2 * i] = 0.03125 + value;
      ((double*)data)[2 * i + 1] = -0.25 * value;
  }
}

/* A value from 1 to 15 that depends on who gives it, to whom, and on its place. */
static uint32_t value_of(int32_t from, int32_t to, uint64_t i) {
  return 1 + (uint32_t)((uint64_t)from * 5 + (uint64_t)to * 3 + i * 7) % 15;
}

static void fill(couplet_type type, void* data, uint64_t count, int32_t from, int32_t to) {
  for (uint64_t i = 0; i < count; ++i) put(type, data, i, value_of(from, to, i));
}

static void same(couplet_type type, const void* data, uint64_t count, const char* what) {
  const size_t bytes = couplet_type_bytes(type);
  for (uint64_t i = 0; i < count; ++i) {
    if (memcmp((const char*)data + bytes * i, right + bytes * i, bytes) != 0) {
      fprintf(stderr, "rank %d, %s: element %llu of %llu of type %d is wrong\n", rank, what, (unsigned long long)i,
              (unsigned long long)count, type);
      exit(1);
    }
  }
}

static char* block(char* memory, int32_t of, uint64_t count, couplet_type type) {
  return memory + (size_t)of * count * couplet_type_bytes(type);
}

/* ---- messages ---- */

/* Every rank sends `count` elements to every other one. */
static void exchange_messages(couplet_type type, uint64_t count) {
  couplet_request* requests[2 * MOST_RANKS] = {NULL};
  couplet_message messages[2 * MOST_RANKS];
  int32_t pending = 0;
  for (int32_t other = 0; other < size; ++other) {
    fill(type, block(given, other, count, type), count, rank, other);
    if (other == rank) continue;
    CHECK(couplet_irecv(group, block(gotten, other, count, type), count, type, other, type, &requests[pending++]));
  }
  const int32_t receives = pending;
  for (int32_t other = 0; other < size; ++other) {
    if (other == rank) continue;
    CHECK(couplet_isend(group, block(given, other, count, type), count, type, other, type, &requests[pending++]));
  }
  CHECK(couplet_waitall(pending, requests, -1, NULL, messages));
  for (int32_t each = 0; each < receives; ++each) REQUIRE(messages[each].count == count);
  for (int32_t other = 0; other < size; ++other) {
    if (other == rank) continue;
    fill(type, right, count, other, rank);
    same(type, block(gotten, other, count, type), count, "message");
  }
}

/* What is sent before its receive is posted waits at the receiver, and is converted when it is taken. */
static void exchange_unexpected_messages(void) {
  for (couplet_type type = 0; type < TYPES; ++type) {
    fill(type, given, 7, rank, (rank + 1) % size);
    CHECK(couplet_send(group, given, 7, type, (rank + 1) % size, 100 + type));
  }
  CHECK(couplet_barrier(group, NULL));
  for (couplet_type type = 0; type < TYPES; ++type) {
    couplet_message message;
    const int32_t before = (rank + size - 1) % size;
    CHECK(couplet_recv(group, gotten, 7, type, COUPLET_ANY_SOURCE, 100 + type, &message));
    REQUIRE(message.source == before && message.count == 7);
    fill(type, right, 7, before, rank);
    same(type, gotten, 7, "unexpected message");
  }
}

/* Bytes are opaque: they arrive as they are in the sender's memory. */
static void exchange_bytes(void) {
  const uint32_t number = 0x01020304;
  uint8_t bytes[4];
  uint8_t orders[MOST_RANKS];
  const uint8_t order = (uint8_t)is_big_endian();
  CHECK(couplet_allgather(group, &order, 1, orders, COUPLET_UINT8, NULL));
  CHECK(couplet_send(group, &number, 4, COUPLET_BYTE, (rank + 1) % size, 200));
  CHECK(couplet_recv(group, bytes, 4, COUPLET_BYTE, (rank + size - 1) % size, 200, NULL));
  REQUIRE(bytes[0] == (orders[(rank + size - 1) % size] ? 1 : 4));
}

/* ---- collective calls ---- */

static void check_moving_calls(couplet_type type, uint64_t count) {
  for (int32_t root = 0; root < size; ++root) {
    fill(type, right, count, root, 0);
    memcpy(gotten, right, (size_t)count * couplet_type_bytes(type));
    if (rank != root) memset(gotten, 0, (size_t)count * couplet_type_bytes(type));
    CHECK(couplet_broadcast(group, gotten, count, type, root, NULL));
    same(type, gotten, count, "broadcast");
    fill(type, given, count, rank, root);
    CHECK(couplet_gather(group, given, count, gotten, type, root, NULL));
    for (int32_t other = 0; rank == root && other < size; ++other) {
      fill(type, right, count, other, root);
      same(type, block(gotten, other, count, type), count, "gather");
    }
    for (int32_t other = 0; other < size; ++other) fill(type, block(given, other, count, type), count, root, other);
    CHECK(couplet_scatter(group, given, gotten, count, type, root, NULL));
    fill(type, right, count, root, rank);
    same(type, gotten, count, "scatter");
  }
  for (int32_t other = 0; other < size; ++other) fill(type, block(given, other, count, type), count, rank, other);
  CHECK(couplet_alltoall(group, given, gotten, count, type, NULL));
  for (int32_t other = 0; other < size; ++other) {
    fill(type, right, count, other, rank);
    same(type, block(gotten, other, count, type), count, "alltoall");
  }
  fill(type, given, count, rank, 0);
  CHECK(couplet_allgather(group, given, count, gotten, type, NULL));
  for (int32_t other = 0; other < size; ++other) {
    fill(type, right, count, other, 0);
    same(type, block(gotten, other, count, type), count, "allgather");
  }
}

/* Adds number i of `part` to that of `sum`. */
#define ADD(number) ((number*)sum)[i] = (number)(((number*)sum)[i] + ((const number*)part)[i])

static void add(couplet_type type, void* sum, const void* part, uint64_t i) {
  switch (type) {
    case COUPLET_INT8:
      ADD(int8_t);
      return;
    case COUPLET_UINT8:
      ADD(uint8_t);
      return;
    case COUPLET_INT16:
      ADD(int16_t);
      return;
    case COUPLET_UINT16:
      ADD(uint16_t);
      return;
    case COUPLET_INT32:
      ADD(int32_t);
      return;
    case COUPLET_UINT32:
      ADD(uint32_t);
      return;
    case COUPLET_INT64:
      ADD(int64_t);
      return;
    case COUPLET_UINT64:
      ADD(uint64_t);
      return;
    case COUPLET_FLOAT:
    case COUPLET_COMPLEX_FLOAT:
      ADD(float);
      return;
    default:
      ADD(double);
  }
}

/* Puts the sums of the values of the ranks 0 to `ranks` - 1 into `right`. */
static void sum_up(couplet_type type, uint64_t count, int32_t ranks) {
  const uint64_t numbers = type >= COUPLET_COMPLEX_FLOAT ? 2 * count : count;
  memset(right, 0, (size_t)count * couplet_type_bytes(type));
  for (int32_t from = 0; from < ranks; ++from) {
    fill(type, part_of_sum, count, from, 0);
    for (uint64_t i = 0; i < numbers; ++i) add(type, right, part_of_sum, i);
  }
}

static void check_reductions(couplet_type type, uint64_t count) {
  fill(type, given, count, rank, 0);
  sum_up(type, count, rank + 1);
  CHECK(couplet_scan(group, given, gotten, count, type, COUPLET_OPERATION_SUM, NULL));
  same(type, gotten, count, "scan");
  sum_up(type, count, size);
  CHECK(couplet_allreduce(group, given, gotten, count, type, COUPLET_OPERATION_SUM, NULL));
  same(type, gotten, count, "allreduce");
  for (int32_t root = 0; root < size; ++root) {
    CHECK(couplet_reduce(group, given, gotten, count, type, COUPLET_OPERATION_SUM, root, NULL));
    if (rank == root) same(type, gotten, count, "reduce");
  }
  const uint64_t share = count / (uint64_t)size;
  const uint64_t before = share * (uint64_t)rank;
  uint64_t counts[MOST_RANKS];
  for (int32_t other = 0; other < size; ++other) counts[other] = share;
  counts[size - 1] = count - share * (uint64_t)(size - 1);
  CHECK(couplet_reduce_scatter(group, given, gotten, counts, type, COUPLET_OPERATION_SUM, NULL));
  memmove(right, right + before * couplet_type_bytes(type), counts[rank] * couplet_type_bytes(type));
  same(type, gotten, counts[rank], "reduce_scatter");
}

/* The bits of a fixed tree are the same at all ranks, whatever their machine. */
static void check_bits(void) {
  double sum = 0;
  const double part = 1.0 / (3 + rank);
  CHECK(couplet_allreduce(group, &part, &sum, 1, COUPLET_DOUBLE, COUPLET_OPERATION_SUM, NULL));
  double sums[MOST_RANKS];
  CHECK(couplet_allgather(group, &sum, 1, sums, COUPLET_DOUBLE, NULL));
  for (int32_t other = 0; other < size; ++other) REQUIRE(memcmp(&sums[other], &sum, sizeof sum) == 0);
}

/* A call that is made again and again goes another way inside the library (docs/guide/collectives.md). */
static void check_repeated_calls(void) {
  for (int32_t round = 0; round < ROUNDS; ++round) {
    double sum = 0;
    const double part = round + 0.5 * rank;
    CHECK(couplet_allreduce(group, &part, &sum, 1, COUPLET_DOUBLE, COUPLET_OPERATION_SUM, NULL));
    REQUIRE(sum == (double)round * size + 0.25 * size * (size - 1));
    int32_t pair[2] = {(round * 7 + rank * 3) % 11, rank};
    CHECK(couplet_allreduce(group, pair, pair, 2, COUPLET_INT32, COUPLET_OPERATION_MAXLOC, NULL));
    for (int32_t other = 0; other < size; ++other) REQUIRE((round * 7 + other * 3) % 11 <= pair[0]);
    REQUIRE((round * 7 + pair[1] * 3) % 11 == pair[0]);
    uint16_t number = (uint16_t)(0x102 + round);
    if (rank != round % size) number = 0;
    CHECK(couplet_broadcast(group, &number, 1, COUPLET_UINT16, round % size, NULL));
    REQUIRE(number == 0x102 + round);
  }
}

/* ---- series ---- */

/* Each rank writes a series of its own, with a field of each type but bytes, and reads a box of each other one's. */
static couplet_series* create_series(void) {
  static char names[TYPES][8];
  static const int64_t shape[2] = {ROWS, COLUMNS};
  static const int64_t start[2] = {0, 0};
  couplet_series_field fields[TYPES];
  for (int32_t type = 0; type < TYPES; ++type) {
    snprintf(names[type], sizeof names[type], "f%d", type);
    couplet_series_field_init(&fields[type]);
    fields[type].name = names[type];
    fields[type].type = type;
    fields[type].dimensions = 2;
    fields[type].shape = shape;
    fields[type].start = start;
    fields[type].stop = shape;
  }
  couplet_group* self;
  char name[32];
  snprintf(name, sizeof name, "self%d", rank);
  CHECK(couplet_group_create(universe, name, &rank, 1, &self));
  couplet_series_create_options options;
  couplet_series_create_options_init(&options);
  options.slots = STEPS;
  options.group = self;
  snprintf(name, sizeof name, "of%d", rank);
  couplet_series* series;
  CHECK(couplet_series_create_fields(universe, name, fields, TYPES, &options, &series));
  return series;
}

static void put_steps(couplet_series* series) {
  static char memory[TYPES][ROWS * COLUMNS * 16];
  couplet_series_array arrays[TYPES];
  memset(arrays, 0, sizeof arrays);
  for (int32_t step = 1; step <= STEPS; ++step) {
    for (int32_t type = 0; type < TYPES; ++type) {
      fill(type, memory[type], ROWS * COLUMNS, rank, step);
      arrays[type].data = memory[type];
    }
    CHECK(couplet_series_set_time(series, 0.5 * step));
    CHECK(couplet_series_put_arrays(series, arrays, TYPES, 10 * step));
  }
}

static void check_step(const couplet_series_batch* batch, uint64_t at, int32_t writer) {
  const int32_t step = (int32_t)(batch->steps[at] / 10);
  REQUIRE(batch->times[at] == 0.5 * step);
  for (int32_t type = 0; type < TYPES; ++type) {
    const size_t bytes = couplet_type_bytes(type);
    const char* data = (const char*)batch->fields[type].data + at * batch->fields[type].step_bytes;
    uint64_t place = 0;
    for (uint64_t row = 1; row < ROWS; ++row) {
      for (uint64_t column = 2; column < COLUMNS; ++column) {
        put(type, right, place++, value_of(writer, step, row * COLUMNS + column));
      }
    }
    REQUIRE(batch->fields[type].step_bytes == place * bytes);
    same(type, data, place, "series");
  }
}

static void read_series(int32_t writer, const uint8_t* orders) {
  static const int64_t start[2] = {1, 2};
  static const int64_t stop[2] = {ROWS, COLUMNS};
  char name[32];
  snprintf(name, sizeof name, "of%d", writer);
  couplet_series_open_options options;
  couplet_series_open_options_init(&options);
  options.start = start;
  options.stop = stop;
  options.dimensions = 2;
  options.local = 1;
  options.timeout_s = 300;
  couplet_series* series;
  CHECK(couplet_series_open(universe, name, &options, &series));
  couplet_series_info info = {.struct_bytes = sizeof info};
  CHECK(couplet_series_describe(series, &info));
  if (orders[writer] != orders[rank]) REQUIRE(strcmp(info.route, "relay") == 0);
  couplet_series_batch batch = {.struct_bytes = sizeof batch};
  for (uint64_t steps = 0; steps < STEPS;) {
    CHECK(couplet_series_read(series, 1, 5, -1, NULL, 0, &batch));
    REQUIRE(batch.count > 0 && batch.lost == 0);
    for (uint64_t at = 0; at < batch.count; ++at, ++steps) {
      REQUIRE(batch.steps[at] == 10 * ((int64_t)steps + 1));
      check_step(&batch, at, writer);
    }
  }
  CHECK(couplet_series_close(series));
}

/* With weights, the reader multiplies elements that it has converted before. */
static void read_remapped(int32_t writer) {
  static const int64_t row_offsets[3] = {0, 1, 3};
  static const int64_t sources[3] = {7, 3, ROWS * COLUMNS - 1};
  static const double factors[3] = {1.0, 0.5, 0.25};
  couplet_series_weights weights;
  couplet_series_weights_init(&weights);
  weights.rows = 2;
  weights.source_points = ROWS * COLUMNS;
  weights.row_offsets = row_offsets;
  weights.sources = sources;
  weights.weights = factors;
  couplet_series_choice choice;
  couplet_series_choice_init(&choice);
  choice.name = "f10";
  couplet_series_open_options options;
  couplet_series_open_options_init(&options);
  options.local = 1;
  options.timeout_s = 300;
  options.weights = &weights;
  options.fields = &choice;
  options.field_count = 1;
  char name[32];
  snprintf(name, sizeof name, "of%d", writer);
  couplet_series* series;
  CHECK(couplet_series_open(universe, name, &options, &series));
  couplet_series_batch batch = {.struct_bytes = sizeof batch};
  for (int64_t step = 1; step <= STEPS; ++step) {
    CHECK(couplet_series_read(series, 1, 1, -1, NULL, 0, &batch));
    REQUIRE(batch.count == 1 && batch.steps[0] == 10 * step);
    double values[3];
    for (int each = 0; each < 3; ++each) {
      put(COUPLET_DOUBLE, &values[each], 0, value_of(writer, (int32_t)step, (uint64_t)sources[each]));
    }
    const double* rows = batch.data;
    REQUIRE(rows[0] == values[0] && rows[1] == 0.5 * values[1] + 0.25 * values[2]);
  }
  CHECK(couplet_series_close(series));
}

/* ---- exchanges ---- */

/* An exchange moves plain bytes: it is refused, by name, if neighbours have unlike byte orders. */
static void use_exchange(void) {
  uint8_t orders[MOST_RANKS];
  const uint8_t order = (uint8_t)is_big_endian();
  CHECK(couplet_allgather(group, &order, 1, orders, COUPLET_UINT8, NULL));
  static const int64_t shape[1] = {4};
  static const int64_t start[1] = {0};
  double sent[4] = {rank + 0.1, rank + 0.2, rank + 0.3, rank + 0.4};
  double got[4] = {0};
  couplet_exchange* exchange;
  CHECK(couplet_exchange_create(group, "ring", NULL, &exchange));
  couplet_exchange_edge edge;
  couplet_exchange_edge_init(&edge);
  edge.peer = (rank + 1) % size;
  CHECK(couplet_exchange_send_box(exchange, &edge, sent, COUPLET_DOUBLE, 1, shape, NULL, start, shape, NULL));
  edge.peer = (rank + size - 1) % size;
  CHECK(couplet_exchange_receive_box(exchange, &edge, got, COUPLET_DOUBLE, 1, shape, NULL, start, shape, NULL));
  const couplet_status status = couplet_exchange_freeze(exchange);
  if (memchr(orders, !order, (size_t)size) != NULL) {
    REQUIRE(status == COUPLET_ERROR_UNSUPPORTED);
    REQUIRE(strstr(couplet_error_text(), "different byte orders") != NULL);
  } else {
    CHECK(status);
    CHECK(couplet_exchange_start(exchange));
    CHECK(couplet_exchange_wait(exchange, -1));
    REQUIRE(got[3] == edge.peer + 0.4);
  }
  CHECK(couplet_exchange_close(exchange));
}

/* ---- areas ---- */

/* Each rank exposes an array of a type; its neighbour reads it, and writes a part. */
static void use_areas(couplet_type type) {
  static const int64_t shape[1] = {40};
  const int32_t next = (rank + 1) % size;
  const int32_t before = (rank + size - 1) % size;
  char name[32];
  snprintf(name, sizeof name, "area%d", type);
  couplet_area* own;
  couplet_area* far;
  CHECK(couplet_area_create(universe, name, type, 1, shape, NULL, &own));
  couplet_area_info info = {.struct_bytes = sizeof info};
  CHECK(couplet_area_describe(own, &info));
  fill(type, info.memory, 40, rank, 0);
  CHECK(couplet_barrier(group, NULL));
  CHECK(couplet_area_open(universe, name, next, 300, &far));
  CHECK(couplet_area_read(far, 10, 20, gotten, 300, NULL));
  fill(type, right, 40, next, 0);
  memmove(right, right + 10 * couplet_type_bytes(type), 20 * couplet_type_bytes(type));
  same(type, gotten, 20, "area");
  CHECK(couplet_barrier(group, NULL));
  fill(type, given, 40, rank, 1);
  CHECK(couplet_area_write(far, 0, 40, given, 300, NULL));
  CHECK(couplet_barrier(group, NULL));
  fill(type, right, 40, before, 1);
  CHECK(couplet_area_read(own, 0, 40, gotten, 300, NULL));
  same(type, gotten, 40, "written area");
  CHECK(couplet_area_close(far));
  CHECK(couplet_barrier(group, NULL));
  CHECK(couplet_area_close(own));
}

static void use_series(void) {
  uint8_t orders[MOST_RANKS];
  const uint8_t order = (uint8_t)is_big_endian();
  CHECK(couplet_allgather(group, &order, 1, orders, COUPLET_UINT8, NULL));
  couplet_series* series = create_series();
  put_steps(series);
  for (int32_t writer = 0; writer < size; ++writer) {
    if (writer == rank) continue;
    read_series(writer, orders);
    read_remapped(writer);
  }
  CHECK(couplet_barrier(group, NULL));
  CHECK(couplet_series_close(series));
}

int main(int argc, char** argv) {
  REQUIRE(argc == 2);
  CHECK(couplet_join(argv[1], NULL, &universe));
  CHECK(couplet_universe_group(universe, &group));
  CHECK(couplet_group_rank(group, &rank, &size));
  REQUIRE(size <= MOST_RANKS);
  given = room();
  gotten = room();
  right = room();
  part_of_sum = room();
  for (couplet_type type = 0; type < TYPES; ++type) {
    exchange_messages(type, 1);
    exchange_messages(type, 1000);
    exchange_messages(type, MOST);
  }
  exchange_unexpected_messages();
  exchange_bytes();
  for (couplet_type type = 0; type < TYPES; ++type) {
    check_moving_calls(type, 3);
    check_moving_calls(type, 20000);
    if (type != COUPLET_BYTE) {
      check_reductions(type, 5);
      check_reductions(type, 20000);
    }
  }
  check_bits();
  check_repeated_calls();
  use_series();
  use_exchange();
  for (couplet_type type = 0; type < TYPES; ++type) use_areas(type);
  CHECK(couplet_leave(universe));
  printf("%s: %s-endian: all values are right\n", argv[1], is_big_endian() ? "big" : "little");
  free(given);
  free(gotten);
  free(right);
  free(part_of_sum);
  return 0;
}
