// How a call of Python becomes a call of the C interface: without the GIL, looking for signals so that Ctrl-C works, one thread
// at a time; a status becomes an exception of couplet.errors. Above: universe.cpp, messages.cpp, series.cpp; below: couplet.h.
// Invariants: the error text is fetched on the thread that made the call; a buffer lives as long as the library may touch
// it, also when Python has dropped the request. Tests: tests/languages.
#pragma once

#include <couplet/couplet.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace couplet_python {

namespace nb = nanobind;

constexpr double slice_s = 0.1;  ///< between two looks for signals
constexpr double stop_s = 0.5;   ///< for an interrupted call to end

/// Raises the class of couplet.errors that belongs to the status. GIL held.
[[noreturn]] void raise(couplet_status status, const std::string& text);

struct Outcome {
  couplet_status status = COUPLET_OK;
  std::string text;  ///< of an error
};

/// Raises errors; passes answers on.
inline couplet_status check(const Outcome& outcome) {
  if (outcome.status < 0) {
    raise(outcome.status, outcome.text);
  }
  return outcome.status;
}

/// A request that Python dropped while it was pending, with its buffer.
struct Parked {
  couplet_request* request;
  nb::object buffer;
};

/// What everything made from one universe shares.
struct UniverseState {
  couplet_universe* handle = nullptr;
  bool multiple_threads = false;
  std::atomic<bool> in_use = false;
  std::vector<Parked> parked;
  std::vector<nb::object> exposed;  ///< arrays of areas, until they are closed

  UniverseState() = default;
  UniverseState(const UniverseState&) = delete;
  UniverseState& operator=(const UniverseState&) = delete;
  /// Buffers of a universe that was never left are given up: the library may still write into them.
  ~UniverseState();
  /// Frees the buffers of dropped requests that are done by now. GIL held.
  void sweep();
};

/// One call at a time: raises ThreadError where another one is running, StateError after leave.
class Use {
 public:
  Use(std::shared_ptr<UniverseState> state, const char* verb);
  ~Use() { release(); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  void release();
  /// For a call that goes on without its caller: whoever finishes it releases the state.
  std::shared_ptr<UniverseState> hand_over();

 private:
  std::shared_ptr<UniverseState> state_;
};

/// Makes a call without the GIL.
template <class Call>
Outcome unlocked(Call&& call) {
  Outcome outcome;
  nb::gil_scoped_release release;
  outcome.status = call();
  if (outcome.status < 0) {
    outcome.text = couplet_error_text();
  }
  return outcome;
}

/// While it lives, Couplet's calls of this thread look for signals.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  /// Raises what a signal has raised where it has ended the call. GIL held.
  void settle(const Outcome& outcome);

 private:
  static int32_t check(void* self);
  nb::object raised_;
};

/// Makes a call that waits.
template <class Call>
Outcome blocking(Call&& call) {
  Interruption interruption;
  Outcome outcome = unlocked(std::forward<Call>(call));
  interruption.settle(outcome);
  return outcome;
}

/// For calls that the interrupt check does not reach (tasks and areas): calls call(slice) until the answer is another than
/// `waiting` or timeout_s (< 0: for ever) has been used up, looking for signals in between.
template <class Call, class Waiting>
Outcome sliced(double timeout_s, Call&& call, Waiting&& waiting) {
  double left = timeout_s;
  for (;;) {
    const bool last = !(timeout_s < 0) && !(left > slice_s);  // NaN goes to the call, which refuses it
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

/// Makes a call that cannot be interrupted everywhere on a thread of its own, so that Ctrl-C is seen meanwhile. `abandoned` is
/// called (on either thread) with the result of a call that nobody waits for any more. Both must own what they refer to.
Outcome interruptible(std::function<couplet_status()> call, std::function<void(couplet_status)> abandoned);

/// Memory of an array or buffer: C-contiguous, in main memory, of an element type that Couplet has.
struct Memory {
  nb::ndarray<nb::ro> array;
  void* data;
  uint64_t count;
  uint64_t bytes;
  couplet_type type;
};
Memory read_only_memory(nb::handle object, const char* verb);
Memory writable_memory(nb::handle object, const char* verb);
/// The same of any order and with gaps; strides in bytes.
struct LooseMemory {
  Memory memory;
  std::vector<int64_t> strides;
  std::vector<int64_t> shape;
};
LooseMemory loose_memory(nb::handle object, bool writable, const char* verb);

/// The DLPack type of a couplet_type.
nb::dlpack::dtype element_type(couplet_type type);

void bind_messages(nb::module_& module);
void bind_series(nb::module_& module);
void bind_tasks(nb::module_& module);
void bind_areas(nb::module_& module);
void bind_universe(nb::module_& module);

}  // namespace couplet_python
