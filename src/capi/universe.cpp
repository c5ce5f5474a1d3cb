#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>

#include "base/counted.hpp"
#include "capi/call.hpp"
#include "capi/options.hpp"
#include "capi/private.h"

namespace {

using couplet::Code;
using couplet::fail;
using couplet::ranks_below;
using couplet::Result;
using couplet::Status;
namespace capi = couplet::capi;

// Returns the id of a program, or an error that names the existing programs.
Result<std::int32_t> find_program(const couplet::runtime::Universe& universe, const char* name) {
  std::string known;
  const auto& programs = universe.membership().programs();
  for (std::size_t id = 0; id < programs.size(); ++id) {
    if (programs[id].name == name) {
      return static_cast<std::int32_t>(id);
    }
    known += (id == 0 ? "'" : ", '") + programs[id].name + "'";
  }
  return fail(Code::not_found, "there is no program '{}' in this universe; it has {}", name, known);
}

// How long other threads may take to end their calls before the universe is left.
constexpr double threads_timeout_s = 5;

Status join(const char* program, const couplet_join_options* given, couplet_universe** universe) {
  COUPLET_TRY(capi::given(universe, "couplet_join", "universe"));
  COUPLET_TRY_VALUE(const auto options, capi::complete(given, couplet_join_options_init, "couplet_join"));
  couplet::universe::JoinRequest mine;
  mine.program = program == nullptr ? "" : program;
  mine.rank = options.rank;
  mine.size = options.size;
  mine.hub = options.hub == nullptr ? "" : options.hub;
  mine.secret_file = options.secret_file == nullptr ? "" : options.secret_file;
  mine.timeout_s = options.timeout_s;
  mine.timeout_given = !std::isnan(options.timeout_s);
  mine.interrupted = capi::interrupted;
  auto handle = std::make_unique<couplet_universe>();
  COUPLET_TRY_VALUE(handle->universe, couplet::runtime::Universe::join(mine));
  handle->universe->set_interrupt(capi::interrupted);
  handle->fork_generation = couplet::os::fork_generation();
  if (options.threads != 0) {
    handle->turn.serialise();
  }
  COUPLET_TRY(handle->universe->set_turn(handle->turn));
  capi::add_group(*handle, handle->universe->everyone());
  capi::add_group(*handle, handle->universe->own_program());
  *universe = handle.release();
  return {};
}

// Closes all handles of one kind. first: the first error, if there is one.
template <typename Handle>
void close_all(const std::vector<std::unique_ptr<Handle>>& all, Status& first) {
  for (const auto& one : all) {
    const Status closed = one->close();
    if (first.ok()) {
      first = closed;
    }
  }
}
template <typename Handle>
void empty_all(const std::vector<std::unique_ptr<Handle>>& all) {
  for (const auto& one : all) {
    capi::empty(*one);
  }
}

// A callback of coalesced rounds runs without the turn, and must not leave the universe that its round needs.
Status check_callbacks(const couplet_universe& universe) {
  for (const auto& one : universe.coalesces) {
    if (one->manager->is_inside()) return fail(Code::state, "couplet_leave: a callback of '{}' is running", one->name);
  }
  return {};
}

// Keeps the universe that was left last, empty, since calls of other threads may have read its handles just before. In
// a program with several universes, such calls of the one before have long ended.
void keep_left(std::unique_ptr<couplet_universe> left) {
  static std::mutex mutex;
  static std::unique_ptr<couplet_universe> last;
  const std::unique_lock lock(mutex);
  last = std::move(left);
}

}  // namespace

extern "C" {

void couplet_join_options_init(couplet_join_options* options) {
  *options = couplet_join_options{};
  options->struct_bytes = sizeof *options;
  options->rank = -1;
  options->size = -1;
  options->timeout_s = std::nan("");  // NaN: COUPLET_JOIN_TIMEOUT decides
}

couplet_status couplet_join(const char* program, const couplet_join_options* options, couplet_universe** universe) {
  return capi::guarded([&] { return join(program, options, universe); });
}

couplet_status couplet_private_use_window(couplet_universe* universe, const char* build, void* window) {
  return capi::guarded([&]() -> Status {
    COUPLET_TRY(capi::usable(universe, "couplet_join_mpi"));
    if (std::string_view(build) != couplet::series::window_build) {
      return fail(Code::version,
                  "couplet_join_mpi: libcouplet is {}, and libcouplet_mpi is {}: they belong to different builds",
                  couplet::series::window_build, build);
    }
    universe->universe->use_window(
        std::unique_ptr<couplet::series::Window>(static_cast<couplet::series::Window*>(window)));
    return {};
  });
}

couplet_status couplet_private_use_methods(couplet_universe* universe, const char* build, void* makers) {
  return capi::guarded([&]() -> Status {
    COUPLET_TRY(capi::usable(universe, "couplet_join_mpi"));
    auto given = std::move(*static_cast<std::vector<std::unique_ptr<couplet::exchange::Maker>>*>(makers));
    if (std::string_view(build) != couplet::exchange::methods_build) {
      return fail(Code::version,
                  "couplet_join_mpi: libcouplet has {}, and libcouplet_mpi {}: they belong to different builds",
                  couplet::exchange::methods_build, build);
    }
    for (auto& maker : given) {
      universe->makers.push_back(std::move(maker));
    }
    return {};
  });
}

couplet_status couplet_leave(couplet_universe* universe) {
  return capi::guarded([&]() -> Status {
    COUPLET_TRY(capi::usable(universe, "couplet_leave"));
    COUPLET_TRY(universe->turn.begin());
    if (Status free = check_callbacks(*universe); !free.ok()) {
      universe->turn.end();
      return free;
    }
    std::unique_ptr<couplet_universe> owned(universe);
    if (!universe->turn.close(couplet::os::deadline_after(threads_timeout_s))) {
      universe->universe->abandon();  // sends that other threads wait for, and that nobody takes
      static_cast<void>(universe->turn.close(couplet::os::never));
    }
    Status first;
    close_all(universe->series, first);
    close_all(universe->tasks, first);
    close_all(universe->coalesces, first);
    close_all(universe->exchanges, first);
    empty_all(universe->areas);
    if (universe->collectives != nullptr) {
      universe->collectives->shut();
    }
    universe->readiness.reset();  // it may watch series in the window of MPI, which goes now
    const Status left = universe->universe->leave();
    empty_all(universe->tasks);
    empty_all(universe->series);
    empty_all(universe->halos);
    empty_all(universe->coalesces);
    empty_all(universe->exchanges);
    empty_all(universe->groups);
    universe->universe.reset();
    universe->ended_exchanges.clear();
    universe->methods.reset();
    universe->makers.clear();
    universe->collectives.reset();
    universe->kind = capi::HandleKind::gone;
    universe->turn.end();
    if (universe->turn.serialised()) {
      keep_left(std::move(owned));
    }
    return first.ok() ? left : first;
  });
}

couplet_status couplet_universe_rank(const couplet_universe* universe, int32_t* rank, int32_t* size) {
  return capi::look(universe, "couplet_universe_rank", [&]() -> Status {
    if (rank != nullptr) {
      *rank = universe->universe->membership().rank();
    }
    if (size != nullptr) {
      *size = universe->universe->membership().size();
    }
    return {};
  });
}

couplet_status couplet_universe_program(const couplet_universe* universe, int32_t* program_count, int32_t* program,
                                        int32_t* rank, int32_t* size) {
  return capi::look(universe, "couplet_universe_program", [&]() -> Status {
    const auto& membership = universe->universe->membership();
    const auto& own = membership.programs()[static_cast<std::size_t>(membership.program())];
    const auto put = [](int32_t* target, std::int64_t value) {
      if (target != nullptr) {
        *target = static_cast<int32_t>(value);
      }
    };
    put(program_count, static_cast<std::int64_t>(membership.programs().size()));
    put(program, membership.program());
    put(rank, membership.rank() - own.first_rank);
    put(size, own.size);
    return {};
  });
}

couplet_status couplet_universe_describe_program(const couplet_universe* universe, int32_t program, const char** name,
                                                 int32_t* size, int32_t* first_rank) {
  return capi::look(universe, "couplet_universe_describe_program", [&]() -> Status {
    const auto& programs = universe->universe->membership().programs();
    if (program < 0 || static_cast<std::size_t>(program) >= programs.size()) {
      return fail(Code::not_found, "couplet_universe_describe_program: no program {}; ids are 0 to {}", program,
                  programs.size() - 1);
    }
    const auto& info = programs[static_cast<std::size_t>(program)];
    if (name != nullptr) {
      *name = info.name.c_str();
    }
    if (size != nullptr) {
      *size = info.size;
    }
    if (first_rank != nullptr) {
      *first_rank = info.first_rank;
    }
    return {};
  });
}

couplet_status couplet_universe_find_rank(const couplet_universe* universe, const char* name, int32_t rank,
                                          int32_t* universe_rank) {
  return capi::look(universe, "couplet_universe_find_rank", [&]() -> Status {
    COUPLET_TRY(capi::given(name, "couplet_universe_find_rank", "name"));
    COUPLET_TRY(capi::given(universe_rank, "couplet_universe_find_rank", "universe_rank"));
    COUPLET_TRY_VALUE(const std::int32_t id, find_program(*universe->universe, name));
    const auto& info = universe->universe->membership().programs()[static_cast<std::size_t>(id)];
    if (rank < 0 || rank >= info.size) {
      return fail(Code::not_found, "couplet_universe_find_rank: program '{}' has {}, not {}", name,
                  ranks_below(info.size), rank);
    }
    *universe_rank = info.first_rank + rank;
    return {};
  });
}

couplet_status couplet_universe_progress(couplet_universe* universe) {
  return capi::call(universe, "couplet_universe_progress", [&] { return universe->universe->progress(); });
}

couplet_status couplet_universe_explain(couplet_universe* universe, char* text, size_t bytes, size_t* needed) {
  return capi::call(universe, "couplet_universe_explain", [&]() -> Status {
    return capi::give_text(universe->universe->explain(universe->collectives.get()), text, bytes, needed,
                           "couplet_universe_explain");
  });
}

}  // extern "C"
