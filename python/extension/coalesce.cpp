#include <couplet/couplet_coalesce.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "handles.hpp"

namespace couplet_python {

namespace {

/// The terms of a request.
struct RequestTerms {
  int32_t peer;
  int64_t tag;
  std::string title;
  uint64_t every;
  uint64_t offset;
  int32_t phase;
  bool is_variable;
  bool is_optional;
};

struct PhasedTerms {
  std::string name;
  uint64_t every;
  int32_t phase;
  int32_t root;
  int32_t arity;
};

struct CoalesceOptions {
  std::string method;
  double timeout_s;
  int32_t phase_count;
  bool merge_waits;
  bool merge_messages;
  uint64_t max_events;
};

struct Coalesce;

/// The Python functions that the library calls for one client.
struct Entry {
  Coalesce* owner;
  nb::object first;   ///< call(stage, round, phase, peer), or give(round)
  nb::object second;  ///< take(began, givers, bytes)
};

/// One process's part in coalesced rounds.
struct Coalesce {
  std::shared_ptr<UniverseState> state{};
  couplet_coalesce* handle = nullptr;
  std::vector<std::unique_ptr<Entry>> entries{};
  std::vector<nb::object> arrays{};  ///< the requests are parts of them
  nb::object thrown_type{};          ///< what a client has raised in the last round
  nb::object thrown{};
  nb::object thrown_trace{};

  Coalesce() = default;
  Coalesce(const Coalesce&) = delete;
  Coalesce& operator=(const Coalesce&) = delete;

  couplet_coalesce* open_handle(const char* verb) const {
    if (handle == nullptr) raise(COUPLET_ERROR_STATE, std::string(verb) + ": the step manager is closed");
    return handle;
  }
  /// Makes a call that does not wait.
  template <class Call>
  void make(const char* verb, const Call& call) const {
    const Use use(state, verb);
    couplet_coalesce* const open = open_handle(verb);
    check_open(unlocked([&] { return call(open); }), *state, handle != nullptr, verb, "step manager");
  }
  Entry& add_entry(nb::object first, nb::object second) {
    entries.push_back(std::make_unique<Entry>(Entry{this, std::move(first), std::move(second)}));
    return *entries.back();
  }
};

/// Calls Python from within a round: with the GIL, and as if no call of the universe were running. What it raises is
/// kept, since no exception may pass through the library.
template <class Body>
couplet_status guarded(Coalesce& owner, const Body& body) {
  const nb::gil_scoped_acquire gil;
  const bool in_use = owner.state->in_use.exchange(false);
  ++owner.state->callbacks;
  couplet_status status = COUPLET_OK;
  try {
    body();
  } catch (nb::python_error& error) {
    owner.thrown_type = nb::borrow(error.type());
    owner.thrown = nb::borrow(error.value());
    owner.thrown_trace = nb::borrow(error.traceback());
    const std::string text = std::string(nb::str(nb::object(error.type().attr("__name__"))).c_str()) + ": " +
                             nb::str(nb::object(owner.thrown)).c_str();
    status = couplet_coalesce_fail(COUPLET_ERROR_STATE, text.c_str());
  } catch (const std::exception& error) {
    status = couplet_coalesce_fail(COUPLET_ERROR_STATE, error.what());
  }
  --owner.state->callbacks;
  owner.state->in_use = in_use;
  return status;
}

template <int stage>
couplet_status call(const couplet_coalesce_moment* moment, void* context) {
  const Entry& entry = *static_cast<const Entry*>(context);
  return guarded(*entry.owner, [&] { entry.first(stage, moment->round, moment->phase, moment->peer); });
}

couplet_status give(uint64_t round, void* data, uint64_t* bytes, int32_t* given, void* context) {
  const Entry& entry = *static_cast<const Entry*>(context);
  return guarded(*entry.owner, [&] {
    const nb::object value = entry.first(round);
    if (value.is_none()) return;
    const auto image = nb::cast<nb::bytes>(value);
    if (image.size() > *bytes) {
      const std::string text = std::to_string(image.size()) + " bytes are given, and there is room for ";
      throw std::length_error(text + std::to_string(*bytes));
    }
    std::memcpy(data, image.c_str(), image.size());
    *bytes = image.size();
    *given = 1;
  });
}

couplet_status take(uint64_t began, uint64_t givers, const void* data, uint64_t bytes, void* context) {
  const Entry& entry = *static_cast<const Entry*>(context);
  return guarded(*entry.owner, [&] { entry.second(began, givers, nb::bytes(static_cast<const char*>(data), bytes)); });
}

/// stages: a bit for each of fill, overlap, arrived, use and end_round that the client has.
int32_t add_client(Coalesce& coalesce, const std::string& name, nb::object call_client, uint32_t stages) {
  couplet_coalesce_client client;
  couplet_coalesce_client_init(&client);
  client.name = name.c_str();
  if ((stages & 1U) != 0) client.fill = call<0>;
  if ((stages & 2U) != 0) client.overlap = call<1>;
  if ((stages & 4U) != 0) client.arrived = call<2>;
  if ((stages & 8U) != 0) client.use = call<3>;
  if ((stages & 16U) != 0) client.end_round = call<4>;
  client.context = &coalesce.add_entry(std::move(call_client), nb::none());
  int32_t number = 0;
  coalesce.make("add", [&](couplet_coalesce* open) { return couplet_coalesce_register(open, &client, &number); });
  return number;
}

/// The array is kept until the rounds are closed or the universe is left, whatever Python drops.
uint32_t declare(Coalesce& coalesce, int32_t client, nb::handle array, const RequestTerms& terms, bool sends) {
  const char* const verb = sends ? "send" : "receive";
  const LooseMemory loose = loose_memory(array, !sends, verb);
  std::vector<int64_t> shape = loose.shape;
  std::vector<int64_t> strides = loose.strides;
  if (shape.empty()) {  // one number
    shape.push_back(1);
    strides.push_back(static_cast<int64_t>(couplet_type_bytes(loose.memory.type)));
  }
  const std::vector<int64_t> start(shape.size(), 0);
  const auto dimensions = static_cast<int32_t>(shape.size());
  couplet_coalesce_request request;
  couplet_coalesce_request_init(&request);
  request.title = terms.title.c_str();
  request.tag = terms.tag;
  request.every = terms.every;
  request.offset = terms.offset;
  request.peer = terms.peer;
  request.phase = terms.phase;
  request.is_variable = terms.is_variable ? 1 : 0;
  request.is_optional = terms.is_optional ? 1 : 0;
  uint32_t number = 0;
  coalesce.make(verb, [&](couplet_coalesce* open) {
    return sends
               ? couplet_coalesce_send_box(open, client, &request, loose.memory.data, loose.memory.type, dimensions,
                                           shape.data(), strides.data(), start.data(), shape.data(), &number)
               : couplet_coalesce_receive_box(open, client, &request, loose.memory.data, loose.memory.type, dimensions,
                                              shape.data(), strides.data(), start.data(), shape.data(), &number);
  });
  nb::object kept = held_memory(array);
  coalesce.state->exposed.push_back(kept);
  coalesce.arrays.push_back(std::move(kept));
  return number;
}

couplet_coalesce_phased phased_of(const PhasedTerms& terms, Entry& entry) {
  couplet_coalesce_phased phased;
  couplet_coalesce_phased_init(&phased);
  phased.name = terms.name.c_str();
  phased.give = give;
  phased.take = take;
  phased.context = &entry;
  phased.every = terms.every;
  phased.phase = terms.phase;
  phased.root = terms.root;
  phased.arity = terms.arity;
  return phased;
}

int32_t add_broadcast(Coalesce& coalesce, const PhasedTerms& terms, uint64_t capacity_bytes, nb::object give_value,
                      nb::object take_value) {
  const couplet_coalesce_phased phased =
      phased_of(terms, coalesce.add_entry(std::move(give_value), std::move(take_value)));
  int32_t number = 0;
  coalesce.make("add_broadcast", [&](couplet_coalesce* open) {
    return couplet_coalesce_add_broadcast(open, &phased, capacity_bytes, &number);
  });
  return number;
}

int32_t add_reduction(Coalesce& coalesce, const PhasedTerms& terms, int32_t operation, nb::handle like, bool to_all,
                      nb::object give_value, nb::object take_value) {
  const Memory memory = read_only_memory(like, "add_reduction");
  const couplet_coalesce_phased phased =
      phased_of(terms, coalesce.add_entry(std::move(give_value), std::move(take_value)));
  int32_t number = 0;
  coalesce.make("add_reduction", [&](couplet_coalesce* open) {
    return couplet_coalesce_add_reduction(open, &phased, operation, memory.type, memory.count, to_all ? 1 : 0, &number);
  });
  return number;
}

void freeze(const Coalesce& coalesce) {
  const Use use(coalesce.state, "freeze");
  couplet_coalesce* const open = coalesce.open_handle("freeze");
  check_open(blocking([&] { return couplet_coalesce_freeze(open); }), *coalesce.state, coalesce.handle != nullptr,
             "freeze", "step manager");
}

void amend(const Coalesce& coalesce, uint64_t from_round) {
  const Use use(coalesce.state, "amend");
  couplet_coalesce* const open = coalesce.open_handle("amend");
  check_open(blocking([&] { return couplet_coalesce_amend(open, from_round); }), *coalesce.state,
             coalesce.handle != nullptr, "amend", "step manager");
}

/// Raises what a client of this rank has raised, with its traceback.
void run_round(Coalesce& coalesce, double timeout_s) {
  const Use use(coalesce.state, "round");
  couplet_coalesce* const open = coalesce.open_handle("round");
  const Outcome outcome = sliced(
      timeout_s, [&](double slice) { return couplet_coalesce_round(open, slice); }, has_timed_out);
  if (coalesce.thrown_type.is_valid()) {
    PyErr_Restore(coalesce.thrown_type.release().ptr(), coalesce.thrown.release().ptr(),
                  coalesce.thrown_trace.release().ptr());
    throw nb::python_error();
  }
  check_open(outcome, *coalesce.state, coalesce.handle != nullptr, "round", "step manager");
}

uint64_t round_number(const Coalesce& coalesce) {
  uint64_t round = 0;
  coalesce.make("round_number", [&](couplet_coalesce* open) { return couplet_coalesce_round_number(open, &round); });
  return round;
}

uint64_t length(const Coalesce& coalesce, uint32_t request) {
  uint64_t bytes = 0;
  coalesce.make("length", [&](couplet_coalesce* open) { return couplet_coalesce_length(open, request, &bytes); });
  return bytes;
}

std::string report(const Coalesce& coalesce, int32_t form) {
  std::string text;
  coalesce.make("report", [&](couplet_coalesce* open) {
    std::size_t needed = 0;
    const couplet_status status = couplet_coalesce_report(open, form, nullptr, 0, &needed);
    if (status != COUPLET_OK) return status;
    text.resize(needed);
    return couplet_coalesce_report(open, form, text.data(), text.size(), &needed);
  });
  text.pop_back();
  return text;
}

void close(Coalesce& coalesce) {
  if (coalesce.handle == nullptr) return;
  if (coalesce.state->handle == nullptr) {  // leave has closed it
    coalesce.handle = nullptr;
    coalesce.entries.clear();
    return;
  }
  const Use use(coalesce.state, "close");
  couplet_coalesce* const open = coalesce.handle;
  const Outcome outcome = unlocked([&] { return couplet_coalesce_close(open); });
  if (outcome.status == COUPLET_ERROR_STATE && outcome.text.find("a callback of") != std::string::npos) {
    check_open(outcome, *coalesce.state, true, "close", "step manager");
  }
  coalesce.handle = nullptr;
  std::vector<nb::object>& exposed = coalesce.state->exposed;
  for (const nb::object& array : coalesce.arrays) {
    const auto found =
        std::find_if(exposed.begin(), exposed.end(), [&](const nb::object& one) { return one.is(array); });
    if (found != exposed.end()) exposed.erase(found);
  }
  coalesce.arrays.clear();
  coalesce.entries.clear();
  check_open(outcome, *coalesce.state, true, "close", "step manager");
}

std::unique_ptr<Coalesce> create_coalesce(const Group& group, const std::string& name, const CoalesceOptions& given) {
  const Use use(group.state, "create_step_manager");
  couplet_group* const members = group.open_handle("create_step_manager");
  auto coalesce = std::make_unique<Coalesce>();
  coalesce->state = group.state;
  couplet_coalesce_options options;
  couplet_coalesce_options_init(&options);
  options.method = given.method.c_str();
  options.timeout_s = given.timeout_s;
  options.phase_count = given.phase_count;
  options.merge_waits = given.merge_waits ? 1 : 0;
  options.merge_messages = given.merge_messages ? 1 : 0;
  options.max_events = given.max_events;
  const Outcome outcome =
      unlocked([&] { return couplet_coalesce_create(members, name.c_str(), &options, &coalesce->handle); });
  check_open(outcome, *group.state, group.is_open(), "create_step_manager", "group");
  return coalesce;
}

}  // namespace

void bind_coalesce(nb::module_& module) {
  nb::class_<RequestTerms>(module, "RequestTerms")
      .def(nb::init<int32_t, int64_t, std::string, uint64_t, uint64_t, int32_t, bool, bool>(), nb::arg("peer"),
           nb::arg("tag"), nb::arg("title"), nb::arg("every"), nb::arg("offset"), nb::arg("phase"), nb::arg("variable"),
           nb::arg("optional"));
  nb::class_<PhasedTerms>(module, "PhasedTerms")
      .def(nb::init<std::string, uint64_t, int32_t, int32_t, int32_t>(), nb::arg("name"), nb::arg("every"),
           nb::arg("phase"), nb::arg("root"), nb::arg("arity"));
  nb::class_<CoalesceOptions>(module, "CoalesceOptions")
      .def(nb::init<std::string, double, int32_t, bool, bool, uint64_t>(), nb::arg("method"), nb::arg("timeout"),
           nb::arg("phases"), nb::arg("merge_waits"), nb::arg("merge_messages"), nb::arg("max_events"));
  nb::class_<Coalesce>(module, "Coalesce")
      .def_prop_ro("closed", [](const Coalesce& coalesce) { return coalesce.handle == nullptr; })
      .def("add", &add_client, nb::arg("name"), nb::arg("call"), nb::arg("stages"), Stays())
      .def(
          "remove",
          [](const Coalesce& coalesce, int32_t client) {
            coalesce.make("remove", [&](couplet_coalesce* open) { return couplet_coalesce_remove(open, client); });
          },
          nb::arg("client"), Stays())
      .def("declare", &declare, nb::arg("client"), nb::arg("array"), nb::arg("terms"), nb::arg("sends"), Stays())
      .def("add_broadcast", &add_broadcast, nb::arg("terms"), nb::arg("capacity"), nb::arg("give"), nb::arg("take"),
           Stays())
      .def("add_reduction", &add_reduction, nb::arg("terms"), nb::arg("operation"), nb::arg("like"), nb::arg("to_all"),
           nb::arg("give"), nb::arg("take"), Stays())
      .def("freeze", &freeze, Stays())
      .def("amend", &amend, nb::arg("from_round"), Stays())
      .def("round", &run_round, nb::arg("timeout"), Stays())
      .def("round_number", &round_number, Stays())
      .def(
          "set_length",
          [](const Coalesce& coalesce, uint32_t request, uint64_t bytes) {
            coalesce.make("set_length",
                          [&](couplet_coalesce* open) { return couplet_coalesce_set_length(open, request, bytes); });
          },
          nb::arg("request"), nb::arg("bytes"), Stays())
      .def("length", &length, nb::arg("request"), Stays())
      .def("report", &report, nb::arg("form"), Stays())
      .def("close", &close, Stays());
  module.def("create_coalesce", &create_coalesce, nb::arg("group"), nb::arg("name"), nb::arg("options"), Stays());
}

}  // namespace couplet_python
