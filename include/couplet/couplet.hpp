// Couplet for C++20. Header-only, on top of couplet.h, which is the only binary interface. Handles become objects that
// close themselves, error codes become exceptions, and pointers become spans. Objects can be moved, but not copied.
// Answers (not yet, full, end, restarted) are values and are never thrown: see Batch::status() and the result of put.
// Destructors close and ignore errors. Call close() or leave() if an error at the end matters. Boxes are half open and
// 0-based, and arrays are in C order. Each function blocks, is collective and fails under the same conditions as its C
// function. Programs that use MPI include couplet_mpi.hpp too.
// Guide: docs/guide/cpp.md. Tests: tests/languages.
#ifndef COUPLET_COUPLET_HPP
#define COUPLET_COUPLET_HPP

#include <couplet/couplet_coalesce.hpp>
#include <couplet/couplet_collective.hpp>
#include <couplet/couplet_datatype.hpp>
#include <couplet/couplet_exchange.hpp>
#include <couplet/couplet_fields.hpp>
#include <couplet/couplet_halo.hpp>
#include <couplet/couplet_message.hpp>
#include <couplet/couplet_series.hpp>
#include <couplet/couplet_task.hpp>
#include <couplet/couplet_wait.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace couplet {

/// Says how this process joins. The members are those of couplet_join_options.
struct JoinOptions {
  std::int32_t rank = -1;        ///< -1: taken from the launcher's environment
  std::int32_t size = -1;        ///< -1: likewise
  std::string hub = {};          ///< empty: the variable COUPLET_HUB
  std::string secret_file = {};  ///< empty: COUPLET_SECRET_FILE, else the file in the user's configuration directory
  std::optional<double> timeout_s = std::nullopt;  ///< none: COUPLET_JOIN_TIMEOUT, else 60 s
  bool multiple_threads = false;                   ///< true: several threads may call the library; they take turns

  /// Returns the options of the C call. Its pointers point into this object.
  [[nodiscard]] couplet_join_options c_options() const noexcept {
    couplet_join_options options;
    couplet_join_options_init(&options);
    options.rank = rank;
    options.size = size;
    options.hub = detail::text_or_null(hub);
    options.secret_file = detail::text_or_null(secret_file);
    if (timeout_s) {
      options.timeout_s = *timeout_s;
    }
    options.threads = multiple_threads ? 1 : 0;
    return options;
  }
};

/// Describes a program of the universe. `first_rank` is the universe rank of its rank 0.
struct ProgramInfo {
  std::string name;
  std::int32_t size;
  std::int32_t first_rank;
};

/// Describes this process's place: the id and the number of ranks of its program, and its rank in it.
struct OwnProgram {
  std::int32_t program_count;
  std::int32_t program;
  std::int32_t rank;
  std::int32_t size;
};

/// Everything that is coupled in one run. The destructor leaves the universe. Close series, tasks and areas before
/// that.
class Universe {
 public:
  explicit Universe(couplet_universe* handle) noexcept : owner_(handle) {}

  /// Leaves the universe, and throws the errors that the destructor would ignore.
  void leave() { detail::check(couplet_leave(owner_.release())); }

  /// Returns this process's rank in the universe.
  [[nodiscard]] std::int32_t rank() const { return rank_and_size().first; }
  /// Returns the number of ranks of the universe.
  [[nodiscard]] std::int32_t size() const { return rank_and_size().second; }
  /// Describes the program of this process.
  [[nodiscard]] OwnProgram program() const {
    OwnProgram own{};
    detail::check(couplet_universe_program(handle(), &own.program_count, &own.program, &own.rank, &own.size));
    return own;
  }
  /// Describes the program whose id is `id`.
  [[nodiscard]] ProgramInfo program(std::int32_t id) const {
    const char* name = "";
    ProgramInfo info{};
    detail::check(couplet_universe_describe_program(handle(), id, &name, &info.size, &info.first_rank));
    info.name = name;
    return info;
  }
  /// Returns the universe rank of rank `rank` of the program `name`.
  [[nodiscard]] std::int32_t find_rank(const std::string& name, std::int32_t rank) const {
    std::int32_t found = -1;
    detail::check(couplet_universe_find_rank(handle(), name.c_str(), rank, &found));
    return found;
  }
  /// Lets the library do pending work. Never blocks.
  void progress() { detail::check(couplet_universe_progress(handle())); }
  /// Returns a JSON text that describes links, limits and choices.
  [[nodiscard]] std::string explain() {
    std::string text(4096, '\0');
    std::size_t needed = 0;
    couplet_status status = couplet_universe_explain(handle(), text.data(), text.size(), &needed);
    // The text may grow between two calls.
    while (status == COUPLET_ERROR_LIMIT && needed > text.size()) {
      text.resize(needed);
      status = couplet_universe_explain(handle(), text.data(), text.size(), &needed);
    }
    detail::check(status);
    text.resize(needed - 1);
    return text;
  }

  /// Returns the group of all ranks of the universe.
  [[nodiscard]] Group group() const {
    couplet_group* group = nullptr;
    detail::check(couplet_universe_group(handle(), &group));
    return Group(group);
  }
  /// Returns the group of all ranks of this program.
  [[nodiscard]] Group program_group() const {
    couplet_group* group = nullptr;
    detail::check(couplet_universe_program_group(handle(), &group));
    return Group(group);
  }
  /// Creates the group `name` of the universe ranks `ranks`, in this order. Every member makes the same call.
  [[nodiscard]] Group create_group(const std::string& name, std::span<const std::int32_t> ranks) {
    couplet_group* group = nullptr;
    detail::check(
        couplet_group_create(handle(), name.c_str(), ranks.data(), static_cast<std::int32_t>(ranks.size()), &group));
    return Group(group);
  }

  /// Creates the series `name`: an array with the extents `shape`, of which this rank writes `box`. Collective over the
  /// writers. Errors: as couplet_series_create.
  template <Element T>
  [[nodiscard]] Writer<T> create_series(const std::string& name, const std::vector<std::int64_t>& shape, const Box& box,
                                        const SeriesOptions& options = {}) {
    if (box.start.size() != shape.size() || box.stop.size() != shape.size()) {
      throw Error(COUPLET_ERROR_SHAPE,
                  "create_series: the box of series '" + name + "' has not as many dimensions as its shape");
    }
    const couplet_series_create_options c = series_options(options);
    couplet_series* series = nullptr;
    detail::check(couplet_series_create(handle(), name.c_str(), type_of<T>, static_cast<std::int32_t>(shape.size()),
                                        shape.data(), box.start.data(), box.stop.data(), &c, &series));
    return Writer<T>(series);
  }
  /// Opens the series `name`, which must have elements of type T. Blocking: until the series exists, at most
  /// OpenOptions::timeout_s. Errors: as couplet_series_open.
  template <Element T>
  [[nodiscard]] Reader<T> open_series(const std::string& name, const OpenOptions& options = {}) {
    couplet_series_weights weights;
    couplet_series_open_options c = open_options(name, options, weights);
    c.type = type_of<T>;
    couplet_series* series = nullptr;
    detail::check(couplet_series_open(handle(), name.c_str(), &c, &series));
    return Reader<T>(series);
  }
  /// Creates the series `name`, whose steps have several arrays; field() makes their descriptions. Collective over the
  /// writers. Errors: as couplet_series_create_fields.
  [[nodiscard]] FieldsWriter create_series(const std::string& name, const std::vector<Field>& fields,
                                           const SeriesOptions& options = {}) {
    std::vector<couplet_series_field> list;
    std::vector<std::vector<std::int64_t>> starts(fields.size());
    std::vector<std::vector<std::int64_t>> stops(fields.size());
    for (std::size_t index = 0; index < fields.size(); ++index) {
      const Field& given = fields[index];
      couplet_series_field& one = list.emplace_back();
      couplet_series_field_init(&one);
      one.name = given.name.c_str();
      one.type = given.type;
      one.dimensions = static_cast<std::int32_t>(given.shape.size());
      one.shape = given.shape.data();
      for (const Box& box : given.boxes) {
        if (box.start.size() != given.shape.size() || box.stop.size() != given.shape.size()) {
          throw Error(COUPLET_ERROR_SHAPE, "create_series: a box of field '" + given.name + "' of series '" + name +
                                               "' has not as many dimensions as its shape");
        }
        starts[index].insert(starts[index].end(), box.start.begin(), box.start.end());
        stops[index].insert(stops[index].end(), box.stop.begin(), box.stop.end());
      }
      if (!given.boxes.empty()) {
        one.box_count = static_cast<std::int32_t>(given.boxes.size());
        one.start = starts[index].data();
        one.stop = stops[index].data();
      }
    }
    const couplet_series_create_options c = series_options(options);
    couplet_series* series = nullptr;
    detail::check(couplet_series_create_fields(handle(), name.c_str(), list.data(),
                                               static_cast<std::int32_t>(list.size()), &c, &series));
    return FieldsWriter(series);
  }
  /// Opens the series `name` to read the fields `choices`, in this order. No choices: all fields. Errors: as
  /// couplet_series_open.
  [[nodiscard]] FieldsReader open_fields(const std::string& name, const std::vector<Choice>& choices = {},
                                         const OpenOptions& options = {}) {
    couplet_series_weights weights;
    couplet_series_open_options c = open_options(name, options, weights);
    std::vector<couplet_series_choice> list;
    for (const Choice& given : choices) {
      couplet_series_choice& one = list.emplace_back();
      couplet_series_choice_init(&one);
      one.name = given.name.c_str();
      if (given.box) {
        check_corners(*given.box, name);
        one.start = given.box->start.data();
        one.stop = given.box->stop.data();
        one.dimensions = static_cast<std::int32_t>(given.box->start.size());
      }
    }
    if (!list.empty()) {
      c.fields = list.data();
      c.field_count = static_cast<std::int32_t>(list.size());
    }
    couplet_series* series = nullptr;
    detail::check(couplet_series_open(handle(), name.c_str(), &c, &series));
    return FieldsReader(series);
  }
  /// Opens the tasks `name` to submit requests. `couplers` is the program whose ranks dispatch them.
  [[nodiscard]] Requester open_requester(const std::string& name, const std::string& couplers = "coupler") {
    couplet_tasks_options c = task_options(COUPLET_TASKS_REQUESTER, couplers);
    return Requester(open_tasks(name, c));
  }
  /// Opens the tasks `name` to work on them. Every rank of the program makes the same call.
  [[nodiscard]] Worker open_worker(const std::string& name, const WorkerOptions& options = {}) {
    couplet_tasks_options c = task_options(COUPLET_TASKS_WORKER, options.couplers);
    c.worker_id = options.worker_id;
    c.group_size = options.group_size;
    return Worker(open_tasks(name, c));
  }
  /// Opens the tasks `name` to dispatch them.
  [[nodiscard]] Coupler open_coupler(const std::string& name, const CouplerOptions& options) {
    couplet_tasks_options c = task_options(COUPLET_TASKS_COUPLER, options.couplers);
    c.on_lost = static_cast<std::int32_t>(options.on_lost);
    c.policy = static_cast<std::int32_t>(options.policy);
    c.queue_limit = options.queue_limit;
    c.requesters = detail::text_or_null(options.requesters);
    c.workers = detail::text_or_null(options.workers);
    return Coupler(open_tasks(name, c));
  }

  /// Creates the area `name`. `memory` is the owner's own array, with as many elements as the shape; if it is empty,
  /// the library provides memory that is set to zero. Never waits for another process.
  template <Element T>
  [[nodiscard]] Area<T> create_area(const std::string& name, const std::vector<std::int64_t>& shape,
                                    bool stamped = false, std::span<T> memory = {}) {
    std::size_t count = 1;
    for (const std::int64_t extent : shape) {
      count *= static_cast<std::size_t>(extent);
    }
    if (memory.data() != nullptr && memory.size() != count) {
      throw Error(COUPLET_ERROR_SHAPE, "create_area: area '" + name + "' has " + std::to_string(count) +
                                           " elements, its memory has " + std::to_string(memory.size()));
    }
    couplet_area_options c;
    couplet_area_options_init(&c);
    c.memory = memory.data();
    c.stamped = stamped ? 1 : 0;
    couplet_area* area = nullptr;
    detail::check(couplet_area_create(handle(), name.c_str(), type_of<T>, static_cast<std::int32_t>(shape.size()),
                                      shape.data(), &c, &area));
    return Area<T>(area);
  }
  /// Opens the area `name` of universe rank `owner`. Blocking: until the owner has created it, at most timeout_s.
  template <Element T>
  [[nodiscard]] Area<T> open_area(const std::string& name, std::int32_t owner, double timeout_s = 60.0) {
    couplet_area* area = nullptr;
    detail::check(couplet_area_open(handle(), name.c_str(), owner, timeout_s, &area));
    return Area<T>(area);
  }
  [[nodiscard]] couplet_universe* handle() const noexcept { return owner_.get(); }

 private:
  static void check_corners(const Box& box, const std::string& name) {
    if (box.start.size() != box.stop.size()) {
      throw Error(COUPLET_ERROR_SHAPE,
                  "open_series: start and stop of the box of series '" + name + "' differ in length");
    }
  }
  /// Returns the options of the C call. Its pointers point into `options`.
  [[nodiscard]] static couplet_series_create_options series_options(const SeriesOptions& options) {
    couplet_series_create_options c;
    couplet_series_create_options_init(&c);
    c.slots = options.slots;
    if (options.memory_bytes != 0) {
      c.memory_bytes = options.memory_bytes;
    }
    c.required_readers = detail::text_or_null(options.required_readers);
    c.required_timeout_s = options.required_timeout_s;
    c.wait_timeout_s = options.wait_timeout_s;
    c.evict_after_held_s = options.evict_after_held_s;
    c.group = options.group.handle();
    c.holders = options.holders;
    c.collective = options.collective ? 1 : 0;
    return c;
  }
  /// Points into the options and to `weights`.
  [[nodiscard]] static couplet_series_open_options open_options(const std::string& name, const OpenOptions& options,
                                                                couplet_series_weights& weights) {
    couplet_series_open_options c;
    couplet_series_open_options_init(&c);
    if (options.box) {
      check_corners(*options.box, name);
      c.start = options.box->start.data();
      c.stop = options.box->stop.data();
      c.dimensions = static_cast<std::int32_t>(options.box->start.size());
    }
    detail::set_plain(c, options);
    c.group = options.group.handle();
    if (options.weights) {
      weights = options.weights->c_weights();
      c.weights = &weights;
    }
    return c;
  }
  [[nodiscard]] static couplet_tasks_options task_options(std::int32_t role, const std::string& couplers) {
    couplet_tasks_options c;
    couplet_tasks_options_init(&c);
    c.role = role;
    c.couplers = couplers.c_str();
    return c;
  }
  [[nodiscard]] couplet_tasks* open_tasks(const std::string& name, const couplet_tasks_options& options) {
    couplet_tasks* tasks = nullptr;
    detail::check(couplet_tasks_open(handle(), name.c_str(), &options, &tasks));
    return tasks;
  }
  [[nodiscard]] std::pair<std::int32_t, std::int32_t> rank_and_size() const {
    std::pair<std::int32_t, std::int32_t> both{0, 0};
    detail::check(couplet_universe_rank(handle(), &both.first, &both.second));
    return both;
  }
  detail::Owner<couplet_universe, couplet_leave> owner_;
};

/// Joins this process to the universe as one rank of `program` (empty: the variable COUPLET_PROGRAM). Blocking: until
/// all required programs are complete. Collective over the ranks of the program. Errors: as couplet_join.
[[nodiscard]] inline Universe join(const std::string& program, const JoinOptions& options = {}) {
  const couplet_join_options c = options.c_options();
  couplet_universe* universe = nullptr;
  detail::check(couplet_join(detail::text_or_null(program), &c, &universe));
  return Universe(universe);
}

/// Returns the version of the library, for example "0.1.0".
[[nodiscard]] inline std::string version() {
  return couplet_version();
}

/// Returns the descriptor for event loops, which arm_any arms. It belongs to the universe.
[[nodiscard]] inline int descriptor_of(const Universe& universe) {
  std::int32_t descriptor = -1;
  detail::check(couplet_universe_descriptor(universe.handle(), &descriptor));
  return descriptor;
}

}  // namespace couplet

#endif
