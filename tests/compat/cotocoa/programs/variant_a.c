/* The paper's variant: boxes, and the worker chooses the method. */
#include "variant.h"

static void requester_init(void) {
  if (method == 1) CTCAR_buffer_init_real8(1, 2, start, end);
  if (method == 2) CTCAR_buffer_init_int(1, 2, start, end);
}
static void load(void) {
  if (method == 1) CTCAR_buffer_load_data_real8(doubles);
  if (method == 2) CTCAR_buffer_load_data(ints);
}
static void requester_end(void) {}
static void coupler_init(void) {
  CTCAC_buffer_init();
}
static void worker_init(void) {
  if (method == 1) CTCAW_buffer_init_real8(MOST_STEPS, start, end, 1);
  if (method == 2) CTCAW_buffer_init_int(MOST_STEPS, start, end, 2);
}
static int read_step(void) {
  return method == 1 ? CTCAW_buffer_read_data_real8(double_steps) : CTCAW_buffer_read_data(int_steps);
}
static const void* step_data(void) {
  int* address = method == 1 ? CTCAW_buffer_get_address(double_steps) : CTCAW_buffer_get_address(int_steps);
  return address;
}
static int step_number(void) {
  return CTCAW_buffer_get_timestep();
}
static int step_mixed(void) {
  return CTCAW_buffer_get_overwriting_flag();
}
