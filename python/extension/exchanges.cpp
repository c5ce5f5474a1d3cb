#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <utility>

#include "handles.hpp"

namespace couplet_python {

namespace {

couplet_exchange_edge edge_of(const EdgeTerms& terms) {
  couplet_exchange_edge edge;
  couplet_exchange_edge_init(&edge);
  edge.title = terms.title.c_str();
  edge.tag = terms.tag;
  edge.every = terms.every;
  edge.offset = terms.offset;
  edge.peer = terms.peer;
  edge.is_variable = terms.is_variable ? 1 : 0;
  return edge;
}

}  // namespace

couplet_exchange* Exchange::open_handle(const char* verb) const {
  if (handle == nullptr) {
    raise(COUPLET_ERROR_STATE, std::string(verb) + ": the exchange is closed");
  }
  return handle;
}

couplet_status Exchange::check(const Outcome& outcome, const char* verb) const {
  return check_open(outcome, *state, handle != nullptr, verb, "exchange");
}

// The array is kept until the exchange is closed or the universe is left, whatever Python drops.
uint32_t Exchange::add(nb::handle array, const EdgeTerms& terms, bool sends) {
  const char* const verb = sends ? "send" : "receive";
  const Use use(state, verb);
  couplet_exchange* const exchange = open_handle(verb);
  const LooseMemory loose = loose_memory(array, !sends, verb);
  std::vector<int64_t> shape = loose.shape;
  std::vector<int64_t> strides = loose.strides;
  if (shape.empty()) {  // one number
    shape.push_back(1);
    strides.push_back(static_cast<int64_t>(couplet_type_bytes(loose.memory.type)));
  }
  const std::vector<int64_t> start(shape.size(), 0);
  const auto dimensions = static_cast<int32_t>(shape.size());
  const couplet_exchange_edge edge = edge_of(terms);
  uint32_t number = 0;
  const Outcome outcome = unlocked([&] {
    return sends ? couplet_exchange_send_box(exchange, &edge, loose.memory.data, loose.memory.type, dimensions,
                                             shape.data(), strides.data(), start.data(), shape.data(), &number)
                 : couplet_exchange_receive_box(exchange, &edge, loose.memory.data, loose.memory.type, dimensions,
                                                shape.data(), strides.data(), start.data(), shape.data(), &number);
  });
  check(outcome, verb);
  nb::object kept = held_memory(array);
  state->exposed.push_back(kept);
  arrays.push_back(std::move(kept));
  return number;
}

uint32_t Exchange::add_list(nb::handle array, const std::vector<int64_t>& indices, uint64_t block,
                            const EdgeTerms& terms, bool sends) {
  const char* const verb = sends ? "send_list" : "receive_list";
  const Use use(state, verb);
  couplet_exchange* const exchange = open_handle(verb);
  const Memory memory = sends ? read_only_memory(array, verb) : writable_memory(array, verb);
  const auto fits = [&](int64_t index) {
    return index >= 0 && block <= memory.count && static_cast<uint64_t>(index) <= (memory.count - block) / block;
  };
  if (block == 0 || !std::all_of(indices.begin(), indices.end(), fits)) {
    raise(COUPLET_ERROR_SHAPE, std::string(verb) + ": an index leaves the array of " +
                                   counted(memory.count, "element", "elements") + " in blocks of " +
                                   std::to_string(block));
  }
  const couplet_exchange_edge edge = edge_of(terms);
  uint32_t number = 0;
  const Outcome outcome = unlocked([&] {
    return sends ? couplet_exchange_send_list(exchange, &edge, memory.data, memory.type, block, indices.data(),
                                              indices.size(), &number)
                 : couplet_exchange_receive_list(exchange, &edge, memory.data, memory.type, block, indices.data(),
                                                 indices.size(), &number);
  });
  check(outcome, verb);
  nb::object kept = held_memory(array);
  state->exposed.push_back(kept);
  arrays.push_back(std::move(kept));
  return number;
}

void Exchange::freeze() {
  const Use use(state, "freeze");
  couplet_exchange* const exchange = open_handle("freeze");
  check(hidden_end.blocking("freeze", [&] { return couplet_exchange_freeze(exchange); }), "freeze");
}

void Exchange::start() {
  const Use use(state, "start");
  couplet_exchange* const exchange = open_handle("start");
  check(unlocked([&] { return couplet_exchange_start(exchange); }), "start");
  hidden_end.forget();
}

bool Exchange::test() {
  const Use use(state, "test");
  couplet_exchange* const exchange = open_handle("test");
  if (const auto hidden = hidden_end.take("wait")) {
    check(*hidden, "test");
    return true;
  }
  int32_t done = 0;
  check(unlocked([&] { return couplet_exchange_test(exchange, &done); }), "test");
  return done != 0;
}

void Exchange::wait(double timeout_s) {
  const Use use(state, "wait");
  couplet_exchange* const exchange = open_handle("wait");
  check(hidden_end.blocking("wait", [&] { return couplet_exchange_wait(exchange, timeout_s); }), "wait");
}

bool Exchange::arrived(uint32_t edge) const {
  const Use use(state, "arrived");
  couplet_exchange* const exchange = open_handle("arrived");
  int32_t arrived = 0;
  check(unlocked([&] { return couplet_exchange_arrived(exchange, edge, &arrived); }), "arrived");
  return arrived != 0;
}

void Exchange::set_length(uint32_t edge, uint64_t bytes) const {
  const Use use(state, "set_length");
  couplet_exchange* const exchange = open_handle("set_length");
  check(unlocked([&] { return couplet_exchange_set_length(exchange, edge, bytes); }), "set_length");
}

uint64_t Exchange::length(uint32_t edge) const {
  const Use use(state, "length");
  couplet_exchange* const exchange = open_handle("length");
  uint64_t bytes = 0;
  check(unlocked([&] { return couplet_exchange_length(exchange, edge, &bytes); }), "length");
  return bytes;
}

std::string Exchange::method() const {
  const Use use(state, "method");
  couplet_exchange* const exchange = open_handle("method");
  const char* name = "";
  std::string copy;
  const Outcome outcome =
      unlocked([&] { return taken([&] { return couplet_exchange_method(exchange, &name); }, [&] { copy = name; }); });
  check(outcome, "method");
  return copy;
}

std::string Exchange::explain() const {
  const Use use(state, "explain");
  couplet_exchange* const exchange = open_handle("explain");
  std::string text;
  const Outcome outcome = unlocked([&] {
    std::size_t needed = 0;
    const couplet_status status = couplet_exchange_explain(exchange, nullptr, 0, &needed);
    if (status != COUPLET_OK) {
      return status;
    }
    text.resize(needed);
    return couplet_exchange_explain(exchange, text.data(), text.size(), &needed);
  });
  check(outcome, "explain");
  text.pop_back();
  return text;
}

void Exchange::close() {
  if (handle == nullptr || state->handle == nullptr) {
    return;
  }
  const Use use(state, "close");
  couplet_exchange* const exchange = std::exchange(handle, nullptr);
  const Outcome outcome = unlocked([&] { return couplet_exchange_close(exchange); });
  for (const nb::object& array : arrays) {
    const auto found = std::find_if(state->exposed.begin(), state->exposed.end(),
                                    [&](const nb::object& one) { return one.is(array); });
    if (found != state->exposed.end()) {
      state->exposed.erase(found);
    }
  }
  arrays.clear();
  check_open(outcome, *state, true, "close", "exchange");
}

std::unique_ptr<Exchange> create_exchange(const Group& group, const std::string& name, const std::string& method,
                                          double timeout_s) {
  const Use use(group.state, "create_exchange");
  couplet_group* const members = group.open_handle("create_exchange");
  auto exchange = std::make_unique<Exchange>();
  exchange->state = group.state;
  couplet_exchange_options options;
  couplet_exchange_options_init(&options);
  options.method = method.c_str();
  options.timeout_s = timeout_s;
  const Outcome outcome =
      unlocked([&] { return couplet_exchange_create(members, name.c_str(), &options, &exchange->handle); });
  check_open(outcome, *group.state, group.is_open(), "create_exchange", "group");
  return exchange;
}

void bind_exchanges(nb::module_& module) {
  nb::class_<EdgeTerms>(module, "EdgeTerms")
      .def(nb::init<int32_t, int64_t, std::string, uint64_t, uint64_t, bool>(), nb::arg("peer"), nb::arg("tag"),
           nb::arg("title"), nb::arg("every"), nb::arg("offset"), nb::arg("variable"));
  nb::class_<Exchange>(module, "Exchange")
      .def_prop_ro("closed", [](const Exchange& exchange) { return exchange.handle == nullptr; })
      .def("add", &Exchange::add, nb::arg("array"), nb::arg("terms"), nb::arg("sends"), Stays())
      .def("add_list", &Exchange::add_list, nb::arg("array"), nb::arg("indices"), nb::arg("block"), nb::arg("terms"),
           nb::arg("sends"), Stays())
      .def("freeze", &Exchange::freeze, Stays())
      .def("start", &Exchange::start, Stays())
      .def("test", &Exchange::test, Stays())
      .def("wait", &Exchange::wait, nb::arg("timeout"), Stays())
      .def("arrived", &Exchange::arrived, nb::arg("edge"), Stays())
      .def("set_length", &Exchange::set_length, nb::arg("edge"), nb::arg("bytes"), Stays())
      .def("length", &Exchange::length, nb::arg("edge"), Stays())
      .def("method", &Exchange::method, Stays())
      .def("explain", &Exchange::explain, Stays())
      .def("close", &Exchange::close, Stays());
  module.def("create_exchange", &create_exchange, nb::arg("group"), nb::arg("name"), nb::arg("method"),
             nb::arg("timeout"), Stays());
}

}  // namespace couplet_python
