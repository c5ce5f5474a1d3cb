#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/types.hpp"
#include "capi/call.hpp"
#include "capi/exchange.hpp"
#include "capi/options.hpp"
#include "capi/regions.hpp"

namespace {

using couplet::Code;
using couplet::fail;
using couplet::Result;
using couplet::Status;
using couplet::halo::Field;
using couplet::halo::Grid;
using couplet::halo::GridTerms;
using couplet::halo::IndexLists;
using couplet::halo::Places;
namespace capi = couplet::capi;

static_assert(couplet::halo::max_grid_dimensions == COUPLET_GRID_MAX_DIMENSIONS);

Status check_flag(std::int32_t value, const char* name, const char* function) {
  if (value == 0 || value == 1) return {};
  return fail(Code::argument, "{}: {} must be 0 or 1, not {}", function, name, value);
}

Result<GridTerms> terms_of(const couplet_grid* given, const char* function) {
  COUPLET_TRY(capi::given(given, function, "grid"));
  COUPLET_TRY_VALUE(const auto grid, capi::complete(given, couplet_grid_init, function));
  GridTerms terms;
  terms.dimensions = grid.dimensions;
  if (grid.numbering != COUPLET_NUMBERING_C && grid.numbering != COUPLET_NUMBERING_FORTRAN) {
    return fail(Code::argument, "{}: numbering must be COUPLET_NUMBERING_C or COUPLET_NUMBERING_FORTRAN, not {}",
                function, grid.numbering);
  }
  terms.is_fortran = grid.numbering == COUPLET_NUMBERING_FORTRAN;
  std::int64_t blocks = 0;
  const int dimensions = std::clamp(grid.dimensions, 0, COUPLET_GRID_MAX_DIMENSIONS);
  for (std::size_t place = 0; place < static_cast<std::size_t>(dimensions); ++place) {
    COUPLET_TRY(check_flag(grid.periodic[place], "periodic", function));
    terms.cells[place] = grid.cells[place];
    terms.blocks[place] = grid.blocks[place];
    terms.is_periodic[place] = grid.periodic[place] != 0;
    blocks += std::max(grid.blocks[place], 0);
  }
  if (grid.block_cells == nullptr) return terms;
  constexpr std::int64_t max_blocks = 1 << 24;  // as many numbers as the caller has memory for
  if (blocks == 0 || blocks > max_blocks) {
    return fail(Code::argument, "{}: block_cells is given, so blocks must be given and at most {} together", function,
                max_blocks);
  }
  terms.block_cells.assign(grid.block_cells, grid.block_cells + blocks);
  return terms;
}

Result<Grid> grid_of(const couplet_grid* given, std::int32_t rank_count, const char* function) {
  COUPLET_TRY_VALUE(const GridTerms terms, terms_of(given, function));
  auto grid = Grid::create(terms, rank_count);
  return grid.ok() ? std::move(grid) : Result<Grid>(grid.status().within(function));
}

// A grid whose numbers of blocks are set, and one of its ranks.
Result<Grid> divided_grid(const couplet_grid* given, std::int32_t rank, const char* function) {
  COUPLET_TRY_VALUE(const GridTerms terms, terms_of(given, function));
  std::int64_t ranks = 1;
  for (int dimension = 0; dimension < std::min(terms.dimensions, COUPLET_GRID_MAX_DIMENSIONS); ++dimension) {
    const std::int64_t blocks = terms.blocks[static_cast<std::size_t>(dimension)];
    if (blocks < 1 || __builtin_mul_overflow(ranks, blocks, &ranks) || ranks > INT32_MAX) {
      return fail(Code::argument, "{}: the grid has {} blocks in dimension {}; couplet_grid_divide sets these numbers",
                  function, blocks, couplet::halo::number_of(terms, dimension));
    }
  }
  if (rank < 0 || rank >= ranks) {
    return fail(Code::argument, "{}: rank must be 0 to {}, not {}", function, ranks - 1, rank);
  }
  return grid_of(given, static_cast<std::int32_t>(ranks), function);
}

// The distances of points in a dense array in C order, whose components are innermost.
Status make_dense(int dimensions, Field& field, const char* function) {
  auto distance = static_cast<std::int64_t>(field.element_bytes);
  bool is_too_large = __builtin_mul_overflow(distance, std::max<std::int64_t>(field.component_count, 1), &distance);
  for (int dimension = dimensions - 1; dimension >= 0; --dimension) {
    const auto place = static_cast<std::size_t>(dimension);
    field.stride_bytes[place] = distance;
    const std::int64_t points = std::max<std::int64_t>(field.shape[place], 1);
    is_too_large = is_too_large || __builtin_mul_overflow(distance, points, &distance);
  }
  if (!is_too_large) return {};
  return fail(Code::shape, "{}: the array has more bytes than can be counted", function);
}

// A field of a halo of lists has neither widths nor a block.
Status check_list(const couplet_halo_field& field, const char* function) {
  if (field.corners == 0 && field.below[0] == 0 && field.above[0] == 0 && field.first[0] == -1 &&
      field.staggered[0] == 0) {
    return {};
  }
  return fail(Code::argument,
              "{}: below, above, first, staggered and corners belong to grids; a field of a halo of lists has none of "
              "them",
              function);
}

// grid: nullptr if the halo has lists.
Result<Field> field_of(const Grid* grid, const couplet_halo_field* given, const char* function) {
  COUPLET_TRY(capi::given(given, function, "field"));
  COUPLET_TRY_VALUE(const auto wanted, capi::complete(given, couplet_halo_field_init, function));
  COUPLET_TRY_VALUE(const couplet::TypeInfo* const type, capi::type_of(wanted.type, function));
  COUPLET_TRY(check_flag(wanted.corners, "corners", function));
  if (grid == nullptr) COUPLET_TRY(check_list(wanted, function));
  const int dimensions = grid == nullptr ? 1 : grid->dimensions();
  Field field;
  if (wanted.name != nullptr) field.name = wanted.name;
  field.memory = static_cast<std::byte*>(wanted.data);
  field.type_name = type->name;
  field.element_bytes = type->element_bytes;
  field.has_corners = wanted.corners != 0;
  field.component_count = wanted.components;
  field.component_stride_bytes = wanted.component_stride_bytes;
  if (field.component_stride_bytes == 0) field.component_stride_bytes = static_cast<std::int64_t>(type->element_bytes);
  bool is_dense = true;
  for (std::size_t place = 0; place < static_cast<std::size_t>(dimensions); ++place) {
    COUPLET_TRY(check_flag(wanted.staggered[place], "staggered", function));
    field.is_staggered[place] = wanted.staggered[place] != 0;
    field.shape[place] = wanted.shape[place];
    field.stride_bytes[place] = wanted.stride_bytes[place];
    field.below[place] = wanted.below[place];
    field.above[place] = wanted.above[place];
    field.first[place] = wanted.first[place] == -1 ? wanted.below[place] : wanted.first[place];
    is_dense = is_dense && wanted.stride_bytes[place] == 0;
  }
  if (is_dense) COUPLET_TRY(make_dense(dimensions, field, function));
  return field;
}

Result<IndexLists> lists_of(const couplet_halo_indices* given, const char* function) {
  COUPLET_TRY(capi::given(given, function, "indices"));
  COUPLET_TRY_VALUE(const auto indices, capi::complete(given, couplet_halo_indices_init, function));
  if (indices.owned_count > 0) COUPLET_TRY(capi::given(indices.owned, function, "owned"));
  if (indices.ghost_count > 0) COUPLET_TRY(capi::given(indices.ghosts, function, "ghosts"));
  if (indices.base != 0 && indices.base != 1) {
    return fail(Code::argument, "{}: base must be 0 or 1, not {}", function, indices.base);
  }
  constexpr std::uint64_t max_count = std::uint64_t{1} << 40U;  // as many numbers as the caller has memory for
  if (indices.owned_count > max_count || indices.ghost_count > max_count) {
    return fail(Code::argument, "{}: there can be at most {} owned points and ghosts, not {} and {}", function,
                max_count, indices.owned_count, indices.ghost_count);
  }
  IndexLists lists;
  lists.base = indices.base;
  lists.owned.assign(indices.owned, indices.owned + indices.owned_count);
  lists.ghosts.assign(indices.ghosts, indices.ghosts + indices.ghost_count);
  lists.has_owners = indices.owners != nullptr;
  if (lists.has_owners) lists.owners.assign(indices.owners, indices.owners + indices.ghost_count);
  if (indices.places != nullptr) {
    lists.places.assign(indices.places, indices.places + indices.owned_count + indices.ghost_count);
  }
  return lists;
}

// geometry: a Grid or IndexLists.
template <typename... Geometry>
Status create(couplet_group& group, const char* name, const couplet_halo_options& options, couplet_halo** halo,
              const char* function, Geometry&&... geometry) {
  auto handle = std::make_unique<couplet_halo>();
  handle->owner = group.owner;
  COUPLET_TRY_VALUE(handle->exchange,
                    capi::make_exchange(group, name, "halo", options.method, options.timeout_s, function));
  handle->halo =
      std::make_unique<couplet::halo::Halo>(*handle->exchange->exchange, std::forward<Geometry>(geometry)...);
  group.owner->halos.push_back(std::move(handle));
  *halo = group.owner->halos.back().get();
  return {};
}

Status create_grid(couplet_group& group, const char* name, const couplet_grid* grid, const couplet_halo_options* given,
                   couplet_halo** halo, const char* function) {
  COUPLET_TRY(capi::given(halo, function, "halo"));
  COUPLET_TRY_VALUE(const auto options, capi::complete(given, couplet_halo_options_init, function));
  COUPLET_TRY(check_flag(options.has_widths, "has_widths", function));
  COUPLET_TRY_VALUE(Grid divided, grid_of(grid, group.group->size(), function));
  return create(group, name, options, halo, function, std::move(divided), group.group->rank(), options.has_widths != 0);
}

Status create_list(couplet_group& group, const char* name, const couplet_halo_indices* indices,
                   const couplet_halo_options* given, couplet_halo** halo, const char* function) {
  COUPLET_TRY(capi::given(halo, function, "halo"));
  COUPLET_TRY_VALUE(const auto options, capi::complete(given, couplet_halo_options_init, function));
  if (options.has_widths != 0) {
    return fail(Code::argument, "{}: has_widths must be 0, since lists have no widths, not {}", function,
                options.has_widths);
  }
  COUPLET_TRY_VALUE(IndexLists lists, lists_of(indices, function));
  return create(group, name, options, halo, function, std::move(lists), group.group->rank());
}

}  // namespace

extern "C" {

void couplet_grid_init(couplet_grid* grid) {
  *grid = couplet_grid{};
  grid->struct_bytes = sizeof *grid;
}

couplet_status couplet_grid_divide(couplet_grid* grid, int32_t rank_count) {
  constexpr auto function = "couplet_grid_divide";
  return capi::guarded([&]() -> Status {
    COUPLET_TRY_VALUE(const Grid divided, grid_of(grid, rank_count, function));
    for (int dimension = 0; dimension < divided.dimensions(); ++dimension) {
      grid->blocks[dimension] = static_cast<int32_t>(divided.blocks(dimension));
    }
    return {};
  });
}

couplet_status couplet_grid_box(const couplet_grid* grid, int32_t rank, int64_t* start, int64_t* stop) {
  constexpr auto function = "couplet_grid_box";
  return capi::guarded([&]() -> Status {
    COUPLET_TRY(capi::given(start, function, "start"));
    COUPLET_TRY(capi::given(stop, function, "stop"));
    COUPLET_TRY_VALUE(const Grid divided, divided_grid(grid, rank, function));
    const couplet::layout::Box box = divided.box(rank);
    std::copy_n(box.start.begin(), divided.dimensions(), start);
    std::copy_n(box.stop.begin(), divided.dimensions(), stop);
    return {};
  });
}

couplet_status couplet_grid_neighbor(const couplet_grid* grid, int32_t rank, const int32_t* offset, int32_t* neighbor) {
  constexpr auto function = "couplet_grid_neighbor";
  return capi::guarded([&]() -> Status {
    COUPLET_TRY(capi::given(offset, function, "offset"));
    COUPLET_TRY(capi::given(neighbor, function, "neighbor"));
    COUPLET_TRY_VALUE(const Grid divided, divided_grid(grid, rank, function));
    Places places{};
    std::copy_n(offset, divided.dimensions(), places.begin());
    *neighbor = divided.neighbor(rank, places);
    return {};
  });
}

void couplet_halo_options_init(couplet_halo_options* options) {
  *options = couplet_halo_options{};
  options->struct_bytes = sizeof *options;
  options->method = "auto";
  options->timeout_s = 60;
}

void couplet_halo_indices_init(couplet_halo_indices* indices) {
  *indices = couplet_halo_indices{};
  indices->struct_bytes = sizeof *indices;
}

void couplet_halo_field_init(couplet_halo_field* field) {
  *field = couplet_halo_field{};
  field->struct_bytes = sizeof *field;
  field->type = -1;
  std::fill(std::begin(field->first), std::end(field->first), -1);
  field->components = 1;
}

couplet_status couplet_halo_create(couplet_group* group, const char* name, const couplet_grid* grid,
                                   const couplet_halo_options* options, couplet_halo** halo) {
  constexpr auto function = "couplet_halo_create";
  return capi::call(group, function, [&] { return create_grid(*group, name, grid, options, halo, function); });
}

couplet_status couplet_halo_create_list(couplet_group* group, const char* name, const couplet_halo_indices* indices,
                                        const couplet_halo_options* options, couplet_halo** halo) {
  constexpr auto function = "couplet_halo_create_list";
  return capi::call(group, function, [&] { return create_list(*group, name, indices, options, halo, function); });
}

couplet_status couplet_halo_add(couplet_halo* halo, const couplet_halo_field* field) {
  constexpr auto function = "couplet_halo_add";
  return capi::call(halo, function, [&]() -> Status {
    auto wanted = field_of(halo->halo->grid(), field, function);
    if (wanted.ok()) return halo->halo->add(*std::move(wanted)).status();
    halo->halo->refuse(wanted.status());
    return wanted.status();
  });
}

couplet_status couplet_halo_freeze(couplet_halo* halo) {
  return capi::call(halo, "couplet_halo_freeze", [&] { return halo->halo->freeze(); });
}

couplet_status couplet_halo_begin(couplet_halo* halo, int64_t width) {
  return capi::call(halo, "couplet_halo_begin",
                    [&] { return halo->halo->begin(width == -1 ? std::nullopt : std::optional(width)); });
}

couplet_status couplet_halo_test(couplet_halo* halo, int32_t* done) {
  constexpr auto function = "couplet_halo_test";
  return capi::call(halo, function, [&]() -> Status {
    COUPLET_TRY(capi::given(done, function, "done"));
    bool is_done = false;
    COUPLET_TRY(halo->halo->test(is_done));
    *done = is_done ? 1 : 0;
    return {};
  });
}

couplet_status couplet_halo_end(couplet_halo* halo, double timeout_s) {
  constexpr auto function = "couplet_halo_end";
  return capi::call(halo, function, [&]() -> Status {
    COUPLET_TRY(capi::check_timeout(timeout_s, function));
    return halo->halo->end(timeout_s < 0 ? couplet::os::never : couplet::os::deadline_after(timeout_s));
  });
}

couplet_status couplet_halo_method(couplet_halo* halo, const char** method) {
  constexpr auto function = "couplet_halo_method";
  return capi::call(halo, function, [&]() -> Status {
    COUPLET_TRY(capi::given(method, function, "method"));
    halo->exchange->method = halo->exchange->exchange->method();
    *method = halo->exchange->method.c_str();
    return {};
  });
}

couplet_status couplet_halo_explain(couplet_halo* halo, char* text, size_t bytes, size_t* needed) {
  constexpr auto function = "couplet_halo_explain";
  return capi::call(halo, function, [&] {
    return capi::give_text(halo->exchange->exchange->explanation(), text, bytes, needed, function);
  });
}

couplet_status couplet_halo_close(couplet_halo* halo) {
  return capi::close(halo, &couplet_universe::halos, "couplet_halo_close", [&]() -> Status {
    couplet_universe& universe = *halo->owner;
    Status closed = halo->exchange->close();
    halo->halo.reset();
    capi::forget(universe, universe.exchanges, halo->exchange);
    return closed;
  });
}

}  // extern "C"
