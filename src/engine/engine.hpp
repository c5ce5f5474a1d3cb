// engine: all waiting. Turns everything that can be polled (channels, series, timers, the hub) into one bounded poll,
// and a condition into "true", "deadline passed" or an error. Above: universe, message, series. Below: channel, os
// (doorbell, poller, clock). Invariants: no hidden thread; poll never blocks; wait spins briefly (not at all if more
// processes run than there are cores), yields for at most tens of microseconds while yielding is seen to help, and then
// blocks on the one doorbell of the process; before it blocks, it raises the sleeping flag and asks every source once
// more whether it is ready, so that no wake-up is lost; no exception of a source passes through a caller. Tests:
// tests/unit/engine.
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

// An object that the engine polls.
class Source {
 public:
  virtual ~Source() = default;
  // Does what can be done now, about `budget` items at most, and returns how much was done. Never blocks. now_ns: 0 if
  // the clock was not read in this round; work that depends on the time belongs into tick(). The engine catches what it
  // throws; the source must then still be fit to be polled.
  virtual int poll(std::uint64_t now_ns, int budget) = 0;
  // A watched descriptor of this source (Engine::watch) is ready. Does what poll does, for what belongs to that
  // descriptor.
  virtual int woken(int /*descriptor*/, int budget) { return poll(0, budget); }
  // Would poll do something? The engine asks once more before it sleeps.
  [[nodiscard]] virtual bool ready() const = 0;
  // Called about every 100 ms during waits, for the liveness of peers and for time limits.
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
// Returns how long to spin and to yield. spin_us: the user's setting (COUPLET_SPIN_US); < 0: not set.
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
  // From now on, a sleep ends when the descriptor can be read and, if `write` is true, written. Replaces an earlier
  // watch of it.
  Status watch(int descriptor, bool write, Source& source);
  void unwatch(int descriptor);

  // Polls all sources once, and returns the work done. Leaves out what needs a system call if that was polled about 2
  // us ago.
  int poll(int budget = 64);
  // Does the same for a caller that itself polls what it waits for, and calls this now and then. System calls that find
  // nothing take at most a small part of its time.
  int poll_others(int budget = 64);
  // Does the same without leaving anything out. Does nothing if a source calls it.
  void look_at_all();
  // Is a source being polled now?
  [[nodiscard]] bool is_polling() const noexcept;
  // Asks the interrupt check of the calling thread.
  [[nodiscard]] bool user_interrupts() const;
  // Polls the sources whose watched descriptors are ready, and returns the work done. Costs one system call.
  int look_at_descriptors();

  // Would polling do something? Asks every source.
  [[nodiscard]] bool any_ready();

  // Polls until done() is true. Returns ok; or timeout with the text "waited <t> s for <what()>" once deadline_ns
  // (os::now_ns scale; os::never = none) has passed; or, if interruptible, interrupted once the interrupt check returns
  // true. first: the source that is polled most often (may be nullptr). done and what are called on this thread; done
  // is called often, and must be cheap.
  Status wait(const std::function<bool()>& done, std::uint64_t deadline_ns, const std::function<std::string()>& what,
              Source* first = nullptr, bool interruptible = false);

  // Does the same without std::function, for messages, where each nanosecond counts. Done: bool().
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

  // Bounds each sleep by this time, and by those of earlier calls, for sources that nothing wakes (work of MPI).
  void limit_sleep(std::uint64_t longest_ns);

  // Sets the Turn in which several threads use this engine; it outlives the engine. Returns system as
  // Doorbell::allow_wake does.
  Status set_turn(Turn& turn);
  // Does another thread want its turn, or is this call to end?
  [[nodiscard]] bool wanted() const noexcept;
  // Is this call to end, since another thread leaves the universe, or closes a handle of the call? Waits that can be
  // ended then end with error_of().
  [[nodiscard]] Ending ending() const noexcept;
  // Calls `sleep`, which sleeps outside of wait(). Other threads have their turn meanwhile.
  void sleep_elsewhere(const std::function<void()>& sleep);

  // From now on, no wait spins while more processes run than there are cores, as `measure` finds out. Before this call
  // waits always spin.
  void set_crowd(Crowd::Measure measure);
  // Returns how long a wait spins now: 0 if too many processes run.
  [[nodiscard]] std::uint64_t spin_ns() const noexcept;
  // Returns nullptr if set_crowd was not called.
  [[nodiscard]] const Crowd* crowd() const noexcept;

  // Returns how many exceptions of sources were caught. None of them leaves poll, wait or look_at_all.
  [[nodiscard]] std::uint64_t caught_exceptions() const noexcept;

  // From now on, counts rounds and sleeps in these counters, which outlive the engine.
  void set_counters(counters::Counters& counters);

  // Sets the interrupt check. It is called about every 100 ms in waits that are interruptible, and ends them by
  // returning true (Ctrl-C in Python). With several threads, each thread asks for itself.
  void set_interrupt(std::function<bool()> check);
  // For waits outside of wait(): calls the interrupt check if its time has come. Also returns true when this
  // call is to end (see ending).
  [[nodiscard]] bool interrupted(std::uint64_t now_ns);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace couplet::engine
