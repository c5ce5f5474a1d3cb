// The Python objects that stand for handles of the C interface. Each keeps the universe's state, so that no handle is
// used after leave. The bindings in the .cpp files are built on it; it is built on calls.hpp.
// Tests: tests/languages.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "calls.hpp"

namespace couplet_python {

/// How a request has ended.
struct Ended {
  Outcome outcome;
  couplet_message message;
};

struct Request {
  std::shared_ptr<UniverseState> state;
  /// The buffer, which belongs to the library until the request is complete.
  nb::object buffer;
  couplet_request* handle = nullptr;
  bool is_completed_now = false;  ///< a call is running that completes it
  uint64_t element_bytes = 0;     ///< only for an array with gaps, which is one item for the library
  std::optional<Ended> ended{};   ///< it is told again, since the exception of a signal may take the place of a result

  Request(std::shared_ptr<UniverseState> universe, nb::object owner)
      : state(std::move(universe)), buffer(std::move(owner)) {}
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request();

  void forget_when_done();
  /// Returns the message with the number of elements.
  [[nodiscard]] couplet_message counted(couplet_message message) const noexcept;
  /// Notes the end of the request, if it has ended.
  void note(const Outcome& outcome, const couplet_message& message);
  /// Returns the message of a request that has ended, or raises its error.
  [[nodiscard]] couplet_message tell(const char* verb) const;
  couplet_message wait(double timeout_s);
  /// Withdraws a receive that has not met a message yet. Returns false if it has.
  bool withdraw();
  /// Returns the message, or None while the request is pending.
  nb::object test();
};

struct Group {
  std::shared_ptr<UniverseState> state;
  couplet_group* handle = nullptr;
  int32_t frees = 0;  ///< calls that are trying to free it; each may be refused

  [[nodiscard]] int32_t rank() const;
  [[nodiscard]] int32_t size() const;
  [[nodiscard]] std::unique_ptr<Request> isend(nb::handle buffer, int32_t target, int32_t tag) const;
  [[nodiscard]] std::unique_ptr<Request> irecv(nb::handle buffer, int32_t source, int32_t tag) const;
  void free();
  /// Returns the handle. Raises StateError if the group was freed.
  [[nodiscard]] couplet_group* open_handle(const char* verb) const;
  [[nodiscard]] bool is_open() const { return handle != nullptr && frees == 0; }

 private:
  void look(const char* verb, int32_t& rank, int32_t& size) const;
};

/// One field of a series, as this rank has it.
struct Field {
  std::string name;
  couplet_type type;
  int32_t dimensions;
  int32_t box_count;
  uint64_t step_bytes;
  std::vector<int64_t> shape;
  std::vector<int64_t> start;  ///< corners of the boxes, one after the other
  std::vector<int64_t> stop;
};
struct Description {
  std::string name;
  std::string program;
  std::string route;
  uint64_t slots = 0;
  int32_t writers = 0;
  std::vector<Field> fields;
};

/// What a call has taken that the exception of a signal has ended.
struct Untold {
  std::string call;
  Outcome outcome;
  nb::object answer;
  nb::object arrays{};          ///< copies of those that a read has filled
  std::vector<double> times{};  ///< the arguments of a read_at
};

struct Series {
  std::shared_ptr<UniverseState> state;
  couplet_series* handle = nullptr;
  /// The next read gives it out.
  std::optional<Untold> untold{};
  /// A copy of the library's description, which never changes.
  mutable std::shared_ptr<const Description> description{};

  Series(std::shared_ptr<UniverseState> universe, couplet_series* series)
      : state(std::move(universe)), handle(series) {}

  [[nodiscard]] nb::dict describe() const;
  [[nodiscard]] nb::dict statistics() const;
  /// Says how long a writer has waited for holding readers, and for which of them.
  [[nodiscard]] nb::dict waits() const;
  [[nodiscard]] nb::object retained() const;
  /// Puts an array. Returns false if the slots are full.
  [[nodiscard]] bool put(nb::handle array, int64_t step) const;
  void publish() const;
  void abandon() const;
  /// An array for each box of each field, of any order and with gaps. False: full.
  [[nodiscard]] bool put_arrays(const nb::list& arrays, int64_t step) const;
  /// Returns arrays over the boxes of all fields, or None if the slots are full. They keep the slots mapped; in the
  /// window of an MPI job, which ends with the universe, they keep only `owner`.
  [[nodiscard]] nb::object claim_arrays(int64_t step, nb::handle owner) const;
  void set_time(double time) const;
  /// Returns (status, count, steps, ordinals, torn, lost, incarnation, times). The steps are copied into `outs`, one
  /// array for each field.
  [[nodiscard]] nb::tuple read(uint64_t at_least, uint64_t up_to, double timeout_s, const nb::list& outs);
  /// The same, of values at physical times.
  [[nodiscard]] nb::tuple read_at(const std::vector<double>& times, double timeout_s, const nb::list& outs);
  /// Takes the place of a read, a read_at, or a put or claim, that the package has refused: the other ranks are told.
  void refuse_read(couplet_status error, const std::string& text) const;
  void refuse_read_at(couplet_status error, const std::string& text) const;
  void refuse_put(couplet_status error, const std::string& text) const;
  void close();

 private:
  [[nodiscard]] couplet_series* open_handle(const char* verb) const;
  [[nodiscard]] std::shared_ptr<const Description> described(couplet_series* series, const char* verb) const;
  couplet_status check(const Outcome& outcome, const char* verb) const;
  /// Makes this rank's part of a call that was refused.
  static void refuse(couplet_series* series, const Refusal& why,
                     couplet_status (*call)(couplet_series*, couplet_status, const char*));
  template <typename Call>
  [[nodiscard]] nb::tuple read_batch(const char* verb, const std::vector<LooseMemory>& outs,
                                     const std::vector<double>& times, const Call& call);
  /// Gives out what an interrupted call has taken. Its arrays are copied to `outs`, which have room for so many steps.
  [[nodiscard]] nb::tuple tell(const char* verb, uint64_t room, const nb::list& outs);
};

/// One task, as its requester sees it.
struct Task {
  std::shared_ptr<UniverseState> state;
  couplet_task* handle = nullptr;
  std::shared_ptr<const bool> are_closed;  ///< the tasks with which it was submitted
  bool is_completed_now = false;           ///< a call is running that completes it
  std::optional<Outcome> ended{};          ///< it is told again, as that of a request
  bool is_told = false;                    ///< a call has told the end

  /// Raises an error if it is pending in tasks that are closed, which have freed it.
  void check_open(const char* verb) const;
  /// Notes the end of the task, if it has ended.
  void note(const Outcome& outcome);
  /// Raises the error of a task that has ended, if it had one.
  void tell(const char* verb);
  /// Waits until the task is done, and raises the error with which it ended.
  void wait(double timeout_s);
  /// Says whether the task is done.
  [[nodiscard]] bool test();
};

struct TaskOptions {
  int32_t role;
  int32_t worker_id;
  int32_t group_size;
  int32_t on_lost;
  int32_t policy;
  uint64_t queue_limit;
  std::string couplers;
  std::string requesters;
  std::string workers;
};

/// One process's part in tasks, in any role.
struct Tasks {
  std::shared_ptr<UniverseState> state;
  couplet_tasks* handle = nullptr;
  std::string name{};
  std::shared_ptr<bool> are_closed = std::make_shared<bool>(false);
  /// The next call of `next` gives it out.
  std::optional<Untold> untold{};

  /// Submits a task. Returns None if the coupler's queue is full.
  [[nodiscard]] nb::object submit(int32_t worker, const std::vector<int64_t>& parameters, nb::handle payload,
                                  double timeout_s) const;
  /// Returns (status, id, source, worker, parameters, payload or None, whether that was of bytes).
  [[nodiscard]] nb::tuple next(int64_t parameters, int64_t count, couplet_type type, double timeout_s);
  /// Takes the place of a next that the package has refused: the other ranks of the group are told.
  void refuse_next(couplet_status error, const std::string& text) const;
  void complete(uint64_t id, couplet_status outcome, const std::string& text) const;
  /// as_bytes: an array of integers of one byte goes as bytes, as which it has come.
  void dispatch(uint64_t id, int32_t worker, const std::vector<int64_t>& parameters, nb::handle payload,
                bool as_bytes) const;
  /// Runs the built-in coupler. Returns false after the timeout.
  [[nodiscard]] bool run(double timeout_s);
  void close();

 private:
  void dispatch_untold();
  [[nodiscard]] couplet_tasks* open_handle(const char* verb) const;
  couplet_status check(const Outcome& outcome, const char* verb) const;
};

/// An area that this process has created or opened.
struct Area {
  std::shared_ptr<UniverseState> state;
  couplet_area* handle = nullptr;
  nb::object owned;  ///< the exposed array
  std::string name;

  [[nodiscard]] nb::dict describe() const;
  /// Returns an array over the elements if they are in this process, else None. It keeps them where they are.
  [[nodiscard]] nb::object memory() const;
  /// Returns a new array, and the stamp.
  [[nodiscard]] nb::tuple read(const std::vector<int64_t>& start, const std::vector<int64_t>& stop,
                               double timeout_s) const;
  [[nodiscard]] nb::tuple read_elements(uint64_t offset, uint64_t count, double timeout_s) const;
  uint64_t write(nb::handle array, const std::vector<int64_t>& start, const std::vector<int64_t>& stop,
                 double timeout_s) const;
  uint64_t write_elements(nb::handle array, uint64_t offset, double timeout_s) const;
  void begin(double timeout_s) const;
  void end() const;
  void close();

 private:
  /// Describes the area. What it points to is valid until the GIL is released.
  [[nodiscard]] couplet_area_info info(const char* verb) const;
  couplet_status check(const Outcome& outcome, const char* verb) const;
};

/// The terms of an edge of an exchange.
struct EdgeTerms {
  int32_t peer;
  int64_t tag;
  std::string title;
  uint64_t every;
  uint64_t offset;
  bool is_variable;
};

/// One process's part in an exchange.
struct Exchange {
  std::shared_ptr<UniverseState> state;
  couplet_exchange* handle = nullptr;
  std::vector<nb::object> arrays{};  ///< the edges are parts of them
  HiddenEnd hidden_end{};            ///< of freeze or wait

  /// Adds an array, which may have gaps, to an edge, and returns the number of the edge.
  uint32_t add(nb::handle array, const EdgeTerms& terms, bool sends);
  uint32_t add_list(nb::handle array, const std::vector<int64_t>& indices, uint64_t block, const EdgeTerms& terms,
                    bool sends);
  void freeze();
  void start();
  [[nodiscard]] bool test();
  void wait(double timeout_s);
  [[nodiscard]] bool arrived(uint32_t edge) const;
  void set_length(uint32_t edge, uint64_t bytes) const;
  [[nodiscard]] uint64_t length(uint32_t edge) const;
  [[nodiscard]] std::string method() const;
  [[nodiscard]] std::string explain() const;
  void close();

 private:
  [[nodiscard]] couplet_exchange* open_handle(const char* verb) const;
  couplet_status check(const Outcome& outcome, const char* verb) const;
};

/// Makes an operation of collective calls from a function of two arrays, and returns its number.
[[nodiscard]] int32_t create_operation(couplet_universe* universe, const std::string& name, nb::object function,
                                       bool commutative);
[[nodiscard]] std::unique_ptr<Tasks> open_tasks(const std::shared_ptr<UniverseState>& state, const std::string& name,
                                                const TaskOptions& options);
/// Creates an area over the array `memory`. If it is None, the library provides the memory.
[[nodiscard]] std::unique_ptr<Area> create_area(const std::shared_ptr<UniverseState>& state, const std::string& name,
                                                couplet_type type, const std::vector<int64_t>& shape, bool stamped,
                                                nb::handle memory);
[[nodiscard]] std::unique_ptr<Area> open_area(const std::shared_ptr<UniverseState>& state, const std::string& name,
                                              int32_t owner, double timeout_s);

/// A field as the package describes it: name ("" for the only one), type, shape, corners of the boxes, and number of
/// boxes.
using FieldTuple =
    std::tuple<std::string, couplet_type, std::vector<int64_t>, std::vector<int64_t>, std::vector<int64_t>, int32_t>;
/// A field to be read: its name, and start and stop of its box, or none.
using ChoiceTuple = std::tuple<std::string, std::optional<std::vector<int64_t>>, std::optional<std::vector<int64_t>>>;

/// Weights as the package has checked them: source points, row offsets, sources, weights, mask (empty: none), fill.
using WeightsTuple =
    std::tuple<int64_t, std::vector<int64_t>, std::vector<int64_t>, std::vector<double>, std::vector<uint8_t>, double>;

struct CreateOptions {
  uint64_t slots;
  uint64_t memory_bytes;
  std::string required_readers;
  double required_timeout_s;
  double wait_timeout_s;
  double evict_after_held_s;
  const Group* group;
  uint64_t holders;
  bool collective;
};

struct OpenOptions {
  std::optional<std::vector<int64_t>> start;
  std::optional<std::vector<int64_t>> stop;
  const Group* group;
  std::vector<ChoiceTuple> choices;
  std::optional<WeightsTuple> weights;
  couplet_series_open_options plain;  // with those options that are plain values
};

[[nodiscard]] std::unique_ptr<Series> create_series(const std::shared_ptr<UniverseState>& state,
                                                    const std::string& name, const std::vector<FieldTuple>& fields,
                                                    const CreateOptions& options);
[[nodiscard]] std::unique_ptr<Series> open_series(const std::shared_ptr<UniverseState>& state, const std::string& name,
                                                  const OpenOptions& options);

}  // namespace couplet_python
