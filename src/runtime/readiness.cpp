#include "runtime/readiness.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "message/probe.hpp"
#include "os/error.hpp"
#include "os/ticks.hpp"
#include "series/reader_readiness.hpp"

namespace couplet::runtime {
namespace {

using series::ReaderReadiness;

// Time between two checks whether writers have died, which take a system call for each writer.
constexpr std::uint64_t ticks_between_losses = 20'000 * os::ticks_per_us;
// Time after which the armed descriptor becomes readable if nothing announces steps (a window of MPI on another node).
constexpr std::uint64_t unannounced_alarm_ns = 1'000'000;
constexpr std::uint64_t second_ns = 1'000'000'000;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) noexcept {
  return (hash ^ value) * 0x9E3779B97F4A7C15U ^ hash >> 29U;
}

std::uint64_t key_of(std::span<const Awaited> awaited) noexcept {
  std::uint64_t key = mixed(1, awaited.size());
  for (const Awaited& one : awaited) {
    const void* const lasting = one.reader != nullptr ? static_cast<const void*>(one.reader) : one.group;
    key = mixed(key, reinterpret_cast<std::uintptr_t>(lasting));
    key =
        mixed(key, std::uint64_t{static_cast<std::uint32_t>(one.source)} << 32U | static_cast<std::uint32_t>(one.tag));
  }
  return key;
}

Result<os::Descriptor> made(int number, const char* what) {
  if (number < 0) {
    return os::system_failure(errno, fmt::format("cannot make {}", what));
  }
  return os::Descriptor(number);
}

Result<os::Descriptor> make_event(const char* what) {
  return made(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), what);
}

void ring(const os::Descriptor& event) noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(::write(event.number(), &one, sizeof one) == sizeof one);  // if it is full, it is readable already
}

// Makes an eventfd or a timer unreadable.
void clear(const os::Descriptor& event) noexcept {
  std::uint64_t count = 0;
  static_cast<void>(::read(event.number(), &count, sizeof count) == sizeof count);
}

Status add(const os::Descriptor& set, int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  if (::epoll_ctl(set.number(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
    return os::system_failure(errno, "cannot add to the descriptor of the universe");
  }
  return {};
}

}  // namespace

Rotation::Start Rotation::start(std::span<const Awaited> awaited) noexcept {
  const std::uint64_t key = key_of(awaited);
  const std::size_t last = recent_[last_].next;  // the search in a new array begins where the last one would continue
  auto entry =
      std::find_if(recent_.begin(), recent_.end(), [&](const Entry& one) { return one.used != 0 && one.key == key; });
  if (entry == recent_.end()) {
    entry = std::min_element(recent_.begin(), recent_.end(),
                             [](const Entry& a, const Entry& b) { return a.used < b.used; });
    *entry = {key, last, 0};
  }
  entry->used = ++uses_;
  last_ = static_cast<std::size_t>(entry - recent_.begin());
  return {last_, entry->next % awaited.size()};
}

// The source of one call that waits. It moves the data that no other source moves, that of readers, and asks the
// watching thread before the engine sleeps.
class Readiness::Call final : public engine::Source {
 public:
  Call(Readiness& readiness, std::span<const Awaited> awaited) : readiness_(readiness), awaited_(awaited) {
    readiness_.engine_.add(*this, engine::Rate::seldom);
  }
  ~Call() override { readiness_.engine_.remove(*this); }

  int poll(std::uint64_t /*now_ns*/, int /*budget*/) override {
    for (const Awaited& one : awaited_) {
      if (one.reader != nullptr) {
        ReaderReadiness::move(*one.reader);
      }
    }
    return 0;
  }
  [[nodiscard]] bool ready() const override {
    readiness_.ask(awaited_);
    return false;  // if steps have come by now, the thread rings
  }

 private:
  Readiness& readiness_;
  std::span<const Awaited> awaited_;
};

Readiness::~Readiness() {
  engine_.remove(*this);
}

// Called when another thread polls. It may take in what the descriptor was armed for.
int Readiness::poll(std::uint64_t /*now_ns*/, int /*budget*/) {
  rouse();
  return 0;
}

int Readiness::woken(int /*descriptor*/, int /*budget*/) {
  clear(bell_);
  return 1;
}

bool Readiness::losses_due() noexcept {
  const std::uint64_t now_ticks = os::ticks();
  if (now_ticks - looked_ticks_ < ticks_between_losses) {
    return false;
  }
  looked_ticks_ = now_ticks;
  return true;
}

bool Readiness::is_ready(const Awaited& one, bool losses, couplet_message& message) {
  if (one.reader != nullptr) {
    return ReaderReadiness::look(*one.reader, one.at_least, losses);
  }
  if (one.group != nullptr) {
    return message::Probe::look(messenger_, *one.group, one.source, one.tag, message);
  }
  return one.request != nullptr ? message::Probe::done(messenger_, *one.request) : one.task->done;
}

std::int32_t Readiness::find(std::span<const Awaited> awaited, Rotation::Start start, couplet_message& message) {
  const bool losses = losses_due();
  std::size_t place = start.place;
  for (std::size_t count = 0; count < awaited.size(); ++count) {
    if (is_ready(awaited[place], losses, message)) {
      rotation_.found(start, place);
      return static_cast<std::int32_t>(place);
    }
    place = place + 1 == awaited.size() ? 0 : place + 1;
  }
  return -1;
}

std::int32_t Readiness::look(std::span<const Awaited> awaited, Rotation::Start start, couplet_message& message) {
  // This is done even if something is ready already: otherwise no message would ever come in beside a series that is.
  engine_.poll_others();
  std::int32_t found = find(awaited, start, message);
  if (found >= 0) {
    return found;
  }
  Call call(*this, awaited);
  engine_.look_at_all();
  return find(awaited, start, message);
}

// Starts the thread that watches series, if an entry needs it.
Status Readiness::watch(std::span<const Awaited> awaited) {
  const bool needed = std::any_of(awaited.begin(), awaited.end(), [](const Awaited& one) {
    return one.reader != nullptr && ReaderReadiness::awaited(*one.reader, one.at_least).file != nullptr;
  });
  if (!needed || watch_ != nullptr) {
    return {};
  }
  if (!bell_) {
    COUPLET_TRY_VALUE(bell_, make_event("the descriptor that announces steps"));
  }
  COUPLET_TRY(engine_.watch(bell_.number(), false, *this));
  COUPLET_TRY_VALUE(watch_, series::PublicationWatch::open(bell_));
  return {};
}

void Readiness::ask(std::span<const Awaited> awaited) {
  if (watch_ == nullptr) {
    return;
  }
  for (const Awaited& one : awaited) {
    if (one.reader == nullptr) {
      continue;
    }
    if (const auto selection = ReaderReadiness::awaited(*one.reader, one.at_least); selection.file != nullptr) {
      watch_->ask(selection.file, selection.target);
    }
  }
}

Status Readiness::wait(std::span<const Awaited> awaited, std::uint64_t deadline_ns, std::int32_t& index,
                       couplet_message& message) {
  const Rotation::Start start = rotation_.start(awaited);
  std::int32_t found = look(awaited, start, message);
  if (found < 0 && os::now_ns() < deadline_ns) {
    COUPLET_TRY(watch(awaited));
    Call call(*this, awaited);
    Status waited = engine_.wait(
        [&] {
          found = find(awaited, start, message);
          return found >= 0;
        },
        deadline_ns, [&] { return fmt::format("any of {} things", awaited.size()); }, nullptr, true);
    if (!waited.ok() && waited.code() != Code::timeout) {
      return waited;
    }
  }
  if (found < 0) {
    return Code::not_yet;
  }
  index = found;
  return {};
}

Result<int> Readiness::descriptor() {
  if (!outer_) {
    COUPLET_TRY_VALUE(alarm_, made(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), "a timer"));
    COUPLET_TRY_VALUE(call_, make_event("the descriptor that announces calls"));
    COUPLET_TRY_VALUE(os::Descriptor outer, made(::epoll_create1(EPOLL_CLOEXEC), "the descriptor of the universe"));
    COUPLET_TRY(add(outer, doorbell_.descriptor()));
    COUPLET_TRY(add(outer, alarm_.number()));
    COUPLET_TRY(add(outer, call_.number()));
    engine_.add(*this, engine::Rate::often);
    outer_ = std::move(outer);
  }
  return outer_.number();
}

void Readiness::disarm() noexcept {
  armed_ = false;
  clear(call_);
  clear(alarm_);
  doorbell_.clear_rings();
}

void Readiness::rouse() noexcept {
  if (armed_) {
    armed_ = false;
    ring(call_);
  }
}

Status Readiness::arm(std::span<const Awaited> awaited, std::int32_t& index, couplet_message& message) {
  if (!outer_) {
    return fail(Code::state, "couplet_arm_any: ask for the descriptor first (couplet_universe_descriptor)");
  }
  COUPLET_TRY(watch(awaited));
  disarm();
  const Rotation::Start start = rotation_.start(awaited);
  doorbell_.raise_flag();
  engine_.look_at_descriptors();
  const std::int32_t found = look(awaited, start, message);  // the flag is set before, so that what comes later rings
  if (found >= 0) {
    index = found;
    return {};
  }
  // Nothing clears the bell from here on. If the thread still waits for an earlier step, it rings for that one, and is
  // then asked again.
  ask(awaited);
  const bool unannounced = std::any_of(awaited.begin(), awaited.end(), [](const Awaited& one) {
    return one.reader != nullptr && ReaderReadiness::unannounced(*one.reader);
  });
  const std::uint64_t alarm_ns = unannounced ? std::min(alarm_ns_, unannounced_alarm_ns) : alarm_ns_;
  const timespec after{static_cast<time_t>(alarm_ns / second_ns), static_cast<long>(alarm_ns % second_ns)};
  const itimerspec until{.it_interval = {}, .it_value = after};
  static_cast<void>(::timerfd_settime(alarm_.number(), 0, &until, nullptr));
  armed_ = true;
  if (engine_.any_ready()) {
    rouse();
  }
  return Code::not_yet;
}

}  // namespace couplet::runtime
