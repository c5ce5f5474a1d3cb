// Turns a Python call into a call of the C interface: without the GIL, with looks for signals so that Ctrl-C works, and
// by one thread at a time. A status becomes an exception of couplet.errors. The bindings in universe.cpp, messages.cpp,
// collectives.cpp, exchanges.cpp, series.cpp, tasks.cpp, areas.cpp and waiting.cpp are built on it; it is built on
// couplet.h.
// Invariants: the error text is fetched by the thread that made the call; a buffer lives for as long as the library may
// touch it, also if Python has dropped the request. No thread waits for its turn with the GIL. A handle is read once
// for each call, with the GIL, since another thread may close it meanwhile. What the library gives out as pointers is
// copied before another thread has the turn. A thread that is in a call when the interpreter ends stays there.
// Tests: tests/languages.
#pragma once

#include <Python.h>
#include <couplet/couplet.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capi/private.h"

namespace couplet_python {

namespace nb = nanobind;

constexpr double slice_s = 0.1;  ///< time between two looks for signals
constexpr double stop_s = 0.5;   ///< time for an interrupted call to end

/// Raises the class of couplet.errors that belongs to the status. The caller holds the GIL.
[[noreturn]] void raise(couplet_status status, const std::string& text);

/// Waits for the GIL. While the interpreter ends, Python would end the thread here, and unwind its C++ functions, which
/// must not all be unwound. The thread then stays here, for as long as the process lives.
void take_gil(PyThreadState* state) noexcept;

/// While it exists, this thread does not have the GIL.
class Released {
 public:
  Released() : state_(PyEval_SaveThread()) {}
  ~Released() { take_gil(state_); }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PyThreadState* state_;
};

/// Guards each function of the module: if Python ends the thread within it, the thread stays there.
struct StaysAtExit {
  StaysAtExit() = default;
  ~StaysAtExit();
  StaysAtExit(const StaysAtExit&) = delete;
  StaysAtExit& operator=(const StaysAtExit&) = delete;
};
using Stays = nb::call_guard<StaysAtExit>;

struct Outcome {
  couplet_status status = COUPLET_OK;
  std::string text;  ///< text of an error
};

/// Returns a text of the library in the words of Python: the name of a C function in front becomes `verb`, the name of
/// the Python call, and those that it refers to become their counterparts.
std::string in_words_of(const std::string& verb, std::string text);

/// Returns a number with its noun for a text: "1 step", "2 steps".
inline std::string counted(uint64_t number, const std::string& one, const std::string& several) {
  return std::to_string(number) + " " + (number == 1 ? one : several);
}

/// Raises errors, and returns answers. verb: the name of the Python call.
inline couplet_status check(const Outcome& outcome, const char* verb) {
  if (outcome.status < 0) {
    raise(outcome.status, in_words_of(verb, outcome.text));
  }
  return outcome.status;
}

/// A request that Python dropped while it was pending, with its buffer.
struct Parked {
  couplet_request* request;
  nb::object buffer;
};

/// The state that all objects of one universe share.
struct UniverseState {
  couplet_universe* handle = nullptr;
  bool multiple_threads = false;
  std::atomic<bool> in_use = false;
  std::atomic<int> callbacks = 0;   ///< of coalesced rounds that are running
  std::deque<Parked> parked;        ///< those that were not tested for longest come first
  std::vector<nb::object> exposed;  ///< the arrays of areas, until the areas are closed

  UniverseState() = default;
  UniverseState(const UniverseState&) = delete;
  UniverseState& operator=(const UniverseState&) = delete;
  /// Gives up the buffers of a universe that was never left, since the library may still write into them.
  ~UniverseState();
  /// Tests some of the dropped requests, and frees the buffers of those that are complete by now. The caller holds the
  /// GIL, which is released meanwhile.
  void sweep();
};

/// Marks the state as in use for one call. Raises ThreadError if another call is running, and StateError after leave.
class Use {
 public:
  Use(std::shared_ptr<UniverseState> state, const char* verb);
  ~Use() { release(); }
  /// Gives the universe of the call, also after another thread has begun to leave it.
  [[nodiscard]] couplet_universe* universe() const { return universe_; }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  void release();
  /// Hands the mark to a call that goes on without its caller. The thread that finishes the call removes the mark.
  std::shared_ptr<UniverseState> hand_over();

 private:
  std::shared_ptr<UniverseState> state_;
  couplet_universe* universe_;
};

/// Marks a request or task for the time of a call that completes it, and thereby frees its handle. Raises StateError if
/// another thread is in such a call.
class Completes {
 public:
  Completes(bool& mark, const char* verb);
  ~Completes() { mark_ = false; }
  Completes(const Completes&) = delete;
  Completes& operator=(const Completes&) = delete;

 private:
  bool& mark_;
};

/// Raises the error of a call on a handle. If another thread has closed the handle or left the universe meanwhile, this
/// is the error. open: whether the object still has the handle. what: the handle's name in the text, such as "series".
couplet_status check_open(const Outcome& outcome, const UniverseState& state, bool open, const char* verb,
                          const char* what);

/// The code and the sentence of an exception, for ranks that are told of it.
struct Refusal {
  couplet_status error;
  std::string text;
};
/// Describes an exception that is being thrown. The caller holds the GIL.
Refusal refusal_of(const nb::python_error& error);

/// Prepares a collective call. If that fails, refuse(refusal) tells the other ranks before the exception goes on.
template <class Prepare, class Refuse>
auto prepared(const Prepare& prepare, const Refuse& refuse) {
  try {
    return prepare();
  } catch (const nb::python_error& error) {
    refuse(refusal_of(error));
    throw;
  }
}

/// Gives the outcome of a call that this thread has made.
inline Outcome outcome_of(couplet_status status) {
  return {status, status < 0 ? couplet_error_text() : ""};
}

/// Makes a call without the GIL.
template <class Call>
Outcome unlocked(Call&& call) {
  Outcome outcome;
  const Released released;
  outcome.status = call();
  if (outcome.status < 0) {
    outcome.text = couplet_error_text();
  }
  return outcome;
}

/// Makes a call, and copies with take() what it has given out, before another thread can close what it points to.
template <class Call, class Take>
couplet_status taken(Call&& call, const Take& take) {
  struct Taker {
    const Take& take;
    bool done = false;
    explicit Taker(const Take& to_call) : take(to_call) {
      couplet_private_set_taker([](void* self) { static_cast<Taker*>(self)->run(); }, this);
    }
    ~Taker() { couplet_private_set_taker(nullptr, nullptr); }
    void run() {
      take();
      done = true;
    }
  } taker(take);
  const couplet_status status = call();
  if (status == COUPLET_OK && !taker.done) {
    taker.run();
  }
  return status;
}

/// Remembers which thread is Python's main thread. To be called when the module is imported.
void remember_main_thread();

/// While it exists, Couplet's calls of this thread look for signals if it is Python's main thread. Python handles
/// signals in no other thread; to look for them there would make the thread wait for the GIL while it has the turn.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  /// Says whether a signal has come whose handler has raised an exception. The caller holds the GIL, as for `raise`.
  [[nodiscard]] bool has_come();
  /// Raises that exception.
  [[noreturn]] void raise();

 private:
  static int32_t check(void* self);
  nb::object raised_;
};

/// Makes a call that waits. A signal may come when the call is about to end. It is raised nevertheless, after
/// keep(outcome) has put aside what the call has given: Python would drop it. The next call gives it out.
template <class Call, class Keep>
Outcome blocking(Call&& call, const Keep& keep) {
  Interruption interruption;
  const Outcome outcome = unlocked(std::forward<Call>(call));
  if (interruption.has_come()) {
    if (outcome.status != COUPLET_INTERRUPTED) {
      keep(outcome);
    }
    interruption.raise();
  }
  return outcome;
}

/// Makes a call that waits, and that gives nothing which the next call could give out.
template <class Call>
Outcome blocking(Call&& call) {
  return blocking(std::forward<Call>(call), [](const Outcome&) {});
}

/// Makes a call that the interrupt check does not reach (rounds and halos), or that has to end now and then. It calls
/// call(slice) until the answer is another one than `waiting`, or until timeout_s (< 0: for ever) has passed, and looks
/// for signals between the slices.
template <class Call, class Waiting>
Outcome sliced(double timeout_s, Call&& call, Waiting&& waiting) {
  double left = timeout_s;
  for (;;) {
    // A timeout of NaN goes to the call, which refuses it.
    const bool last = !(timeout_s < 0) && !(left > slice_s);
    const double slice = last ? left : slice_s;
    Outcome outcome = unlocked([&] { return call(slice); });
    if (last || !waiting(outcome)) {
      return outcome;
    }
    if (PyErr_CheckSignals() != 0) {
      throw nb::python_error();
    }
    left -= slice_s;
  }
}

/// For sliced(): says whether the call has waited for its whole slice.
[[nodiscard]] inline bool has_timed_out(const Outcome& outcome) {
  return outcome.status == COUPLET_ERROR_TIMEOUT;
}

/// The end of a call that the exception of a signal has hidden. The same call tells it when it is made again.
class HiddenEnd {
 public:
  /// Tells the hidden end of such a call, or makes the call: make(keep) gives keep(outcome) what a signal hides.
  template <class Make>
  Outcome told_or(const char* verb, Make&& make) {
    if (const auto hidden = take(verb)) {
      return *hidden;
    }
    return make([&](const Outcome& outcome) {
      if (!has_timed_out(outcome)) {
        hidden_.emplace(verb, outcome);
      }
    });
  }
  /// Makes a call that the interrupt check reaches.
  template <class Call>
  Outcome blocking(const char* verb, Call&& call) {
    return told_or(verb, [&](const auto& keep) { return couplet_python::blocking(std::forward<Call>(call), keep); });
  }
  /// Makes a call in slices; see couplet_python::sliced.
  template <class Call>
  Outcome sliced(const char* verb, double timeout_s, Call&& call) {
    return told_or(verb, [&](const auto& keep) {
      const Outcome outcome = couplet_python::sliced(timeout_s, std::forward<Call>(call), has_timed_out);
      if (!has_timed_out(outcome) && PyErr_CheckSignals() != 0) {
        const nb::python_error error;
        keep(outcome);
        throw error;
      }
      return outcome;
    });
  }
  /// Returns the hidden end of a call, which is told by that.
  std::optional<Outcome> take(std::string_view verb) {
    if (!hidden_ || hidden_->first != verb) {
      return std::nullopt;
    }
    return std::exchange(hidden_, std::nullopt)->second;
  }
  /// To be called when another call has begun something new.
  void forget() { hidden_.reset(); }

 private:
  std::optional<std::pair<std::string_view, Outcome>> hidden_;
};

/// Makes a call that cannot be interrupted everywhere on a thread of its own, so that Ctrl-C is noticed meanwhile. The
/// exception of a signal takes the place of the result also if the call has just ended. `abandoned` is called with a
/// result that Python does not get, on either thread. Both functions must own everything that they refer to.
Outcome interruptible(std::function<couplet_status()> call, std::function<void(couplet_status)> abandoned);

/// The memory of an array or buffer: C-contiguous, in main memory, and with an element type that Couplet has.
struct Memory {
  nb::ndarray<nb::ro> array;
  void* data;
  uint64_t count;
  uint64_t bytes;
  couplet_type type;
};
Memory read_only_memory(nb::handle object, const char* verb);
Memory writable_memory(nb::handle object, const char* verb);
/// Returns what has to be kept so that the memory of the object stays where it is: the object, or a view that stops a
/// bytearray from growing or being cleared.
nb::object held_memory(nb::handle object);
/// A type that was made for one call.
class MadeType {
 public:
  MadeType() = default;
  explicit MadeType(couplet_type type) noexcept : type_(type) {}
  MadeType(MadeType&& other) noexcept : type_(std::exchange(other.type_, -1)) {}
  MadeType& operator=(MadeType&& other) noexcept {
    std::swap(type_, other.type_);
    return *this;
  }
  MadeType(const MadeType&) = delete;
  MadeType& operator=(const MadeType&) = delete;
  ~MadeType() {
    if (type_ >= 0) {
      static_cast<void>(couplet_type_free(&type_));
    }
  }
  [[nodiscard]] couplet_type get() const noexcept { return type_; }

 private:
  couplet_type type_ = -1;
};
/// The memory of an array that is sent or received as it lies: dense or, as one item of a made type, in any order and
/// with gaps.
struct MessageMemory {
  Memory memory;  ///< if the array has gaps, `count` and `type` are those of the one item
  MadeType made;
  uint64_t element_bytes = 0;  ///< only if the array has gaps
};
MessageMemory message_memory(nb::handle object, bool writable, const char* verb);
/// The memory of an array in any order and with gaps. The strides are in bytes.
struct LooseMemory {
  Memory memory;
  std::vector<int64_t> strides;
  std::vector<int64_t> shape;
};
LooseMemory loose_memory(nb::handle object, bool writable, const char* verb);

/// Returns an object that keeps memory of the library mapped for as long as it lives, whatever is closed or left
/// meanwhile. keeper: of couplet_private_keep_*, which is taken over. If it is NULL, the object is `otherwise`.
nb::object keeping_object(void* keeper, nb::handle otherwise);

/// Returns the name that NumPy has for a couplet_type.
std::string type_name(couplet_type type);
/// Returns the DLPack type of a couplet_type.
nb::dlpack::dtype element_type(couplet_type type);

void bind_messages(nb::module_& module);
void bind_collectives(nb::module_& module);
void bind_coalesce(nb::module_& module);
void bind_exchanges(nb::module_& module);
void bind_series(nb::module_& module);
void bind_tasks(nb::module_& module);
void bind_areas(nb::module_& module);
void bind_universe(nb::module_& module);
void bind_waiting(nb::module_& module);

}  // namespace couplet_python
