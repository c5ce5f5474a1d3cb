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

/// Returns a new NumPy array with a copy of the values.
template <class T>
nb::object copy_to_array(const T* values, uint64_t count) {
  T* copy = new T[count];
  std::copy_n(values, count, copy);
  nb::capsule owner(copy, [](void* data) noexcept { delete[] static_cast<T*>(data); });
  return nb::cast(nb::ndarray<nb::numpy, T>(copy, {static_cast<std::size_t>(count)}, owner));
}

std::string in_words(const std::vector<int64_t>& extents) {
  std::string text = "(";
  for (const int64_t extent : extents) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  }
  return text + ")";
}

std::string name_of(const Field& field) {
  return field.name.empty() ? std::string("the series") : "field '" + field.name + "'";
}

void check_type(const LooseMemory& given, const Field& field, const std::string& where) {
  if (given.memory.type != field.type && field.type != COUPLET_BYTE) {
    raise(COUPLET_ERROR_TYPE, where + ": " + name_of(field) + " has elements of " + type_name(field.type) +
                                  ", the array of " + type_name(given.memory.type));
  }
}

/// Checks type and shape of an array for a box that this rank writes.
void check_loose(const LooseMemory& given, const Field& field, int32_t box, const std::string& where) {
  check_type(given, field, where);
  std::vector<int64_t> wanted;
  for (int32_t i = 0; i < field.dimensions; ++i) {
    const std::ptrdiff_t at = std::ptrdiff_t{box} * field.dimensions + i;
    wanted.push_back(field.stop[at] - field.start[at]);
  }
  if (given.shape != wanted) {
    raise(COUPLET_ERROR_SHAPE, where + ": this rank's box of " + name_of(field) + " has shape " + in_words(wanted) +
                                   ", the array " + in_words(given.shape));
  }
}

/// Checks type and shape of an array for up_to steps.
void check_steps(const LooseMemory& given, const Field& field, uint64_t up_to, const std::string& verb) {
  check_type(given, field, verb);
  std::vector<int64_t> wanted = {static_cast<int64_t>(up_to)};
  for (int32_t i = 0; i < field.dimensions; ++i) {
    wanted.push_back(field.stop[i] - field.start[i]);
  }
  const bool fits = given.shape.size() == wanted.size() &&
                    std::equal(wanted.begin() + 1, wanted.end(), given.shape.begin() + 1) &&
                    given.shape[0] >= wanted[0];
  if (!fits) {
    raise(COUPLET_ERROR_SHAPE, verb + ": " + name_of(field) + ": out has shape " + in_words(given.shape) +
                                   ", it must have the shape " + in_words(wanted));
  }
}

/// Says whether the elements follow each other in C order, without gaps. The stride of a dimension of one element says
/// nothing.
bool is_dense(const LooseMemory& given) {
  const auto count = static_cast<int64_t>(given.memory.count);
  if (count == 0) {
    return true;
  }
  int64_t wanted = static_cast<int64_t>(given.memory.bytes) / count;
  for (std::size_t dimension = given.shape.size(); dimension-- > 0;) {
    if (given.shape[dimension] != 1 && given.strides[dimension] != wanted) {
      return false;
    }
    wanted *= given.shape[dimension];
  }
  return true;
}

/// A copy of what a read gives out.
struct Batch {
  uint64_t count = 0;
  std::vector<int64_t> steps;
  std::vector<uint64_t> ordinals;
  std::vector<uint8_t> torn;
  std::vector<double> times;

  explicit Batch(const couplet_series_batch& batch)
      : count(batch.count),
        steps(batch.steps, batch.steps + count),
        ordinals(batch.ordinals, batch.ordinals + count),
        torn(batch.torn, batch.torn + count),
        times(batch.times, batch.times + count) {}
  Batch() = default;
};

}  // namespace

couplet_series* Series::open_handle(const char* verb) const {
  if (handle == nullptr) {
    const std::string title = description ? "series '" + description->name + "'" : std::string("the series");
    raise(COUPLET_ERROR_STATE, std::string(verb) + ": " + title + " is closed");
  }
  return handle;
}

couplet_status Series::check(const Outcome& outcome, const char* verb) const {
  return check_open(outcome, *state, handle != nullptr, verb, "series");
}

namespace {

couplet_status copy_description(couplet_series* series, Description& copy) {
  couplet_series_info info{};
  info.struct_bytes = sizeof info;
  int32_t count = 0;
  const auto take_series = [&] {
    copy.name = info.name;
    copy.program = info.program;
    copy.route = info.route;
    copy.slots = info.slots;
    copy.writers = info.writers;
    count = info.field_count;
  };
  couplet_status status = taken([&] { return couplet_series_describe(series, &info); }, take_series);
  for (int32_t index = 0; index < count && status == COUPLET_OK; ++index) {
    couplet_series_field_info field{};
    field.struct_bytes = sizeof field;
    const auto take_field = [&] {
      const std::ptrdiff_t corners = std::ptrdiff_t{field.box_count} * field.dimensions;
      copy.fields.push_back({field.name, field.type, field.dimensions, field.box_count, field.step_bytes,
                             std::vector<int64_t>(field.shape, field.shape + field.dimensions),
                             std::vector<int64_t>(field.start, field.start + corners),
                             std::vector<int64_t>(field.stop, field.stop + corners)});
    };
    status = taken([&] { return couplet_series_describe_field(series, index, &field); }, take_field);
  }
  return status;
}

}  // namespace

std::shared_ptr<const Description> Series::described(couplet_series* series, const char* verb) const {
  if (!description) {
    const auto copy = std::make_shared<Description>();
    check(unlocked([&] { return copy_description(series, *copy); }), verb);
    description = copy;
  }
  return description;
}

namespace {

/// Returns a NumPy array over the first steps of the memory.
nb::object first_steps(const LooseMemory& given, std::size_t count) {
  const auto element_bytes = static_cast<int64_t>(couplet_type_bytes(given.memory.type));
  std::vector<std::size_t> shape;
  std::vector<int64_t> strides;
  for (std::size_t dimension = 0; dimension < given.shape.size(); ++dimension) {
    shape.push_back(dimension == 0 ? count : static_cast<std::size_t>(given.shape[dimension]));
    strides.push_back(given.strides[dimension] / element_bytes);
  }
  return nb::cast(nb::ndarray<nb::numpy>(given.memory.data, shape.size(), shape.data(), nb::handle(), strides.data(),
                                         element_type(given.memory.type)),
                  nb::rv_policy::reference);
}

}  // namespace

/// Lets `call` fill a batch without the interpreter's lock, and turns it into what Series::read returns.
template <typename Call>
nb::tuple Series::read_batch(const char* verb, const std::vector<LooseMemory>& outs, const std::vector<double>& times,
                             const Call& call) {
  couplet_series_batch batch{};
  batch.struct_bytes = sizeof batch;
  Batch copy;
  const auto answer = [&](const Outcome& outcome) {
    if (outcome.status == COUPLET_RESTARTED) {
      description.reset();  // the new incarnation may have another shape, type or order of fields
    }
    return nb::make_tuple(outcome.status, copy.count, copy_to_array(copy.steps.data(), copy.count),
                          copy_to_array(copy.ordinals.data(), copy.count), copy_to_array(copy.torn.data(), copy.count),
                          batch.lost, batch.incarnation, copy_to_array(copy.times.data(), copy.count));
  };
  const auto keep = [&](const Outcome& ended) {
    if (ended.status != COUPLET_NOT_YET) {
      nb::list arrays;
      for (const LooseMemory& out : outs) {  // the caller may use the arrays before the next call
        arrays.append(first_steps(out, copy.count).attr("copy")());
      }
      untold = Untold{verb, ended, answer(ended), arrays, times};
    }
  };
  const Outcome outcome =
      blocking([&] { return taken([&] { return call(&batch); }, [&] { copy = Batch(batch); }); }, keep);
  check(outcome, verb);
  return answer(outcome);
}

nb::tuple Series::tell(const char* verb, uint64_t room, const nb::list& outs) {
  if (untold->call != verb) {
    raise(COUPLET_ERROR_STATE, std::string(verb) + ": a signal has ended " + untold->call +
                                   " when it had steps; call that first, which gives them out");
  }
  auto answer = nb::cast<nb::tuple>(untold->answer);
  const auto count = nb::cast<uint64_t>(answer[1]);
  if (count > room) {
    raise(COUPLET_ERROR_ARGUMENT, std::string(verb) + ": a signal has ended the call before when it had " +
                                      counted(count, "step", "steps") + "; give room for all of them");
  }
  if (count > 0) {
    const auto known = described(handle, verb);
    std::vector<LooseMemory> memory;
    for (std::size_t i = 0; i < outs.size(); ++i) {
      memory.push_back(loose_memory(outs[i], true, verb));
      if (i < known->fields.size()) {
        check_steps(memory.back(), known->fields[i], count, verb);
      }
    }
    for (std::size_t i = 0; i < memory.size(); ++i) {
      first_steps(memory[i], count)[nb::ellipsis()] = untold->arrays[i];
    }
  }
  const Untold told = *std::exchange(untold, std::nullopt);
  check(told.outcome, verb);
  return answer;
}

nb::dict Series::describe() const {
  const Use use(state, "describe");
  const auto known = described(open_handle("describe"), "describe");
  nb::dict result;
  result["name"] = known->name;
  result["program"] = known->program;
  result["route"] = known->route;
  result["slots"] = known->slots;
  result["writers"] = known->writers;
  nb::list fields;
  for (const Field& field : known->fields) {
    nb::list boxes;
    for (int32_t box = 0; box < field.box_count; ++box) {
      const std::ptrdiff_t at = std::ptrdiff_t{box} * field.dimensions;
      boxes.append(nb::make_tuple(list_extents(field.start.data() + at, field.dimensions),
                                  list_extents(field.stop.data() + at, field.dimensions)));
    }
    fields.append(nb::make_tuple(field.name, field.type, list_extents(field.shape.data(), field.dimensions), boxes,
                                 field.step_bytes));
  }
  result["fields"] = fields;
  return result;
}

nb::dict Series::waits() const {
  const Use use(state, "waits");
  couplet_series* const series = open_handle("waits");
  couplet_series_waits waits{};
  waits.struct_bytes = sizeof waits;
  std::string last_for;
  std::string longest_for;
  const auto take = [&] {
    last_for = waits.last_for;
    longest_for = waits.longest_for;
  };
  check(unlocked([&] { return taken([&] { return couplet_series_get_waits(series, &waits); }, take); }), "waits");
  nb::dict result;
  result["count"] = waits.count;
  result["total_ns"] = waits.total_ns;
  result["last_ns"] = waits.last_ns;
  result["longest_ns"] = waits.longest_ns;
  result["last_for"] = last_for;
  result["longest_for"] = longest_for;
  result["last_rank"] = waits.last_rank;
  result["longest_rank"] = waits.longest_rank;
  return result;
}

nb::dict Series::statistics() const {
  const Use use(state, "statistics");
  couplet_series* const series = open_handle("statistics");
  couplet_series_statistics counts{};
  counts.struct_bytes = sizeof counts;
  check(unlocked([&] { return couplet_series_get_statistics(series, &counts); }), "statistics");
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
  couplet_series* const series = open_handle("retained");
  uint64_t first = 0;
  uint64_t end = 0;
  int64_t newest = 0;
  const couplet_status status =
      check(unlocked([&] { return couplet_series_retained(series, &first, &end, &newest); }), "retained");
  if (status != COUPLET_OK) {
    return nb::none();
  }
  return nb::make_tuple(first, end, newest);
}

bool Series::put(nb::handle array, int64_t step) const {
  const Use use(state, "put");
  couplet_series* const series = open_handle("put");
  const auto known = described(series, "put");
  const auto prepare = [&] {
    const Memory memory = read_only_memory(array, "put");
    const Field& first = known->fields.front();
    const auto where = [&] { return "put, step " + std::to_string(step) + ": series '" + known->name + "' has "; };
    if (memory.type != first.type && first.type != COUPLET_BYTE) {
      raise(COUPLET_ERROR_TYPE,
            where() + "elements of " + type_name(first.type) + ", the array of " + type_name(memory.type));
    }
    if (memory.bytes != first.step_bytes) {
      raise(COUPLET_ERROR_SHAPE, where() + std::to_string(first.step_bytes) +
                                     " bytes in this rank's box, the array has " + std::to_string(memory.bytes));
    }
    return memory;
  };
  const Memory memory = prepared(prepare, [&](const Refusal& why) { refuse(series, why, couplet_private_refuse_put); });
  return check(blocking([&] { return couplet_series_put(series, memory.data, step); }), "put") == COUPLET_OK;
}

bool Series::put_arrays(const nb::list& arrays, int64_t step) const {
  const Use use(state, "put");
  couplet_series* const series = open_handle("put");
  const auto known = described(series, "put");
  const std::vector<Field>& fields = known->fields;
  std::vector<LooseMemory> memory;
  std::vector<couplet_series_array> list;
  // The list points into this memory, which must not move.
  memory.reserve(arrays.size());
  const auto prepare = [&] {
    std::size_t field = 0;
    int32_t box = 0;
    for (const nb::handle array : arrays) {
      memory.push_back(loose_memory(array, false, "put"));
      const LooseMemory& given = memory.back();
      for (; field < fields.size() && box >= fields[field].box_count; ++field) {
        box = 0;
      }
      if (field < fields.size()) {
        check_loose(given, fields[field], box++, "put, step " + std::to_string(step));
      }
      list.push_back({given.memory.data, given.strides.data(), given.memory.bytes});
    }
  };
  prepared(prepare, [&](const Refusal& why) { refuse(series, why, couplet_private_refuse_put); });
  const auto count = static_cast<int32_t>(list.size());
  return check(blocking([&] { return couplet_series_put_arrays(series, list.data(), count, step); }), "put") ==
         COUPLET_OK;
}

void Series::refuse(couplet_series* series, const Refusal& why,
                    couplet_status (*call)(couplet_series*, couplet_status, const char*)) {
  // The outcome is the error that the caller raises.
  static_cast<void>(blocking([&] { return call(series, why.error, why.text.c_str()); }));
}

void Series::refuse_read(couplet_status error, const std::string& text) const {
  const Use use(state, "read");
  if (untold) {
    return;  // the other ranks have made this call
  }
  refuse(open_handle("read"), {error, text}, couplet_private_refuse_read);
}

void Series::refuse_read_at(couplet_status error, const std::string& text) const {
  const Use use(state, "read_at");
  if (untold) {
    return;
  }
  refuse(open_handle("read_at"), {error, text}, couplet_private_refuse_read_at);
}

void Series::refuse_put(couplet_status error, const std::string& text) const {
  const Use use(state, "put");
  refuse(open_handle("put"), {error, text}, couplet_private_refuse_put);
}

nb::object Series::claim_arrays(int64_t step, nb::handle owner) const {
  const Use use(state, "claim");
  couplet_series* const series = open_handle("claim");
  void* keeper = nullptr;
  check(outcome_of(couplet_private_keep_slots(series, &keeper)), "claim");  // with the GIL: nobody can close it yet
  const nb::object kept = keeping_object(keeper, owner);
  const auto known = described(series, "claim");
  const std::vector<Field>& fields = known->fields;
  std::size_t count = 0;
  for (const Field& field : fields) {
    count += static_cast<std::size_t>(field.box_count);
  }
  std::vector<void*> memory(count + 1);
  const auto room = static_cast<int32_t>(count);
  const auto claim = [&] { return couplet_series_claim_arrays(series, step, memory.data(), room); };
  const auto give_back = [&](const Outcome& ended) {
    if (ended.status == COUPLET_OK) {
      static_cast<void>(unlocked([&] { return couplet_series_abandon(series); }));
    }
  };
  if (check(blocking(claim, give_back), "claim") != COUPLET_OK) {
    return nb::none();
  }
  nb::list arrays;
  std::size_t at = 0;
  for (const Field& field : fields) {
    for (int32_t box = 0; box < field.box_count; ++box) {
      std::vector<std::size_t> extents;
      for (int32_t i = 0; i < field.dimensions; ++i) {
        const std::ptrdiff_t corner = std::ptrdiff_t{box} * field.dimensions + i;
        extents.push_back(static_cast<std::size_t>(field.stop[corner] - field.start[corner]));
      }
      arrays.append(nb::cast(nb::ndarray<nb::numpy>(memory[at++], extents.size(), extents.data(), kept, nullptr,
                                                    element_type(field.type))));
    }
  }
  return arrays;
}

void Series::set_time(double time) const {
  const Use use(state, "put");
  couplet_series* const series = open_handle("put");
  check(unlocked([&] { return couplet_series_set_time(series, time); }), "put");
}

void Series::publish() const {
  const Use use(state, "publish");
  couplet_series* const series = open_handle("publish");
  check(unlocked([&] { return couplet_series_publish(series); }), "publish");
}

void Series::abandon() const {
  const Use use(state, "abandon");
  couplet_series* const series = open_handle("abandon");
  check(unlocked([&] { return couplet_series_abandon(series); }), "abandon");
}

nb::tuple Series::read(uint64_t at_least, uint64_t up_to, double timeout_s, const nb::list& outs) {
  const Use use(state, "read");
  couplet_series* const series = open_handle("read");
  if (untold && untold->call == "read_at") {
    untold.reset();  // values at times for which nobody asks again
  }
  if (untold) {
    return tell("read", up_to, outs);
  }
  const auto known = described(series, "read");
  const std::vector<Field>& fields = known->fields;
  std::vector<LooseMemory> memory;
  std::vector<couplet_series_array> list;
  memory.reserve(outs.size());
  const auto prepare = [&] {
    for (const nb::handle out : outs) {
      memory.push_back(loose_memory(out, true, "read"));
      const LooseMemory& given = memory.back();
      if (list.size() < fields.size()) {
        check_steps(given, fields[list.size()], up_to, "read");
      }
      // Strided memory spans more than its own bytes. check_steps has checked that all elements are there.
      list.push_back({given.memory.data, given.strides.data(), given.strides.empty() ? given.memory.bytes : 0});
    }
  };
  prepared(prepare, [&](const Refusal& why) { refuse(series, why, couplet_private_refuse_read); });
  return read_batch("read", memory, {}, [&](couplet_series_batch* batch) {
    return couplet_series_read_arrays(series, at_least, up_to, timeout_s, list.data(),
                                      static_cast<int32_t>(list.size()), batch);
  });
}

nb::tuple Series::read_at(const std::vector<double>& times, double timeout_s, const nb::list& outs) {
  const Use use(state, "read_at");
  couplet_series* const series = open_handle("read_at");
  if (untold && untold->call == "read_at" && untold->times != times) {
    untold.reset();
  }
  if (untold) {
    return tell("read_at", times.size(), outs);
  }
  const auto known = described(series, "read_at");
  const std::vector<Field>& fields = known->fields;
  std::vector<LooseMemory> memory;
  std::vector<couplet_series_array> list;
  memory.reserve(outs.size());  // the arrays point to the strides
  const auto prepare = [&] {
    for (const nb::handle out : outs) {
      memory.push_back(loose_memory(out, true, "read_at"));
      const LooseMemory& given = memory.back();
      if (list.size() < fields.size()) {
        check_steps(given, fields[list.size()], times.size(), "read_at");
      }
      list.push_back({given.memory.data, is_dense(given) ? nullptr : given.strides.data(), given.memory.bytes});
    }
  };
  prepared(prepare, [&](const Refusal& why) { refuse(series, why, couplet_private_refuse_read_at); });
  return read_batch("read_at", memory, times, [&](couplet_series_batch* batch) {
    return couplet_series_read_at(series, times.data(), static_cast<int32_t>(times.size()), timeout_s, list.data(),
                                  static_cast<int32_t>(list.size()), batch);
  });
}

void Series::close() {
  if (handle == nullptr) {
    return;
  }
  Use use(state, "close");
  untold.reset();
  couplet_series* const series = std::exchange(handle, nullptr);
  const std::shared_ptr<UniverseState> lent = use.hand_over();
  // The thread that sees the end of the call, be it this one or the abandoned one, gives the state back.
  const auto give_back = [lent](couplet_status) { lent->in_use = false; };
  const Outcome outcome = interruptible([series] { return couplet_series_close(series); }, give_back);
  give_back(outcome.status);
  check_open(outcome, *state, true, "close", "series");
}

void bind_series(nb::module_& module) {
  nb::class_<Series>(module, "Series")
      .def_prop_ro("closed", [](const Series& series) { return series.handle == nullptr; })
      .def_prop_ro("interrupted", [](const Series& series) { return series.untold.has_value(); })
      .def("describe", &Series::describe, Stays())
      .def("statistics", &Series::statistics, Stays())
      .def("retained", &Series::retained, Stays())
      .def("put", &Series::put, nb::arg("array"), nb::arg("step"), Stays())
      .def("publish", &Series::publish, Stays())
      .def("abandon", &Series::abandon, Stays())
      .def("put_arrays", &Series::put_arrays, nb::arg("arrays"), nb::arg("step"), Stays())
      .def("claim_arrays", &Series::claim_arrays, nb::arg("step"), nb::arg("owner"), Stays())
      .def("set_time", &Series::set_time, nb::arg("time"), Stays())
      .def("waits", &Series::waits, Stays())
      .def("read", &Series::read, nb::arg("at_least"), nb::arg("up_to"), nb::arg("timeout"), nb::arg("outs"), Stays())
      .def("read_at", &Series::read_at, nb::arg("times"), nb::arg("timeout"), nb::arg("outs"), Stays())
      .def("refuse_read", &Series::refuse_read, nb::arg("error"), nb::arg("text"), Stays())
      .def("refuse_read_at", &Series::refuse_read_at, nb::arg("error"), nb::arg("text"), Stays())
      .def("refuse_put", &Series::refuse_put, nb::arg("error"), nb::arg("text"), Stays())
      .def("close", &Series::close, Stays());
}

}  // namespace couplet_python
