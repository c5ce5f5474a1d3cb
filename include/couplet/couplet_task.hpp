// Part of couplet.hpp: tasks (requests that workers do) and areas (memory that others read and write). Include couplet.hpp.
// Universe::open_requester, open_worker, open_coupler, create_area and open_area make what is here. Tests: tests/languages.
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

inline constexpr std::int32_t any_worker = COUPLET_ANY_WORKER;

/// Parameters and payload of a request; the caller's memory.
struct Content {
  std::span<const std::int64_t> parameters = {};
  const void* payload = nullptr;
  std::uint64_t payload_count = 0;
  couplet_type type = COUPLET_BYTE;
};

/// Parameters alone.
[[nodiscard]] inline Content content_of(std::span<const std::int64_t> parameters) {
  return {parameters, nullptr, 0, COUPLET_BYTE};
}
template <Element T>
[[nodiscard]] Content content_of(std::span<const std::int64_t> parameters, std::span<const T> payload) {
  return {parameters, payload.data(), payload.size(), type_of<T>};
}
template <Element T>
[[nodiscard]] Content content_of(std::span<const std::int64_t> parameters, const std::vector<T>& payload) {
  return content_of(parameters, std::span<const T>(payload));
}

/// One request, for its requester; has to end before the Requester does. A pending one that is dropped goes on by itself.
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
  /// Throws how the task ended, where that is an error; Error(COUPLET_ERROR_TIMEOUT) leaves it pending.
  void wait(double timeout_s = for_ever) { detail::check(couplet_task_wait(&handle_, timeout_s)); }
  /// Is it done? Throws how it ended, where that is an error; never blocks.
  bool test() {
    std::int32_t done = 0;
    detail::check(couplet_task_test(&handle_, &done));
    return done != 0;
  }
  [[nodiscard]] couplet_task* handle() const noexcept { return handle_; }
  /// For wait_any: what the C call left.
  void reset(couplet_task* handle) noexcept { handle_ = handle; }

 private:
  couplet_task* handle_ = nullptr;
};

/// Index of a task that is done, -1 where none is pending; throws how it ended, where that is an error.
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

/// A task in the hands of a worker or coupler; its memory is the library's until it is completed or dispatched.
class Work {
 public:
  explicit Work(const couplet_task_info& info) noexcept : info_(info) {}
  [[nodiscard]] std::uint64_t id() const noexcept { return info_.id; }
  /// Universe rank of its requester.
  [[nodiscard]] std::int32_t source() const noexcept { return info_.source; }
  [[nodiscard]] std::int32_t worker() const noexcept { return info_.worker; }
  [[nodiscard]] std::span<const std::int64_t> parameters() const noexcept {
    return {info_.parameters, static_cast<std::size_t>(info_.parameter_count)};
  }
  [[nodiscard]] couplet_type type() const noexcept { return info_.type; }
  [[nodiscard]] std::uint64_t payload_count() const noexcept { return info_.payload_count; }
  /// Throws Error(COUPLET_ERROR_TYPE) where the payload has elements of another type.
  template <Element T>
  [[nodiscard]] std::span<const T> payload() const {
    if (info_.payload_count > 0 && info_.type != type_of<T>) {
      throw Error(COUPLET_ERROR_TYPE, "payload of task " + std::to_string(info_.id) + ": its elements have type " +
                                          std::to_string(info_.type) + " (couplet_type), not " +
                                          std::to_string(type_of<T>));
    }
    return {static_cast<const T*>(info_.payload), info_.payload_count};
  }
  [[nodiscard]] Content content() const noexcept {
    return {parameters(), info_.payload, info_.payload_count, info_.type};
  }

 private:
  couplet_task_info info_;
};

namespace detail {

/// What the three roles have in common.
class Tasks {
 public:
  /// Throws what the destructor would swallow.
  void close() { check(couplet_task_close(owner_.release())); }
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
    taken.status = check(couplet_task_next(handle(), expected, timeout_s, &taken.info));
    return taken;
  }

 private:
  Owner<couplet_tasks, couplet_task_close> owner_;
};

}  // namespace detail

/// What next() found: a task, or why there is none.
class Next {
 public:
  Next(couplet_status status, const couplet_task_info& info) : status_(status), work_(info) {}
  /// COUPLET_OK, COUPLET_NOT_YET or COUPLET_END.
  [[nodiscard]] couplet_status status() const noexcept { return status_; }
  [[nodiscard]] explicit operator bool() const noexcept { return status_ == COUPLET_OK; }
  [[nodiscard]] const Work& operator*() const noexcept { return work_; }
  [[nodiscard]] const Work* operator->() const noexcept { return &work_; }

 private:
  couplet_status status_;
  Work work_;
};

class Requester : public detail::Tasks {
 public:
  explicit Requester(couplet_tasks* handle) : Tasks(handle) {}
  /// Returns when a coupler has taken the request; nothing: FULL, the coupler's queue is, and stayed so.
  [[nodiscard]] std::optional<Task> submit(std::int32_t worker, const Content& content, double timeout_s = for_ever) {
    couplet_task* task = nullptr;
    const couplet_status status = detail::check(couplet_task_submit(
        handle(), worker, content.parameters.data(), static_cast<std::int32_t>(content.parameters.size()),
        content.payload, content.payload_count, content.type, timeout_s, &task));
    return status == COUPLET_OK ? std::optional<Task>(Task(task)) : std::nullopt;
  }
  /// Without a handle: close() tells the first error. False: FULL.
  [[nodiscard]] bool post(std::int32_t worker, const Content& content, double timeout_s = for_ever) {
    return detail::check(couplet_task_submit(handle(), worker, content.parameters.data(),
                                             static_cast<std::int32_t>(content.parameters.size()), content.payload,
                                             content.payload_count, content.type, timeout_s, nullptr)) == COUPLET_OK;
  }
};

/// What a worker expects of the next task; -1: anything.
struct Expectation {
  std::int64_t parameter_count = -1;
  std::int64_t payload_count = -1;
  couplet_type type = -1;
};

class Worker : public detail::Tasks {
 public:
  explicit Worker(couplet_tasks* handle) : Tasks(handle) {}
  /// Collective over the group. Throws where the task is not as expected: it went back to its requester with that error.
  [[nodiscard]] Next next(const Expectation& expected = {}, double timeout_s = for_ever) {
    couplet_task_expectation c;
    couplet_task_expectation_init(&c);
    c.parameter_count = expected.parameter_count;
    c.payload_count = expected.payload_count;
    c.type = expected.type;
    const Taken taken = take(&c, timeout_s);
    return {taken.status, taken.info};
  }
  /// Collective: the task in hand is done; outcome: COUPLET_OK or an error code, with its sentence, for the requester.
  void complete(couplet_status outcome = COUPLET_OK, const std::string& text = {}) {
    detail::check(couplet_task_complete(handle(), 0, outcome, detail::text_or_null(text)));
  }
};

class Coupler : public detail::Tasks {
 public:
  explicit Coupler(couplet_tasks* handle) : Tasks(handle) {}
  [[nodiscard]] Next next(double timeout_s = for_ever) {
    const Taken taken = take(nullptr, timeout_s);
    return {taken.status, taken.info};
  }
  void dispatch(const Work& work, std::int32_t worker) { dispatch(work, worker, work.content()); }
  void dispatch(const Work& work, std::int32_t worker, const Content& content) {
    detail::check(couplet_task_dispatch(handle(), work.id(), worker, content.parameters.data(),
                                        static_cast<std::int32_t>(content.parameters.size()), content.payload,
                                        content.payload_count, content.type));
  }
  /// Ends it without a worker.
  void complete(const Work& work, couplet_status outcome = COUPLET_OK, const std::string& text = {}) {
    detail::check(couplet_task_complete(handle(), work.id(), outcome, detail::text_or_null(text)));
  }
  /// The built-in coupler; false: the time is over, and the requesters have not all closed.
  [[nodiscard]] bool run(double timeout_s = for_ever) {
    return detail::check(couplet_task_run(handle(), timeout_s)) == COUPLET_OK;
  }
};

enum class OnLost : std::int32_t { fail = COUPLET_TASK_FAIL, retry = COUPLET_TASK_RETRY };
enum class Policy : std::int32_t { first_idle = COUPLET_FIRST_IDLE, round_robin = COUPLET_ROUND_ROBIN };

struct WorkerOptions {
  std::int32_t worker_id = -1;       ///< by which requests find it; -1: the id of its program
  std::int32_t group_size = 0;       ///< consecutive ranks that do a task together; 0: all of the program
  std::string couplers = "coupler";  ///< the program whose ranks dispatch
};

struct CouplerOptions {
  OnLost on_lost = OnLost::fail;  ///< a lost worker's task is handed back, or done by others
  Policy policy = Policy::first_idle;
  std::uint64_t queue_limit = 0;  ///< tasks that wait; 0: as many as memory holds
  std::string couplers = "coupler";
  std::string requesters = {};  ///< comma separated; empty: all that are no workers
  std::string workers = {};     ///< comma separated; empty: all that are no requesters
};

// ---- areas ----------------------------------------------------------------------------------------------------------

struct AreaInfo {
  std::string name;
  std::string route;  ///< "own", "mapped", "memory" or "served"
  couplet_type type = COUPLET_BYTE;
  std::vector<std::int64_t> shape;
  std::int32_t owner = -1;  ///< universe rank
  bool stamped = false;
};

/// Memory that its owner exposes and others read and write.
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

  [[nodiscard]] AreaInfo describe() const {
    const couplet_area_info c = info();
    return {c.name, c.route, c.type, {c.shape, c.shape + c.dimensions}, c.owner, c.stamped != 0};
  }
  /// The elements in this process: owner and route "mapped"; else empty.
  [[nodiscard]] std::span<T> memory() const {
    const couplet_area_info c = info();
    std::size_t count = c.memory != nullptr ? 1 : 0;
    for (std::int32_t i = 0; i < c.dimensions; ++i) {
      count *= static_cast<std::size_t>(c.shape[i]);
    }
    return {static_cast<T*>(c.memory), count};
  }
  /// data.size() elements from element `offset` on, C order. Returns how often a stamped area has been written.
  std::uint64_t read(std::uint64_t offset, std::span<T> data, double timeout_s = for_ever) {
    std::uint64_t stamp = 0;
    detail::check(couplet_area_read(handle(), offset, data.size(), data.data(), timeout_s, &stamp));
    return stamp;
  }
  std::uint64_t write(std::uint64_t offset, std::span<const T> data, double timeout_s = for_ever) {
    std::uint64_t stamp = 0;
    detail::check(couplet_area_write(handle(), offset, data.size(), data.data(), timeout_s, &stamp));
    return stamp;
  }
  std::uint64_t read(const Box& box, std::span<T> data, double timeout_s = for_ever) {
    fit(box, data.size(), "read");
    std::uint64_t stamp = 0;
    detail::check(couplet_area_read_box(handle(), box.start.data(), box.stop.data(), data.data(), timeout_s, &stamp));
    return stamp;
  }
  std::uint64_t write(const Box& box, std::span<const T> data, double timeout_s = for_ever) {
    fit(box, data.size(), "write");
    std::uint64_t stamp = 0;
    detail::check(couplet_area_write_box(handle(), box.start.data(), box.stop.data(), data.data(), timeout_s, &stamp));
    return stamp;
  }
  /// Owner of a stamped area: around his own changes of its memory.
  void begin(double timeout_s = for_ever) { detail::check(couplet_area_begin(handle(), timeout_s)); }
  void end() { detail::check(couplet_area_end(handle())); }
  void close() { detail::check(couplet_area_close(owner_.release())); }
  [[nodiscard]] couplet_area* handle() const noexcept { return owner_.get(); }

 private:
  [[nodiscard]] couplet_area_info info() const {
    couplet_area_info c{};
    c.struct_bytes = sizeof c;
    detail::check(couplet_area_describe(owner_.get(), &c));
    return c;
  }
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
