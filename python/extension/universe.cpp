#include <dlfcn.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "handles.hpp"
#include "open_options.hpp"

namespace couplet_python {
namespace {

using JoinMpi = couplet_status (*)(const char*, const void*, const couplet_join_options*, couplet_universe**);
using MpiVersion = const char* (*)();

struct Universe {
  std::shared_ptr<UniverseState> state = std::make_shared<UniverseState>();
};

struct JoinRequest {
  std::string program;
  int32_t rank;
  int32_t size;
  std::string hub;
  std::string secret_file;
  double timeout_s;  ///< < 0: the library's default
  bool multiple_threads;

  /// Returns the options of the C call. Its pointers point into this object.
  [[nodiscard]] couplet_join_options c_options() const {
    couplet_join_options options;
    couplet_join_options_init(&options);
    options.rank = rank;
    options.size = size;
    options.hub = hub.empty() ? nullptr : hub.c_str();
    options.secret_file = secret_file.empty() ? nullptr : secret_file.c_str();
    if (timeout_s >= 0) {
      options.timeout_s = timeout_s;
    }
    options.threads = multiple_threads ? 1 : 0;
    return options;
  }
  [[nodiscard]] const char* c_program() const { return program.empty() ? nullptr : program.c_str(); }
};

std::unique_ptr<Universe> finish_join(const Outcome& outcome, couplet_universe* handle, bool multiple_threads) {
  check(outcome, "join");
  auto universe = std::make_unique<Universe>();
  universe->state->handle = handle;
  universe->state->multiple_threads = multiple_threads;
  return universe;
}

std::unique_ptr<Universe> join_on_helper(
    const JoinRequest& request, const std::function<couplet_status(const JoinRequest&, couplet_universe**)>& join) {
  auto handle = std::make_shared<couplet_universe*>(nullptr);
  const auto call = [request, handle, join] { return join(request, handle.get()); };
  const Outcome outcome = interruptible(call, [handle](couplet_status) {
    if (*handle != nullptr) {
      couplet_leave(*handle);
    }
  });
  return finish_join(outcome, *handle, request.multiple_threads);
}

std::unique_ptr<Universe> join(const JoinRequest& request) {
  return join_on_helper(request, [](const JoinRequest& asked, couplet_universe** universe) {
    const couplet_join_options options = asked.c_options();
    return couplet_join(asked.c_program(), &options, universe);
  });
}

/// Finds a symbol of the libcouplet_mpi_* at `path`.
void* find_mpi_symbol(const std::string& path, const char* name) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* symbol = library != nullptr ? dlsym(library, name) : nullptr;
  if (symbol == nullptr) {
    const char* reason = dlerror();
    raise(COUPLET_ERROR_MPI, "join: " + (reason != nullptr ? std::string(reason) : path + " has no " + name));
  }
  return symbol;
}

/// Joins with a communicator. With `helper`, MPI calls may be made on any thread, so that Ctrl-C is noticed meanwhile.
std::unique_ptr<Universe> join_mpi(const JoinRequest& request, const std::string& library, std::uintptr_t comm,
                                   bool helper) {
  const auto join = reinterpret_cast<JoinMpi>(find_mpi_symbol(library, "couplet_join_mpi_pointer"));
  const auto* pointer = reinterpret_cast<const void*>(comm);
  if (helper) {
    return join_on_helper(request, [join, pointer](const JoinRequest& asked, couplet_universe** universe) {
      const couplet_join_options options = asked.c_options();
      return join(asked.c_program(), pointer, &options, universe);
    });
  }
  const couplet_join_options options = request.c_options();
  couplet_universe* handle = nullptr;
  const Outcome outcome = unlocked([&] { return join(request.c_program(), pointer, &options, &handle); });
  return finish_join(outcome, handle, request.multiple_threads);
}

std::string mpi_version(const std::string& library) {
  return reinterpret_cast<MpiVersion>(find_mpi_symbol(library, "couplet_mpi_version"))();
}

/// Returns the path of the libcouplet.so that is in use. Helper programs and libcouplet_mpi_* are found from there.
std::string library_path() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&couplet_version), &info) == 0 || info.dli_fname == nullptr) {
    return "";
  }
  return info.dli_fname;
}

/// A callback of coalesced rounds must not leave the universe that its round needs. Nothing has been given up yet.
void check_can_leave(const Universe& universe) {
  if (universe.state->callbacks > 0) {
    raise(COUPLET_ERROR_STATE, "leave: a callback of coalesced rounds is running");
  }
}

void leave(Universe& universe) {
  if (universe.state->handle == nullptr) {
    return;
  }
  check_can_leave(universe);
  Use use(universe.state, "leave");
  const std::shared_ptr<UniverseState> lent = use.hand_over();
  couplet_universe* handle = std::exchange(lent->handle, nullptr);
  const auto has_ended = std::make_shared<std::atomic<bool>>(false);
  const auto give_back = [lent, has_ended](couplet_status) {
    *has_ended = true;
    lent->in_use = false;
  };
  const auto give_up_memory = [&] {
    if (*has_ended) {  // it touches nothing any more
      lent->parked.clear();
      lent->exposed.clear();
    }
  };
  Outcome outcome;
  try {
    outcome = interruptible([handle] { return couplet_leave(handle); }, give_back);
  } catch (const nb::python_error&) {
    give_up_memory();
    throw;
  }
  give_back(outcome.status);
  give_up_memory();
  check(outcome, "leave");
}

/// Raises the error of a call on the universe itself.
couplet_status check_joined(const Outcome& outcome, const Universe& universe, const char* verb) {
  return check_open(outcome, *universe.state, true, verb, "universe");
}

// Calls that only look never wait for their turn, and keep the GIL: no other thread can begin to leave meanwhile.

int32_t rank_of(const Universe& universe) {
  const Use use(universe.state, "rank");
  int32_t rank = 0;
  int32_t size = 0;
  check(outcome_of(couplet_universe_rank(use.universe(), &rank, &size)), "rank");
  return rank;
}

int32_t size_of(const Universe& universe) {
  const Use use(universe.state, "size");
  int32_t rank = 0;
  int32_t size = 0;
  check(outcome_of(couplet_universe_rank(use.universe(), &rank, &size)), "size");
  return size;
}

nb::tuple own_program(const Universe& universe) {
  const Use use(universe.state, "program");
  int32_t count = 0;
  int32_t program = 0;
  int32_t rank = 0;
  int32_t size = 0;
  check(outcome_of(couplet_universe_program(use.universe(), &count, &program, &rank, &size)), "program");
  return nb::make_tuple(count, program, rank, size);
}

nb::tuple program_info(const Universe& universe, int32_t program) {
  const Use use(universe.state, "program_info");
  const char* name = "";
  int32_t size = 0;
  int32_t first_rank = 0;
  check(outcome_of(couplet_universe_describe_program(use.universe(), program, &name, &size, &first_rank)),
        "program_info");
  return nb::make_tuple(name, size, first_rank);
}

int32_t find_rank(const Universe& universe, const std::string& name, int32_t rank) {
  const Use use(universe.state, "find_rank");
  int32_t found = -1;
  check(outcome_of(couplet_universe_find_rank(use.universe(), name.c_str(), rank, &found)), "find_rank");
  return found;
}

void progress(const Universe& universe) {
  const Use use(universe.state, "progress");
  universe.state->sweep();
  check_joined(unlocked([&] { return couplet_universe_progress(use.universe()); }), universe, "progress");
}

int32_t descriptor(const Universe& universe) {
  const Use use(universe.state, "descriptor");
  int32_t found = -1;
  check_joined(unlocked([&] { return couplet_universe_descriptor(use.universe(), &found); }), universe, "descriptor");
  return found;
}

std::string explain(const Universe& universe) {
  const Use use(universe.state, "explain");
  std::string text(4096, '\0');
  std::size_t needed = 0;
  const auto ask = [&] {
    return unlocked([&] { return couplet_universe_explain(use.universe(), text.data(), text.size(), &needed); });
  };
  Outcome outcome = ask();
  // The text may grow between two calls.
  while (outcome.status == COUPLET_ERROR_LIMIT && needed > text.size()) {
    text.resize(needed);
    outcome = ask();
  }
  check_joined(outcome, universe, "explain");
  return text.c_str();
}

std::unique_ptr<Group> universe_group(const Universe& universe) {
  const Use use(universe.state, "group");
  auto group = std::make_unique<Group>(Group{universe.state, nullptr});
  check_joined(unlocked([&] { return couplet_universe_group(use.universe(), &group->handle); }), universe, "group");
  return group;
}

std::unique_ptr<Group> program_group(const Universe& universe) {
  const Use use(universe.state, "program_group");
  auto group = std::make_unique<Group>(Group{universe.state, nullptr});
  check_joined(unlocked([&] { return couplet_universe_program_group(use.universe(), &group->handle); }), universe,
               "program_group");
  return group;
}

std::unique_ptr<Group> create_group(const Universe& universe, const std::string& name,
                                    const std::vector<int32_t>& ranks) {
  const Use use(universe.state, "create_group");
  auto group = std::make_unique<Group>(Group{universe.state, nullptr});
  const Outcome outcome = unlocked([&] {
    return couplet_group_create(use.universe(), name.c_str(), ranks.data(), static_cast<int32_t>(ranks.size()),
                                &group->handle);
  });
  check_joined(outcome, universe, "create_group");
  return group;
}

std::unique_ptr<Series> create(const Universe& universe, const std::string& name, const std::vector<FieldTuple>& fields,
                               uint64_t slots, uint64_t memory_bytes, const std::string& required_readers,
                               double required_timeout, double wait_timeout, double evict_after_held,
                               const Group* group, uint64_t holders, bool collective) {
  return create_series(universe.state, name, fields,
                       {slots, memory_bytes, required_readers, required_timeout, wait_timeout, evict_after_held, group,
                        holders, collective});
}

template <typename T>
using Line = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
/// WeightsTuple with the caller's arrays.
using WeightArrays = std::tuple<int64_t, Line<int64_t>, Line<int64_t>, Line<double>, Line<uint8_t>, double>;

template <typename T>
std::vector<T> copy_of(const Line<T>& line) {
  return std::vector<T>(line.data(), line.data() + line.shape(0));
}

std::optional<WeightsTuple> copy_weights(const std::optional<WeightArrays>& weights) {
  if (!weights) {
    return std::nullopt;
  }
  const auto& [points, offsets, sources, values, mask, fill] = *weights;
  return WeightsTuple(points, copy_of(offsets), copy_of(sources), copy_of(values), copy_of(mask), fill);
}

std::unique_ptr<Series> open(const Universe& universe, const std::string& name,
                             std::optional<std::vector<int64_t>> start, std::optional<std::vector<int64_t>> stop,
                             const Group* group, std::vector<ChoiceTuple> choices,
                             const std::optional<WeightArrays>& weights, const nb::dict& plain) {
  OpenOptions options{std::move(start), std::move(stop), group, std::move(choices), copy_weights(weights), {}};
  couplet_series_open_options_init(&options.plain);
  set_plain(options.plain, plain);
  return open_series(universe.state, name, options);
}

using RefuseSeries = couplet_status (*)(couplet_universe*, const couplet_group*, const char*, couplet_status,
                                        const char*);

/// Takes the place of a collective creation or opening that the package has refused: the other ranks are told.
void refuse_series(const Universe& universe, const Group* group, const std::string& name, const Refusal& why,
                   RefuseSeries refuse, const char* verb) {
  Use use(universe.state, verb);
  const couplet_group* const members = group != nullptr ? group->open_handle(verb) : nullptr;
  couplet_universe* const handle = use.universe();
  const std::shared_ptr<UniverseState> lent = use.hand_over();
  const auto give_back = [lent](couplet_status) { lent->in_use = false; };
  // The outcome is the error that the caller raises.
  static_cast<void>(
      interruptible([=] { return refuse(handle, members, name.c_str(), why.error, why.text.c_str()); }, give_back));
  give_back(COUPLET_OK);
}

std::unique_ptr<Tasks> tasks(const Universe& universe, const std::string& name, int32_t role, int32_t worker_id,
                             int32_t group_size, int32_t on_lost, int32_t policy, uint64_t queue_limit,
                             const std::string& couplers, const std::string& requesters, const std::string& workers) {
  return open_tasks(universe.state, name,
                    {role, worker_id, group_size, on_lost, policy, queue_limit, couplers, requesters, workers});
}

std::unique_ptr<Area> make_area(const Universe& universe, const std::string& name, couplet_type type,
                                const std::vector<int64_t>& shape, bool stamped, nb::handle memory) {
  return create_area(universe.state, name, type, shape, stamped, memory);
}

std::unique_ptr<Area> find_area(const Universe& universe, const std::string& name, int32_t owner, double timeout) {
  return open_area(universe.state, name, owner, timeout);
}

}  // namespace

void bind_universe(nb::module_& module) {
  nb::class_<JoinRequest>(module, "JoinRequest")
      .def(nb::new_([](const std::string& program, int32_t rank, int32_t size, const std::string& hub,
                       const std::string& secret_file, double timeout, bool multiple_threads) {
             return JoinRequest{program, rank, size, hub, secret_file, timeout, multiple_threads};
           }),
           nb::arg("program"), nb::arg("rank"), nb::arg("size"), nb::arg("hub"), nb::arg("secret_file"),
           nb::arg("timeout"), nb::arg("multiple_threads"));
  nb::class_<Universe>(module, "Universe")
      .def_prop_ro("key",
                   [](const Universe& universe) { return reinterpret_cast<std::uintptr_t>(universe.state.get()); })
      .def_prop_ro("left", [](const Universe& universe) { return universe.state->handle == nullptr; })
      .def("check_can_leave", &check_can_leave)
      .def("leave", &leave, Stays())
      .def("rank", &rank_of, Stays())
      .def("size", &size_of, Stays())
      .def("own_program", &own_program, Stays())
      .def("program_info", &program_info, nb::arg("program"), Stays())
      .def("find_rank", &find_rank, nb::arg("name"), nb::arg("rank"), Stays())
      .def("progress", &progress, Stays())
      .def("descriptor", &descriptor, Stays())
      .def("explain", &explain, Stays())
      .def("group", &universe_group, Stays())
      .def("program_group", &program_group, Stays())
      .def("create_group", &create_group, nb::arg("name"), nb::arg("ranks"), Stays())
      .def(
          "create_operation",
          [](const Universe& universe, const std::string& name, nb::object function, bool commutative) {
            const Use use(universe.state, "create_operation");
            return create_operation(use.universe(), name, std::move(function), commutative);
          },
          nb::arg("name"), nb::arg("function"), nb::arg("commutative"), Stays())
      .def("create_series", &create, nb::arg("name"), nb::arg("fields"), nb::arg("slots"), nb::arg("memory_bytes"),
           nb::arg("required_readers"), nb::arg("required_timeout"), nb::arg("wait_timeout"),
           nb::arg("evict_after_held"), nb::arg("group").none(), nb::arg("holders"), nb::arg("collective"), Stays())
      .def("open_series", &open, nb::arg("name"), nb::arg("start").none(), nb::arg("stop").none(),
           nb::arg("group").none(), nb::arg("choices"), nb::arg("weights").none(), nb::arg("plain"), Stays())
      .def(
          "refuse_create_series",
          [](const Universe& universe, const Group* group, const std::string& name, couplet_status error,
             const std::string& text) {
            refuse_series(universe, group, name, {error, text}, couplet_private_refuse_create, "create_series");
          },
          nb::arg("group").none(), nb::arg("name"), nb::arg("error"), nb::arg("text"), Stays())
      .def(
          "refuse_open_series",
          [](const Universe& universe, const Group* group, const std::string& name, couplet_status error,
             const std::string& text) {
            refuse_series(universe, group, name, {error, text}, couplet_private_refuse_open, "open_series");
          },
          nb::arg("group").none(), nb::arg("name"), nb::arg("error"), nb::arg("text"), Stays())
      .def("open_tasks", &tasks, nb::arg("name"), nb::arg("role"), nb::arg("worker_id"), nb::arg("group_size"),
           nb::arg("on_lost"), nb::arg("policy"), nb::arg("queue_limit"), nb::arg("couplers"), nb::arg("requesters"),
           nb::arg("workers"), Stays())
      .def("create_area", &make_area, nb::arg("name"), nb::arg("type"), nb::arg("shape"), nb::arg("stamped"),
           nb::arg("memory").none(), Stays())
      .def("open_area", &find_area, nb::arg("name"), nb::arg("owner"), nb::arg("timeout"), Stays());
  module.def("join", &join, nb::arg("request"), Stays());
  module.def("join_mpi", &join_mpi, nb::arg("request"), nb::arg("library"), nb::arg("comm"), nb::arg("helper"),
             Stays());
  module.def("mpi_version", &mpi_version, nb::arg("library"), Stays());
  module.def("library_path", &library_path, Stays());
  module.def(
      "version", [] { return std::string(couplet_version()); }, Stays());
  module.def(
      "status_name", [](couplet_status status) { return std::string(couplet_status_name(status)); }, nb::arg("status"),
      Stays());
  module.def("type_bytes", &couplet_type_bytes, nb::arg("type"), Stays());
}

}  // namespace couplet_python
