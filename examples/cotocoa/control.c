#include <ctca.h>

int main(void) { /* the coupler: the first worker program looks at even steps, the second one at odd steps */
  int request[CTCAC_REQINFOITEMS], rank, parameters[3], area;
  CTCAC_init();
  CTCAC_regarea_real8(&area);
  CTCAC_regarea_real8(&area);
  for (;;) {
    CTCAC_pollreq(request, &rank, parameters, 3);
    if (CTCAC_isfin()) break;
    CTCAC_enqreq(request, 1 + parameters[0] % 2, parameters, 3);
  }
  return CTCAC_finalize();
}
