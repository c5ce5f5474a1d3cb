// Time, sleeping, and waiting for descriptors, words and threads.
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <unordered_map>

#include "calls.hpp"
#include "os/ticks.hpp"
#include "waiting.hpp"

namespace world {
namespace {

constexpr Nanoseconds look_at_clock_ns = 50;

timespec time_of(Nanoseconds time_ns) {
  return {static_cast<time_t>(time_ns / second), static_cast<long>(time_ns % second)};
}

Nanoseconds nanoseconds_of(const timespec& time) {
  return static_cast<Nanoseconds>(time.tv_sec) * second + static_cast<Nanoseconds>(time.tv_nsec);
}

Nanoseconds deadline_after(const timespec* timeout) {
  return timeout == nullptr ? never : kernel->now() + nanoseconds_of(*timeout);
}

int wait_for_events(int set, epoll_event* events, int most, Nanoseconds deadline) {
  kernel->step(call_ns, Kernel::Effect::none);
  const auto epoll = kernel->object_as<EpollSet>(set);
  if (!epoll) {
    return failed(EBADF);
  }
  if (deadline > kernel->now() && !epoll->any_ready()) {
    kernel->block([&] { return epoll->any_ready(); }, deadline);
  }
  const int count = epoll->collect(events, most);
  for (int index = 0; kernel->prints() && index < count; ++index) {
    std::printf("%28s descriptor %d: events %x\n", "", events[index].data.fd, events[index].events);
  }
  return count;
}

int look_at(pollfd* entries, const std::vector<std::shared_ptr<Object>>& objects) {
  int ready = 0;
  for (std::size_t index = 0; index < objects.size(); ++index) {
    const auto& object = objects[index];
    const unsigned wanted = static_cast<unsigned>(entries[index].events) | POLLERR | POLLHUP;
    entries[index].revents = static_cast<short>(object ? object->readiness() & wanted : POLLNVAL);
    ready += entries[index].revents != 0 ? 1 : 0;
  }
  return ready;
}

long wait_for_words(std::vector<const void*> words, Nanoseconds deadline) {
  Fiber& mine = *kernel->fiber();
  mine.futex_woken = false;
  mine.futex_words = std::move(words);
  const bool woken = kernel->block([&mine] { return mine.futex_woken; }, deadline);
  mine.futex_words.clear();
  return woken ? 0 : failed(ETIMEDOUT);
}

std::uint32_t word_at(const void* address) {
  return __atomic_load_n(static_cast<const std::uint32_t*>(address), __ATOMIC_SEQ_CST);
}

long futex(const long* arguments) {
  const auto* const word = reinterpret_cast<const void*>(arguments[0]);
  const auto operation = static_cast<int>(arguments[1]) & FUTEX_CMD_MASK;
  kernel->step();
  if (operation == FUTEX_WAKE) {
    return kernel->futex_wake(word, static_cast<int>(arguments[2]));
  }
  if (word_at(word) != static_cast<std::uint32_t>(arguments[2])) {
    return failed(EAGAIN);
  }
  return wait_for_words({word}, deadline_after(reinterpret_cast<const timespec*>(arguments[3])));
}

long futex_wait_several(const long* arguments) {
  const auto* const waits = reinterpret_cast<const futex_waitv*>(arguments[0]);
  kernel->step();
  std::vector<const void*> words;
  for (long index = 0; index < arguments[1]; ++index) {
    const auto* const word = reinterpret_cast<const void*>(waits[index].uaddr);
    if (word_at(word) != static_cast<std::uint32_t>(waits[index].val)) {
      return failed(EAGAIN);
    }
    words.push_back(word);
  }
  const auto* const until = reinterpret_cast<const timespec*>(arguments[3]);
  return wait_for_words(std::move(words), until == nullptr ? never : nanoseconds_of(*until));
}

long open_process(const long* arguments) {
  const Process* const process = kernel->find_process(static_cast<int>(arguments[0]));
  return process == nullptr ? failed(ESRCH) : kernel->attach(std::make_shared<ProcessHandle>(*process));
}

std::unordered_map<const void*, const Fiber*> mutex_owners;

bool is_free(const void* mutex) {
  const auto found = mutex_owners.find(mutex);
  return found == mutex_owners.end() || found->second->process->dead;
}

}  // namespace

int EpollSet::collect(epoll_event* events, int most) const {
  int count = 0;
  for (const auto& [descriptor, entry] : entries) {
    if (entry.object.expired()) {
      continue;
    }
    const unsigned ready = entry.plain->readiness() & (entry.event.events | POLLERR | POLLHUP);
    if (ready != 0 && count < most) {
      events[count].events = ready;
      events[count++].data = entry.event.data;
    }
  }
  return count;
}

bool EpollSet::any_ready() const {
  epoll_event one{};
  return collect(&one, 1) != 0;
}

}  // namespace world

using world::failed;
using world::inside;
using world::kernel;
using world::Nanoseconds;

WORLD_CALL(int, clock_gettime, clockid_t clock, timespec* time) {
  if (!inside()) {
    return WORLD_REAL(clock_gettime)(clock, time);
  }
  kernel->step(world::look_at_clock_ns, world::Kernel::Effect::none);
  *time = world::time_of(kernel->now());
  return 0;
}

// The clock of the processor, in place of that of the library. It would show real time, and a seed would not always
// give the same run.
std::uint64_t couplet::os::ticks() noexcept {
  constexpr std::uint64_t ticks_per_call = 25;
  static std::uint64_t ticks_of_calls = 0;
  if (!inside()) {
    return 0;
  }
  ticks_of_calls += ticks_per_call;
  return kernel->now() * ticks_per_us / 1'000 + ticks_of_calls;
}

WORLD_CALL(int, nanosleep, const timespec* duration, timespec* rest) {
  if (!inside()) {
    return WORLD_REAL(nanosleep)(duration, rest);
  }
  kernel->step(world::call_ns, world::Kernel::Effect::none);
  kernel->block([] { return false; }, world::deadline_after(duration));
  return 0;
}

WORLD_CALL(int, sched_yield) {
  if (!inside()) {
    return WORLD_REAL(sched_yield)();
  }
  kernel->step(1'000, world::Kernel::Effect::none);
  kernel->yield();
  return 0;
}

WORLD_CALL(int, epoll_create1, int flags) {
  return inside() ? kernel->attach(std::make_shared<world::EpollSet>()) : WORLD_REAL(epoll_create1)(flags);
}

WORLD_CALL(int, epoll_ctl, int set, int operation, int descriptor, epoll_event* event) {
  if (!inside()) {
    return WORLD_REAL(epoll_ctl)(set, operation, descriptor, event);
  }
  const auto epoll = kernel->object_as<world::EpollSet>(set);
  const auto object = kernel->object(descriptor);
  if (!epoll || !object) {
    return failed(EBADF);
  }
  const auto found = epoll->entries.find(descriptor);
  const bool present = found != epoll->entries.end() && found->second.object.lock() == object;
  kernel->changes.note();
  if (operation == EPOLL_CTL_DEL) {
    epoll->entries.erase(descriptor);
    return present ? 0 : failed(ENOENT);
  }
  if (present == (operation == EPOLL_CTL_ADD)) {
    return failed(present ? EEXIST : ENOENT);
  }
  epoll->entries[descriptor] = {object, object.get(), *event};
  return 0;
}

WORLD_CALL(int, epoll_pwait2, int set, epoll_event* events, int most, const timespec* timeout, const sigset_t* mask) {
  return inside() ? world::wait_for_events(set, events, most, world::deadline_after(timeout))
                  : WORLD_REAL(epoll_pwait2)(set, events, most, timeout, mask);
}

WORLD_CALL(int, epoll_wait, int set, epoll_event* events, int most, int timeout_ms) {
  if (!inside()) {
    return WORLD_REAL(epoll_wait)(set, events, most, timeout_ms);
  }
  const Nanoseconds deadline =
      timeout_ms < 0 ? world::never : kernel->now() + static_cast<Nanoseconds>(timeout_ms) * 1'000'000;
  return world::wait_for_events(set, events, most, deadline);
}

WORLD_CALL(int, poll, pollfd* entries, nfds_t count, int timeout_ms) {
  if (!inside()) {
    return WORLD_REAL(poll)(entries, count, timeout_ms);
  }
  kernel->step(world::call_ns, world::Kernel::Effect::none);
  const Nanoseconds deadline =
      timeout_ms < 0 ? world::never : kernel->now() + static_cast<Nanoseconds>(timeout_ms) * 1'000'000;
  std::vector<std::shared_ptr<world::Object>> objects;
  for (nfds_t index = 0; index < count; ++index) {
    objects.push_back(kernel->object(entries[index].fd));
  }
  if (world::look_at(entries, objects) == 0 && timeout_ms != 0) {
    kernel->block([&] { return world::look_at(entries, objects) != 0; }, deadline);
  }
  return world::look_at(entries, objects);
}

WORLD_CALL(int, eventfd, unsigned first, int flags) {
  if (!inside()) {
    return WORLD_REAL(eventfd)(first, flags);
  }
  const auto counter = std::make_shared<world::EventCounter>();
  counter->count = first;
  return kernel->attach(counter);
}

WORLD_CALL(int, signalfd, int descriptor, const sigset_t* signals, int flags) {
  return inside() ? kernel->attach(std::make_shared<world::Signals>())
                  : WORLD_REAL(signalfd)(descriptor, signals, flags);
}

WORLD_CALL(long, syscall, long number, ...) {
  va_list rest;
  va_start(rest, number);
  long arguments[6];
  for (long& argument : arguments) {
    argument = va_arg(rest, long);
  }
  va_end(rest);
  if (inside() && number == SYS_futex) {
    return world::futex(arguments);
  }
  if (inside() && number == SYS_futex_waitv) {
    return world::futex_wait_several(arguments);
  }
  if (inside() && number == SYS_pidfd_open) {
    return world::open_process(arguments);
  }
  return WORLD_REAL(syscall)(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                             arguments[5]);
}

// All simulated processes share a mutex of the real process. A simulated process that waits for it lets others run.
WORLD_CALL(int, pthread_mutex_lock, pthread_mutex_t* mutex) {
  if (!inside()) {
    return WORLD_REAL(pthread_mutex_lock)(mutex);
  }
  if (!world::is_free(mutex)) {
    kernel->block([mutex] { return world::is_free(mutex); });
  }
  world::mutex_owners[mutex] = kernel->fiber();
  return 0;
}

WORLD_CALL(int, pthread_mutex_unlock, pthread_mutex_t* mutex) {
  if (!inside()) {
    return WORLD_REAL(pthread_mutex_unlock)(mutex);
  }
  world::mutex_owners.erase(mutex);
  kernel->changes.note();
  return 0;
}

WORLD_CALL(int, pthread_create, pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
           void* argument) {
  if (!inside()) {
    return WORLD_REAL(pthread_create)(thread, attributes, run, argument);
  }
  world::Fiber& fiber = kernel->start_thread(kernel->process(), [run, argument] { run(argument); });
  *thread = reinterpret_cast<pthread_t>(&fiber);
  return 0;
}

WORLD_CALL(int, pthread_join, pthread_t thread, void** result) {
  if (!inside()) {
    return WORLD_REAL(pthread_join)(thread, result);
  }
  const auto* const fiber = reinterpret_cast<const world::Fiber*>(thread);
  kernel->block([fiber] { return fiber->done; });
  return 0;
}
