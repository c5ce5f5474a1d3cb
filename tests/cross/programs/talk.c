/* One of two programs that send each other a number. Prints what couplet_universe_explain says. Usage: talk NAME
 * See tests/cross/test_universe.py. */
#include <couplet/couplet.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                       \
  do {                                                                                                    \
    couplet_status status_ = (call);                                                                      \
    if (status_ < 0) {                                                                                    \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, couplet_status_name(status_), couplet_error_text()); \
      exit(1);                                                                                            \
    }                                                                                                     \
  } while (0)

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  couplet_universe* universe;
  couplet_group* group;
  int32_t rank, size;
  int32_t number = 0;
  static char text[1 << 16];
  CHECK(couplet_join(argv[1], NULL, &universe));
  CHECK(couplet_universe_group(universe, &group));
  CHECK(couplet_group_rank(group, &rank, &size));
  const int32_t own = 0x01020304 + rank;
  couplet_request* request;
  CHECK(couplet_isend(group, &own, 1, COUPLET_INT32, 1 - rank, 1, &request));
  CHECK(couplet_recv(group, &number, 1, COUPLET_INT32, 1 - rank, 1, NULL));
  CHECK(couplet_wait(&request, -1, NULL));
  if (number != 0x01020304 + 1 - rank) {
    fprintf(stderr, "the number %#x came\n", (unsigned)number);
    return 1;
  }
  CHECK(couplet_barrier(group, NULL)); /* the other one is still there, and its connection is shown */
  CHECK(couplet_universe_explain(universe, text, sizeof text, NULL));
  printf("%s\n", text);
  CHECK(couplet_leave(universe));
  return 0;
}
