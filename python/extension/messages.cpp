#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "handles.hpp"

namespace couplet_python {
namespace {

constexpr couplet_message no_message{COUPLET_ANY_SOURCE, COUPLET_ANY_TAG, 0, 0};

}  // namespace

Request::~Request() {
  if (handle != nullptr && state->handle != nullptr) {
    state->parked.push_back({handle, std::move(buffer)});
  }
}

void Request::forget_when_done() {
  if (handle == nullptr) {
    buffer.reset();
  }
}

couplet_message Request::counted(couplet_message message) const noexcept {
  message.count = element_bytes == 0 ? message.count : message.bytes / element_bytes;
  return message;
}

void Request::note(const Outcome& outcome, const couplet_message& message) {
  if (handle == nullptr) {
    ended = Ended{outcome, message};
  }
  forget_when_done();
}

couplet_message Request::tell(const char* verb) const {
  check(ended->outcome, verb);
  return counted(ended->message);
}

couplet_message Request::wait(double timeout_s) {
  if (ended) {
    return tell("wait");
  }
  if (handle == nullptr) {
    return no_message;
  }
  const Use use(state, "wait");
  const Completes completes(is_completed_now, "wait");
  couplet_message message = no_message;
  const auto note_end = [&](const Outcome& now) { note(now, message); };
  const Outcome outcome = blocking([&] { return couplet_wait(&handle, timeout_s, &message); }, note_end);
  note_end(outcome);
  check_open(outcome, *state, true, "wait", "request");
  return counted(message);
}

bool Request::withdraw() {
  const Use use(state, "withdraw");
  const Completes completes(is_completed_now, "withdraw");
  check(unlocked([&] { return couplet_private_withdraw(&handle); }), "withdraw");
  forget_when_done();
  return handle == nullptr;
}

nb::object Request::test() {
  if (ended) {
    return nb::cast(tell("test"));
  }
  if (handle == nullptr) {
    return nb::cast(no_message);
  }
  const Use use(state, "test");
  const Completes completes(is_completed_now, "test");
  couplet_message message = no_message;
  int32_t done = 0;
  const Outcome outcome = unlocked([&] { return couplet_test(&handle, &done, &message); });
  note(outcome, message);
  check_open(outcome, *state, true, "test", "request");
  return done != 0 ? nb::cast(counted(message)) : nb::none();
}

std::unique_ptr<Request> Group::isend(nb::handle buffer, int32_t target, int32_t tag) const {
  const MessageMemory own = message_memory(buffer, false, "Isend");
  const Memory& memory = own.memory;
  const Use use(state, "Isend");
  state->sweep();
  couplet_group* const group = open_handle("Isend");
  auto request = std::make_unique<Request>(state, held_memory(buffer));
  request->element_bytes = own.element_bytes;
  const Outcome outcome = unlocked(
      [&] { return couplet_isend(group, memory.data, memory.count, memory.type, target, tag, &request->handle); });
  check_open(outcome, *state, is_open(), "Isend", "group");
  request->forget_when_done();
  return request;
}

std::unique_ptr<Request> Group::irecv(nb::handle buffer, int32_t source, int32_t tag) const {
  const MessageMemory own = message_memory(buffer, true, "Irecv");
  const Memory& memory = own.memory;
  const Use use(state, "Irecv");
  state->sweep();
  couplet_group* const group = open_handle("Irecv");
  auto request = std::make_unique<Request>(state, held_memory(buffer));
  request->element_bytes = own.element_bytes;
  const Outcome outcome = unlocked(
      [&] { return couplet_irecv(group, memory.data, memory.count, memory.type, source, tag, &request->handle); });
  check_open(outcome, *state, is_open(), "Irecv", "group");
  return request;
}

void Group::look(const char* verb, int32_t& rank, int32_t& size) const {
  const Use use(state, verb);
  if (frees != 0) {
    raise(COUPLET_ERROR_STATE, std::string(verb) + ": another thread of this process frees the group");
  }
  // It never waits. With the GIL, no other thread can begin to free or to leave meanwhile.
  check(outcome_of(couplet_group_rank(open_handle(verb), &rank, &size)), verb);
}

int32_t Group::rank() const {
  int32_t rank = -1;
  int32_t size = 0;
  look("rank", rank, size);
  return rank;
}

int32_t Group::size() const {
  int32_t rank = -1;
  int32_t size = 0;
  look("size", rank, size);
  return size;
}

void Group::free() {
  const Use use(state, "free");
  couplet_group* const group = open_handle("free");
  ++frees;
  const Outcome outcome = unlocked([&] { return couplet_group_free(group); });
  --frees;
  if (outcome.status >= 0) {
    handle = nullptr;
  }
  check_open(outcome, *state, is_open(), "free", "group");
}

couplet_group* Group::open_handle(const char* verb) const {
  if (handle == nullptr) {
    raise(COUPLET_ERROR_STATE, std::string(verb) + ": the group was freed");
  }
  return handle;
}

namespace {

/// Waits for one of the requests. Returns its index (-1: none is pending) and its message.
nb::tuple wait_any(const std::vector<Request*>& requests, double timeout_s) {
  std::shared_ptr<UniverseState> state;
  std::vector<couplet_request*> handles;
  for (const Request* request : requests) {
    handles.push_back(request->handle);
    if (request->handle != nullptr) {
      if (state && state != request->state) {
        raise(COUPLET_ERROR_ARGUMENT, "waitany: the requests belong to several universes");
      }
      state = request->state;
    }
  }
  couplet_message message = no_message;
  int32_t index = -1;
  if (!state) {
    return nb::make_tuple(index, message);
  }
  const Use use(state, "waitany");
  std::vector<std::unique_ptr<Completes>> completes;
  for (Request* request : requests) {
    if (request->handle != nullptr) {
      completes.push_back(std::make_unique<Completes>(request->is_completed_now, "waitany"));
    }
  }
  const auto wait = [&] {
    return couplet_waitany(static_cast<int32_t>(handles.size()), handles.data(), timeout_s, &index, &message);
  };
  const auto note_end = [&](const Outcome& now) {
    for (std::size_t i = 0; i < handles.size(); ++i) {
      if (std::exchange(requests[i]->handle, handles[i]) != handles[i]) {
        requests[i]->note(now, message);
      }
    }
  };
  const Outcome outcome = blocking(wait, note_end);
  note_end(outcome);
  check(outcome, "waitany");
  return nb::make_tuple(index, index < 0 ? message : requests[static_cast<std::size_t>(index)]->counted(message));
}

}  // namespace

void bind_messages(nb::module_& module) {
  nb::class_<couplet_message>(module, "Message")
      .def_ro("source", &couplet_message::source)
      .def_ro("tag", &couplet_message::tag)
      .def_ro("bytes", &couplet_message::bytes)
      .def_ro("count", &couplet_message::count)
      .def("__repr__", [](const couplet_message& message) {
        return "Message(source=" + std::to_string(message.source) + ", tag=" + std::to_string(message.tag) +
               ", count=" + std::to_string(message.count) + ", bytes=" + std::to_string(message.bytes) + ")";
      });
  nb::class_<Request>(module, "Request")
      .def_prop_ro("pending", [](const Request& request) { return request.handle != nullptr; })
      .def_prop_ro("failed", [](const Request& request) { return request.ended && request.ended->outcome.status < 0; })
      .def("wait", &Request::wait, nb::arg("timeout"), Stays())
      .def("test", &Request::test, Stays())
      .def("withdraw", &Request::withdraw, Stays());
  nb::class_<Group>(module, "Group")
      .def("rank", &Group::rank, Stays())
      .def("size", &Group::size, Stays())
      .def("isend", &Group::isend, nb::arg("buffer"), nb::arg("target"), nb::arg("tag"), Stays())
      .def("irecv", &Group::irecv, nb::arg("buffer"), nb::arg("source"), nb::arg("tag"), Stays())
      .def("free", &Group::free, Stays());
  module.def("waitany", &wait_any, nb::arg("requests"), nb::arg("timeout"), Stays());
}

}  // namespace couplet_python
