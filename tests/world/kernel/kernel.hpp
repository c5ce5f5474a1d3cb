// A simulated kernel for whole universes in one process: virtual clock, processes as fibers, files, sockets, futexes.
// The real code runs on it unchanged: the functions of libc that it calls (open, epoll_pwait2, sendmsg, clock_gettime,
// ...) are defined in the test program (calls_*.cpp), which comes before libc for the linker. If a simulated process
// calls them, they call this kernel. Invariants: one seed gives one run; a process may be switched away from, stopped
// or killed at each of its calls; a killed process loses its descriptors and locks as with the real kernel, and none of
// its destructors run.
#pragma once

#include <ucontext.h>

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "base/random.hpp"

namespace world {

using Nanoseconds = std::uint64_t;
inline constexpr Nanoseconds never = UINT64_MAX;
inline constexpr Nanoseconds second = 1'000'000'000;
inline constexpr Nanoseconds start_of_time = 1'000 * second;  // the time since boot at which a world begins
inline constexpr Nanoseconds call_ns = 200;                   // what a call of the kernel takes
inline constexpr int first_descriptor = 1000;                 // smaller ones are descriptors of the test itself

// The object that a descriptor refers to.
class Object {
 public:
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
  // Returns the bits of poll(2) that are true now.
  [[nodiscard]] virtual unsigned readiness() const { return 0; }
  // Called when the last descriptor of the object was closed, by a call or by the death of its process.
  virtual void closed() {}
  // A mapping of it has ended in the same way.
  virtual void unmapped() {}
};

// Returns the object as one of this type, or nullptr. For a final type, this takes less time than a dynamic cast.
template <typename T>
[[nodiscard]] T* as(Object* object) {
  static_assert(std::is_final_v<T>);
  return object != nullptr && typeid(*object) == typeid(T) ? static_cast<T*>(object) : nullptr;
}

struct Fiber;

struct Process {
  int number = 0;  // what getpid returns
  int node = 0;
  std::string name;
  std::map<std::string, std::string> environment;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<std::shared_ptr<Object>> descriptors;              // the first one is number first_descriptor
  std::multimap<const void*, std::shared_ptr<Object>> mappings;  // of files, by address
  bool dead = false;
  bool ended = false;  // it has ended by itself; `dead` is set, too
  Nanoseconds stopped_until = 0;
  Nanoseconds stopped_ns = 0;            // for how long it was stopped in all
  std::uint64_t steps = 0;               // calls of the kernel that it has made
  std::uint64_t harmed_at = UINT64_MAX;  // `harm` is done to it when it makes the call of this number
  std::function<void()> harm;
  std::function<void()> on_death;
};

// A thread of a process.
struct Fiber {
  Process* process = nullptr;
  std::function<void()> run;
  std::jmp_buf context{};
  ucontext_t start{};
  void* stack = nullptr;
  bool started = false;
  bool done = false;
  const std::function<bool()>* ready = nullptr;  // it sleeps until this is true, or until `deadline`
  std::uint64_t looked_at = 0;                   // the change after which `ready` was found to be false
  Nanoseconds deadline = 0;
  int saved_errno = 0;
  void* saved_exceptions[2] = {nullptr, nullptr};
  bool futex_woken = false;
  std::vector<const void*> futex_words;
};

// What has happened since the conditions of sleeping fibers were checked. They are not checked again before a change.
struct Changes {
  std::uint64_t count = 1;
  bool may_be_finished = true;  // a process has died, or an action was carried out
  // To be called when something has changed for which a process may be waiting, unless Kernel::step was called before.
  void note() noexcept { ++count; }
};

class Kernel {
 public:
  enum class Effect : std::uint8_t { change, none };

  explicit Kernel(std::uint64_t seed);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  // ---- for the world that is played ---------------------------------------------------------------------------------
  Process& start(const std::string& name, int node, std::map<std::string, std::string> environment,
                 std::function<void()> run);
  void kill(Process& process);
  void stop(Process& process, Nanoseconds until);
  // Calls `action` at that time, outside of all processes.
  void at(Nanoseconds time, std::function<void()> action);
  // Stops the clock at that time, so that the conditions of sleeping fibers are checked then.
  void wake_at(Nanoseconds time) { wakes_.push(time); }
  enum class End : std::uint8_t { finished, deadlock, out_of_time, out_of_steps };
  // Runs until `finished` returns true. No real time is spent sleeping.
  End run(const std::function<bool()>& finished, Nanoseconds max_ns, std::uint64_t max_steps);

  Changes changes;

  [[nodiscard]] Nanoseconds now() const noexcept { return now_; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
  [[nodiscard]] couplet::Random& random() noexcept { return random_; }
  void set_switching(double probability) noexcept { switching_ = probability; }
  // From that time on, each call is printed.
  void print_from(Nanoseconds time) noexcept { print_from_ = time; }
  [[nodiscard]] bool prints() const noexcept { return now_ >= print_from_; }
  // One number from all calls of all processes, in their order. Two runs of a seed must have the same one.
  [[nodiscard]] std::uint64_t trace() const noexcept { return trace_; }
  void note(std::uint64_t what) noexcept { trace_ = (trace_ ^ what) * 0x100000001b3U; }

  // ---- for the calls ------------------------------------------------------------------------------------------------
  [[nodiscard]] Fiber* fiber() const noexcept { return current_; }
  [[nodiscard]] Process& process() const noexcept { return *current_->process; }
  // To be called at the beginning of each call. It takes simulated time; meanwhile other processes may run, and this
  // process may be killed.
  // effect: whether something may change for which another process waits.
  void step(Nanoseconds cost_ns = call_ns, Effect effect = Effect::change, const char* call = __builtin_FUNCTION());
  // Sleeps until `ready` returns true. Returns false if the deadline has passed before.
  bool block(const std::function<bool()>& ready, Nanoseconds deadline = never);
  void yield();
  Fiber& start_thread(Process& process, std::function<void()> run);
  // Returns the lowest free number. Returns -1 and sets errno to EMFILE if the process has too many descriptors.
  int attach(std::shared_ptr<Object> object);
  [[nodiscard]] std::shared_ptr<Object> object(int descriptor) const;
  template <typename T>
  [[nodiscard]] std::shared_ptr<T> object_as(int descriptor) const {
    auto found = object(descriptor);
    return as<T>(found.get()) != nullptr ? std::static_pointer_cast<T>(std::move(found)) : nullptr;
  }
  bool close(int descriptor);
  [[nodiscard]] Process* find_process(int number) noexcept;
  int futex_wake(const void* word, int most);
  // Runs a program that was started by posix_spawn.
  std::function<int(const std::string& path, char* const* environment)> on_spawn;

 private:
  void run_actions();
  [[nodiscard]] Nanoseconds next_time() const;
  [[nodiscard]] bool runnable(Fiber& fiber) const;
  void resume(Fiber& fiber);
  void leave_fiber();
  static void enter();

  struct Action {
    Nanoseconds time;
    std::uint64_t order;
    std::function<void()> run;
    bool operator<(const Action& other) const { return time != other.time ? time > other.time : order > other.order; }
  };

  couplet::Random random_;
  Nanoseconds now_ = start_of_time;
  std::uint64_t steps_ = 0;
  std::uint64_t order_ = 0;
  std::uint64_t trace_ = 0xcbf29ce484222325U;
  double switching_ = 0.05;
  Nanoseconds print_from_ = never;
  Fiber* current_ = nullptr;
  std::jmp_buf scheduler_{};
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<Fiber*> fibers_;
  std::priority_queue<Action> actions_;
  std::priority_queue<Nanoseconds, std::vector<Nanoseconds>, std::greater<>> wakes_;
};

// The kernel of the world that is being played. It also tells whether a simulated process is running.
extern Kernel* kernel;
[[nodiscard]] inline bool inside() noexcept {
  return kernel != nullptr && kernel->fiber() != nullptr;
}

}  // namespace world
