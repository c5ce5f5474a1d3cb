/* many ROLE REQUESTS: sends so many requests from each requester rank through the coupler to the workers 0 and 1, in
 * turn. */
#include <string.h>

#include "exchange.h"

static void requester(int requests) {
  int rank, area, *marks = calloc((size_t)requests, sizeof *marks);
  int64_t handle;
  CTCAR_init();
  MPI_Comm_rank(CTCA_subcomm, &rank);
  CTCAR_regarea_int(marks, (size_t)requests, &area);
  for (int k = 0; k < requests; k++) CTCAR_sendreq(&k, 1);
  for (int worker = 0; worker < 2; worker++) { /* the last of each: all before it are done */
    int parameter = -1 - worker;
    CTCAR_sendreq_hdl(&parameter, 1, &handle);
    CTCAR_wait(handle);
  }
  for (int k = 0; k < requests; k++) EXPECT(marks[k] == 1);
  printf("requester rank %d: %d done\n", rank, requests);
  fflush(stdout);
  CTCAR_finalize();
  free(marks);
}

static void coupler(void) {
  int info[CTCAC_REQINFOITEMS], source, parameter, area;
  CTCAC_init();
  CTCAC_regarea_int(&area);
  for (;;) {
    CTCAC_pollreq(info, &source, &parameter, 1);
    if (CTCAC_isfin()) break;
    CTCAC_enqreq(info, parameter < 0 ? -1 - parameter : parameter % 2, &parameter, 1);
  }
  CTCAC_finalize();
}

static void worker(int id) {
  int source, parameter, area, mark;
  CTCAW_init(id, 1);
  CTCAW_regarea_int(&area);
  for (;;) {
    CTCAW_pollreq(&source, &parameter, 1);
    if (CTCAW_isfin()) break;
    if (parameter >= 0) { /* counted, so that one that is done twice is seen */
      CTCAW_readarea_int(area, source, (size_t)parameter, 1, &mark);
      mark++;
      CTCAW_writearea_int(area, source, (size_t)parameter, 1, &mark);
    }
    CTCAW_complete();
  }
  CTCAW_finalize();
}

int main(int argc, char** argv) {
  EXPECT(argc == 3);
  if (strcmp(argv[1], "requester") == 0) requester(atoi(argv[2]));
  if (strcmp(argv[1], "coupler") == 0) coupler();
  if (strcmp(argv[1], "worker") == 0) worker(atoi(argv[2]));
  return 0;
}
