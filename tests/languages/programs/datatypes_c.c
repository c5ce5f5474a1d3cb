/* Items with gaps in C; see test_datatypes.py. Usage: datatypes_c sender|receiver|misuse */
#include <couplet/couplet.h>
#include <math.h>
#include <stddef.h>
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
#define REQUIRE(condition)                                                                         \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "line %d: not true: %s (%s)\n", __LINE__, #condition, couplet_error_text()); \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

enum { ROWS = 6, COLUMNS = 5, LONG = 1000, WIDE = 300, PART = 100 };
typedef struct particle {
  double x;
  int32_t kind;
} particle;
static couplet_group* group;
static double field[ROWS][COLUMNS];
static double large[LONG][WIDE];

static couplet_type column_type(uint64_t count, uint64_t block, int64_t stride) {
  couplet_type column = -1;
  CHECK(couplet_type_create_vector(count, block, stride, COUPLET_DOUBLE, &column));
  return column;
}

static couplet_type side_by_side(couplet_type column) {
  couplet_type made = -1;
  CHECK(couplet_type_create_resized(column, 0, sizeof(double), &made));
  return made;
}

static couplet_type particle_type(void) {
  const uint64_t blocks[2] = {1, 1};
  const int64_t displacements[2] = {offsetof(particle, x), offsetof(particle, kind)};
  const couplet_type types[2] = {COUPLET_DOUBLE, COUPLET_INT32};
  couplet_type made = -1;
  CHECK(couplet_type_create_struct(2, blocks, displacements, types, &made));
  return made;
}

static void send_all(void) {
  for (int row = 0; row < ROWS; ++row)
    for (int column = 0; column < COLUMNS; ++column) field[row][column] = 10 * row + column;
  couplet_type column = column_type(ROWS, 1, COLUMNS);
  CHECK(couplet_send(group, &field[0][2], 1, column, 1, 1));
  const uint64_t sizes[2] = {ROWS, COLUMNS}, subsizes[2] = {3, 2}, starts[2] = {2, 1};
  couplet_type part = -1;
  CHECK(couplet_type_create_subarray(2, sizes, subsizes, starts, COUPLET_DOUBLE, &part));
  CHECK(couplet_send(group, field, 1, part, 1, 2));
  couplet_type columns = side_by_side(column);
  CHECK(couplet_send(group, field, 2, columns, 1, 3));
  const uint64_t blocks[2] = {2, 1};
  const int64_t displacements[2] = {3, 0};
  couplet_type list = -1;
  CHECK(couplet_type_create_indexed(2, blocks, displacements, COUPLET_DOUBLE, &list));
  CHECK(couplet_send(group, field, 1, list, 1, 4));
  particle particles[3];
  for (int index = 0; index < 3; ++index) particles[index] = (particle){index + 0.5, index};
  couplet_type whole = particle_type();
  CHECK(couplet_send(group, particles, 3, whole, 1, 5));
  for (int row = 0; row < LONG; ++row)
    for (int place = 0; place < WIDE; ++place) large[row][place] = 1000.0 * row + place;
  couplet_type block = column_type(LONG, PART, WIDE);
  couplet_request* request = NULL;
  CHECK(couplet_isend(group, &large[0][50], 1, block, 1, 6, &request));
  CHECK(couplet_type_free(&block)); /* the call has begun */
  CHECK(couplet_wait(&request, 60, NULL));
  CHECK(couplet_send(group, field, 2, columns, 1, 7));
  CHECK(couplet_send(group, field, 3, columns, 1, 8));
  couplet_type* const all[] = {&column, &part, &columns, &list, &whole};
  for (size_t index = 0; index < sizeof all / sizeof all[0]; ++index) CHECK(couplet_type_free(all[index]));
}

static void receive_all(void) {
  couplet_message message;
  couplet_type column = column_type(ROWS, 1, COLUMNS);
  CHECK(couplet_recv(group, &field[0][1], 1, column, 0, 1, &message));
  REQUIRE(message.count == 1 && message.bytes == ROWS * sizeof(double));
  for (int row = 0; row < ROWS; ++row)
    for (int place = 0; place < COLUMNS; ++place) REQUIRE(field[row][place] == (place == 1 ? 10 * row + 2 : 0));
  double dense[12];
  CHECK(couplet_recv(group, dense, 12, COUPLET_DOUBLE, 0, 2, &message));
  REQUIRE(message.count == 6);
  for (int index = 0; index < 6; ++index) REQUIRE(dense[index] == 10 * (2 + index / 2) + 1 + index % 2);
  CHECK(couplet_recv(group, dense, 12, COUPLET_DOUBLE, 0, 3, &message));
  for (int index = 0; index < 12; ++index) REQUIRE(dense[index] == 10 * (index % 6) + index / 6);
  CHECK(couplet_recv(group, dense, 12, COUPLET_DOUBLE, 0, 4, &message));
  REQUIRE(message.count == 3 && dense[0] == 3 && dense[1] == 4 && dense[2] == 0);
  particle particles[4];
  memset(particles, 0, sizeof particles);
  couplet_type whole = particle_type();
  CHECK(couplet_recv(group, particles, 4, whole, 0, 5, &message));
  REQUIRE(message.count == 3 && message.bytes == 3 * 12);
  for (int index = 0; index < 3; ++index) REQUIRE(particles[index].x == index + 0.5 && particles[index].kind == index);
  couplet_type block = column_type(LONG, PART, WIDE);
  couplet_request* request = NULL;
  CHECK(couplet_irecv(group, &large[0][150], 1, block, 0, 6, &request));
  CHECK(couplet_wait(&request, 60, &message));
  for (int row = 0; row < LONG; ++row)
    for (int place = 0; place < WIDE; ++place)
      REQUIRE(large[row][place] == (place >= 150 && place < 250 ? 1000.0 * row + place - 100 : 0));
  couplet_type columns = side_by_side(column);
  CHECK(couplet_recv(group, field, 3, columns, 0, 7, &message));
  REQUIRE(message.count == 2);
  for (int row = 0; row < ROWS; ++row) REQUIRE(field[row][0] == 10 * row && field[row][1] == 10 * row + 1);
  REQUIRE(field[3][2] == 0);
  REQUIRE(couplet_recv(group, field, 2, columns, 0, 8, &message) == COUPLET_ERROR_TRUNCATED);
  REQUIRE(strstr(couplet_error_text(), "144 bytes") != NULL && strstr(couplet_error_text(), "96 bytes") != NULL);
  couplet_type* const all[] = {&column, &columns, &whole, &block};
  for (size_t index = 0; index < sizeof all / sizeof all[0]; ++index) CHECK(couplet_type_free(all[index]));
}

/* Calls that are wrong; the group has one rank. */
static void misuse(void) {
  couplet_type made = -1;
  int64_t lower = 0;
  uint64_t extent = 0;
  const uint64_t sizes[2] = {4, 5}, part[2] = {2, 3}, starts[2] = {1, 3};
  REQUIRE(couplet_type_create_vector(2, 1, 3, -1, &made) == COUPLET_ERROR_TYPE);
  REQUIRE(strcmp(couplet_error_text(),
                 "couplet_type_create_vector: -1 is neither an element type nor a datatype (was it freed?)") == 0);
  REQUIRE(couplet_type_create_vector(2, 1, 3, COUPLET_DOUBLE, NULL) == COUPLET_ERROR_ARGUMENT);
  REQUIRE(couplet_type_create_indexed(2, NULL, NULL, COUPLET_DOUBLE, &made) == COUPLET_ERROR_ARGUMENT);
  REQUIRE(strcmp(couplet_error_text(), "couplet_type_create_indexed: blocks is NULL") == 0);
  REQUIRE(couplet_type_create_subarray(2, sizes, part, starts, COUPLET_DOUBLE, &made) == COUPLET_ERROR_ARGUMENT);
  REQUIRE(couplet_type_create_subarray(0, sizes, part, starts, COUPLET_DOUBLE, &made) == COUPLET_ERROR_ARGUMENT);
  REQUIRE(couplet_type_create_subarray(9, sizes, part, starts, COUPLET_DOUBLE, &made) == COUPLET_ERROR_ARGUMENT);
  REQUIRE(couplet_type_create_contiguous(UINT64_MAX, COUPLET_DOUBLE, &made) == COUPLET_ERROR_LIMIT);
  const int64_t places[1] = {0};
  const couplet_type types[1] = {99};
  REQUIRE(couplet_type_create_struct(1, sizes, places, types, &made) == COUPLET_ERROR_TYPE);
  REQUIRE(couplet_type_free(&made) == COUPLET_ERROR_TYPE && made == -1);
  couplet_type element = COUPLET_DOUBLE;
  REQUIRE(couplet_type_free(&element) == COUPLET_ERROR_TYPE && element == COUPLET_DOUBLE);
  REQUIRE(strstr(couplet_error_text(), "10 is an element type, which is not freed") != NULL);
  REQUIRE(couplet_type_extent(99, &lower, &extent) == COUPLET_ERROR_TYPE);
  CHECK(couplet_type_extent(COUPLET_INT16, &lower, &extent));
  REQUIRE(lower == 0 && extent == 2 && couplet_type_bytes(99) == 0);
  couplet_type column = column_type(ROWS, 1, COLUMNS);
  REQUIRE(couplet_type_bytes(column) == ROWS * sizeof(double));
  CHECK(couplet_type_extent(column, &lower, &extent));
  REQUIRE(extent == ((ROWS - 1) * COLUMNS + 1) * sizeof(double));
  couplet_request* request = NULL;
  REQUIRE(couplet_send(group, field, 1, column, 7, 0) == COUPLET_ERROR_ARGUMENT);
  REQUIRE(couplet_send(group, NULL, 1, column, 0, 0) == COUPLET_ERROR_ARGUMENT);
  REQUIRE(couplet_isend(group, field, (uint64_t)1 << 57, column, 0, 0, &request) == COUPLET_ERROR_LIMIT);
  REQUIRE(couplet_irecv(group, field, 1, column, 0, -5, &request) == COUPLET_ERROR_ARGUMENT && request == NULL);
  REQUIRE(couplet_barrier(group, NULL) == COUPLET_OK);
  REQUIRE(couplet_broadcast(group, field, 1, column, 0, NULL) == COUPLET_ERROR_TYPE);
  couplet_type freed = column;
  CHECK(couplet_type_free(&column));
  REQUIRE(couplet_send(group, field, 1, freed, 0, 0) == COUPLET_ERROR_TYPE);
  REQUIRE(strstr(couplet_error_text(), "(was it freed?)") != NULL);
  /* Nothing is an item, too. */
  couplet_type nothing = -1;
  couplet_message message;
  CHECK(couplet_type_create_contiguous(0, COUPLET_DOUBLE, &nothing));
  CHECK(couplet_isend(group, field, 5, nothing, 0, 1, &request));
  CHECK(couplet_recv(group, field, 5, nothing, 0, 1, &message));
  REQUIRE(message.bytes == 0 && message.count == 0);
  CHECK(couplet_wait(&request, 10, NULL));
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  couplet_universe* universe = NULL;
  CHECK(couplet_join(argv[1], NULL, &universe));
  CHECK(couplet_universe_group(universe, &group));
  if (strcmp(argv[1], "sender") == 0) send_all();
  if (strcmp(argv[1], "receiver") == 0) receive_all();
  if (strcmp(argv[1], "misuse") == 0) misuse();
  CHECK(couplet_leave(universe));
  printf("c %s: all items\n", argv[1]);
  return 0;
}
