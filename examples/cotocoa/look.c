#include <ctca.h>

int main(void) { /* worker program 1: the mean of 5 x 5 points around the hottest one */
  int rank, parameters[3], heat, means;
  double row[5], mean;
  CTCAW_init(1, 1);
  CTCAW_regarea_real8(&heat);
  CTCAW_regarea_real8(&means);
  for (;;) {
    CTCAW_pollreq(&rank, parameters, 3);
    if (CTCAW_isfin()) break;
    mean = 0;
    for (int j = -3; j < 2; j++) {
      CTCAW_readarea_real8(heat, rank, (size_t)(40 * (parameters[2] + j) + parameters[1] - 3), 5, row);
      for (int i = 0; i < 5; i++) mean += row[i] / 25;
    }
    CTCAW_writearea_real8(means, rank, (size_t)(parameters[0] - 1), 1, &mean);
    CTCAW_complete();
  }
  return CTCAW_finalize();
}
