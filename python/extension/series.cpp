#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "handles.hpp"

namespace couplet_python {
namespace {

nb::tuple list_extents(const int64_t* values, int32_t count) {
  nb::list items;
  for (int32_t i = 0; i < count; ++i) {
    items.append(values[i]);
  }
  return nb::tuple(items);
}

/// A NumPy array of its own with a copy of the values.
template <class T>
nb::object copy_to_array(const T* values, uint64_t count) {
  T* copy = new T[count];
  std::copy_n(values, count, copy);
  nb::capsule owner(copy, [](void* data) noexcept { delete[] static_cast<T*>(data); });
  return nb::cast(nb::ndarray<nb::numpy, T>(copy, {static_cast<std::size_t>(count)}, owner));
}

}  // namespace

couplet_series_info Series::info(const char* verb) const {
  if (handle == nullptr) {
    raise(COUPLET_ERROR_STATE, std::string(verb) + ": the series is closed");
  }
  couplet_series_info info{};
  info.struct_bytes = sizeof info;
  check(unlocked([&] { return couplet_series_describe(handle, &info); }));
  return info;
}

nb::dict Series::describe() const {
  const Use use(state, "describe");
  const couplet_series_info info = this->info("describe");
  nb::dict result;
  result["name"] = info.name;
  result["program"] = info.program;
  result["route"] = info.route;
  result["type"] = info.type;
  result["shape"] = list_extents(info.shape, info.dimensions);
  result["start"] = list_extents(info.start, info.dimensions);
  result["stop"] = list_extents(info.stop, info.dimensions);
  result["step_bytes"] = info.step_bytes;
  result["slots"] = info.slots;
  result["writers"] = info.writers;
  return result;
}

nb::dict Series::statistics() const {
  const Use use(state, "statistics");
  if (handle == nullptr) {
    raise(COUPLET_ERROR_STATE, "statistics: the series is closed");
  }
  couplet_series_statistics counts{};
  counts.struct_bytes = sizeof counts;
  check(unlocked([&] { return couplet_series_count(handle, &counts); }));
  nb::dict result;
  result["published"] = counts.published;
  result["first"] = counts.first;
  result["delivered"] = counts.delivered;
  result["lost"] = counts.lost;
  result["lost_torn"] = counts.lost_torn;
  result["skipped"] = counts.skipped;
  result["pending"] = counts.pending;
  result["delivered_torn"] = counts.delivered_torn;
  result["calls"] = counts.calls;
  result["largest_batch"] = counts.largest_batch;
  result["bytes"] = counts.bytes;
  result["copy_ns"] = counts.copy_ns;
  result["held_ns"] = counts.held_ns;
  result["library_ns"] = counts.library_ns;
  return result;
}

nb::object Series::retained() const {
  const Use use(state, "retained");
  if (handle == nullptr) {
    raise(COUPLET_ERROR_STATE, "retained: the series is closed");
  }
  uint64_t first = 0;
  uint64_t end = 0;
  int64_t newest = 0;
  const couplet_status status = check(unlocked([&] { return couplet_series_retained(handle, &first, &end, &newest); }));
  if (status != COUPLET_OK) {
    return nb::none();
  }
  return nb::make_tuple(first, end, newest);
}

bool Series::put(nb::handle array, int64_t step) const {
  const Memory memory = read_only_memory(array, "put");
  const Use use(state, "put");
  const couplet_series_info info = this->info("put");
  if (memory.type != info.type && info.type != COUPLET_BYTE) {
    raise(COUPLET_ERROR_TYPE,
          "put, step " + std::to_string(step) + ": the array's element type is not that of series '" + info.name + "'");
  }
  if (memory.bytes != info.step_bytes) {
    raise(COUPLET_ERROR_SHAPE, "put, step " + std::to_string(step) + ": series '" + info.name + "' has " +
                                   std::to_string(info.step_bytes) + " bytes in this rank's box, the array has " +
                                   std::to_string(memory.bytes));
  }
  return check(blocking([&] { return couplet_series_put(handle, memory.data, step); })) == COUPLET_OK;
}

nb::object Series::claim(int64_t step, nb::handle owner) const {
  const Use use(state, "claim");
  const couplet_series_info info = this->info("claim");
  void* data = nullptr;
  if (check(blocking([&] { return couplet_series_claim(handle, step, &data); })) != COUPLET_OK) {
    return nb::none();
  }
  std::vector<std::size_t> extents;
  for (int32_t i = 0; i < info.dimensions; ++i) {
    extents.push_back(static_cast<std::size_t>(info.stop[i] - info.start[i]));
  }
  return nb::cast(
      nb::ndarray<nb::numpy>(data, extents.size(), extents.data(), owner, nullptr, element_type(info.type)));
}

void Series::publish() const {
  const Use use(state, "publish");
  if (handle == nullptr) {
    raise(COUPLET_ERROR_STATE, "publish: the series is closed");
  }
  check(unlocked([&] { return couplet_series_publish(handle); }));
}

nb::tuple Series::read(uint64_t at_least, uint64_t up_to, double timeout_s, nb::handle out) const {
  const Memory memory = writable_memory(out, "read");
  const Use use(state, "read");
  if (handle == nullptr) {
    raise(COUPLET_ERROR_STATE, "read: the series is closed");
  }
  couplet_batch batch{};
  batch.struct_bytes = sizeof batch;
  const Outcome outcome = blocking(
      [&] { return couplet_series_read(handle, at_least, up_to, timeout_s, memory.data, memory.bytes, &batch); });
  const couplet_status status = check(outcome);
  const uint64_t count = status == COUPLET_OK ? batch.count : 0;
  return nb::make_tuple(status, count, copy_to_array(batch.steps, count), copy_to_array(batch.ordinals, count),
                        copy_to_array(batch.torn, count), batch.lost, batch.incarnation);
}

void Series::close() {
  if (handle == nullptr) {
    return;
  }
  Use use(state, "close");
  couplet_series* series = std::exchange(handle, nullptr);
  const std::shared_ptr<UniverseState> lent = use.hand_over();
  // The state is given back by whoever sees the call's end, be it this thread or the abandoned one.
  const auto give_back = [lent](couplet_status) { lent->in_use = false; };
  const Outcome outcome = interruptible([series] { return couplet_series_close(series); }, give_back);
  give_back(outcome.status);
  check(outcome);
}

std::unique_ptr<Series> create_series(const std::shared_ptr<UniverseState>& state, const std::string& name,
                                      couplet_type type, const std::vector<int64_t>& shape,
                                      const std::vector<int64_t>& start, const std::vector<int64_t>& stop,
                                      const CreateOptions& options) {
  Use use(state, "create_series");
  couplet_series_options c;
  couplet_series_options_init(&c);
  c.slots = options.slots;
  if (options.memory_bytes != 0) {
    c.memory_bytes = options.memory_bytes;
  }
  c.required_timeout_s = options.required_timeout_s;
  c.wait_timeout_s = options.wait_timeout_s;
  c.evict_after_s = options.evict_after_s;
  c.group = options.group != nullptr ? options.group->handle : nullptr;
  const std::shared_ptr<UniverseState> lent = use.hand_over();
  auto series = std::make_shared<couplet_series*>(nullptr);
  // Owns copies of everything: it may outlive this call.
  const auto call = [=, readers = options.required_readers]() mutable {
    if (!readers.empty()) {
      c.required_readers = readers.c_str();
    }
    return couplet_series_create(lent->handle, name.c_str(), type, static_cast<int32_t>(shape.size()), shape.data(),
                                 start.data(), stop.data(), &c, series.get());
  };
  const Outcome outcome = interruptible(call, [lent, series](couplet_status) {
    if (*series != nullptr) {
      couplet_series_close(*series);
    }
    lent->in_use = false;
  });
  lent->in_use = false;
  check(outcome);
  return std::make_unique<Series>(state, *series);
}

std::unique_ptr<Series> open_series(const std::shared_ptr<UniverseState>& state, const std::string& name,
                                    const OpenOptions& options) {
  Use use(state, "open_series");
  couplet_open_options c;
  couplet_open_options_init(&c);
  c.mode = options.mode;
  c.from = options.from;
  c.from_step = options.from_step;
  c.local = options.local ? 1 : 0;
  c.type = options.type;
  c.group = options.group != nullptr ? options.group->handle : nullptr;
  c.timeout_s = options.timeout_s;
  c.buffer_bytes = options.buffer_bytes;
  c.every = options.every;
  c.latest = options.latest ? 1 : 0;
  c.torn = options.torn ? 1 : 0;
  const std::shared_ptr<UniverseState> lent = use.hand_over();
  auto series = std::make_shared<couplet_series*>(nullptr);
  const auto call = [=, start = options.start, stop = options.stop]() mutable {
    if (start && stop) {
      c.start = start->data();
      c.stop = stop->data();
      c.dimensions = static_cast<int32_t>(start->size());
    }
    return couplet_series_open(lent->handle, name.c_str(), &c, series.get());
  };
  const Outcome outcome = interruptible(call, [lent, series](couplet_status) {
    if (*series != nullptr) {
      couplet_series_close(*series);
    }
    lent->in_use = false;
  });
  lent->in_use = false;
  check(outcome);
  return std::make_unique<Series>(state, *series);
}

void bind_series(nb::module_& module) {
  nb::class_<Series>(module, "Series")
      .def_prop_ro("closed", [](const Series& series) { return series.handle == nullptr; })
      .def("describe", &Series::describe)
      .def("statistics", &Series::statistics)
      .def("retained", &Series::retained)
      .def("put", &Series::put, nb::arg("array"), nb::arg("step"))
      .def("claim", &Series::claim, nb::arg("step"), nb::arg("owner"))
      .def("publish", &Series::publish)
      .def("read", &Series::read, nb::arg("at_least"), nb::arg("up_to"), nb::arg("timeout"), nb::arg("out"))
      .def("close", &Series::close);
}

}  // namespace couplet_python
