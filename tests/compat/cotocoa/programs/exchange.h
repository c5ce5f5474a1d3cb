/* The constants on which requester, coupler and workers of the test agree. Phase p (0 to 3) has requests with no data,
 * and with int, real4 and real8 data, each done by one worker program. A worker sums five elements of the requester's
 * field and the data, over its group, and adds its id. */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include <ctca.h>
#include <stdio.h>
#include <stdlib.h>

#define PHASES 4
#define REQUESTS 6 /* per requester rank and phase */
#define PARAMETERS 3
#define DATA 4
#define FIELD 5 /* elements that a worker reads */

#define EXPECT(condition)                                                 \
  do {                                                                    \
    if (!(condition)) {                                                   \
      fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 3);                                       \
    }                                                                     \
  } while (0)

static inline double field_at(int rank, int index) {
  return 10000.0 * rank + 0.5 * index;
}
static inline int data_at(int rank, int phase, int request, int index) {
  return 1000 * rank + 100 * phase + 10 * request + index;
}

#endif
