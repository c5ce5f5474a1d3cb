// A simulated kernel for whole universes in one process: virtual clock, processes as fibers, files, sockets, futexes.
// The real code runs on it unchanged: the functions of libc that it calls (open, epoll_pwait2, sendmsg, clock_gettime,
// ...) are defined in the test program (calls_*.cpp), which comes before libc, and lead here if a simulated process
// calls them. Invariants: one seed gives one run; a process may be switched away from, stopped or killed at each of its
// calls; a killed process loses its descriptors and locks as the real kernel would take them, and no destructor of it
// runs.
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
#include <vector>

#include "base/random.hpp"

namespace world {

using Nanoseconds = std::uint64_t;
inline constexpr Nanoseconds never = UINT64_MAX;
inline constexpr Nanoseconds second = 1'000'000'000;
inline constexpr Nanoseconds start_of_time = 1'000 * second;  // since the boot
inline constexpr int first_descriptor = 1000;                 // smaller ones are descriptors of the test itself

// What a descriptor refers to.
class Object {
 public:
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
  // Bits of poll(2) that are true now.
  [[nodiscard]] virtual unsigned readiness() const { return 0; }
  // The last descriptor of it was closed, by a call or by the death of the process.
  virtual void closed() {}
};

struct Fiber;

struct Process {
  int number = 0;  // as getpid
  int node = 0;
  std::string name;
  std::map<std::string, std::string> environment;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<std::shared_ptr<Object>> descriptors;  // the first one is number first_descriptor
  bool dead = false;
  bool ended = false;  // by itself; `dead` is set, too
  Nanoseconds stopped_until = 0;
  Nanoseconds stopped_ns = 0;          // in all
  std::uint64_t steps = 0;             // calls of the kernel
  std::uint64_t dies_at = UINT64_MAX;  // killed when it makes this step
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
  Nanoseconds deadline = 0;
  int saved_errno = 0;
  void* saved_exceptions[2] = {nullptr, nullptr};
  bool futex_woken = false;
  std::vector<const void*> futex_words;
};

class Kernel {
 public:
  explicit Kernel(std::uint64_t seed);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  // ---- for the world that is played -----------------------------------------------------------------------------------
  Process& start(const std::string& name, int node, std::map<std::string, std::string> environment,
                 std::function<void()> run);
  void kill(Process& process);
  void stop(Process& process, Nanoseconds until);
  // Calls `action` on no process's behalf at that time.
  void at(Nanoseconds time, std::function<void()> action);
  // The clock stops there, so that who sleeps is looked at.
  void wake_at(Nanoseconds time) { wakes_.push(time); }
  enum class End : std::uint8_t { finished, deadlock, out_of_time, out_of_steps };
  // Runs until `finished` is true. Nothing sleeps for real.
  End run(const std::function<bool()>& finished, Nanoseconds max_ns, std::uint64_t max_steps);

  [[nodiscard]] Nanoseconds now() const noexcept { return now_; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
  [[nodiscard]] couplet::Random& random() noexcept { return random_; }
  void set_switching(double probability) noexcept { switching_ = probability; }
  // What each process does in which order, mixed into one number: two runs of a seed must agree.
  // From then on each call is printed.
  void print_from(Nanoseconds time) noexcept { print_from_ = time; }
  [[nodiscard]] bool prints() const noexcept { return now_ >= print_from_; }
  [[nodiscard]] std::uint64_t trace() const noexcept { return trace_; }
  void note(std::uint64_t what) noexcept { trace_ = (trace_ ^ what) * 0x100000001b3U; }

  // ---- for the calls ------------------------------------------------------------------------------------------------------
  [[nodiscard]] Fiber* fiber() const noexcept { return current_; }
  [[nodiscard]] Process& process() const noexcept { return *current_->process; }
  // A call begins: it takes time, and others may run, or the process may die.
  void step(Nanoseconds cost_ns = 200, const char* call = __builtin_FUNCTION());
  // Sleeps until `ready`; false: until the deadline has passed.
  bool block(const std::function<bool()>& ready, Nanoseconds deadline = never);
  void yield();
  Fiber& start_thread(Process& process, std::function<void()> run);
  // The lowest free number. -1 and EMFILE if the process has too many.
  int attach(std::shared_ptr<Object> object);
  [[nodiscard]] std::shared_ptr<Object> object(int descriptor) const;
  template <typename T>
  [[nodiscard]] std::shared_ptr<T> object_as(int descriptor) const {
    return std::dynamic_pointer_cast<T>(object(descriptor));
  }
  bool close(int descriptor);
  [[nodiscard]] Process* find_process(int number) noexcept;
  int futex_wake(const void* word, int most);
  // Started by posix_spawn.
  std::function<int(const std::string& path, char* const* environment)> on_spawn;

 private:
  void run_actions();
  [[nodiscard]] Nanoseconds next_time() const;
  [[nodiscard]] bool runnable(const Fiber& fiber) const;
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

// The kernel of the world that is played, and whether a simulated process is asking.
extern Kernel* kernel;
[[nodiscard]] inline bool inside() noexcept {
  return kernel != nullptr && kernel->fiber() != nullptr;
}

}  // namespace world
