#include "calls.hpp"

#include <cxxabi.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <iterator>
#include <mutex>
#include <system_error>
#include <thread>

namespace couplet_python {
namespace {

[[noreturn]] void stay() {
  for (;;) {
    pause();
  }
}

bool interpreter_ends() {
#if PY_VERSION_HEX >= 0x030d0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

std::atomic<unsigned long> main_thread = 0;

bool is_main_thread() {
  return PyThread_get_thread_ident() == main_thread;
}

}  // namespace

void take_gil(PyThreadState* state) noexcept {
  try {
    PyEval_RestoreThread(state);
  } catch (abi::__forced_unwind&) {
    stay();  // to leave this block would abort the process
  }
}

StaysAtExit::~StaysAtExit() {
  if (interpreter_ends() && PyGILState_Check() == 0) [[unlikely]] {
    stay();
  }
}

void remember_main_thread() {
  main_thread = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  pthread_atfork(nullptr, nullptr, [] { main_thread = PyThread_get_thread_ident(); });
}

void raise(couplet_status status, const std::string& text) {
  const nb::object make = nb::module_::import_("couplet.errors").attr("error_for");
  // A text may come from another program, and be cut.
  const auto size = static_cast<Py_ssize_t>(text.size());
  const nb::object sentence = nb::steal(PyUnicode_DecodeUTF8(text.data(), size, "replace"));
  const nb::object error = make(status, sentence);
  PyErr_SetObject(error.type().ptr(), error.ptr());
  throw nb::python_error();
}

namespace {

struct Named {
  std::string_view in_c;
  std::string_view in_python;
};
constexpr std::array<Named, 3> referred{{{"couplet_universe_descriptor", "Universe.descriptor"},
                                         {"couplet_operation_create", "Universe.create_operation"},
                                         {"couplet_grid_divide", "Grid"}}};

/// Says whether a text begins with the name of a call of the library. Messages are sent by several C functions, and
/// their texts begin with what all of these do.
bool is_call(std::string_view name) {
  const auto is_letter = [](char letter) { return (letter >= 'a' && letter <= 'z') || letter == '_'; };
  return name == "send" || name == "receive" ||
         (name.starts_with("couplet_") && std::all_of(name.begin(), name.end(), is_letter));
}

}  // namespace

std::string in_words_of(const std::string& verb, std::string text) {
  const std::size_t end = text.find(':');
  if (end != std::string::npos && is_call(std::string_view(text).substr(0, end))) {
    text.replace(0, end, verb);
  }
  for (const Named& one : referred) {
    const std::size_t place = text.find(one.in_c);
    if (place != std::string::npos) {
      text.replace(place, one.in_c.size(), one.in_python);
    }
  }
  return text;
}

Refusal refusal_of(const nb::python_error& error) {
  const nb::handle value = error.value();
  const nb::object code = nb::getattr(value, "code", nb::none());
  couplet_status status = COUPLET_ERROR_ARGUMENT;
  if (!nb::try_cast(code, status) || status >= 0) {
    status = COUPLET_ERROR_ARGUMENT;
  }
  return {status, nb::cast<std::string>(nb::str(value))};
}

namespace {

constexpr std::size_t swept_at_once = 16;  // so that a call that drops its request costs the same however many did

}  // namespace

UniverseState::~UniverseState() {
  for (Parked& entry : parked) {
    static_cast<void>(entry.buffer.release());
  }
  for (nb::object& array : exposed) {
    static_cast<void>(array.release());
  }
}

void UniverseState::sweep() {
  if (parked.empty()) {
    return;
  }
  // Other threads may come meanwhile, and drop requests of their own.
  const auto last = parked.begin() + static_cast<std::ptrdiff_t>(std::min(parked.size(), swept_at_once));
  std::vector<Parked> tested(std::make_move_iterator(parked.begin()), std::make_move_iterator(last));
  parked.erase(parked.begin(), last);
  static_cast<void>(unlocked([&] {
    for (Parked& entry : tested) {
      int32_t done = 0;
      static_cast<void>(couplet_test(&entry.request, &done, nullptr));
    }
    return COUPLET_OK;
  }));
  // A request that has failed is complete, too. A test that has failed, as while another thread leaves, says nothing.
  std::vector<Parked> complete;
  for (Parked& entry : tested) {
    if (entry.request == nullptr) {
      complete.push_back(std::move(entry));
    } else {
      parked.push_back(std::move(entry));
    }
  }
}

Completes::Completes(bool& mark, const char* verb) : mark_(mark) {
  if (mark) {
    raise(COUPLET_ERROR_STATE,
          std::string(verb) + ": another thread of this process is in a call that completes the request or task");
  }
  mark = true;
}

couplet_status check_open(const Outcome& outcome, const UniverseState& state, bool open, const char* verb,
                          const char* what) {
  // A call that comes too late finds a handle that is NULL or closed.
  if (outcome.status == COUPLET_ERROR_ARGUMENT && (state.handle == nullptr || !open)) {
    const std::string done =
        state.handle == nullptr ? "the universe was left" : "the " + std::string(what) + " was closed";
    raise(COUPLET_ERROR_STATE, std::string(verb) + ": " + done + " by another thread of this process");
  }
  return check(outcome, verb);
}

Use::Use(std::shared_ptr<UniverseState> state, const char* verb) : state_(std::move(state)), universe_(state_->handle) {
  if (state_->handle == nullptr) {
    raise(COUPLET_ERROR_STATE, std::string(verb) + ": the universe has been left");
  }
  if (state_->in_use.exchange(true) && !state_->multiple_threads) {
    state_.reset();
    raise(COUPLET_ERROR_THREAD, std::string(verb) +
                                    ": another call of this universe is running, in another thread or since it was "
                                    "interrupted (join with multiple_threads=True to use several threads)");
  }
}

void Use::release() {
  if (state_) {
    state_->in_use = false;
  }
  state_.reset();
}

std::shared_ptr<UniverseState> Use::hand_over() {
  return std::move(state_);
}

Interruption::Interruption() {
  if (is_main_thread()) {
    couplet_set_interrupt_check(&Interruption::check, this);
  }
}

Interruption::~Interruption() {
  couplet_set_interrupt_check(nullptr, nullptr);
}

int32_t Interruption::check(void* self) {
  const nb::gil_scoped_acquire gil;
  auto& raised = static_cast<Interruption*>(self)->raised_;
  if (!raised.is_valid() && PyErr_CheckSignals() != 0) {
    const nb::python_error error;
    raised = nb::borrow(error.value());
  }
  return raised.is_valid() ? 1 : 0;
}

bool Interruption::has_come() {
  return is_main_thread() && check(this) != 0;
}

// The package treats it otherwise than an error of the call, also if it is an error of Couplet.
void Interruption::raise() {
  if (PyObject_SetAttrString(raised_.ptr(), "_of_couplet_signal", Py_True) != 0) {
    PyErr_Clear();
  }
  PyErr_SetObject(raised_.type().ptr(), raised_.ptr());
  throw nb::python_error();
}

namespace {

struct HelperCall {
  std::mutex mutex;
  std::condition_variable finished;
  bool done = false;
  std::atomic<bool> is_to_stop = false;
  bool nobody_waits = false;
  Outcome outcome;
};

void run_helper(const std::shared_ptr<HelperCall>& shared, const std::function<couplet_status()>& call,
                const std::function<void(couplet_status)>& abandoned) {
  couplet_set_interrupt_check(
      [](void* helper) { return static_cast<HelperCall*>(helper)->is_to_stop ? int32_t{1} : int32_t{0}; },
      shared.get());
  Outcome outcome;
  outcome.status = call();
  if (outcome.status < 0) {
    outcome.text = couplet_error_text();
  }
  couplet_set_interrupt_check(nullptr, nullptr);
  std::unique_lock lock(shared->mutex);
  if (shared->nobody_waits) {
    lock.unlock();
    abandoned(outcome.status);
    return;
  }
  shared->outcome = std::move(outcome);
  shared->done = true;
  shared->finished.notify_one();
}

/// Waits for the helper at most `seconds`. It is called with the GIL held, and releases it meanwhile.
bool done_within(HelperCall& shared, double seconds) {
  const Released released;
  std::unique_lock lock(shared.mutex);
  return shared.finished.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return shared.done; });
}

/// Starts the helper's thread, which receives no signals: they are for Python's thread.
void start_helper(std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread(std::move(body)).detach();
  } catch (const std::system_error& error) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    raise(COUPLET_ERROR_SYSTEM, std::string("cannot start a thread: ") + error.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

Outcome interruptible(std::function<couplet_status()> call, std::function<void(couplet_status)> abandoned) {
  auto shared = std::make_shared<HelperCall>();
  start_helper([shared, call = std::move(call), abandoned] { run_helper(shared, call, abandoned); });
  bool done = false;
  while (PyErr_CheckSignals() == 0) {
    if (done) {
      return shared->outcome;
    }
    done = done_within(*shared, slice_s);
  }
  nb::python_error error;
  shared->is_to_stop = true;
  static_cast<void>(done_within(*shared, stop_s));
  {
    const Released released;
    std::unique_lock lock(shared->mutex);
    if (shared->done) {
      lock.unlock();
      abandoned(shared->outcome.status);
    } else {
      shared->nobody_waits = true;
    }
  }
  throw error;
}

namespace {

struct ElementType {
  couplet_type type;
  nb::dlpack::dtype_code code;
  uint8_t bits;
};
constexpr std::array<ElementType, 12> element_types{{{COUPLET_INT8, nb::dlpack::dtype_code::Int, 8},
                                                     {COUPLET_INT16, nb::dlpack::dtype_code::Int, 16},
                                                     {COUPLET_INT32, nb::dlpack::dtype_code::Int, 32},
                                                     {COUPLET_INT64, nb::dlpack::dtype_code::Int, 64},
                                                     {COUPLET_UINT8, nb::dlpack::dtype_code::UInt, 8},
                                                     {COUPLET_UINT16, nb::dlpack::dtype_code::UInt, 16},
                                                     {COUPLET_UINT32, nb::dlpack::dtype_code::UInt, 32},
                                                     {COUPLET_UINT64, nb::dlpack::dtype_code::UInt, 64},
                                                     {COUPLET_FLOAT, nb::dlpack::dtype_code::Float, 32},
                                                     {COUPLET_DOUBLE, nb::dlpack::dtype_code::Float, 64},
                                                     {COUPLET_COMPLEX_FLOAT, nb::dlpack::dtype_code::Complex, 64},
                                                     {COUPLET_COMPLEX_DOUBLE, nb::dlpack::dtype_code::Complex, 128}}};

/// Raises an error that says why the object is no memory that the call can take. The package finds the reason.
[[noreturn]] void refuse_object(nb::handle object, const char* verb, bool writable, bool dense) {
  nb::module_::import_("couplet._buffers").attr("refuse_buffer")(verb, object, writable, dense);
  raise(COUPLET_ERROR_INTERNAL, std::string(verb) + ": the array was refused without a reason");
}

Memory describe_memory(nb::handle object, nb::ndarray<nb::ro> array, void* data, const char* verb) {
  const nb::dlpack::dtype type = array.dtype();
  for (const ElementType& known : element_types) {
    if (static_cast<uint8_t>(known.code) == type.code && known.bits == type.bits && type.lanes == 1) {
      return {array, data, array.size(), array.nbytes(), known.type};
    }
  }
  refuse_object(object, verb, false, false);
}

}  // namespace

namespace {

/// Returns the object, or a view of it that nanobind can read, which needs the strides of a buffer: ctypes has none.
nb::object readable(nb::handle object) {
  const bool is_plain_buffer = PyObject_CheckBuffer(object.ptr()) != 0 && PyMemoryView_Check(object.ptr()) == 0 &&
                               PyObject_HasAttrString(object.ptr(), "__dlpack__") == 0;
  nb::object view = is_plain_buffer ? nb::steal(PyMemoryView_FromObject(object.ptr())) : nb::borrow(object);
  if (!view.is_valid()) {
    PyErr_Clear();
    return nb::borrow(object);
  }
  return view;
}

}  // namespace

nb::object held_memory(nb::handle object) {
  const bool is_array = PyObject_HasAttrString(object.ptr(), "__dlpack__") != 0;
  if (is_array || PyObject_CheckBuffer(object.ptr()) == 0) {
    return nb::borrow(object);  // a reference is enough: an array that has one is not resized
  }
  nb::object view = nb::steal(PyMemoryView_FromObject(object.ptr()));
  if (!view.is_valid()) {
    PyErr_Clear();
    return nb::borrow(object);
  }
  return view;
}

Memory read_only_memory(nb::handle object, const char* verb) {
  nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu> array;
  if (!nb::try_cast(readable(object), array, false)) {
    PyErr_Clear();
    refuse_object(object, verb, false, true);
  }
  // The library only reads the memory that it is given to send, but its interface is the same for both directions.
  return describe_memory(object, nb::ndarray<nb::ro>(array), const_cast<void*>(static_cast<const void*>(array.data())),
                         verb);
}

Memory writable_memory(nb::handle object, const char* verb) {
  nb::ndarray<nb::c_contig, nb::device::cpu> array;
  if (!nb::try_cast(readable(object), array, false)) {
    PyErr_Clear();
    refuse_object(object, verb, true, true);
  }
  return describe_memory(object, nb::ndarray<nb::ro>(array), array.data(), verb);
}

LooseMemory loose_memory(nb::handle object, bool writable, const char* verb) {
  nb::ndarray<nb::device::cpu> array;
  nb::ndarray<nb::ro, nb::device::cpu> given;
  LooseMemory loose;
  const nb::object source = readable(object);
  if (writable ? nb::try_cast(source, array, false) : nb::try_cast(source, given, false)) {
    nb::ndarray<nb::ro> any = writable ? nb::ndarray<nb::ro>(array) : nb::ndarray<nb::ro>(given);
    void* const data = writable ? array.data() : const_cast<void*>(static_cast<const void*>(given.data()));
    loose.memory = describe_memory(object, any, data, verb);
    for (std::size_t dimension = 0; dimension < any.ndim(); ++dimension) {
      loose.shape.push_back(static_cast<int64_t>(any.shape(dimension)));
      loose.strides.push_back(any.stride(dimension) * static_cast<int64_t>(any.itemsize()));
    }
    return loose;
  }
  PyErr_Clear();
  refuse_object(object, verb, writable, false);
}

namespace {

/// Makes a type by a call of the C interface.
template <class Create>
MadeType made_type(const char* verb, const Create& create) {
  couplet_type type = -1;
  check(outcome_of(create(&type)), verb);
  return MadeType(type);
}

/// Makes the type of an array whose strides are in bytes: each dimension repeats what is inside.
MadeType type_of_array(const LooseMemory& loose, const char* verb) {
  MadeType inner;
  couplet_type of = loose.memory.type;
  for (std::size_t dimension = loose.shape.size(); dimension-- > 0;) {
    // A stride counts in extents of an item.
    const MadeType byte =
        made_type(verb, [&](couplet_type* made) { return couplet_type_create_resized(of, 0, 1, made); });
    inner = made_type(verb, [&](couplet_type* made) {
      return couplet_type_create_vector(static_cast<uint64_t>(loose.shape[dimension]), 1, loose.strides[dimension],
                                        byte.get(), made);
    });
    of = inner.get();
  }
  return inner;
}

}  // namespace

MessageMemory message_memory(nb::handle object, bool writable, const char* verb) {
  nb::ndarray<nb::c_contig, nb::device::cpu> array;
  nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu> given;
  const nb::object source = readable(object);
  if (writable && nb::try_cast(source, array, false)) {
    return {.memory = describe_memory(object, nb::ndarray<nb::ro>(array), array.data(), verb), .made = {}};
  }
  if (!writable && nb::try_cast(source, given, false)) {
    void* const data = const_cast<void*>(static_cast<const void*>(given.data()));
    return {.memory = describe_memory(object, nb::ndarray<nb::ro>(given), data, verb), .made = {}};
  }
  PyErr_Clear();
  LooseMemory loose = loose_memory(object, writable, verb);
  MessageMemory item{.memory = loose.memory, .made = type_of_array(loose, verb)};
  item.element_bytes = couplet_type_bytes(loose.memory.type);
  item.memory.count = 1;
  item.memory.type = item.made.get();
  return item;
}

nb::object keeping_object(void* keeper, nb::handle otherwise) {
  if (keeper == nullptr) {
    return nb::borrow(otherwise);
  }
  return nb::capsule(keeper, [](void* kept) noexcept { couplet_private_let_go(kept); });
}

std::string type_name(couplet_type type) {
  for (const ElementType& known : element_types) {
    if (known.type == type) {
      const char* const kind = known.code == nb::dlpack::dtype_code::Int     ? "int"
                               : known.code == nb::dlpack::dtype_code::UInt  ? "uint"
                               : known.code == nb::dlpack::dtype_code::Float ? "float"
                                                                             : "complex";
      return kind + std::to_string(known.bits);
    }
  }
  return "bytes";
}

nb::dlpack::dtype element_type(couplet_type type) {
  for (const ElementType& known : element_types) {
    if (known.type == type) {
      return {static_cast<uint8_t>(known.code), known.bits, 1};
    }
  }
  return {static_cast<uint8_t>(nb::dlpack::dtype_code::UInt), 8, 1};  // opaque bytes
}

}  // namespace couplet_python
