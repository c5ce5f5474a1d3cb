/* The variant for processors: grids, an array that is fixed at the init, and steps in memory of the library. */
#include "variant.h"

static void requester_init(void) {
  if (method == 1) CTCAR_buffer_init_real8(1, 2, doubles, grid_requester, total);
  if (method == 2) CTCAR_buffer_init_int(1, 2, ints, grid_requester, total, 2);
}
static void load(void) {
  CTCAR_buffer_load_data();
}
static void requester_end(void) {
  CTCAR_buffer_over();
}
static void coupler_init(void) {
  CTCAC_buffer_init();
}
static void worker_init(void) {
  CTCAW_buffer_init(grid_worker, total);
}
static int read_step(void) {
  return CTCAW_buffer_read_data();
}
static const void* step_data(void) {
  void* address = CTCAW_buffer_get_address();
  return address;
}
static int step_number(void) {
  return CTCAW_buffer_get_timestep();
}
static int step_mixed(void) {
  return CTCAW_buffer_get_overwriting_flag();
}
