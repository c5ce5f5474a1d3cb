// engine: all waiting. Turns everything that can be polled (channels, series, timers, the hub) into one bounded poll,
// and a condition into "true", "deadline passed" or an error. Above: universe, message, series. Below: channel, os
// (doorbell, poller, clock). Invariants: no hidden thread; poll never blocks; wait spins briefly (not at all when more
// run than there are cores), yields for at most tens of microseconds while that is seen to help, then blocks on the one
// doorbell of the process; before it blocks the sleeping flag is raised and every source gets a second look, so that no
// wake-up is lost; no exception of a source passes through a caller. Tests: tests/unit/engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "counters/counters.hpp"
#include "engine/crowd.hpp"
#include "engine/turn.hpp"
#include "os/clock.hpp"
#include "os/doorbell.hpp"

namespace couplet::engine {

// Something that moves when it is polled.
class Source {
 public:
  virtual ~Source() = default;
  // Does what can be done now, at most about `budget` items; returns how much was done. Never blocks. now_ns: 0 where
  // nobody has looked at the clock; what depends on time belongs into tick(). What it throws is caught by the engine:
  // it must leave the source as it can be polled again.
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
  seldom,  // needs a system call: polled every few microseconds and after a wake-up of its descriptor
};

struct Patience {
  std::uint64_t spin_ns = 0;   // 0: never; see also Engine::set_crowd
  std::uint64_t yield_ns = 0;  // at most tens of microseconds
};
// spin_us: the user's wish (COUPLET_SPIN_US), < 0: none.
[[nodiscard]] Patience patience_for(double spin_us = -1) noexcept;

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

  // One round over all sources; what needs a system call is left out if that was looked at some 2 us ago. Returns the
  // work done.
  int poll(int budget = 64);
  // The same without leaving out anything. Does nothing where a source calls it.
  void look_at_all();
  // One system call: wakes the sources whose watched descriptors are ready. Returns the work done.
  int look_at_descriptors();

  // Polls until done() is true. ok, or timeout with "waited <t> s for <what()>" once deadline_ns (os::now_ns scale;
  // os::never = none) has passed. first: the source to look at most closely (may be nullptr). done and what are called
  // on this thread, often; done must be cheap. interruptible: answers interrupted where the interrupt check says so.
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

  // Who takes turns with whom, where several threads use this engine; outlives it. system: see Doorbell::allow_wake.
  Status set_turn(Turn& turn);
  // Does another thread want its turn, or does somebody leave?
  [[nodiscard]] bool wanted() const noexcept;
  // Another thread leaves the universe: waits that can be left end.
  [[nodiscard]] bool leaving() const noexcept;
  // Calls `sleep`, which waits elsewhere than in wait(), so that other threads have their turn meanwhile.
  void sleep_elsewhere(const std::function<void()>& sleep);

  // From now on nobody spins while there is a crowd. Without one it is spun always.
  void set_crowd(Crowd::Measure measure);
  // How long a wait spins now: 0 in a crowd.
  [[nodiscard]] std::uint64_t spin_ns() const noexcept;
  // nullptr: none was set.
  [[nodiscard]] const Crowd* crowd() const noexcept;

  // Exceptions of sources that were caught: none leaves poll, wait or look_at_all.
  [[nodiscard]] std::uint64_t caught_exceptions() const noexcept;

  // Counts rounds and sleeps from here on; outlives the engine.
  void set_counters(counters::Counters& counters);

  // check: called inside waits that are interruptible, about every 100 ms: true ends them (Ctrl-C in Python). With
  // several threads each asks for itself.
  void set_interrupt(std::function<bool()> check);
  // For waits elsewhere: asks the check where its time has come. Also true when the universe is being left.
  [[nodiscard]] bool interrupted(std::uint64_t now_ns);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace couplet::engine
