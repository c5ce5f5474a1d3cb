#include "kernel.hpp"

#include <cxxabi.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace world {
namespace {

constexpr std::size_t stack_bytes = std::size_t{256} << 10;
constexpr std::size_t max_descriptors = 1024;
static_assert(first_descriptor > 0);

// Exchanges the state of exceptions. The runtime keeps it for the thread, but the exceptions that a fiber is handling
// belong to that fiber.
void swap_exceptions(Fiber& fiber) {
  void* mine[2];
  auto* const place = reinterpret_cast<void*>(abi::__cxa_get_globals());
  std::memcpy(mine, place, sizeof mine);
  std::memcpy(place, fiber.saved_exceptions, sizeof mine);
  std::memcpy(fiber.saved_exceptions, mine, sizeof mine);
}

}  // namespace

Kernel* kernel = nullptr;

Kernel::Kernel(std::uint64_t seed) : random_(seed) {
  kernel = this;
}

Kernel::~Kernel() {
  kernel = nullptr;
}

Process& Kernel::start(const std::string& name, int node, std::map<std::string, std::string> environment,
                       std::function<void()> run) {
  auto process = std::make_unique<Process>();
  process->number = 100 + static_cast<int>(processes_.size());
  process->node = node;
  process->name = name;
  process->environment = std::move(environment);
  Process& started = *process;
  processes_.push_back(std::move(process));
  start_thread(started, [this, &started, main = std::move(run)] {
    main();
    started.ended = true;
    kill(started);
  });
  return started;
}

Fiber& Kernel::start_thread(Process& process, std::function<void()> run) {
  auto fiber = std::make_unique<Fiber>();
  fiber->process = &process;
  fiber->run = std::move(run);
  // Pages that are not touched cost nothing. The stack of a dead process is kept, since others may still refer to
  // objects on it.
  fiber->stack =
      ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  Fiber& started = *fiber;
  process.fibers.push_back(std::move(fiber));
  fibers_.push_back(&started);
  return started;
}

void Kernel::kill(Process& process) {
  if (process.dead) {
    return;
  }
  process.dead = true;
  changes.may_be_finished = true;
  changes.note();
  note(0xDEAD0000U + static_cast<std::uint64_t>(process.number));
  auto descriptors = std::move(process.descriptors);
  process.descriptors.clear();
  for (auto& each : descriptors) {
    if (each) {
      each->closed();
    }
  }
  const auto mappings = std::move(process.mappings);
  process.mappings.clear();
  for (const auto& [address, object] : mappings) {
    object->unmapped();
  }
  if (process.on_death) {
    process.on_death();
  }
  std::erase_if(fibers_, [&](const Fiber* fiber) { return fiber->process == &process; });
  if (current_ != nullptr && current_->process == &process) {
    leave_fiber();  // does not return
  }
}

void Kernel::stop(Process& process, Nanoseconds until) {
  if (!process.dead && until > process.stopped_until) {
    process.stopped_ns += until - std::max(process.stopped_until, now_);
    process.stopped_until = until;
    wake_at(until);
  }
}

void Kernel::at(Nanoseconds time, std::function<void()> action) {
  actions_.push({time, order_++, std::move(action)});
}

void Kernel::run_actions() {
  while (!actions_.empty() && actions_.top().time <= now_) {
    const auto action = actions_.top().run;
    actions_.pop();
    changes.may_be_finished = true;
    changes.note();
    action();
  }
  while (!wakes_.empty() && wakes_.top() <= now_) {
    wakes_.pop();
    changes.note();
  }
}

bool Kernel::runnable(Fiber& fiber) const {
  if (fiber.process->stopped_until > now_) {
    return false;
  }
  if (fiber.ready == nullptr || fiber.deadline <= now_) {
    return true;
  }
  if (fiber.looked_at == changes.count) {
    return false;
  }
  const bool ready = (*fiber.ready)();
  fiber.looked_at = ready ? 0 : changes.count;
  return ready;
}

Nanoseconds Kernel::next_time() const {
  Nanoseconds next = never;
  if (!actions_.empty()) {
    next = actions_.top().time;
  }
  if (!wakes_.empty()) {
    next = std::min(next, wakes_.top());
  }
  for (const Fiber* const fiber : fibers_) {
    if (fiber->ready != nullptr) {
      next = std::min(next, std::max(fiber->deadline, fiber->process->stopped_until));
    }
  }
  return next;
}

Kernel::End Kernel::run(const std::function<bool()>& finished, Nanoseconds max_ns, std::uint64_t max_steps) {
  const Nanoseconds end = now_ + max_ns;
  std::vector<Fiber*> ready;
  changes.may_be_finished = true;
  while (true) {
    run_actions();
    if (std::exchange(changes.may_be_finished, false) && finished()) {
      return End::finished;
    }
    ready.clear();
    std::copy_if(fibers_.begin(), fibers_.end(), std::back_inserter(ready), [&](Fiber* f) { return runnable(*f); });
    if (!ready.empty()) {
      Fiber& next = *ready[random_.below(ready.size())];
      note(static_cast<std::uint64_t>(next.process->number) + (next.process->steps << 16U));
      resume(next);
    } else {
      const Nanoseconds next = next_time();
      if (next == never) {
        return End::deadlock;
      }
      now_ = std::max(now_, next);
    }
    if (now_ > end) {
      return End::out_of_time;
    }
    if (steps_ > max_steps) {
      return End::out_of_steps;
    }
  }
}

void Kernel::enter() {
  Fiber& fiber = *kernel->current_;
  fiber.run();
  fiber.done = true;
  kernel->changes.note();
  std::erase(kernel->fibers_, &fiber);
  kernel->leave_fiber();
}

void Kernel::resume(Fiber& fiber) {
  current_ = &fiber;
  swap_exceptions(fiber);
  errno = fiber.saved_errno;
  if (_setjmp(scheduler_) == 0) {
    if (fiber.started) {
      _longjmp(fiber.context, 1);
    }
    fiber.started = true;
    ::getcontext(&fiber.start);
    fiber.start.uc_stack.ss_sp = fiber.stack;
    fiber.start.uc_stack.ss_size = stack_bytes;
    fiber.start.uc_link = nullptr;
    ::makecontext(&fiber.start, &Kernel::enter, 0);
    ::setcontext(&fiber.start);
  }
}

// Switches to the scheduler. Returns when the fiber is resumed.
void Kernel::leave_fiber() {
  Fiber& fiber = *current_;
  fiber.saved_errno = errno;
  swap_exceptions(fiber);
  current_ = nullptr;
  if (_setjmp(fiber.context) == 0) {
    _longjmp(scheduler_, 1);
  }
}

void Kernel::yield() {
  leave_fiber();
}

void Kernel::step(Nanoseconds cost_ns, Effect effect, const char* call) {
  now_ += cost_ns;
  ++steps_;
  Process& mine = process();
  if (now_ >= print_from_) [[unlikely]] {
    std::printf("%14.9f %-12s %s\n", static_cast<double>(now_ - start_of_time) / 1e9, mine.name.c_str(), call);
  }
  if (++mine.steps >= mine.harmed_at) {
    mine.harmed_at = UINT64_MAX;
    mine.harm();
    if (mine.stopped_until > now_) {
      yield();
    }
  }
  if (random_.chance(switching_) || (!actions_.empty() && actions_.top().time <= now_)) {
    yield();
  }
  if (effect == Effect::change) {
    changes.note();
  }
}

bool Kernel::block(const std::function<bool()>& ready, Nanoseconds deadline) {
  Fiber& mine = *current_;
  mine.ready = &ready;
  mine.looked_at = 0;
  mine.deadline = deadline;
  leave_fiber();
  mine.ready = nullptr;
  return ready();
}

int Kernel::attach(std::shared_ptr<Object> object) {
  auto& table = process().descriptors;
  const auto place = std::find(table.begin(), table.end(), nullptr);
  if (place == table.end() && table.size() == max_descriptors) {
    errno = EMFILE;
    return -1;
  }
  const auto index = place - table.begin();
  if (place == table.end()) {
    table.push_back(std::move(object));
  } else {
    *place = std::move(object);
  }
  return first_descriptor + static_cast<int>(index);
}

std::shared_ptr<Object> Kernel::object(int descriptor) const {
  const auto& table = process().descriptors;
  const auto index = static_cast<std::size_t>(descriptor - first_descriptor);
  return descriptor >= first_descriptor && index < table.size() ? table[index] : nullptr;
}

bool Kernel::close(int descriptor) {
  auto& table = process().descriptors;
  const auto index = static_cast<std::size_t>(descriptor - first_descriptor);
  if (descriptor < first_descriptor || index >= table.size() || !table[index]) {
    errno = EBADF;
    return false;
  }
  const auto object = std::move(table[index]);
  table[index].reset();
  changes.note();
  object->closed();
  return true;
}

Process* Kernel::find_process(int number) noexcept {
  const auto found = std::find_if(processes_.begin(), processes_.end(),
                                  [&](const auto& process) { return process->number == number && !process->dead; });
  return found == processes_.end() ? nullptr : found->get();
}

int Kernel::futex_wake(const void* word, int most) {
  int woken = 0;
  for (Fiber* const fiber : fibers_) {
    if (woken < most &&
        std::find(fiber->futex_words.begin(), fiber->futex_words.end(), word) != fiber->futex_words.end()) {
      fiber->futex_words.clear();
      fiber->futex_woken = true;
      ++woken;
    }
  }
  return woken;
}

}  // namespace world
