#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <deque>
#include <map>
#include <optional>

#include "handles.hpp"

namespace couplet_python {
namespace {

using Counts = std::optional<std::vector<uint64_t>>;

/// The arguments of a collective call, as the package has checked them.
struct CollectiveCall {
  couplet_group* group;
  Memory input;
  Memory output;
  couplet_operation operation;
  int32_t root;
  uint64_t count;
  couplet_type type;
  const uint64_t* counts;
  const uint64_t* result_counts;
  const couplet_collective_options* options;
  couplet_request** request;
};
using Start = couplet_status (*)(const CollectiveCall&);

const std::map<std::string, Start, std::less<>>& starts() {
  using Call = const CollectiveCall&;
  static const std::map<std::string, Start, std::less<>> all = {
      {"barrier", [](Call c) { return couplet_ibarrier(c.group, c.options, c.request); }},
      {"broadcast",
       [](Call c) {
         return couplet_ibroadcast(c.group, c.output.data, c.output.count, c.type, c.root, c.options, c.request);
       }},
      {"reduce",
       [](Call c) {
         return couplet_ireduce(c.group, c.input.data, c.output.data, c.input.count, c.type, c.operation, c.root,
                                c.options, c.request);
       }},
      {"allreduce",
       [](Call c) {
         return couplet_iallreduce(c.group, c.input.data, c.output.data, c.input.count, c.type, c.operation, c.options,
                                   c.request);
       }},
      {"gather",
       [](Call c) {
         return couplet_igather(c.group, c.input.data, c.input.count, c.output.data, c.type, c.root, c.options,
                                c.request);
       }},
      {"gatherv",
       [](Call c) {
         return couplet_igatherv(c.group, c.input.data, c.input.count, c.output.data, c.counts, nullptr, c.type, c.root,
                                 c.options, c.request);
       }},
      {"allgather",
       [](Call c) {
         return couplet_iallgather(c.group, c.input.data, c.input.count, c.output.data, c.type, c.options, c.request);
       }},
      {"allgatherv",
       [](Call c) {
         return couplet_iallgatherv(c.group, c.input.data, c.output.data, c.counts, nullptr, c.type, c.options,
                                    c.request);
       }},
      {"scatter",
       [](Call c) {
         return couplet_iscatter(c.group, c.input.data, c.output.data, c.output.count, c.type, c.root, c.options,
                                 c.request);
       }},
      {"scatterv",
       [](Call c) {
         return couplet_iscatterv(c.group, c.input.data, c.counts, nullptr, c.output.data, c.output.count, c.type,
                                  c.root, c.options, c.request);
       }},
      {"alltoall",
       [](Call c) {
         return couplet_ialltoall(c.group, c.input.data, c.output.data, c.count, c.type, c.options, c.request);
       }},
      {"alltoallv",
       [](Call c) {
         return couplet_ialltoallv(c.group, c.input.data, c.counts, nullptr, c.output.data, c.result_counts, nullptr,
                                   c.type, c.options, c.request);
       }},
      {"reduce_scatter",
       [](Call c) {
         return couplet_ireduce_scatter(c.group, c.input.data, c.output.data, c.counts, c.type, c.operation, c.options,
                                        c.request);
       }},
      {"scan",
       [](Call c) {
         return couplet_iscan(c.group, c.input.data, c.output.data, c.input.count, c.type, c.operation, c.options,
                              c.request);
       }},
  };
  return all;
}

/// One collective call of a member. It counts once: when it is started, or when it is given up before.
struct Attempt {
  const Group& group;
  std::string name;
  bool is_counted = false;
  nb::object request = nb::none();

  Attempt(const Group& of, const std::string& call) : group(of), name(call) {}
  /// given, taken: arrays, or None.
  nb::object start(nb::object given, nb::object taken, int32_t operation, int32_t root, uint64_t count,
                   const Counts& counts, const Counts& result_counts, double timeout_s, int32_t method);
  void give_up(int32_t error, const std::string& text);
};

nb::object Attempt::start(nb::object given, nb::object taken, int32_t operation, int32_t root, uint64_t count,
                          const Counts& counts, const Counts& result_counts, double timeout_s, int32_t method) {
  const Start starts_it = starts().at(name);
  couplet_collective_options options;
  couplet_collective_options_init(&options);
  options.timeout_s = timeout_s;
  options.method = method;
  CollectiveCall made{};
  if (!given.is_none()) {
    made.input = read_only_memory(given, name.c_str());
    made.type = made.input.type;
    options.data_size = made.input.count;
  }
  if (!taken.is_none()) {
    made.output = writable_memory(taken, name.c_str());
    made.type = made.output.type;
    options.result_size = made.output.count;
  }
  made.operation = operation;
  made.root = root;
  made.count = count;
  made.counts = counts ? counts->data() : nullptr;
  made.result_counts = result_counts ? result_counts->data() : nullptr;
  made.options = &options;
  const Use use(group.state, name.c_str());
  group.state->sweep();
  made.group = group.open_handle(name.c_str());
  auto started = std::make_unique<Request>(group.state, nb::make_tuple(given, taken));
  Request& begun = *started;
  made.request = &begun.handle;
  request = nb::cast(std::move(started));  // give_up() finds it, also if the caller is interrupted before it has it
  is_counted = true;
  const Outcome outcome = unlocked([&] { return starts_it(made); });
  check_open(outcome, *group.state, group.is_open(), name.c_str(), "group");
  begun.forget_when_done();
  return request;
}

void refuse_collective(const Group& group, const std::string& call, int32_t error, const std::string& text);

void Attempt::give_up(int32_t error, const std::string& text) {
  if (!is_counted) {
    is_counted = true;
    return refuse_collective(group, name, error, text);
  }
  if (request.is_none()) {
    return;
  }
  auto& begun = nb::cast<Request&>(request);
  if (begun.handle != nullptr) {
    begun.withdraw();
  }
}

/// Refuses the next call of the group. The error that this makes at all members is not raised here.
void refuse_collective(const Group& group, const std::string& call, int32_t error, const std::string& text) {
  const Use use(group.state, "refuse_collective");
  couplet_group* const handle = group.open_handle("refuse_collective");
  Outcome outcome = unlocked([&] { return couplet_collective_refuse(handle, call.c_str(), error, text.c_str()); });
  if (outcome.status == error) {
    outcome.status = COUPLET_OK;
  }
  check_open(outcome, *group.state, group.is_open(), "refuse_collective", "group");
}

/// The functions of operations. The library may call one for as long as the process lives, and so each keeps its place.
/// When the interpreter ends, the functions are released: until then they hold what the script has made, and nanobind
/// would report all of it as leaked.
std::deque<nb::object>& kept_functions() {
  static auto* const kept = new std::deque<nb::object>();
  return *kept;
}

void release_functions() {
  for (nb::object& function : kept_functions()) {
    function.reset();
  }
}

/// Calls the function of user code with two arrays, and copies what it returns over the second one.
int32_t combine_in_python(const void* from, void* into, uint64_t count, couplet_type type, void* context) {
  const nb::gil_scoped_acquire gil;
  try {
    const std::array<std::size_t, 1> shape{static_cast<std::size_t>(count)};
    const auto array = [&](void* data) {
      return nb::cast(nb::ndarray<nb::numpy>(data, 1, shape.data(), nb::handle(), nullptr, element_type(type)),
                      nb::rv_policy::reference);
    };
    const nb::object left = array(const_cast<void*>(from));  // NOLINT: the function gets a copy
    const nb::object right = array(into);
    const nb::object function = *static_cast<nb::object*>(context);
    if (!function.is_valid()) {
      return -1;  // the interpreter is ending
    }
    const nb::object result = function(left.attr("copy")(), right.attr("copy")());
    right[nb::ellipsis()] = result;
    return 0;
  } catch (nb::python_error& error) {
    if (error.matches(PyExc_KeyboardInterrupt)) {
      PyErr_SetInterrupt();  // it is raised when the call has ended
    } else {
      error.discard_as_unraisable("an operation of a collective call");
    }
  } catch (const std::exception&) {
    return -2;
  }
  return -1;
}

}  // namespace

int32_t create_operation(couplet_universe* universe, const std::string& name, nb::object function, bool commutative) {
  int32_t operation = 0;
  nb::object& kept = kept_functions().emplace_back(std::move(function));
  const Outcome outcome = unlocked([&] {
    return couplet_operation_create(universe, name.c_str(), combine_in_python, &kept, commutative ? 1 : 0, &operation);
  });
  if (outcome.status < 0) {
    kept.reset();
  }
  check(outcome, "create_operation");
  return operation;
}

void bind_collectives(nb::module_& module) {
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&release_functions));
  nb::class_<Attempt>(module, "CollectiveCall")
      .def(nb::init<const Group&, const std::string&>(), nb::arg("group"), nb::arg("call"), nb::keep_alive<1, 2>())
      .def("start", &Attempt::start, nb::arg("input").none(), nb::arg("output").none(), nb::arg("operation"),
           nb::arg("root"), nb::arg("count"), nb::arg("counts").none(), nb::arg("result_counts").none(),
           nb::arg("timeout"), nb::arg("method"), Stays())
      .def("give_up", &Attempt::give_up, nb::arg("error"), nb::arg("text"), Stays());
  module.def("refuse_collective", &refuse_collective, nb::arg("group"), nb::arg("call"), nb::arg("error"),
             nb::arg("text"), Stays());
  module.def(
      "collective_method",
      [](const Group& group, const std::string& call, uint64_t bytes) {
        const Use use(group.state, "collective_method");
        const char* method = "";
        couplet_group* const handle = group.open_handle("collective_method");
        const Outcome outcome =
            unlocked([&] { return couplet_collective_method(handle, call.c_str(), bytes, &method); });
        check_open(outcome, *group.state, group.is_open(), "collective_method", "group");
        return std::string(method);
      },
      nb::arg("group"), nb::arg("call"), nb::arg("bytes"), Stays());
}

}  // namespace couplet_python
