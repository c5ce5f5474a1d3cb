// Waiting for any of several series, messages, requests and tasks: their handles come as tuples, of which each says for
// what of its handle is waited.
#include <nanobind/stl/vector.h>

#include <utility>

#include "handles.hpp"

namespace couplet_python {
namespace {

using State = std::shared_ptr<UniverseState>;

/// Returns the state of the object, after it has put the object's handle into `awaited`.
State take_handle(nb::handle object, couplet_awaited& awaited) {
  if (nb::isinstance<Series>(object)) {
    const auto& series = nb::cast<const Series&>(object);
    awaited.series = series.handle;
    return series.state;
  }
  if (nb::isinstance<Group>(object)) {
    const auto& group = nb::cast<const Group&>(object);
    awaited.group = group.handle;
    return group.state;
  }
  if (nb::isinstance<Request>(object)) {
    const auto& request = nb::cast<const Request&>(object);
    awaited.request = request.handle;
    return request.state;
  }
  const auto& task = nb::cast<const Task&>(object);
  awaited.task = *task.are_closed ? nullptr : task.handle;
  return task.state;
}

State state_of(nb::handle object) {
  couplet_awaited ignored{};
  return take_handle(object, ignored);
}

struct Awaited {
  State state;
  std::vector<couplet_awaited> list;
};

/// Each entry is (object, at_least, source, tag). Raises StateError if an object is closed.
Awaited take(const nb::list& entries, const char* verb) {
  Awaited awaited;
  for (nb::handle entry : entries) {
    const auto members = nb::cast<nb::tuple>(entry);
    couplet_awaited one{};
    const State state = take_handle(members[0], one);
    if (one.series == nullptr && one.group == nullptr && one.request == nullptr && one.task == nullptr) {
      raise(COUPLET_ERROR_STATE, std::string(verb) + ": entry " + std::to_string(awaited.list.size()) + " of " +
                                     std::to_string(entries.size()) + " is closed");
    }
    one.at_least = nb::cast<uint64_t>(members[1]);
    one.source = nb::cast<int32_t>(members[2]);
    one.tag = nb::cast<int32_t>(members[3]);
    if (awaited.state && awaited.state != state) {
      raise(COUPLET_ERROR_ARGUMENT, std::string(verb) + ": entry " + std::to_string(awaited.list.size()) + " of " +
                                        std::to_string(entries.size()) + " belongs to another universe than entry 0");
    }
    awaited.state = state;
    awaited.list.push_back(one);
  }
  if (!awaited.state) {
    raise(COUPLET_ERROR_ARGUMENT, std::string(verb) + ": give at least one thing to wait for");
  }
  return awaited;
}

/// Returns true if the objects still have the handles that were taken from them.
bool are_open(const nb::list& entries, const Awaited& awaited) {
  for (std::size_t place = 0; place < awaited.list.size(); ++place) {
    couplet_awaited now{};
    const nb::object object = nb::cast<nb::tuple>(entries[place])[0];
    take_handle(object, now);
    if (nb::isinstance<Group>(object) && !nb::cast<const Group&>(object).is_open()) {
      return false;
    }
    const couplet_awaited& then = awaited.list[place];
    if (now.series != then.series || now.group != then.group || now.request != then.request || now.task != then.task) {
      return false;
    }
  }
  return true;
}

/// Returns (index, message), or None if nothing is ready.
nb::object result_of(const nb::list& entries, const Awaited& awaited, const char* verb, const Outcome& outcome,
                     int32_t index, const couplet_message& message) {
  const bool open = outcome.status != COUPLET_ERROR_ARGUMENT || are_open(entries, awaited);
  return check_open(outcome, *awaited.state, open, verb, "handle of an entry") == COUPLET_OK
             ? nb::object(nb::make_tuple(index, message))
             : nb::object(nb::none());
}

nb::object wait_any(const nb::list& entries, double timeout_s) {
  const Awaited awaited = take(entries, "wait_any");
  const Use use(awaited.state, "wait_any");
  int32_t index = -1;
  couplet_message message{COUPLET_ANY_SOURCE, COUPLET_ANY_TAG, 0, 0};
  const Outcome outcome = blocking([&] {
    return couplet_wait_any(awaited.list.data(), static_cast<int32_t>(awaited.list.size()), timeout_s, &index,
                            &message);
  });
  return result_of(entries, awaited, "wait_any", outcome, index, message);
}

nb::object arm_any(const nb::list& entries) {
  const Awaited awaited = take(entries, "ready");
  const Use use(awaited.state, "ready");
  int32_t index = -1;
  couplet_message message{COUPLET_ANY_SOURCE, COUPLET_ANY_TAG, 0, 0};
  const Outcome outcome = unlocked([&] {
    return couplet_arm_any(awaited.list.data(), static_cast<int32_t>(awaited.list.size()), &index, &message);
  });
  return result_of(entries, awaited, "ready", outcome, index, message);
}

/// Returns the descriptor of the universe to which the object belongs.
int32_t descriptor_of(nb::handle object) {
  const State state = state_of(object);
  const Use use(state, "ready");
  int32_t descriptor = -1;
  const Outcome outcome = unlocked([&] { return couplet_universe_descriptor(use.universe(), &descriptor); });
  check_open(outcome, *state, true, "ready", "universe");
  return descriptor;
}

}  // namespace

void bind_waiting(nb::module_& module) {
  module.def("wait_any", &wait_any, nb::arg("entries"), nb::arg("timeout"), Stays());
  module.def("arm_any", &arm_any, nb::arg("entries"), Stays());
  module.def("descriptor_of", &descriptor_of, nb::arg("thing"), Stays());
  module.def(
      "address_of",
      [](nb::handle object) {
        couplet_awaited one{};
        take_handle(object, one);
        return reinterpret_cast<std::uintptr_t>(one.series) + reinterpret_cast<std::uintptr_t>(one.group) +
               reinterpret_cast<std::uintptr_t>(one.request) + reinterpret_cast<std::uintptr_t>(one.task);
      },
      nb::arg("thing"), Stays());
  module.def(
      "universe_of", [](nb::handle object) { return reinterpret_cast<std::uintptr_t>(state_of(object).get()); },
      nb::arg("thing"), Stays());
}

}  // namespace couplet_python
