// Descriptors for waiting: epoll sets, event counters, handles of processes, signals.
#pragma once

#include <sys/epoll.h>

#include "kernel.hpp"

namespace world {

class EventCounter final : public Object {
 public:
  [[nodiscard]] unsigned readiness() const override { return (count != 0 ? 0x1U : 0U) | 0x4U; }  // POLLIN, POLLOUT
  std::uint64_t count = 0;
};

class EpollSet final : public Object {
 public:
  struct Entry {
    std::weak_ptr<Object> object;
    const Object* plain = nullptr;  // the same object, for use while it exists
    epoll_event event{};
  };
  // Returns the descriptors that are ready now, at most `most`.
  int collect(epoll_event* events, int most) const;
  [[nodiscard]] bool any_ready() const;
  [[nodiscard]] unsigned readiness() const override { return any_ready() ? 0x1U : 0U; }
  std::map<int, Entry> entries;
};

// The object of pidfd_open. It can be read when the process has ended.
class ProcessHandle final : public Object {
 public:
  explicit ProcessHandle(const Process& process) : process_(process) {}
  [[nodiscard]] unsigned readiness() const override { return process_.dead ? 0x1U : 0U; }

 private:
  const Process& process_;
};

// The object of signalfd. No signals are sent in a world.
class Signals final : public Object {};

}  // namespace world
