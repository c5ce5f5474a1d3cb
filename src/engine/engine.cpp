#include "engine/engine.hpp"

#include <sched.h>

#include <algorithm>
#include <exception>
#include <new>
#include <unordered_map>
#include <utility>

namespace couplet::engine {
namespace {

constexpr std::uint64_t slice_ns = 100'000'000;  // ticks, interrupts, and the longest sleep
constexpr unsigned rounds_between_others = 16;   // of the sources that are not looked at most closely
constexpr unsigned rounds_between_seldom = 64;   // a look there is a system call
constexpr unsigned rounds_between_clocks = 64;
constexpr int yield_credit_most = 16;
constexpr unsigned waits_between_yield_trials = 32;
constexpr int round_budget = 64;

enum class Phase : std::uint8_t { spinning, yielding, sleeping };

// How one wait stands.
struct Wait {
  std::uint64_t deadline_ns;
  bool spins;  // else every round looks at everything
  Phase phase = Phase::spinning;
  std::uint64_t started_ns = 0;  // 0: the clock was not looked at yet
  std::uint64_t idle_ns = 0;     // since when nothing has moved
  bool moved = false;

  [[nodiscard]] bool close_look() const noexcept { return !spins || phase != Phase::spinning; }
};

}  // namespace

struct Engine::State {
  os::Doorbell& doorbell;
  Patience patience;
  std::vector<Source*> often;
  std::vector<Source*> seldom;
  std::unordered_map<int, Source*> watched;
  std::function<bool()> interrupted;
  std::uint64_t last_ask_ns = 0;
  counters::Counters own_counters{};
  counters::Counters* counters = &own_counters;
  int walking = 0;  // sources may come and go while they are polled: a removed one leaves nullptr until nobody walks
  bool holes = false;
  std::uint64_t exceptions = 0;  // that were caught at the boundary
  Status mistake;                // an exception that is no lack of memory; the next wait answers with it
  unsigned round = 0;
  std::uint64_t last_tick_ns = 0;
  std::uint64_t longest_sleep_ns = slice_ns;
  // Yielding helps where the peer needs this core: kept up while waits end in it.
  int yield_credit = yield_credit_most;
  unsigned waits_without_yield = 0;

  template <typename Visit>
  void walk(std::vector<Source*>& sources, Visit&& visit) {
    ++walking;
    for (std::size_t index = 0; index < sources.size(); ++index) {  // may grow
      if (sources[index] != nullptr) {
        visit(*sources[index]);
      }
    }
    --walking;
    if (holes && walking == 0) [[unlikely]] {
      std::erase(often, nullptr);
      std::erase(seldom, nullptr);
      holes = false;
    }
  }

  // The one place where what a source throws is caught: it must not pass through the frames of calls whose requests stand in
  // lists. Without memory a source is asked again in the next round; anything else is a mistake of ours and ends the wait.
  template <typename Call>
  void within_boundary(const Call& call) noexcept {
    try {
      call();
    } catch (const std::bad_alloc&) {
      ++exceptions;
    } catch (const std::exception& error) {
      ++exceptions;
      mistake = fail(Code::internal, "unexpected exception in a poll: {}", error.what());
    } catch (...) {
      ++exceptions;
      mistake = fail(Code::internal, "unexpected exception in a poll");
    }
  }

  int poll_one(Source& source, int budget) noexcept {
    int work = 0;
    within_boundary([&] { work = source.poll(0, budget); });
    return work;
  }

  int poll_all(std::vector<Source*>& sources, int budget) noexcept {
    int work = 0;
    walk(sources, [&](Source& source) { work += poll_one(source, budget); });
    return work;
  }

  [[nodiscard]] bool any_ready() {
    bool ready = false;
    for (auto* const sources : {&often, &seldom}) {
      walk(*sources, [&](const Source& source) { within_boundary([&] { ready = ready || source.ready(); }); });
    }
    return ready;
  }

  void tick(std::uint64_t now_ns) {
    if (now_ns - last_tick_ns < slice_ns) {
      return;
    }
    last_tick_ns = now_ns;
    for (auto* const sources : {&often, &seldom}) {
      walk(*sources, [&](Source& source) { within_boundary([&] { source.tick(now_ns); }); });
    }
  }
  bool ask(std::uint64_t now_ns) {
    if (!interrupted || now_ns - last_ask_ns < slice_ns) {
      return false;
    }
    last_ask_ns = now_ns;
    return interrupted();
  }

  void forget(std::vector<Source*>& sources, const Source& source) {
    const auto place = std::find(sources.begin(), sources.end(), &source);
    if (place == sources.end()) {
      return;
    }
    if (walking > 0) {
      *place = nullptr;
      holes = true;
    } else {
      sources.erase(place);
    }
  }

  template <typename Done>
  bool round_of(Wait& wait, unsigned number, Source* first, const Done& done);
  void pass_time(Wait& wait, std::uint64_t now_ns);
  void sleep(std::uint64_t now_ns, std::uint64_t deadline_ns);
  int wake_ready(std::uint64_t timeout_ns);
  bool may_yield() noexcept;
};

// Raises the flag, takes the second look, sleeps until the bell, a descriptor, the deadline or the end of the slice.
void Engine::State::sleep(std::uint64_t now_ns, std::uint64_t deadline_ns) {
  doorbell.raise_flag();
  if (any_ready()) {
    doorbell.lower_flag();
    return;
  }
  const std::uint64_t until = std::min({deadline_ns, last_tick_ns + slice_ns, now_ns + longest_sleep_ns});
  const std::uint64_t start_ns = os::now_ns();
  wake_ready(until > now_ns ? until - now_ns : 0);
  counters->add(counters::Counter::sleeps);
  counters->add(counters::Counter::slept_ns, os::now_ns() - start_ns);
}

// Sleeps for at most timeout_ns, and wakes the sources whose descriptors are ready.
int Engine::State::wake_ready(std::uint64_t timeout_ns) {
  int work = 0;
  doorbell.sleep(timeout_ns, [&](int descriptor) {
    const auto place = watched.find(descriptor);
    if (place != watched.end()) {
      within_boundary([&] { work += place->second->woken(descriptor, round_budget); });
    }
  });
  return work;
}

bool Engine::State::may_yield() noexcept {
  if (patience.yield_ns == 0) {
    return false;
  }
  if (yield_credit > 0) {
    return true;
  }
  if (++waits_without_yield < waits_between_yield_trials) {
    return false;
  }
  waits_without_yield = 0;  // times change: try again
  yield_credit = 1;
  return true;
}

Patience patience_for(int processes, int cores, double spin_us) noexcept {
  Patience patience{.spin_ns = processes > cores ? 0U : 200'000U, .yield_ns = 20'000};
  if (spin_us >= 0) {
    patience.spin_ns = static_cast<std::uint64_t>(spin_us * 1e3);
  }
  return patience;
}

Engine::Engine(os::Doorbell& doorbell, Patience patience)
    : state_(new State{.doorbell = doorbell, .patience = patience}) {}
Engine::~Engine() = default;

void Engine::add(Source& source, Rate rate) {
  auto& sources = rate == Rate::often ? state_->often : state_->seldom;
  if (std::find(sources.begin(), sources.end(), &source) == sources.end()) {
    sources.push_back(&source);
  }
}

void Engine::remove(Source& source) {
  state_->forget(state_->often, source);
  state_->forget(state_->seldom, source);
  std::erase_if(state_->watched, [&](const auto& entry) {
    if (entry.second != &source) {
      return false;
    }
    state_->doorbell.unwatch(entry.first);
    return true;
  });
}

Status Engine::watch(int descriptor, bool write, Source& source) {
  COUPLET_TRY(state_->doorbell.watch(descriptor, write));
  state_->watched[descriptor] = &source;
  return {};
}

void Engine::unwatch(int descriptor) {
  if (state_->watched.erase(descriptor) != 0) {
    state_->doorbell.unwatch(descriptor);
  }
}

void Engine::set_interrupt(std::function<bool()> check) {
  state_->interrupted = std::move(check);
}

bool Engine::interrupted(std::uint64_t now_ns) {
  return state_->ask(now_ns);
}

void Engine::limit_sleep(std::uint64_t longest_ns) {
  state_->longest_sleep_ns = longest_ns;
}

void Engine::set_counters(counters::Counters& counters) {
  state_->counters = &counters;
}

int Engine::poll(int budget) {
  State& state = *state_;
  state.counters->add(counters::Counter::polls);
  int work = state.poll_all(state.often, budget);
  const unsigned round = ++state.round;
  // A caller that only polls needs its system calls and ticks too, just not each time.
  if (round % rounds_between_others == 0) {
    work += state.poll_all(state.seldom, budget);
  }
  if (round % rounds_between_clocks == 0) {
    state.tick(os::now_ns());
  }
  return work;
}

std::uint64_t Engine::caught_exceptions() const noexcept {
  return state_->exceptions;
}

void Engine::look_at_all() {
  State& state = *state_;
  if (state.walking > 0) {
    return;
  }
  state.poll_all(state.often, round_budget);
  state.poll_all(state.seldom, round_budget);
  state.tick(os::now_ns());
}

int Engine::look_at_descriptors() {
  return state_->wake_ready(0);
}

// One round: the focus, and the others when it is their turn. True: done.
template <typename Done>
bool Engine::State::round_of(Wait& wait, unsigned number, Source* first, const Done& done) {
  const bool close_look = wait.close_look();
  const bool all_often = first == nullptr || close_look || number % rounds_between_others == 0;
  const bool all_seldom = close_look || number % rounds_between_seldom == 0;
  if (first != nullptr) {
    wait.moved = poll_one(*first, round_budget) > 0 || wait.moved;
    if (done()) {
      return true;
    }
  }
  if (all_often) {
    wait.moved = poll_all(often, round_budget) > 0 || wait.moved;
  }
  if (all_seldom) {
    wait.moved = poll_all(seldom, round_budget) > 0 || wait.moved;
  }
  return (all_often || all_seldom) && done();
}

// After a look at the clock: spins on, yields or sleeps.
void Engine::State::pass_time(Wait& wait, std::uint64_t now_ns) {
  const std::uint64_t idle_for_ns = now_ns - wait.idle_ns;
  if (idle_for_ns < patience.spin_ns) {
    return;
  }
  if (wait.phase == Phase::spinning) {
    wait.phase = may_yield() ? Phase::yielding : Phase::sleeping;
  }
  if (wait.phase == Phase::yielding) {
    if (idle_for_ns < patience.spin_ns + patience.yield_ns) {
      ::sched_yield();
      return;
    }
    yield_credit = std::max(0, yield_credit - 1);
    wait.phase = Phase::sleeping;
  }
  sleep(now_ns, wait.deadline_ns);
  wait.moved = true;  // whatever woke us: spin again before the next sleep
}

Status Engine::wait(const std::function<bool()>& done, std::uint64_t deadline_ns,
                    const std::function<std::string()>& what, Source* first, bool interruptible) {
  State& state = *state_;
  Wait wait{.deadline_ns = deadline_ns, .spins = state.patience.spin_ns != 0};
  for (unsigned round = 0; !state.round_of(wait, round, first, done); ++round) {
    state.counters->add(counters::Counter::polls);
    if (!wait.close_look() && deadline_ns != 0 && round % rounds_between_clocks != rounds_between_clocks - 1) {
      os::pause();
      continue;
    }
    if (!state.mistake.ok()) [[unlikely]] {
      return std::exchange(state.mistake, {});
    }
    const std::uint64_t now_ns = os::now_ns();
    if (wait.started_ns == 0) {
      wait.started_ns = wait.idle_ns = now_ns;
    }
    if (wait.moved) {
      wait.idle_ns = now_ns;
      wait.moved = false;
      wait.phase = Phase::spinning;
    }
    if (now_ns >= deadline_ns) {
      return fail(Code::timeout, "waited {:.3g} s for {}", static_cast<double>(now_ns - wait.started_ns) * 1e-9,
                  what());
    }
    state.tick(now_ns);
    if (interruptible && state.ask(now_ns)) {
      return Code::interrupted;
    }
    state.pass_time(wait, now_ns);
  }
  if (wait.phase == Phase::yielding) {
    state.yield_credit = std::min(yield_credit_most, state.yield_credit + 4);
  }
  return {};
}

}  // namespace couplet::engine
