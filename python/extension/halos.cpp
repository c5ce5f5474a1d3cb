#include "halos.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <utility>

namespace couplet_python {

couplet_grid Grid::terms() const {
  couplet_grid grid;
  couplet_grid_init(&grid);
  grid.dimensions = static_cast<int32_t>(cells.size());
  std::copy(cells.begin(), cells.end(), grid.cells);
  std::copy(blocks.begin(), blocks.end(), grid.blocks);
  std::copy(periodic.begin(), periodic.end(), grid.periodic);
  if (!block_cells.empty()) {
    grid.block_cells = block_cells.data();
  }
  return grid;
}

void Grid::divide(int32_t rank_count) {
  couplet_grid grid = terms();
  couplet_python::check(unlocked([&] { return couplet_grid_divide(&grid, rank_count); }), "Grid");
  std::copy_n(grid.blocks, blocks.size(), blocks.begin());
}

std::pair<std::vector<int64_t>, std::vector<int64_t>> Grid::box(int32_t rank) const {
  const couplet_grid grid = terms();
  std::vector<int64_t> start(cells.size());
  std::vector<int64_t> stop(cells.size());
  couplet_python::check(unlocked([&] { return couplet_grid_box(&grid, rank, start.data(), stop.data()); }), "box");
  return {start, stop};
}

int32_t Grid::neighbor(int32_t rank, const std::vector<int32_t>& offset) const {
  const couplet_grid grid = terms();
  int32_t found = -1;
  couplet_python::check(unlocked([&] { return couplet_grid_neighbor(&grid, rank, offset.data(), &found); }),
                        "neighbor");
  return found;
}

couplet_halo* Halo::open_handle(const char* verb) const {
  if (handle == nullptr) {
    raise(COUPLET_ERROR_STATE, std::string(verb) + ": the halo is closed");
  }
  return handle;
}

couplet_status Halo::check(const Outcome& outcome, const char* verb) const {
  return check_open(outcome, *state, handle != nullptr, verb, "halo");
}

// The array is kept until the halo is closed or the universe is left, whatever Python drops.
void Halo::add(nb::handle array, const HaloTerms& terms) {
  const Use use(state, "add");
  couplet_halo* const halo = open_handle("add");
  const LooseMemory loose = loose_memory(array, true, "add");
  couplet_halo_field field;
  couplet_halo_field_init(&field);
  field.name = terms.name.empty() ? nullptr : terms.name.c_str();
  field.data = loose.memory.data;
  field.type = loose.memory.type;
  field.corners = terms.corners ? 1 : 0;
  std::size_t dimension = 0;
  for (std::size_t axis = 0; axis < loose.shape.size(); ++axis) {
    if (static_cast<int32_t>(axis) == terms.component_axis) {
      field.components = loose.shape[axis];
      field.component_stride_bytes = loose.strides[axis];
      continue;
    }
    field.shape[dimension] = loose.shape[axis];
    field.stride_bytes[dimension] = loose.strides[axis];
    field.below[dimension] = terms.below[dimension];
    field.above[dimension] = terms.above[dimension];
    field.first[dimension] = terms.first[dimension];
    field.staggered[dimension] = terms.staggered[dimension] ? 1 : 0;
    ++dimension;
  }
  check(unlocked([&] { return couplet_halo_add(halo, &field); }), "add");
  nb::object kept = held_memory(array);
  state->exposed.push_back(kept);
  arrays.push_back(std::move(kept));
}

void Halo::freeze() {
  const Use use(state, "freeze");
  couplet_halo* const halo = open_handle("freeze");
  check(hidden_end.blocking("freeze", [&] { return couplet_halo_freeze(halo); }), "freeze");
}

void Halo::begin(int64_t width) {
  const Use use(state, "begin");
  couplet_halo* const halo = open_handle("begin");
  check(unlocked([&] { return couplet_halo_begin(halo, width); }), "begin");
  hidden_end.forget();
}

bool Halo::test() {
  const Use use(state, "test");
  couplet_halo* const halo = open_handle("test");
  if (const auto hidden = hidden_end.take("end")) {
    check(*hidden, "test");
    return true;
  }
  int32_t done = 0;
  check(unlocked([&] { return couplet_halo_test(halo, &done); }), "test");
  return done != 0;
}

void Halo::end(double timeout_s) {
  const Use use(state, "end");
  couplet_halo* const halo = open_handle("end");
  check(hidden_end.sliced("end", timeout_s, [&](double slice) { return couplet_halo_end(halo, slice); }), "end");
}

std::string Halo::method() const {
  const Use use(state, "method");
  couplet_halo* const halo = open_handle("method");
  const char* name = "";
  std::string copy;
  const Outcome outcome =
      unlocked([&] { return taken([&] { return couplet_halo_method(halo, &name); }, [&] { copy = name; }); });
  check(outcome, "method");
  return copy;
}

std::string Halo::explain() const {
  const Use use(state, "explain");
  couplet_halo* const halo = open_handle("explain");
  std::string text;
  const Outcome outcome = unlocked([&] {
    std::size_t needed = 0;
    const couplet_status status = couplet_halo_explain(halo, nullptr, 0, &needed);
    if (status != COUPLET_OK) {
      return status;
    }
    text.resize(needed);
    return couplet_halo_explain(halo, text.data(), text.size(), &needed);
  });
  check(outcome, "explain");
  text.pop_back();
  return text;
}

void Halo::close() {
  if (handle == nullptr || state->handle == nullptr) {
    return;
  }
  const Use use(state, "close");
  couplet_halo* const halo = std::exchange(handle, nullptr);
  const Outcome outcome = unlocked([&] { return couplet_halo_close(halo); });
  for (const nb::object& array : arrays) {
    const auto found = std::find_if(state->exposed.begin(), state->exposed.end(),
                                    [&](const nb::object& one) { return one.is(array); });
    if (found != state->exposed.end()) {
      state->exposed.erase(found);
    }
  }
  arrays.clear();
  check_open(outcome, *state, true, "close", "halo");
}

std::unique_ptr<Halo> create_halo(const Group& group, const std::string& name, const Grid& grid, bool has_widths,
                                  const std::string& method, double timeout_s) {
  const Use use(group.state, "create_halo");
  couplet_group* const members = group.open_handle("create_halo");
  auto halo = std::make_unique<Halo>();
  halo->state = group.state;
  couplet_halo_options options;
  couplet_halo_options_init(&options);
  options.method = method.c_str();
  options.timeout_s = timeout_s;
  options.has_widths = has_widths ? 1 : 0;
  const couplet_grid terms = grid.terms();
  const Outcome outcome =
      unlocked([&] { return couplet_halo_create(members, name.c_str(), &terms, &options, &halo->handle); });
  check_open(outcome, *group.state, group.is_open(), "create_halo", "group");
  return halo;
}

// A list that is given and too short would be read beyond its end.
std::unique_ptr<Halo> create_list_halo(const Group& group, const std::string& name, const HaloLists& lists,
                                       const std::string& method, double timeout_s) {
  const Use use(group.state, "create_list_halo");
  couplet_group* const members = group.open_handle("create_list_halo");
  const std::size_t points = lists.owned.size() + lists.ghosts.size();
  if ((lists.has_owners && lists.owners.size() != lists.ghosts.size()) ||
      (lists.has_places && lists.places.size() != points)) {
    raise(COUPLET_ERROR_ARGUMENT,
          "create_list_halo: owners must have " + counted(lists.ghosts.size(), "entry", "entries") +
              ", as ghosts has, and places " + std::to_string(points) +
              ", as owned and ghosts have together; they have " + std::to_string(lists.owners.size()) + " and " +
              std::to_string(lists.places.size()));
  }
  auto halo = std::make_unique<Halo>();
  halo->state = group.state;
  couplet_halo_options options;
  couplet_halo_options_init(&options);
  options.method = method.c_str();
  options.timeout_s = timeout_s;
  couplet_halo_indices indices;
  couplet_halo_indices_init(&indices);
  indices.owned = lists.owned.data();
  indices.owned_count = lists.owned.size();
  indices.ghosts = lists.ghosts.data();
  indices.ghost_count = lists.ghosts.size();
  constexpr int32_t no_owner = 0;  // a list without entries is given, too
  if (lists.has_owners) indices.owners = lists.owners.empty() ? &no_owner : lists.owners.data();
  if (lists.has_places && points > 0) indices.places = lists.places.data();
  const Outcome outcome =
      unlocked([&] { return couplet_halo_create_list(members, name.c_str(), &indices, &options, &halo->handle); });
  check_open(outcome, *group.state, group.is_open(), "create_list_halo", "group");
  return halo;
}

void bind_halos(nb::module_& module) {
  nb::class_<Grid>(module, "Grid")
      .def(nb::init<std::vector<int64_t>, std::vector<int32_t>, std::vector<bool>, std::vector<int64_t>>(),
           nb::arg("cells"), nb::arg("blocks"), nb::arg("periodic"), nb::arg("block_cells"))
      .def("divide", &Grid::divide, nb::arg("rank_count"))
      .def("box", &Grid::box, nb::arg("rank"))
      .def("neighbor", &Grid::neighbor, nb::arg("rank"), nb::arg("offset"))
      .def_prop_ro("blocks", [](const Grid& grid) { return grid.blocks; });
  nb::class_<HaloTerms>(module, "HaloTerms")
      .def(nb::init<std::string, std::vector<int64_t>, std::vector<int64_t>, std::vector<int64_t>, std::vector<bool>,
                    bool, int32_t>(),
           nb::arg("name"), nb::arg("below"), nb::arg("above"), nb::arg("first"), nb::arg("staggered"),
           nb::arg("corners"), nb::arg("component_axis"));
  nb::class_<HaloLists>(module, "HaloLists")
      .def(nb::init<std::vector<int64_t>, std::vector<int64_t>, bool, std::vector<int32_t>, bool,
                    std::vector<int64_t>>(),
           nb::arg("owned"), nb::arg("ghosts"), nb::arg("has_owners"), nb::arg("owners"), nb::arg("has_places"),
           nb::arg("places"));
  nb::class_<Halo>(module, "Halo")
      .def_prop_ro("closed", [](const Halo& halo) { return halo.handle == nullptr; })
      .def("add", &Halo::add, nb::arg("array"), nb::arg("terms"), Stays())
      .def("freeze", &Halo::freeze, Stays())
      .def("begin", &Halo::begin, nb::arg("width"), Stays())
      .def("test", &Halo::test, Stays())
      .def("end", &Halo::end, nb::arg("timeout"), Stays())
      .def("method", &Halo::method, Stays())
      .def("explain", &Halo::explain, Stays())
      .def("close", &Halo::close, Stays());
  module.def("create_halo", &create_halo, nb::arg("group"), nb::arg("name"), nb::arg("grid"), nb::arg("has_widths"),
             nb::arg("method"), nb::arg("timeout"), Stays());
  module.def("create_list_halo", &create_list_halo, nb::arg("group"), nb::arg("name"), nb::arg("lists"),
             nb::arg("method"), nb::arg("timeout"), Stays());
}

}  // namespace couplet_python
