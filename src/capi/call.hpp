// capi: turns a C call into checked handles and one call of the runtime, and a Status into a couplet_status. It has no
// logic of its own. couplet.h is above it, and through couplet.h C++, Fortran and Python; runtime is below it.
// Invariants: nothing throws, aborts, exits or prints; outputs are written only on success or with an answer; the
// sentence of the last error is kept for each thread; a handle that is used after fork, after leave, or by two threads
// at a time is an error.
// Tests: tests/languages, tests/universe.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "couplet/couplet.h"
#include "engine/turn.hpp"
#include "os/fork.hpp"
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

// The first member of every handle, by which stale and foreign pointers are found.
enum class HandleKind : std::uint32_t {
  universe = 0x55435043,
  group = 0x47435043,
  series = 0x53435043,
  tasks = 0x54435043,
  area = 0x41435043,
  gone = 0
};

// Serialises the calls on one universe in order of arrival, or reports that two overlap.
using engine::Turn;

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

struct couplet_group {
  couplet::capi::HandleKind kind = couplet::capi::HandleKind::group;
  couplet_universe* owner = nullptr;
  couplet::message::Group* group = nullptr;
};

struct couplet_series {
  couplet::capi::HandleKind kind = couplet::capi::HandleKind::series;
  couplet_universe* owner = nullptr;
  std::unique_ptr<couplet::message::Team> team;     // of a reader, or of a writer that puts collectively; outlives them
  std::unique_ptr<couplet::series::Writer> writer;  // one of the two
  std::unique_ptr<couplet::series::Reader> reader;
  std::unique_ptr<couplet::series::TimeInterpolation> interpolation;  // of the reader
  std::optional<couplet::series::Description> description;            // holds what describe gave out
  std::vector<std::vector<std::int64_t>> corners;                     // of the boxes of each field, starts, then stops
  std::vector<couplet_field_data> data;                               // of the last batch
  std::string last_for;                                               // of waited
  std::string longest_for;

  couplet::Status close();
};

struct couplet_tasks {
  couplet::capi::HandleKind kind = couplet::capi::HandleKind::tasks;
  couplet_universe* owner = nullptr;
  // One of the three roles is set.
  std::unique_ptr<couplet::task::Requester> requester;
  std::unique_ptr<couplet::task::Worker> worker;
  std::unique_ptr<couplet::task::Coupler> coupler;

  couplet::Status close();
};

struct couplet_area {
  couplet::capi::HandleKind kind = couplet::capi::HandleKind::area;
  couplet_universe* owner = nullptr;
  std::unique_ptr<couplet::task::Area> area;
};

struct couplet_universe {
  couplet::capi::HandleKind kind = couplet::capi::HandleKind::universe;
  std::uint64_t fork_generation = couplet::os::fork_generation();
  couplet::capi::Turn turn;
  std::unique_ptr<couplet::runtime::Universe> universe;
  std::vector<std::unique_ptr<couplet_group>> groups;  // [0]: all ranks, [1]: the own program
  std::vector<std::unique_ptr<couplet_series>> series;
  std::vector<std::unique_ptr<couplet_tasks>> tasks;
  std::vector<std::unique_ptr<couplet_area>> areas;
};

namespace couplet::capi {

// Returns ok if the handle can be used now.
inline Status usable(const couplet_universe* handle, const char* function) {
  if (handle == nullptr || handle->kind != HandleKind::universe) [[unlikely]] {
    return fail(Code::argument, "{}: the universe handle is NULL or was left", function);
  }
  if (handle->fork_generation != os::fork_generation()) [[unlikely]] {
    return fail(Code::forked, "{}: the universe was joined before fork(); only the parent may use it", function);
  }
  return {};
}
template <typename Handle>
Status usable(const Handle* handle, HandleKind kind, const char* function) {
  if (handle == nullptr || handle->kind != kind) [[unlikely]] {
    const char* name = kind == HandleKind::group    ? "group"
                       : kind == HandleKind::series ? "series"
                       : kind == HandleKind::tasks  ? "tasks"
                                                    : "area";
    return fail(Code::argument, "{}: the {} handle is NULL or was closed", function, name);
  }
  return usable(handle->owner, function);
}
inline Status usable(const couplet_group* handle, const char* function) {
  return usable(handle, HandleKind::group, function);
}
inline Status usable(const couplet_series* handle, const char* function) {
  return usable(handle, HandleKind::series, function);
}

inline Status usable(const couplet_tasks* handle, const char* function) {
  return usable(handle, HandleKind::tasks, function);
}
inline Status usable(const couplet_area* handle, const char* function) {
  return usable(handle, HandleKind::area, function);
}

inline couplet_universe* universe_of(couplet_universe* handle) {
  return handle;
}
template <typename Handle>
couplet_universe* universe_of(Handle* handle) {
  return handle->owner;
}

// Makes one call on a handle: checks the handle, takes its turn, and remembers its error.
template <typename Handle, typename Body>
couplet_status call(Handle* handle, const char* function, Body&& body) noexcept {
  return guarded([&]() -> Status {
    COUPLET_TRY(usable(handle, function));
    Turn& turn = universe_of(handle)->turn;
    COUPLET_TRY(turn.begin());
    struct End {
      Turn& turn;
      ~End() { turn.end(); }
    } end{turn};
    return body();
  });
}

// Returns an error if an argument that must not be NULL is NULL.
inline Status given(const void* argument, const char* function, const char* name) {
  return argument != nullptr ? Status() : fail(Code::argument, "{}: {} is NULL", function, name);
}

}  // namespace couplet::capi
