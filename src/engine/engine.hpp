// engine: all waiting. Turns everything that can be polled (channels, series, timers, the hub) into one bounded poll, and a
// condition into "true", "deadline passed" or an error.
// Above: universe, message, series. Below: channel, os (doorbell, poller, clock).
// Invariants: no hidden thread; poll never blocks; wait spins briefly (not at all when ranks exceed cores), yields for at
// most tens of microseconds while that is seen to help, then blocks on the one doorbell of the process; before it blocks
// the sleeping flag is raised and every source gets a second look, so that no wake-up is lost; no exception of a source
// passes through a caller.
// Tests: tests/unit/engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "counters/counters.hpp"
#include "os/clock.hpp"
#include "os/doorbell.hpp"

namespace couplet::engine {

// Something that moves when it is polled.
class Source {
 public:
  virtual ~Source() = default;
  // Does what can be done now, at most about `budget` items; returns how much was done. Never blocks. now_ns: 0 where nobody
  // has looked at the clock; what depends on time belongs into tick(). What it throws is caught by the engine: it must leave
  // the source as it can be polled again.
  virtual int poll(std::uint64_t now_ns, int budget) = 0;
  // A watched descriptor (Engine::watch) of this source is ready. Like poll, for what belongs to that descriptor.
  virtual int woken(int /*descriptor*/, int budget) { return poll(0, budget); }
  // Second look before sleeping: would poll do something?
  [[nodiscard]] virtual bool ready() const = 0;
  // Called about every 100 ms while somebody waits: liveness of peers, time limits.
  virtual void tick(std::uint64_t /*now_ns*/) {}
};

enum class Rate : std::uint8_t {
  often,   // memory: polled in every round
  seldom,  // needs a system call: polled every n-th round and after a wake-up of its descriptor
};

struct Patience {
  std::uint64_t spin_ns = 0;   // chosen at join: 0 where ranks of this node exceed cores
  std::uint64_t yield_ns = 0;  // at most tens of microseconds
};
// For `processes` of ours on a node with so many usable cores. spin_us: the user's wish (COUPLET_SPIN_US), < 0: none.
[[nodiscard]] Patience patience_for(int processes, int cores, double spin_us = -1) noexcept;

class Engine {
 public:
  // The doorbell belongs to the process (universe) and outlives the engine.
  Engine(os::Doorbell& doorbell, Patience patience);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void add(Source& source, Rate rate);
  void remove(Source& source);
  // Wake up from sleeping when the descriptor is readable (and writable). Replaces an earlier watch of it.
  Status watch(int descriptor, bool write, Source& source);
  void unwatch(int descriptor);

  // One round over all sources. Returns the work done.
  int poll(int budget = 64);
  // The same without leaving out what poll() looks at now and then only. Does nothing where a source calls it.
  void look_at_all();
  // One system call: wakes the sources whose watched descriptors are ready. Returns the work done.
  int look_at_descriptors();

  // Polls until done() is true. ok, or timeout with "waited <t> s for <what()>" once deadline_ns (os::now_ns scale;
  // os::never = none) has passed. first: the source to look at most closely (may be nullptr). done and what are called on
  // this thread, often; done must be cheap. interruptible: answers interrupted where the interrupt check says so.
  Status wait(const std::function<bool()>& done, std::uint64_t deadline_ns, const std::function<std::string()>& what,
              Source* first = nullptr, bool interruptible = false);

  // For the hot path of message: as wait, without std::function. Done: bool().
  template <typename Done>
  bool spin(const Done& done, Source& first, int rounds) {
    for (int round = 0; round < rounds; ++round) {
      first.poll(0, 16);
      if (done()) {
        return true;
      }
      os::pause();
    }
    return false;
  }

  // No sleep is longer: for sources that nothing wakes us for (outstanding work of MPI).
  void limit_sleep(std::uint64_t longest_ns);

  // Exceptions of sources that were caught: none leaves poll, wait or look_at_all.
  [[nodiscard]] std::uint64_t caught_exceptions() const noexcept;

  // Counts rounds and sleeps from here on; outlives the engine.
  void set_counters(counters::Counters& counters);

  // check: called inside waits that are interruptible, about every 100 ms: true ends them (Ctrl-C in Python).
  void set_interrupt(std::function<bool()> check);
  // For waits elsewhere: asks the check where its time has come.
  [[nodiscard]] bool interrupted(std::uint64_t now_ns);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace couplet::engine
