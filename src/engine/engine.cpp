#include "engine/engine.hpp"

#include <sched.h>

#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <unordered_map>
#include <utility>

#include "os/ticks.hpp"

namespace couplet::engine {
namespace {

constexpr std::uint64_t slice_ns = 100'000'000;  // the time between ticks and interrupt checks, and the longest sleep
constexpr unsigned rounds_between_others = 16;   // in which only the source given to wait() is polled
constexpr unsigned rounds_between_seldom = 64;   // in a wait that polls one source most often
constexpr std::uint64_t ticks_between_seldom = 2 * os::ticks_per_us;  // polling these sources costs a system call
constexpr std::uint64_t ticks_between_clocks = 1000 * os::ticks_per_us;
// While a wait polls one source most often, polling the others with system calls takes at most this part of the time
// (1/64) if it finds nothing. One such poll takes about 3 us.
constexpr std::uint64_t seldom_share = 128;
constexpr std::uint64_t max_ticks_between_seldom = 400 * os::ticks_per_us;
constexpr unsigned rounds_between_clocks = 64;
constexpr int yield_credit_most = 16;
constexpr unsigned waits_between_yield_trials = 32;
constexpr int round_budget = 64;

enum class Phase : std::uint8_t { spinning, yielding, sleeping };

// The state of one wait.
struct Wait {
  std::uint64_t deadline_ns;
  bool spins;  // if false, every round polls everything
  Phase phase = Phase::spinning;
  std::uint64_t last_ask_ns = 0;
  std::uint64_t started_ns = 0;  // 0: the clock was not read yet
  std::uint64_t idle_ns = 0;     // since when nothing has moved
  bool moved = false;

  [[nodiscard]] bool close_look() const noexcept { return !spins || phase != Phase::spinning; }
};

// Notes when the sources that need a system call were last polled, and how long they need not be polled during a wait
// that polls one source most often.
class SeldomLooks {
 public:
  void begin() noexcept { last_ticks_ = os::ticks(); }
  void end(bool moved) noexcept {
    const std::uint64_t taken_ticks = os::ticks() - last_ticks_;
    rest_ticks_ = moved ? ticks_between_seldom
                        : std::clamp(taken_ticks * seldom_share, ticks_between_seldom, max_ticks_between_seldom);
  }
  [[nodiscard]] std::uint64_t last_ticks() const noexcept { return last_ticks_; }
  [[nodiscard]] std::uint64_t rest_ticks() const noexcept { return rest_ticks_; }

 private:
  std::uint64_t last_ticks_ = 0;
  std::uint64_t rest_ticks_ = ticks_between_seldom;
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
  // > 0 while sources are being polled. A source that is removed meanwhile becomes nullptr, and its place is freed
  // afterwards.
  int walking = 0;
  bool holes = false;
  std::uint64_t exceptions = 0;  // exceptions that within_boundary has caught
  // An exception other than a lack of memory. The next wait returns it.
  Status mistake;
  SeldomLooks seldom_looks{};
  std::uint64_t clock_ticks = 0;  // when poll() last read the clock
  Turn own_turn{};                // used as long as there is only one thread
  Turn* turn = &own_turn;
  std::optional<Crowd> crowd{};
  std::uint64_t last_tick_ns = 0;
  std::uint64_t longest_sleep_ns = slice_ns;
  // Yielding helps if the peer needs this core. The credit is kept up as long as waits end while yielding.
  int yield_credit = yield_credit_most;
  unsigned waits_without_yield = 0;

  template <typename Visit>
  void walk(std::vector<Source*>& sources, Visit&& visit) {
    ++walking;
    for (std::size_t index = 0; index < sources.size(); ++index) {  // the list may grow meanwhile
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

  // The one place that catches what sources throw. An exception must not pass through the calls that wait, since their
  // requests are in lists. A source that lacked memory is polled again in the next round; any other exception is a
  // mistake of the library, and ends the wait.
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

  int poll_seldom(int budget) noexcept {
    seldom_looks.begin();
    const int work = poll_all(seldom, budget);
    seldom_looks.end(work > 0);
    return work;
  }

  // Polls once. Leaves out what needs a system call if that was polled less than rest_ticks ago.
  int poll_after(std::uint64_t rest_ticks, int budget) noexcept {
    counters->add(counters::Counter::polls);
    int work = poll_all(often, budget);
    const std::uint64_t now_ticks = os::ticks();
    if (now_ticks - seldom_looks.last_ticks() < rest_ticks) {
      return work;
    }
    work += poll_seldom(budget);
    if (now_ticks - clock_ticks >= ticks_between_clocks) {
      clock_ticks = now_ticks;
      const std::uint64_t now_ns = os::now_ns();
      look_at_crowd(now_ns);
      tick(now_ns);
    }
    return work;
  }

  // Polls the sources whose descriptors are ready.
  int look_at_descriptors() noexcept {
    int ready[64];
    int work = 0;
    const int count = watched.empty() ? 0 : doorbell.look(ready, 64);
    for (int index = 0; index < count; ++index) {
      work += poll_woken(ready[index]);
    }
    return work;
  }

  int poll_woken(int descriptor) noexcept {
    int work = 0;
    within_boundary([&] {
      const auto place = watched.find(descriptor);
      if (place != watched.end()) {
        work = place->second->woken(descriptor, round_budget);
      }
    });
    return work;
  }

  [[nodiscard]] std::uint64_t spin_ns() const noexcept { return crowd && crowd->crowded() ? 0 : patience.spin_ns; }

  void look_at_crowd(std::uint64_t now_ns) noexcept {
    if (crowd) {
      within_boundary([&] { crowd->look(now_ns); });
    }
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
  // last_ns: when this thread last called the interrupt check.
  bool ask(std::uint64_t now_ns, std::uint64_t& last_ns) {
    if (turn->ending() != Ending::none) {
      return true;
    }
    if (!interrupted || now_ns - last_ns < slice_ns) {
      return false;
    }
    last_ns = now_ns;
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
  void pass_time(Wait& wait, std::uint64_t now_ns, Turn::Sleeper& sleeper);
  void sleep(std::uint64_t now_ns, std::uint64_t deadline_ns, Turn::Sleeper& sleeper);
  int sleep_in_doorbell(std::uint64_t timeout_ns, int* ready, int most, Turn::Sleeper& sleeper);
  bool may_yield() noexcept;
  Status after_round(Wait& wait, std::uint64_t now_ns, const std::function<std::string()>& what, bool interruptible);
};

// Raises the flag, asks every source once more, and sleeps until the bell rings, a descriptor is ready, the deadline is
// reached or the slice ends.
void Engine::State::sleep(std::uint64_t now_ns, std::uint64_t deadline_ns, Turn::Sleeper& sleeper) {
  doorbell.raise_flag();
  if (any_ready()) {
    doorbell.lower_flag();
    return;
  }
  const std::uint64_t until = std::min({deadline_ns, last_tick_ns + slice_ns, now_ns + longest_sleep_ns});
  const std::uint64_t start_ns = os::now_ns();
  int ready[64];
  const int count = sleep_in_doorbell(until > now_ns ? until - now_ns : 0, ready, 64, sleeper);
  for (int index = 0; index < count; ++index) {
    poll_woken(ready[index]);
  }
  counters->add(counters::Counter::sleeps);
  counters->add(counters::Counter::slept_ns, os::now_ns() - start_ns);
}

// Gives the turn to other threads during the sleep. A source that waits inside its poll keeps the turn, since the
// caller of that poll is in the middle of a round.
int Engine::State::sleep_in_doorbell(std::uint64_t timeout_ns, int* ready, int most, Turn::Sleeper& sleeper) {
  if (walking > 0) {
    return doorbell.sleep_for(timeout_ns, ready, most);
  }
  int count = 0;
  turn->sleep_without(&sleeper, [&] { count = doorbell.sleep_for(timeout_ns, ready, most); });
  return count;
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
  waits_without_yield = 0;  // conditions change, so it is tried again
  yield_credit = 1;
  return true;
}

Patience patience_for(double spin_us) noexcept {
  Patience patience{.spin_ns = 200'000U, .yield_ns = 20'000};
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

bool Engine::user_interrupts() const {
  return state_->interrupted && state_->interrupted();
}

// Waits outside of wait() call this in each of their rounds. Other threads that want the turn get it here.
bool Engine::interrupted(std::uint64_t now_ns) {
  if (state_->turn->wanted() && state_->walking == 0) {
    state_->turn->pass();
  }
  std::uint64_t each_time = 0;
  return state_->ask(now_ns, state_->turn->serialised() ? each_time : state_->last_ask_ns);
}

Status Engine::set_turn(Turn& turn) {
  if (turn.serialised()) {
    COUPLET_TRY(state_->doorbell.allow_wake());
    turn.set_wake([this] { state_->doorbell.wake(); });
  }
  state_->turn = &turn;
  return {};
}

Ending Engine::ending() const noexcept {
  return state_->turn->ending();
}

bool Engine::wanted() const noexcept {
  return state_->turn->wanted() || state_->turn->ending() != Ending::none;
}

void Engine::sleep_elsewhere(const std::function<void()>& sleep) {
  state_->turn->sleep_without(nullptr, sleep);
}

void Engine::set_crowd(Crowd::Measure measure) {
  state_->crowd.emplace(std::move(measure));
  state_->look_at_crowd(os::now_ns());
}

std::uint64_t Engine::spin_ns() const noexcept {
  return state_->spin_ns();
}

const Crowd* Engine::crowd() const noexcept {
  return state_->crowd ? &*state_->crowd : nullptr;
}

void Engine::limit_sleep(std::uint64_t longest_ns) {
  state_->longest_sleep_ns = std::min(state_->longest_sleep_ns, longest_ns);
}

void Engine::set_counters(counters::Counters& counters) {
  state_->counters = &counters;
}

// A caller that only polls needs the system calls and ticks, too, but not in each call.
int Engine::poll(int budget) {
  return state_->poll_after(ticks_between_seldom, budget);
}

int Engine::poll_others(int budget) {
  return state_->poll_after(state_->seldom_looks.rest_ticks(), budget);
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
  state.poll_seldom(round_budget);
  state.tick(os::now_ns());
}

bool Engine::is_polling() const noexcept {
  return state_->walking > 0;
}

bool Engine::any_ready() {
  return state_->any_ready();
}

int Engine::look_at_descriptors() {
  return state_->look_at_descriptors();
}

// One round: polls the focus, and the other sources if it is their turn. Returns true if the condition holds.
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
    wait.moved = poll_seldom(round_budget) > 0 || wait.moved;
  }
  return (all_often || all_seldom) && done();
}

// Called after the clock was read. Continues to spin, yields, or sleeps.
void Engine::State::pass_time(Wait& wait, std::uint64_t now_ns, Turn::Sleeper& sleeper) {
  const std::uint64_t idle_for_ns = now_ns - wait.idle_ns;
  const std::uint64_t spin_for_ns = spin_ns();
  if (idle_for_ns < spin_for_ns) {
    return;
  }
  if (wait.phase == Phase::spinning) {
    wait.phase = may_yield() ? Phase::yielding : Phase::sleeping;
  }
  if (wait.phase == Phase::yielding) {
    if (idle_for_ns < spin_for_ns + patience.yield_ns) {
      ::sched_yield();
      return;
    }
    yield_credit = std::max(0, yield_credit - 1);
    wait.phase = Phase::sleeping;
  }
  sleep(now_ns, wait.deadline_ns, sleeper);
  wait.moved = true;  // whatever has ended the sleep: spin again before the next one
}

// Checks what ends a wait whose condition does not hold, and does what is due now and then.
Status Engine::State::after_round(Wait& wait, std::uint64_t now_ns, const std::function<std::string()>& what,
                                  bool interruptible) {
  if (!mistake.ok()) [[unlikely]] {
    return std::exchange(mistake, {});
  }
  if (wait.started_ns == 0) {
    wait.started_ns = wait.idle_ns = now_ns;
  }
  if (now_ns >= wait.deadline_ns) {
    return fail(Code::timeout, "waited {:.3g} s for {}", static_cast<double>(now_ns - wait.started_ns) * 1e-9, what());
  }
  if (wait.moved) {
    wait.idle_ns = now_ns;
    wait.phase = Phase::spinning;
  }
  look_at_crowd(now_ns);
  wait.spins = spin_ns() != 0;
  tick(now_ns);
  if (interruptible && turn->ending() != Ending::none) {
    return error_of(turn->ending());
  }
  return interruptible && ask(now_ns, wait.last_ask_ns) ? Status(Code::interrupted) : Status();
}

Status Engine::wait(const std::function<bool()>& done, std::uint64_t deadline_ns,
                    const std::function<std::string()>& what, Source* first, bool interruptible) {
  State& state = *state_;
  Turn& turn = *state.turn;
  Turn::Sleeper sleeper{done};
  Wait wait{.deadline_ns = deadline_ns, .spins = state.spin_ns() != 0, .last_ask_ns = state.last_ask_ns};
  // A source that waits inside its poll keeps the turn, since the caller of that poll is in the middle of a round.
  const bool outermost = state.walking == 0;
  struct Leader {
    State& state;
    bool leads;
    ~Leader() {
      if (leads) state.turn->resign();
    }
  } leader{state, outermost && !turn.leads() && turn.lead()};
  for (unsigned round = 0; !state.round_of(wait, round, first, done); ++round) {
    state.counters->add(counters::Counter::polls);
    if (turn.wanted() && outermost) {
      turn.pass();
    }
    if (!wait.close_look() && deadline_ns != 0 && round % rounds_between_clocks != rounds_between_clocks - 1) {
      os::pause();
      continue;
    }
    const std::uint64_t now_ns = os::now_ns();
    COUPLET_TRY(state.after_round(wait, now_ns, what, interruptible));
    if (std::exchange(wait.moved, false)) {
      turn.look_at_sleepers();
    }
    state.last_ask_ns = wait.last_ask_ns;
    if (outermost && !turn.leads()) {
      leader.leads = turn.lead();
      if (!leader.leads) {
        turn.park(sleeper, std::min(deadline_ns, now_ns + slice_ns));
        continue;
      }
    }
    state.pass_time(wait, now_ns, sleeper);
  }
  if (wait.phase == Phase::yielding) {
    state.yield_credit = std::min(yield_credit_most, state.yield_credit + 4);
  }
  return {};
}

}  // namespace couplet::engine
