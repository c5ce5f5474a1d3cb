#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "handles.hpp"

namespace couplet_python {
namespace {

std::vector<std::size_t> extents_of(const couplet_area_info& info) {
  std::vector<std::size_t> extents;
  for (int32_t i = 0; i < info.dimensions; ++i) {
    extents.push_back(static_cast<std::size_t>(info.shape[i]));
  }
  return extents;
}

/// Returns the extents of a box. Raises ShapeError if it does not have the area's number of dimensions.
std::vector<std::size_t> box_extents(const couplet_area_info& info, const std::vector<int64_t>& start,
                                     const std::vector<int64_t>& stop, const char* verb) {
  if (start.size() != static_cast<std::size_t>(info.dimensions) || stop.size() != start.size()) {
    raise(COUPLET_ERROR_SHAPE, std::string(verb) + ": area '" + info.name + "' has " +
                                   counted(static_cast<uint64_t>(info.dimensions), "dimension", "dimensions") +
                                   ", the box has " + std::to_string(start.size()));
  }
  std::vector<std::size_t> extents;
  for (std::size_t i = 0; i < start.size(); ++i) {
    extents.push_back(stop[i] > start[i] ? static_cast<std::size_t>(stop[i] - start[i]) : 0);
  }
  return extents;
}

std::size_t elements_of(const std::vector<std::size_t>& extents) {
  std::size_t count = 1;
  for (const std::size_t extent : extents) {
    count *= extent;
  }
  return count;
}

std::string in_words(const std::vector<std::size_t>& extents) {
  std::string text = "(";
  for (const std::size_t extent : extents) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  }
  return text + (extents.size() == 1 ? ",)" : ")");
}

/// Returns the memory of an array whose elements have the area's type. If `shape` is given, the array has that shape;
/// bytes may come in any shape.
Memory fitting_memory(nb::handle array, const couplet_area_info& info, const std::vector<std::size_t>* shape,
                      const char* verb) {
  const Memory memory = read_only_memory(array, verb);
  const std::string where = std::string(verb) + ": area '" + info.name + "': ";
  const bool is_bytes = info.type == COUPLET_BYTE;
  if (memory.type != info.type && !is_bytes) {
    raise(COUPLET_ERROR_TYPE,
          where + "the area has elements of " + type_name(info.type) + ", the array of " + type_name(memory.type));
  }
  if (shape == nullptr) {
    return memory;
  }
  std::vector<std::size_t> given;
  for (std::size_t i = 0; i < memory.array.ndim(); ++i) {
    given.push_back(memory.array.shape(i));
  }
  const bool fits = is_bytes ? memory.bytes == elements_of(*shape) * couplet_type_bytes(info.type) : given == *shape;
  if (!fits) {
    raise(COUPLET_ERROR_SHAPE, where + "the box has the shape " + in_words(*shape) + ", the array " + in_words(given));
  }
  return memory;
}

/// Owns the bytes of a library call, which may outlive the function that made it, and the stamp that it returned.
struct Transfer {
  std::vector<char> bytes;
  std::vector<int64_t> start;
  std::vector<int64_t> stop;
  uint64_t offset = 0;
  uint64_t count = 0;
  uint64_t stamp = 0;

  couplet_status read(couplet_area* area, double timeout_s) {
    return start.empty() ? couplet_area_read(area, offset, count, bytes.data(), timeout_s, &stamp)
                         : couplet_area_read_box(area, start.data(), stop.data(), bytes.data(), timeout_s, &stamp);
  }
  couplet_status write(couplet_area* area, double timeout_s) {
    return start.empty() ? couplet_area_write(area, offset, count, bytes.data(), timeout_s, &stamp)
                         : couplet_area_write_box(area, start.data(), stop.data(), bytes.data(), timeout_s, &stamp);
  }
};

/// Makes a call to a served area on a thread of its own, since its owner may make no call for long.
template <class Call>
Outcome make_transfer(bool is_served, Use& use, double timeout_s, Call&& call) {
  if (!is_served) {
    return blocking([&] { return call(timeout_s); });
  }
  const std::shared_ptr<UniverseState> lent = use.hand_over();
  const auto give_back = [lent](couplet_status) { lent->in_use = false; };
  const Outcome outcome = interruptible([call, timeout_s] { return call(timeout_s); }, give_back);
  give_back(outcome.status);
  return outcome;
}

bool is_served(const couplet_area_info& info) {
  return std::string_view(info.route) == "served";
}

/// Returns the bytes as an array that owns them.
nb::object array_of(const std::shared_ptr<Transfer>& transfer, const std::vector<std::size_t>& extents,
                    couplet_type type) {
  auto* owned = new std::shared_ptr<Transfer>(transfer);
  nb::capsule owner(owned, [](void* data) noexcept { delete static_cast<std::shared_ptr<Transfer>*>(data); });
  return nb::cast(nb::ndarray<nb::numpy>(transfer->bytes.data(), extents.size(), extents.data(), owner, nullptr,
                                         element_type(type)));
}

}  // namespace

couplet_area_info Area::info(const char* verb) const {
  if (handle == nullptr) {
    raise(COUPLET_ERROR_STATE, std::string(verb) + ": area '" + name + "' is closed");
  }
  couplet_area_info info{};
  info.struct_bytes = sizeof info;
  // It never waits. With the GIL, no other thread can begin to close or to leave meanwhile.
  couplet_python::check(outcome_of(couplet_area_describe(handle, &info)), verb);
  return info;
}

couplet_status Area::check(const Outcome& outcome, const char* verb) const {
  return check_open(outcome, *state, handle != nullptr, verb, "area");
}

nb::dict Area::describe() const {
  const Use use(state, "info");
  const couplet_area_info info = this->info("info");
  nb::list shape;
  for (int32_t i = 0; i < info.dimensions; ++i) {
    shape.append(info.shape[i]);
  }
  nb::dict result;
  result["name"] = info.name;
  result["route"] = info.route;
  result["type"] = info.type;
  result["shape"] = nb::tuple(shape);
  result["owner"] = info.owner;
  result["stamped"] = info.stamped != 0;
  return result;
}

nb::object Area::memory() const {
  const Use use(state, "memory");
  const couplet_area_info info = this->info("memory");
  if (info.memory == nullptr) {
    return nb::none();
  }
  void* keeper = nullptr;
  check(outcome_of(couplet_private_keep_area(handle, &keeper)), "memory");  // still with the GIL, as in info()
  const nb::object owner = keeping_object(keeper, owned);
  const std::vector<std::size_t> extents = extents_of(info);
  return nb::cast(
      nb::ndarray<nb::numpy>(info.memory, extents.size(), extents.data(), owner, nullptr, element_type(info.type)));
}

nb::tuple Area::read(const std::vector<int64_t>& start, const std::vector<int64_t>& stop, double timeout_s) const {
  Use use(state, "read");
  const couplet_area_info info = this->info("read");
  const std::vector<std::size_t> extents = box_extents(info, start, stop, "read");
  auto transfer = std::make_shared<Transfer>();
  transfer->start = start;
  transfer->stop = stop;
  transfer->bytes.resize(elements_of(extents) * couplet_type_bytes(info.type));
  const Outcome outcome = make_transfer(is_served(info), use, timeout_s, [area = handle, transfer](double limit_s) {
    return transfer->read(area, limit_s);
  });
  check(outcome, "read");
  return nb::make_tuple(array_of(transfer, extents, info.type), transfer->stamp);
}

nb::tuple Area::read_elements(uint64_t offset, uint64_t count, double timeout_s) const {
  Use use(state, "read_elements");
  const couplet_area_info info = this->info("read_elements");
  const std::size_t all = elements_of(extents_of(info));
  auto transfer = std::make_shared<Transfer>();
  transfer->offset = offset;
  transfer->count = count;
  // A count that is outside the area is refused by the library.
  transfer->bytes.resize(std::min<std::size_t>(count, all) * couplet_type_bytes(info.type));
  const Outcome outcome = make_transfer(is_served(info), use, timeout_s, [area = handle, transfer](double limit_s) {
    return transfer->read(area, limit_s);
  });
  check(outcome, "read_elements");
  return nb::make_tuple(array_of(transfer, {static_cast<std::size_t>(count)}, info.type), transfer->stamp);
}

uint64_t Area::write(nb::handle array, const std::vector<int64_t>& start, const std::vector<int64_t>& stop,
                     double timeout_s) const {
  Use use(state, "write");
  const couplet_area_info info = this->info("write");
  const std::vector<std::size_t> extents = box_extents(info, start, stop, "write");
  const Memory memory = fitting_memory(array, info, &extents, "write");
  auto transfer = std::make_shared<Transfer>();
  transfer->start = start;
  transfer->stop = stop;
  const auto* bytes = static_cast<const char*>(memory.data);
  transfer->bytes.assign(bytes, bytes + memory.bytes);
  const Outcome outcome = make_transfer(is_served(info), use, timeout_s, [area = handle, transfer](double limit_s) {
    return transfer->write(area, limit_s);
  });
  check(outcome, "write");
  return transfer->stamp;
}

uint64_t Area::write_elements(nb::handle array, uint64_t offset, double timeout_s) const {
  Use use(state, "write_elements");
  const couplet_area_info info = this->info("write_elements");
  const std::size_t element_bytes = couplet_type_bytes(info.type);
  const Memory memory = fitting_memory(array, info, nullptr, "write_elements");
  if (memory.bytes % element_bytes != 0) {
    raise(COUPLET_ERROR_SHAPE, "write_elements: area '" + std::string(info.name) + "' has elements of " +
                                   std::to_string(element_bytes) + " bytes, the array has " +
                                   std::to_string(memory.bytes) + " bytes");
  }
  auto transfer = std::make_shared<Transfer>();
  transfer->offset = offset;
  transfer->count = memory.bytes / element_bytes;
  const auto* bytes = static_cast<const char*>(memory.data);
  transfer->bytes.assign(bytes, bytes + memory.bytes);
  const Outcome outcome = make_transfer(is_served(info), use, timeout_s, [area = handle, transfer](double limit_s) {
    return transfer->write(area, limit_s);
  });
  check(outcome, "write_elements");
  return transfer->stamp;
}

void Area::begin(double timeout_s) const {
  const Use use(state, "begin");
  static_cast<void>(info("begin"));
  couplet_area* const area = handle;
  const Outcome outcome = blocking([&] { return couplet_area_begin(area, timeout_s); },
                                   [&](const Outcome& ended) {
                                     if (ended.status == COUPLET_OK) {
                                       static_cast<void>(unlocked([&] { return couplet_area_end(area); }));
                                     }
                                   });
  check(outcome, "begin");
}

void Area::end() const {
  const Use use(state, "end");
  static_cast<void>(info("end"));
  couplet_area* const area = handle;
  check(unlocked([&] { return couplet_area_end(area); }), "end");
}

void Area::close() {
  if (handle == nullptr || state->handle == nullptr) {
    return;
  }
  const Use use(state, "close");
  couplet_area* area = std::exchange(handle, nullptr);
  const Outcome outcome = unlocked([&] { return couplet_area_close(area); });
  std::erase_if(state->exposed, [&](const nb::object& array) { return array.is(owned); });
  check_open(outcome, *state, true, "close", "area");
}

std::unique_ptr<Area> create_area(const std::shared_ptr<UniverseState>& state, const std::string& name,
                                  couplet_type type, const std::vector<int64_t>& shape, bool stamped,
                                  nb::handle memory) {
  couplet_area_options options;
  couplet_area_options_init(&options);
  options.stamped = stamped ? 1 : 0;
  if (!memory.is_none()) {
    options.memory = writable_memory(memory, "expose_area").data;
  }
  const Use use(state, "create_area");
  auto area = std::make_unique<Area>(Area{state, nullptr, nb::borrow(memory), name});
  const Outcome outcome = unlocked([&] {
    return couplet_area_create(use.universe(), name.c_str(), type, static_cast<int32_t>(shape.size()), shape.data(),
                               &options, &area->handle);
  });
  check_open(outcome, *state, true, "create_area", "area");
  if (options.memory != nullptr) {
    state->exposed.push_back(area->owned);
  }
  return area;
}

std::unique_ptr<Area> open_area(const std::shared_ptr<UniverseState>& state, const std::string& name, int32_t owner,
                                double timeout_s) {
  const Use use(state, "open_area");
  auto area = std::make_unique<Area>(Area{state, nullptr, nb::none(), name});
  const auto open = [&] { return couplet_area_open(use.universe(), name.c_str(), owner, timeout_s, &area->handle); };
  const Outcome outcome = blocking(open, [&](const Outcome& ended) {
    if (ended.status == COUPLET_OK) {
      static_cast<void>(unlocked([&] { return couplet_area_close(area->handle); }));
    }
  });
  check_open(outcome, *state, true, "open_area", "area");
  return area;
}

void bind_areas(nb::module_& module) {
  nb::class_<Area>(module, "Area")
      .def_prop_ro("closed", [](const Area& area) { return area.handle == nullptr; })
      .def("describe", &Area::describe, Stays())
      .def("memory", &Area::memory, Stays())
      .def("read", &Area::read, nb::arg("start"), nb::arg("stop"), nb::arg("timeout"), Stays())
      .def("read_elements", &Area::read_elements, nb::arg("offset"), nb::arg("count"), nb::arg("timeout"), Stays())
      .def("write", &Area::write, nb::arg("array"), nb::arg("start"), nb::arg("stop"), nb::arg("timeout"), Stays())
      .def("write_elements", &Area::write_elements, nb::arg("array"), nb::arg("offset"), nb::arg("timeout"), Stays())
      .def("begin", &Area::begin, nb::arg("timeout"), Stays())
      .def("end", &Area::end, Stays())
      .def("close", &Area::close, Stays());
}

}  // namespace couplet_python
