/* Mistakes in the use of halos through the C interface: each is an error with a sentence. One rank; halos that are left
 * open are closed by couplet_leave. It prints what is not as it should be. Usage: halo_misuse PROGRAM */
#include <couplet/couplet.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int mistakes = 0;

static void expect(const char* what, couplet_status got, couplet_status wanted, const char* words) {
  if (got == wanted && (wanted == COUPLET_OK || strstr(couplet_error_text(), words) != NULL)) return;
  ++mistakes;
  printf("%s: %s: %s\n", what, couplet_status_name(got), couplet_error_text());
}

static couplet_grid grid_of(int64_t cells, int32_t periodic) {
  couplet_grid grid;
  couplet_grid_init(&grid);
  grid.dimensions = 1;
  grid.cells[0] = cells;
  grid.periodic[0] = periodic;
  return grid;
}

static void check_grids(void) {
  int64_t start[4];
  int64_t stop[4];
  int32_t offset[4] = {1, 0, 0, 0};
  int32_t neighbor = 0;
  couplet_grid grid = grid_of(10, 0);
  expect("box before divide", couplet_grid_box(&grid, 0, start, stop), COUPLET_ERROR_ARGUMENT, "couplet_grid_divide");
  expect("no ranks", couplet_grid_divide(&grid, 0), COUPLET_ERROR_ARGUMENT, "at least 1 rank");
  expect("many ranks", couplet_grid_divide(&grid, 11), COUPLET_ERROR_ARGUMENT, "into 11 blocks");
  expect("divide", couplet_grid_divide(&grid, 4), COUPLET_OK, "");
  expect("box", couplet_grid_box(&grid, 3, start, stop), COUPLET_OK, "");
  if (grid.blocks[0] != 4 || start[0] != 8 || stop[0] != 10) expect("a block", COUPLET_ERROR_INTERNAL, COUPLET_OK, "");
  expect("rank 4", couplet_grid_box(&grid, 4, start, stop), COUPLET_ERROR_ARGUMENT, "0 to 3, not 4");
  expect("no start", couplet_grid_box(&grid, 0, NULL, stop), COUPLET_ERROR_ARGUMENT, "start is NULL");
  expect("beyond", couplet_grid_neighbor(&grid, 3, offset, &neighbor), COUPLET_OK, "");
  if (neighbor != -1) expect("a neighbour", COUPLET_ERROR_INTERNAL, COUPLET_OK, "");
  expect("no grid", couplet_grid_divide(NULL, 4), COUPLET_ERROR_ARGUMENT, "grid is NULL");
  grid.periodic[0] = 2;
  expect("periodic 2", couplet_grid_divide(&grid, 4), COUPLET_ERROR_ARGUMENT, "0 or 1, not 2");
  grid = grid_of(10, 0);
  grid.dimensions = 5;
  expect("5 dimensions", couplet_grid_divide(&grid, 4), COUPLET_ERROR_ARGUMENT, "not 5");
  grid = grid_of(10, 0);
  grid.struct_bytes = 0;
  expect("no init", couplet_grid_divide(&grid, 4), COUPLET_ERROR_ARGUMENT, "struct_bytes is 0");
  grid = grid_of(10, 0);
  grid.block_cells = start;
  expect("blocks without numbers", couplet_grid_divide(&grid, 4), COUPLET_ERROR_ARGUMENT, "blocks must be given");
}

static void check_fields(couplet_group* group) {
  static double data[14];
  const couplet_grid grid = grid_of(10, 1);
  couplet_halo* halo = NULL;
  couplet_halo_field field;
  int32_t done = 0;
  couplet_halo_field_init(&field);
  expect("create", couplet_halo_create(group, "line", &grid, NULL, &halo), COUPLET_OK, "");
  expect("no type", couplet_halo_add(halo, &field), COUPLET_ERROR_TYPE, "-1 is no element type");
  expect("freeze after that", couplet_halo_freeze(halo), COUPLET_ERROR_TYPE, "-1 is no element type");
  expect("close", couplet_halo_close(halo), COUPLET_OK, "");
  expect("close again", couplet_halo_close(halo), COUPLET_ERROR_ARGUMENT, "the halo handle is NULL or was closed");

  expect("create again", couplet_halo_create(group, "line", &grid, NULL, &halo), COUPLET_OK, "");
  field.data = data;
  field.type = COUPLET_DOUBLE;
  field.shape[0] = 14;
  field.below[0] = field.above[0] = 2;
  expect("add", couplet_halo_add(halo, &field), COUPLET_OK, "");
  expect("begin early", couplet_halo_begin(halo, -1), COUPLET_ERROR_STATE, "not frozen");
  expect("freeze", couplet_halo_freeze(halo), COUPLET_OK, "");
  expect("add late", couplet_halo_add(halo, &field), COUPLET_ERROR_STATE, "frozen");
  expect("freeze late", couplet_halo_freeze(halo), COUPLET_ERROR_STATE, "frozen");
  expect("width", couplet_halo_begin(halo, 1), COUPLET_ERROR_STATE, "not created with widths");
  for (int place = 0; place < 14; ++place) data[place] = place;
  expect("begin", couplet_halo_begin(halo, -1), COUPLET_OK, "");
  expect("begin again", couplet_halo_begin(halo, -1), COUPLET_ERROR_STATE, "a round is under way");
  expect("no flag", couplet_halo_test(halo, NULL), COUPLET_ERROR_ARGUMENT, "done is NULL");
  expect("NaN", couplet_halo_end(halo, nan("")), COUPLET_ERROR_ARGUMENT, "not NaN");
  expect("end", couplet_halo_end(halo, 60), COUPLET_OK, "");
  if (data[0] != 10 || data[13] != 3) expect("its own neighbour", COUPLET_ERROR_INTERNAL, COUPLET_OK, "");
  expect("end again", couplet_halo_end(halo, 60), COUPLET_ERROR_STATE, "frozen");
  expect("test", couplet_halo_test(halo, &done), COUPLET_ERROR_STATE, "frozen");
}

static void check_lists(couplet_group* group) {
  const int64_t owned[3] = {5, 2, 9};
  const int64_t ghosts[2] = {9, 5};
  double data[5] = {50, 20, 90, -1, -1};
  couplet_halo_indices indices;
  couplet_halo_options options;
  couplet_halo* halo = NULL;
  couplet_halo_field field;
  couplet_halo_indices_init(&indices);
  indices.owned_count = 3;
  expect("no list", couplet_halo_create_list(group, "l", NULL, NULL, &halo), COUPLET_ERROR_ARGUMENT, "indices is NULL");
  expect("no indices", couplet_halo_create_list(group, "l", &indices, NULL, &halo), COUPLET_ERROR_ARGUMENT,
         "owned is NULL");
  indices.owned = owned;
  indices.ghosts = ghosts;
  indices.ghost_count = 2;
  indices.base = 2;
  expect("base", couplet_halo_create_list(group, "l", &indices, NULL, &halo), COUPLET_ERROR_ARGUMENT, "not 2");
  indices.base = 0;
  couplet_halo_options_init(&options);
  options.has_widths = 1;
  expect("widths of lists", couplet_halo_create_list(group, "l", &indices, &options, &halo), COUPLET_ERROR_ARGUMENT,
         "has_widths must be 0");
  expect("create a list", couplet_halo_create_list(group, "l", &indices, NULL, &halo), COUPLET_OK, "");
  couplet_halo_field_init(&field);
  field.data = data;
  field.type = COUPLET_DOUBLE;
  field.shape[0] = 5;
  expect("add to a list", couplet_halo_add(halo, &field), COUPLET_OK, "");
  expect("freeze a list", couplet_halo_freeze(halo), COUPLET_OK, "");
  expect("add late to a list", couplet_halo_add(halo, &field), COUPLET_ERROR_STATE, "frozen");
  expect("begin a list", couplet_halo_begin(halo, -1), COUPLET_OK, "");
  expect("end a list", couplet_halo_end(halo, 60), COUPLET_OK, "");
  if (data[3] != 90 || data[4] != 50) expect("its own ghosts", COUPLET_ERROR_INTERNAL, COUPLET_OK, "");
  expect("close a list", couplet_halo_close(halo), COUPLET_OK, "");
  expect("create another list", couplet_halo_create_list(group, "l", &indices, NULL, &halo), COUPLET_OK, "");
  field.below[0] = 1;
  expect("a width", couplet_halo_add(halo, &field), COUPLET_ERROR_ARGUMENT, "belong to grids");
  expect("freeze after that, too", couplet_halo_freeze(halo), COUPLET_ERROR_ARGUMENT, "belong to grids");
}

static void check_creation(couplet_group* group) {
  const couplet_grid small = grid_of(0, 0);
  const couplet_grid grid = grid_of(10, 0);
  couplet_exchange* exchange = NULL;
  couplet_halo* halo = NULL;
  couplet_halo_options options;
  expect("no cells", couplet_halo_create(group, "none", &small, NULL, &halo), COUPLET_ERROR_ARGUMENT, "not 0");
  expect("no name", couplet_halo_create(group, NULL, &grid, NULL, &halo), COUPLET_ERROR_ARGUMENT, "name is NULL");
  expect("no halo", couplet_halo_create(group, "none", &grid, NULL, NULL), COUPLET_ERROR_ARGUMENT, "halo is NULL");
  expect("taken", couplet_halo_create(group, "line", &grid, NULL, &halo), COUPLET_ERROR_EXISTS, "'line'");
  expect("taken, too", couplet_exchange_create(group, "line", NULL, &exchange), COUPLET_ERROR_EXISTS, "'line'");
  couplet_halo_options_init(&options);
  options.has_widths = 2;
  expect("widths 2", couplet_halo_create(group, "w", &grid, &options, &halo), COUPLET_ERROR_ARGUMENT, "not 2");
}

int main(int argc, char** argv) {
  couplet_universe* universe = NULL;
  couplet_group* group = NULL;
  expect("join", couplet_join(argc > 1 ? argv[1] : "", NULL, &universe), COUPLET_OK, "");
  expect("group", couplet_universe_group(universe, &group), COUPLET_OK, "");
  check_grids();
  check_fields(group);
  check_creation(group);
  check_lists(group);
  expect("leave", couplet_leave(universe), COUPLET_OK, "");
  return mistakes;
}
