// capi: turns a C call into checked handles and one call of the runtime, and a Status into a couplet_status. It has no
// logic of its own. couplet.h is above it, and through couplet.h C++, Fortran and Python; runtime is below it.
// Invariants: nothing throws, aborts, exits or prints; outputs are written only on success or with an answer; the
// sentence of the last error is kept for each thread; a handle that is used after fork, after leave, or by two threads
// at a time is an error.
// Tests: tests/unit/capi, tests/languages, tests/universe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <list>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "coalesce/step_manager.hpp"
#include "collective/collective.hpp"
#include "couplet/couplet.h"
#include "engine/turn.hpp"
#include "exchange/exchange.hpp"
#include "halo/halo.hpp"
#include "os/clock.hpp"
#include "os/fork.hpp"
#include "runtime/exchange_methods.hpp"
#include "runtime/readiness.hpp"
#include "runtime/universe.hpp"
#include "series/time_interpolation.hpp"
#include "task/coupler.hpp"
#include "task/requester.hpp"
#include "task/worker.hpp"

namespace couplet::capi {

// Remembers the sentence of an error or an answer for couplet_error_text, and returns its code.
couplet_status finish(const Status& status) noexcept;
// Calls the calling thread's interrupt check.
[[nodiscard]] bool interrupted();
// How often this thread has finished a call with an error or an answer.
[[nodiscard]] std::uint64_t finished_count() noexcept;
// Lets the calling thread's taker (couplet_private_set_taker) copy the outputs of a call.
void take_outputs();

// The first member of every handle, by which stale and foreign pointers are found.
enum class HandleKind : std::uint32_t {
  universe = 0x55435043,
  group = 0x47435043,
  series = 0x53435043,
  tasks = 0x54435043,
  exchange = 0x58435043,
  halo = 0x48435043,
  area = 0x41435043,
  coalesce = 0x4C435043,
  gone = 0
};

// Serialises the calls on one universe in order of arrival, or reports that two overlap.
using engine::Held;
using engine::Turn;
using engine::Use;

// Runs `body` and turns its result, or its exception, into a couplet_status.
template <typename Body>
couplet_status guarded(Body&& body) noexcept {
  try {
    const Status status = std::forward<Body>(body)();
    return status.ok() ? COUPLET_OK : finish(status);
  } catch (const std::bad_alloc&) {
    return finish(Status(Code::memory));
  } catch (const std::exception& error) {
    return finish(fail(Code::internal, "unexpected exception: {}", error.what()));
  } catch (...) {
    return finish(Status(Code::internal));
  }
}

}  // namespace couplet::capi

namespace couplet::capi {

// A handle that was closed and is kept for a while: its memory is not given back, but is empty.
struct FreeHandle {
  void (*free)(void*) = nullptr;
  void operator()(void* handle) const { free(handle); }
};
using ClosedHandle = std::unique_ptr<void, FreeHandle>;
constexpr std::size_t max_closed_handles = 256;

// Frees what an open handle holds, and marks it as closed.
template <typename Handle>
void empty(Handle& handle) {
  Handle held;
  held.kind = HandleKind::gone;
  held.owner = handle.owner;
  std::swap(handle, held);
}

}  // namespace couplet::capi

struct couplet_group {
  static constexpr auto expected_kind = couplet::capi::HandleKind::group;
  couplet::capi::HandleKind kind = expected_kind;
  couplet_universe* owner = nullptr;
  couplet::message::Group* group = nullptr;
};

struct couplet_series {
  static constexpr auto expected_kind = couplet::capi::HandleKind::series;
  couplet::capi::HandleKind kind = expected_kind;
  couplet_universe* owner = nullptr;
  std::unique_ptr<couplet::message::Team> team;     // for a reader, or a writer that puts collectively
  std::unique_ptr<couplet::series::Writer> writer;  // one of the two
  std::unique_ptr<couplet::series::Reader> reader;
  std::unique_ptr<couplet::series::TimeInterpolation> interpolation;  // for couplet_series_read_at
  // Holds what describe gave out: of each incarnation that a reader has met, since the caller may keep it until close.
  struct Described {
    std::uint64_t incarnation = 0;
    couplet::series::Description description;
    std::vector<std::vector<std::int64_t>> corners;  // for each field, those of its boxes: starts, then stops
  };
  std::list<Described> described;
  std::vector<couplet_series_field_data> data;  // what the last batch points to
  std::string last_for;                         // what couplet_series_get_waits gave out
  std::string longest_for;

  couplet::Status close();
};

struct couplet_tasks {
  static constexpr auto expected_kind = couplet::capi::HandleKind::tasks;
  couplet::capi::HandleKind kind = expected_kind;
  couplet_universe* owner = nullptr;
  // One of the three roles is set.
  std::unique_ptr<couplet::task::Requester> requester;
  std::unique_ptr<couplet::task::Worker> worker;
  std::unique_ptr<couplet::task::Coupler> coupler;

  couplet::Status close();
};

struct couplet_area {
  static constexpr auto expected_kind = couplet::capi::HandleKind::area;
  couplet::capi::HandleKind kind = expected_kind;
  couplet_universe* owner = nullptr;
  std::unique_ptr<couplet::task::Area> area;
};

struct couplet_exchange {
  static constexpr auto expected_kind = couplet::capi::HandleKind::exchange;
  couplet::capi::HandleKind kind = expected_kind;
  couplet_universe* owner = nullptr;
  std::uint64_t group_hash = 0;
  std::unique_ptr<couplet::exchange::Exchange> exchange;
  std::string method;  // what couplet_exchange_method gave out

  couplet::Status close();
};

struct couplet_halo {
  static constexpr auto expected_kind = couplet::capi::HandleKind::halo;
  couplet::capi::HandleKind kind = expected_kind;
  couplet_universe* owner = nullptr;
  couplet_exchange* exchange = nullptr;  // one of the universe's, which nobody else uses
  std::unique_ptr<couplet::halo::Halo> halo;
};

struct couplet_coalesce {
  static constexpr auto expected_kind = couplet::capi::HandleKind::coalesce;
  couplet::capi::HandleKind kind = expected_kind;
  couplet_universe* owner = nullptr;
  std::uint64_t group_hash = 0;
  std::string name;
  std::unique_ptr<couplet::message::Group> group;  // a copy, for exchanges that are made later
  std::unique_ptr<couplet::coalesce::StepManager> manager;

  couplet::Status close();
};

struct couplet_universe {
  couplet::capi::HandleKind kind = couplet::capi::HandleKind::universe;
  std::uint64_t fork_generation = couplet::os::fork_generation();
  couplet::capi::Turn turn;
  std::unique_ptr<couplet::runtime::Universe> universe;
  std::unique_ptr<couplet::runtime::Readiness> readiness;         // nullptr: nothing was waited for in this way
  std::unique_ptr<couplet::collective::Collectives> collectives;  // nullptr: no collective call was made
  std::vector<std::unique_ptr<couplet::exchange::Maker>> makers;  // methods for exchanges that an MPI has brought
  std::unique_ptr<couplet::runtime::ExchangeMethods> methods;     // nullptr: there was no exchange
  std::vector<std::unique_ptr<couplet_group>> groups;             // [0]: all ranks, [1]: the own program
  std::vector<std::unique_ptr<couplet_series>> series;
  std::vector<std::unique_ptr<couplet_tasks>> tasks;
  std::vector<std::unique_ptr<couplet_area>> areas;
  std::vector<std::unique_ptr<couplet_exchange>> exchanges;
  std::vector<std::unique_ptr<couplet_halo>> halos;
  std::vector<std::unique_ptr<couplet_coalesce>> coalesces;
  // Exchanges that were closed while messages still referred to their memory.
  std::vector<std::unique_ptr<couplet::exchange::Exchange>> ended_exchanges;
  // The handles that were closed last. They are kept only if threads take turns: a call of another thread may have
  // looked at one just before it was closed, and notices this when it has the turn.
  std::array<couplet::capi::ClosedHandle, couplet::capi::max_closed_handles> closed;
  std::size_t closed_count = 0;
};

namespace couplet::capi {

// Returns the object of the collective calls, which the first one makes. Throws std::bad_alloc. Defined in
// collective.cpp.
couplet::collective::Collectives& collectives_of(couplet_universe& universe);

// Returns true if the handle can be used now.
inline bool is_usable(const couplet_universe* handle) {
  return handle != nullptr && handle->kind == HandleKind::universe && handle->fork_generation == os::fork_generation();
}
template <typename Handle>
bool is_usable(const Handle* handle) {
  return handle != nullptr && handle->kind == Handle::expected_kind && is_usable(handle->owner);
}

// Returns ok if the handle can be used now.
inline Status usable(const couplet_universe* handle, const char* function) {
  if (handle == nullptr || handle->kind != HandleKind::universe) [[unlikely]] {
    return fail(Code::argument, "{}: the universe handle is NULL, or this universe was left", function);
  }
  if (handle->fork_generation != os::fork_generation()) [[unlikely]] {
    return fail(Code::forked, "{}: the universe was joined before fork(); only the parent may use it", function);
  }
  return {};
}
template <typename Handle>
Status usable(const Handle* handle, const char* function) {
  if (handle == nullptr || handle->kind != Handle::expected_kind) [[unlikely]] {
    constexpr const char* name = Handle::expected_kind == HandleKind::group      ? "group"
                                 : Handle::expected_kind == HandleKind::series   ? "series"
                                 : Handle::expected_kind == HandleKind::tasks    ? "tasks"
                                 : Handle::expected_kind == HandleKind::area     ? "area"
                                 : Handle::expected_kind == HandleKind::halo     ? "halo"
                                 : Handle::expected_kind == HandleKind::coalesce ? "coalesce"
                                                                                 : "exchange";
    return fail(Code::argument, "{}: the {} handle is NULL or was closed", function, name);
  }
  return usable(handle->owner, function);
}

inline couplet_universe* universe_of(couplet_universe* handle) {
  return handle;
}
template <typename Handle>
couplet_universe* universe_of(Handle* handle) {
  return handle->owner;
}

// The handles that are not freed while a call is inside, and what the call does to them. It takes memory only for more
// than four.
class Handles {
 public:
  Handles() = default;
  Handles(const void* handle, Use use) { add(handle, use); }
  // For a call that completes requests or tasks: adds those that are not NULL.
  template <typename Handle>
  void add_completed(std::int32_t count, Handle* const* list) {
    for (std::int32_t index = 0; index < count; ++index) {
      if (list[index] != nullptr) {
        add(list[index], Use::completes);
      }
    }
  }
  void add(const void* handle, Use use) {
    if (count_ < few_.size()) {
      few_[count_] = {handle, use};
    } else {
      if (many_.empty()) {
        many_.assign(few_.begin(), few_.end());
      }
      many_.push_back({handle, use});
    }
    ++count_;
  }
  [[nodiscard]] std::span<const Held> all() const noexcept {
    return many_.empty() ? std::span<const Held>(few_.data(), count_) : std::span<const Held>(many_);
  }

 private:
  std::array<Held, 4> few_{};
  std::vector<Held> many_;
  std::size_t count_ = 0;
};

// The one handle of a call, and what the call does to it.
template <typename Handle>
struct Subject {
  Handle* handle;
  Use use;
  [[nodiscard]] Handles handles() const { return {handle, use}; }
  // Returns an error if the handle was closed while the call waited for its turn.
  [[nodiscard]] Status check(const char* function) const { return usable(handle, function); }
};

// Makes one call in a universe in which several threads take turns. subject: see within_turn.
template <typename Of, typename Body>
[[gnu::noinline, gnu::cold]] Status within_serialised_turn(couplet_universe& universe, const Of subject,
                                                           const char* function, const Body body) {
  const Handles handles = subject.handles();
  engine::Call call{.handles = handles.all()};
  Turn& turn = universe.turn;
  if (Status begun = turn.begin(&call); !begun.ok()) {
    return begun.code() == Code::state ? begun.within(function) : begun;
  }
  struct End {
    Turn& turn;
    ~End() { turn.end(); }
  } end{turn};
  COUPLET_TRY(subject.check(function));
  if (universe.readiness != nullptr) {
    universe.readiness->rouse();
  }
  Status status = body();
  if (call.ending != engine::Ending::none && status.code() == Code::interrupted) {
    return engine::error_of(call.ending).within(function);
  }
  if (status.ok()) {
    take_outputs();
  }
  return status;
}

// Makes one call on a universe that is usable: takes its turn. subject: says which handles are not freed while the call
// is inside (the universe itself is not one of them). It is asked only if threads take turns, and then a copy of it is
// passed on: if another function gets the address of a variable, the compiler cannot keep the variable in a register,
// which costs a short message 5 ns.
template <typename Of, typename Body>
Status within_turn(couplet_universe& universe, const Of& subject, const char* function, const Body& body) {
  Turn& turn = universe.turn;
  if (turn.serialised()) [[unlikely]] {
    return within_serialised_turn(universe, subject, function, body);
  }
  COUPLET_TRY(turn.begin());
  struct End {
    Turn& turn;
    ~End() { turn.end(); }
  } end{turn};
  if (universe.readiness != nullptr) [[unlikely]] {
    universe.readiness->rouse();
  }
  return body();
}

// How long a call of another thread that cannot stop at once may take to end. After that, the handle that it is in is
// not closed.
constexpr double other_calls_timeout_s = 10;

// For a call that closes handles, or completes requests: before it does so, the calls of other threads that are inside
// end. Returns state if one does not, and the handle is then not closed.
inline Status end_others(couplet_universe& universe, const char* function) {
  if (!universe.turn.serialised()) {
    return {};
  }
  const Status alone = universe.turn.end_others(os::deadline_after(other_calls_timeout_s));
  return alone.ok() ? alone : alone.within(function);
}

// Makes one call on a handle: checks the handle, takes its turn, and remembers its error.
template <typename Handle, typename Body>
couplet_status call(Handle* handle, const char* function, Body&& body, Use use = Use::uses) noexcept {
  return guarded([&]() -> Status {
    if (!is_usable(handle)) [[unlikely]] {
      return usable(handle, function);
    }
    return within_turn(*universe_of(handle), Subject<Handle>{handle, use}, function, body);
  });
}
// Makes a call that only reads what does not change while the universe is joined. Any thread may make it at any time,
// also within an interrupt check, when this thread has the turn already; but not while another thread leaves.
template <typename Handle, typename Body>
couplet_status look(const Handle* handle, const char* function, const Body& body) noexcept {
  return guarded([&]() -> Status {
    COUPLET_TRY(usable(handle, function));
    return body();
  });
}

// Takes a handle out of the list of its universe, and empties it.
template <typename Handle>
void forget(couplet_universe& universe, std::vector<std::unique_ptr<Handle>>& all, const Handle* handle) noexcept {
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.get() == handle; });
  std::unique_ptr<Handle> owned = std::move(*found);
  all.erase(found);
  empty(*owned);
  if (universe.turn.serialised()) {
    ClosedHandle& place = universe.closed[universe.closed_count++ % max_closed_handles];
    place = ClosedHandle(owned.release(), FreeHandle{[](void* closed) { delete static_cast<Handle*>(closed); }});
  }
}

// Makes the call that closes a handle: begins once no other call is inside the handle, and no call begins on it. `all`
// is the list of the universe in which it is stored. The handle is gone whatever `body` does.
template <typename Handle, typename Body>
couplet_status close(Handle* handle, std::vector<std::unique_ptr<Handle>> couplet_universe::*all, const char* function,
                     const Body& body) noexcept {
  return call(
      handle, function,
      [&]() -> Status {
        couplet_universe& universe = *handle->owner;
        COUPLET_TRY(end_others(universe, function));
        struct Forget {
          couplet_universe& universe;
          std::vector<std::unique_ptr<Handle>>& all;
          const Handle* handle;
          ~Forget() { forget(universe, all, handle); }
        } at_end{universe, universe.*all, handle};
        return body();
      },
      Use::closes);
}

// Makes the handle of a group. Implementation: group.cpp, as of the next one.
void add_group(couplet_universe& handle, message::Group& group);
// Creates a group of universe ranks, and its handle.
Status create_group(couplet_universe& handle, const std::string& name, std::span<const std::int32_t> ranks,
                    couplet_group** group);

// Returns an error if an argument that must not be NULL is NULL.
inline Status given(const void* argument, const char* function, const char* name) {
  return argument != nullptr ? Status() : fail(Code::argument, "{}: {} is NULL", function, name);
}
// Returns an error if a text that must name something is NULL or empty.
inline Status named(const char* text, const char* function, const char* name) {
  COUPLET_TRY(given(text, function, name));
  return *text != '\0' ? Status() : fail(Code::argument, "{}: {} is empty; it needs at least 1 byte", function, name);
}

}  // namespace couplet::capi
