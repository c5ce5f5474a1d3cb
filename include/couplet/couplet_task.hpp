// Part of couplet.hpp, which programs include: tasks (requests that workers do) and areas (memory that other processes
// read and write). Universe::open_requester, open_worker, open_coupler, create_area and open_area create the objects.
// Tests: tests/languages.
#ifndef COUPLET_COUPLET_TASK_HPP
#define COUPLET_COUPLET_TASK_HPP

#include <couplet/couplet_message.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace couplet {

// ---- tasks ----------------------------------------------------------------------------------------------------------

inline constexpr std::int32_t any_worker = COUPLET_TASKS_ANY_WORKER;

/// The parameters and the payload of a request. It points to the caller's memory, which must outlive the call that uses
/// it.
struct Content {
  std::span<const std::int64_t> parameters = {};
  const void* payload = nullptr;
  std::uint64_t payload_count = 0;
  couplet_type type = COUPLET_BYTE;
};

/// Returns a content that has parameters only.
[[nodiscard]] inline Content content_of(std::span<const std::int64_t> parameters) {
  return {parameters, nullptr, 0, COUPLET_BYTE};
}
/// Returns a content that has parameters and a payload of elements of type T.
template <Element T>
[[nodiscard]] Content content_of(std::span<const std::int64_t> parameters, std::span<const T> payload) {
  return {parameters, payload.data(), payload.size(), type_of<T>};
}
template <Element T>
[[nodiscard]] Content content_of(std::span<const std::int64_t> parameters, const std::vector<T>& payload) {
  return content_of(parameters, std::span<const T>(payload));
}

/// One task, as its requester sees it. It must end before its Requester is destroyed. If a pending Task is destroyed,
/// the work still goes on.
class Task {
 public:
  Task() = default;
  explicit Task(couplet_task* handle) noexcept : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  ~Task() = default;

  [[nodiscard]] bool pending() const noexcept { return handle_ != nullptr; }
  /// Waits until the task is done, and throws the error with which it ended. After Error(COUPLET_ERROR_TIMEOUT) it is
  /// still pending.
  void wait(double timeout_s = for_ever) { detail::check(couplet_task_wait(&handle_, timeout_s)); }
  /// Returns true if the task is done, and throws the error with which it ended. Never blocks.
  bool test() {
    std::int32_t done = 0;
    detail::check(couplet_task_test(&handle_, &done));
    return done != 0;
  }
  [[nodiscard]] couplet_task* handle() const noexcept { return handle_; }
  /// Takes over the handle that a C call has changed. For wait_any.
  void reset(couplet_task* handle) noexcept { handle_ = handle; }

 private:
  couplet_task* handle_ = nullptr;
};

/// Waits until one of the tasks is done, and returns its index, or -1 if none is pending. Throws the error with which
/// that task ended.
inline std::int32_t wait_any(std::span<Task> tasks, double timeout_s = for_ever) {
  std::vector<couplet_task*> handles;
  for (const Task& task : tasks) {
    handles.push_back(task.handle());
  }
  std::int32_t index = -1;
  const couplet_status status =
      couplet_task_waitany(static_cast<std::int32_t>(handles.size()), handles.data(), timeout_s, &index);
  for (std::size_t i = 0; i < handles.size(); ++i) {
    tasks[i].reset(handles[i]);
  }
  detail::check(status);
  return index;
}

/// A task that a worker or a coupler has taken. Its memory belongs to the library until the task is completed or
/// dispatched.
class Work {
 public:
  explicit Work(const couplet_task_info& info) noexcept : info_(info) {}
  [[nodiscard]] std::uint64_t id() const noexcept { return info_.id; }
  /// Returns the universe rank of the requester.
  [[nodiscard]] std::int32_t source() const noexcept { return info_.source; }
  /// Returns the worker id that the task is for.
  [[nodiscard]] std::int32_t worker() const noexcept { return info_.worker; }
  [[nodiscard]] std::span<const std::int64_t> parameters() const noexcept {
    return {info_.parameters, static_cast<std::size_t>(info_.parameter_count)};
  }
  [[nodiscard]] couplet_type type() const noexcept { return info_.type; }
  [[nodiscard]] std::uint64_t payload_count() const noexcept { return info_.payload_count; }
  /// Returns the elements of the payload. Throws Error(COUPLET_ERROR_TYPE) if they are not of type T.
  template <Element T>
  [[nodiscard]] std::span<const T> payload() const {
    if (info_.payload_count > 0 && info_.type != type_of<T>) {
      throw Error(COUPLET_ERROR_TYPE, "payload of task " + std::to_string(info_.id) + ": its elements have type " +
                                          std::to_string(info_.type) + " (couplet_type), not " +
                                          std::to_string(type_of<T>));
    }
    return {static_cast<const T*>(info_.payload), info_.payload_count};
  }
  /// Returns the parameters and the payload, for example to dispatch them unchanged.
  [[nodiscard]] Content content() const noexcept {
    return {parameters(), info_.payload, info_.payload_count, info_.type};
  }

 private:
  couplet_task_info info_;
};

namespace detail {

/// The part that requesters, workers and couplers share.
class Tasks {
 public:
  /// Closes this process's part, and throws the errors that the destructor would ignore.
  void close() { check(couplet_tasks_close(owner_.release())); }
  [[nodiscard]] couplet_tasks* handle() const noexcept { return owner_.get(); }

 protected:
  explicit Tasks(couplet_tasks* handle) : owner_(handle) {}

  struct Taken {
    couplet_status status;
    couplet_task_info info;
  };
  [[nodiscard]] Taken take(const couplet_task_expectation* expected, double timeout_s) {
    Taken taken{COUPLET_OK, {}};
    taken.info.struct_bytes = sizeof taken.info;
    taken.status = check(couplet_tasks_next(handle(), expected, timeout_s, &taken.info));
    return taken;
  }

 private:
  Owner<couplet_tasks, couplet_tasks_close> owner_;
};

}  // namespace detail

/// The result of next(): a task, or the answer that says why there is none.
class Next {
 public:
  Next(couplet_status status, const couplet_task_info& info) : status_(status), work_(info) {}
  /// Returns COUPLET_OK, COUPLET_NOT_YET or COUPLET_END.
  [[nodiscard]] couplet_status status() const noexcept { return status_; }
  [[nodiscard]] explicit operator bool() const noexcept { return status_ == COUPLET_OK; }
  [[nodiscard]] const Work& operator*() const noexcept { return work_; }
  [[nodiscard]] const Work* operator->() const noexcept { return &work_; }

 private:
  couplet_status status_;
  Work work_;
};

/// Submits tasks and learns how they end.
class Requester : public detail::Tasks {
 public:
  explicit Requester(couplet_tasks* handle) : Tasks(handle) {}
  /// Submits a task to the workers with the id `worker`, or to any_worker. Blocking: until a coupler has taken it, at
  /// most timeout_s. With 0 it does not wait for room, but at most 10 s for the coupler's answer. Returns nothing if
  /// the coupler's queue is full and stays full (COUPLET_FULL).
  [[nodiscard]] std::optional<Task> submit(std::int32_t worker, const Content& content, double timeout_s = for_ever) {
    couplet_task* task = nullptr;
    const couplet_status status = detail::check(couplet_tasks_submit(
        handle(), worker, content.parameters.data(), static_cast<std::int32_t>(content.parameters.size()),
        content.payload, content.payload_count, content.type, timeout_s, &task));
    return status == COUPLET_OK ? std::optional<Task>(Task(task)) : std::nullopt;
  }
  /// Submits a task without a handle: close() throws the first error of such tasks. Returns false if the coupler's
  /// queue is full and stays full (COUPLET_FULL).
  [[nodiscard]] bool post(std::int32_t worker, const Content& content, double timeout_s = for_ever) {
    return detail::check(couplet_tasks_submit(handle(), worker, content.parameters.data(),
                                              static_cast<std::int32_t>(content.parameters.size()), content.payload,
                                              content.payload_count, content.type, timeout_s, nullptr)) == COUPLET_OK;
  }
};

/// What a worker expects of the next task. -1 accepts anything.
struct Expectation {
  std::int64_t parameter_count = -1;
  std::int64_t payload_count = -1;
  couplet_type type = -1;
};

/// Does tasks, together with the other ranks of its group.
class Worker : public detail::Tasks {
 public:
  explicit Worker(couplet_tasks* handle) : Tasks(handle) {}
  /// Takes the next task. Collective over the group. Blocking: at most timeout_s. Throws if the task is not as
  /// expected; the task is then handed back to its requester with the same error. If requesters come again after
  /// COUPLET_END, a later call gets their tasks; until then it gives COUPLET_END at once.
  [[nodiscard]] Next next(const Expectation& expected = {}, double timeout_s = for_ever) {
    couplet_task_expectation c;
    couplet_task_expectation_init(&c);
    c.parameter_count = expected.parameter_count;
    c.payload_count = expected.payload_count;
    c.type = expected.type;
    const Taken taken = take(&c, timeout_s);
    return {taken.status, taken.info};
  }
  /// Completes the task in hand with COUPLET_OK, or with an error code and its sentence `text`, which the requester
  /// gets. Collective over the group.
  void complete(couplet_status outcome = COUPLET_OK, const std::string& text = {}) {
    detail::check(couplet_tasks_complete(handle(), 0, outcome, detail::text_or_null(text)));
  }
};

/// Takes requests and gives them to workers.
class Coupler : public detail::Tasks {
 public:
  explicit Coupler(couplet_tasks* handle) : Tasks(handle) {}
  /// Takes the next request. Blocking: at most timeout_s.
  [[nodiscard]] Next next(double timeout_s = for_ever) {
    const Taken taken = take(nullptr, timeout_s);
    return {taken.status, taken.info};
  }
  /// Gives the task to the workers with the id `worker`, unchanged or with another content. Throws
  /// Error(COUPLET_ERROR_NOT_FOUND) if no workers have this id; the task then stays in hand.
  void dispatch(const Work& work, std::int32_t worker) { dispatch(work, worker, work.content()); }
  void dispatch(const Work& work, std::int32_t worker, const Content& content) {
    detail::check(couplet_tasks_dispatch(handle(), work.id(), worker, content.parameters.data(),
                                         static_cast<std::int32_t>(content.parameters.size()), content.payload,
                                         content.payload_count, content.type));
  }
  /// Ends the task without a worker. The requester gets `outcome` and `text`.
  void complete(const Work& work, couplet_status outcome = COUPLET_OK, const std::string& text = {}) {
    detail::check(couplet_tasks_complete(handle(), work.id(), outcome, detail::text_or_null(text)));
  }
  /// Runs the built-in coupler until all requesters have closed. Returns false if timeout_s has passed before that.
  /// Throws Error(COUPLET_ERROR_PEER_LOST) if the last requesters were lost before they had closed.
  [[nodiscard]] bool run(double timeout_s = for_ever) {
    return detail::check(couplet_tasks_run(handle(), timeout_s)) == COUPLET_OK;
  }
};

/// Says what becomes of a task whose worker is lost: it fails, or it is given to other workers.
enum class OnLost : std::int32_t { fail = COUPLET_TASKS_FAIL, retry = COUPLET_TASKS_RETRY };
/// Says how the workers for any_worker are chosen: the first idle ones, or each id in turn.
enum class Policy : std::int32_t { first_idle = COUPLET_TASKS_FIRST_IDLE, round_robin = COUPLET_TASKS_ROUND_ROBIN };

/// Says how a worker takes part. The members are those of couplet_tasks_options.
struct WorkerOptions {
  std::int32_t worker_id = -1;  ///< the id by which requests find this worker; -1: the id of its program
  /// Number of consecutive ranks that do a task together; 0: all ranks of the program.
  std::int32_t group_size = 0;
  std::string couplers = "coupler";  ///< the program whose ranks dispatch
};

/// Says how a coupler dispatches. The members are those of couplet_tasks_options.
struct CouplerOptions {
  OnLost on_lost = OnLost::fail;  ///< a lost worker's task fails, or is given to others
  Policy policy = Policy::first_idle;
  std::uint64_t queue_limit = 0;  ///< largest number of waiting tasks; 0: as many as memory holds
  std::string couplers = "coupler";
  std::string requesters = {};  ///< comma separated; empty: all programs that are not workers
  std::string workers = {};     ///< comma separated; empty: all programs that are not requesters
};

// ---- areas ----------------------------------------------------------------------------------------------------------

/// Describes an area.
struct AreaInfo {
  std::string name;
  std::string route;  ///< "own", "mapped", "memory" or "served"
  couplet_type type = COUPLET_BYTE;
  std::vector<std::int64_t> shape;
  std::int32_t owner = -1;  ///< universe rank
  bool stamped = false;
};

/// An array in the memory of its owner, which other processes read and write. Errors: as the functions couplet_area_*.
template <Element T>
class Area {
 public:
  explicit Area(couplet_area* handle) : owner_(handle) {
    if (const couplet_area_info c = info(); c.type != type_of<T>) {
      throw Error(COUPLET_ERROR_TYPE, "area '" + std::string(c.name) + "' has elements of type " +
                                          std::to_string(c.type) + " (couplet_type), not " +
                                          std::to_string(type_of<T>));
    }
  }

  /// Describes the area.
  [[nodiscard]] AreaInfo describe() const {
    const couplet_area_info c = info();
    return {c.name, c.route, c.type, {c.shape, c.shape + c.dimensions}, c.owner, c.stamped != 0};
  }
  /// Returns the elements if they are in this process's memory: the owner's, or an area whose route is "mapped".
  /// Otherwise it returns an empty span.
  [[nodiscard]] std::span<T> memory() const {
    const couplet_area_info c = info();
    std::size_t count = c.memory != nullptr ? 1 : 0;
    for (std::int32_t i = 0; i < c.dimensions; ++i) {
      count *= static_cast<std::size_t>(c.shape[i]);
    }
    return {static_cast<T*>(c.memory), count};
  }
  /// Reads data.size() elements, beginning with element `offset` in C order. Returns how often a stamped area has been
  /// written. Blocking: at most timeout_s.
  std::uint64_t read(std::uint64_t offset, std::span<T> data, double timeout_s = for_ever) {
    std::uint64_t stamp = 0;
    detail::check(couplet_area_read(handle(), offset, data.size(), data.data(), timeout_s, &stamp));
    return stamp;
  }
  /// Writes data.size() elements, beginning with element `offset` in C order. Otherwise it is as read.
  std::uint64_t write(std::uint64_t offset, std::span<const T> data, double timeout_s = for_ever) {
    std::uint64_t stamp = 0;
    detail::check(couplet_area_write(handle(), offset, data.size(), data.data(), timeout_s, &stamp));
    return stamp;
  }
  /// Reads the box `box` into `data`, which is contiguous in C order.
  std::uint64_t read(const Box& box, std::span<T> data, double timeout_s = for_ever) {
    fit(box, data.size(), "read");
    std::uint64_t stamp = 0;
    detail::check(couplet_area_read_box(handle(), box.start.data(), box.stop.data(), data.data(), timeout_s, &stamp));
    return stamp;
  }
  /// Writes the box `box` from `data`, which is contiguous in C order.
  std::uint64_t write(const Box& box, std::span<const T> data, double timeout_s = for_ever) {
    fit(box, data.size(), "write");
    std::uint64_t stamp = 0;
    detail::check(couplet_area_write_box(handle(), box.start.data(), box.stop.data(), data.data(), timeout_s, &stamp));
    return stamp;
  }
  /// Begins a change of a stamped area by its owner, in its own memory. Others cannot read or write until end().
  void begin(double timeout_s = for_ever) { detail::check(couplet_area_begin(handle(), timeout_s)); }
  /// Ends a change that begin() has begun.
  void end() { detail::check(couplet_area_end(handle())); }
  /// Closes the area, and throws the errors that the destructor would ignore.
  void close() { detail::check(couplet_area_close(owner_.release())); }
  [[nodiscard]] couplet_area* handle() const noexcept { return owner_.get(); }

 private:
  [[nodiscard]] couplet_area_info info() const {
    couplet_area_info c{};
    c.struct_bytes = sizeof c;
    detail::check(couplet_area_describe(owner_.get(), &c));
    return c;
  }
  /// Throws Error(COUPLET_ERROR_SHAPE) if the box is not inside the area, or has not `count` elements.
  void fit(const Box& box, std::size_t count, const char* verb) const {
    const couplet_area_info c = info();
    const auto dimensions = static_cast<std::size_t>(c.dimensions);
    const std::string where = std::string(verb) + ": area '" + c.name + "' ";
    if (box.start.size() != dimensions || box.stop.size() != dimensions) {
      throw Error(COUPLET_ERROR_SHAPE, where + "has " + std::to_string(dimensions) + " dimensions, the box has not");
    }
    std::size_t elements = 1;
    for (std::size_t i = 0; i < dimensions; ++i) {
      elements *= box.stop[i] > box.start[i] ? static_cast<std::size_t>(box.stop[i] - box.start[i]) : 0;
    }
    if (elements != count) {
      throw Error(COUPLET_ERROR_SHAPE, where + "and a box of " + std::to_string(elements) +
                                           " elements, the array has " + std::to_string(count));
    }
  }
  detail::Owner<couplet_area, couplet_area_close> owner_;
};

}  // namespace couplet

#endif
