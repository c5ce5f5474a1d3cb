#include <algorithm>
#include <span>
#include <tuple>
#include <vector>

#include "capi/call.hpp"
#include "capi/options.hpp"
#include "message/probe.hpp"
#include "os/clock.hpp"

namespace {

using couplet::Code;
using couplet::fail;
using couplet::Result;
using couplet::Status;
using couplet::runtime::Awaited;
namespace capi = couplet::capi;
namespace message = couplet::message;

const message::Request* inner(const couplet_request* request) {
  return reinterpret_cast<const message::Request*>(request);
}
const couplet::task::Task* inner(const couplet_task* task) {
  return reinterpret_cast<const couplet::task::Task*>(task);
}

// Returns argument unless exactly one handle is set, and only members that belong to it.
Status check_members(const couplet_awaited& one) {
  const int handles = (one.series != nullptr ? 1 : 0) + (one.group != nullptr ? 1 : 0) +
                      (one.request != nullptr ? 1 : 0) + (one.task != nullptr ? 1 : 0);
  if (handles != 1) {
    return fail(Code::argument, "{} handles are set; exactly one of series, group, request and task must be", handles);
  }
  if (one.at_least != 0 && one.series == nullptr) {
    return fail(Code::argument, "at_least is {}, but it belongs to a series", one.at_least);
  }
  if ((one.source != 0 || one.tag != 0) && one.group == nullptr) {
    return fail(Code::argument, "source is {} and tag is {}, but they belong to a group", one.source, one.tag);
  }
  return one.reserved == 0 ? Status() : fail(Code::argument, "reserved is {}; set it to 0", one.reserved);
}

// Returns the universe to which the handle belongs, after it has checked the handle.
Result<couplet_universe*> owner_of(const couplet_awaited& one, const char* function) {
  if (one.series != nullptr) {
    COUPLET_TRY(capi::usable(one.series, function));
    return one.series->owner;
  }
  if (one.group != nullptr) {
    COUPLET_TRY(capi::usable(one.group, function));
    return one.group->owner;
  }
  couplet_universe* const owner = one.request != nullptr
                                      ? static_cast<couplet_universe*>(inner(one.request)->group->owner)
                                      : static_cast<couplet_tasks*>(inner(one.task)->owner->owner)->owner;
  COUPLET_TRY(capi::usable(owner, function));
  return owner;
}

// Checks one entry, and that it belongs to `universe`, unless that is nullptr. Returns the universe of the entry.
Result<couplet_universe*> checked(const couplet_awaited& one, couplet_universe* universe, const char* function) {
  COUPLET_TRY(check_members(one));
  COUPLET_TRY_VALUE(couplet_universe* const owner, owner_of(one, function));
  if (universe != nullptr && owner != universe) {
    return fail(Code::argument, "its handle belongs to another universe than that of entry 0");
  }
  return owner;
}

// The caller has the turn of the universe to which the entry belongs.
Result<Awaited> converted(const couplet_awaited& one, const char* function) {
  COUPLET_TRY(owner_of(one, function).status());
  Awaited made{.request = inner(one.request), .task = inner(one.task), .source = one.source, .tag = one.tag};
  if (one.series != nullptr) {
    if (!one.series->reader) {
      return fail(Code::argument, "series '{}' is written by this rank; only a series that is read can be waited for",
                  one.series->writer->describe().name);
    }
    made.reader = one.series->reader.get();
    made.at_least = one.at_least == 0 ? 1 : one.at_least;
  } else if (one.group != nullptr) {
    COUPLET_TRY(message::Probe::check(*one.group->group, one.source, one.tag));
    made.group = one.group->group;
  }
  return made;
}

// Returns argument if the same thing stands twice in the array.
Status check_distinct(std::span<const Awaited> awaited) {
  struct Thing {
    const void* handle;
    std::uint64_t message;
    std::size_t place;
    bool operator==(const Thing& other) const { return handle == other.handle && message == other.message; }
  };
  std::vector<Thing> things;
  things.reserve(awaited.size());
  for (const Awaited& one : awaited) {
    const void* handle = one.reader;
    handle = one.group != nullptr ? one.group : handle;
    handle = one.request != nullptr ? one.request : handle;
    handle = one.task != nullptr ? one.task : handle;
    const std::uint64_t which = std::uint64_t{static_cast<std::uint32_t>(one.source)} << 32U;
    things.push_back({handle, which | static_cast<std::uint32_t>(one.tag), things.size()});
  }
  std::sort(things.begin(), things.end(), [](const Thing& a, const Thing& b) {
    return std::tie(a.handle, a.message, a.place) < std::tie(b.handle, b.message, b.place);
  });
  const auto twice = std::adjacent_find(things.begin(), things.end());
  if (twice == things.end()) {
    return {};
  }
  return fail(Code::argument, "entry {} of {} is the same as entry {}", twice[1].place, things.size(), twice->place);
}

// The subject of a call that waits for any of several things.
struct Things {
  std::span<const couplet_awaited> awaited;
  // Returns what may not be freed while it is waited for: a task belongs to tasks, which can be closed.
  [[nodiscard]] capi::Handles handles() const {
    capi::Handles handles;
    for (const couplet_awaited& one : awaited) {
      if (one.task != nullptr) {
        handles.add(one.task, capi::Use::uses);
        handles.add(inner(one.task)->owner->owner, capi::Use::uses);
      } else if (one.request != nullptr) {
        handles.add(one.request, capi::Use::uses);
      } else {
        handles.add(one.series != nullptr ? static_cast<const void*>(one.series) : one.group, capi::Use::uses);
      }
    }
    return handles;
  }
  // A handle that was closed is found when its entry is converted.
  [[nodiscard]] static Status check(const char* /*function*/) { return {}; }
};

// Returns the universe to which all entries belong, after it has checked them.
Result<couplet_universe*> common_owner(const couplet_awaited* awaited, std::int32_t count, const char* function) {
  if (awaited == nullptr || count < 1) {
    return fail(Code::argument, "{}: awaited_count is {} and awaited is {}; at least one thing must be waited for",
                function, count, awaited == nullptr ? "NULL" : "given");
  }
  couplet_universe* universe = nullptr;
  for (std::int32_t place = 0; place < count; ++place) {
    const auto owner = checked(awaited[place], universe, function);
    if (!owner) {
      return owner.status().within(fmt::format("{}: entry {} of {}", function, place, count));
    }
    universe = *owner;
  }
  return universe;
}

Result<std::vector<Awaited>> convert(std::span<const couplet_awaited> awaited, const char* function) {
  std::vector<Awaited> all;
  all.reserve(awaited.size());
  for (const couplet_awaited& one : awaited) {
    auto made = converted(one, function);
    if (!made) {
      return made.status().within(fmt::format("{}: entry {} of {}", function, all.size(), awaited.size()));
    }
    all.push_back(*made);
  }
  const Status distinct = check_distinct(all);
  if (!distinct.ok()) {
    return distinct.within(function);
  }
  return all;
}

couplet::runtime::Readiness& readiness_of(couplet_universe& universe) {
  if (universe.readiness == nullptr) {
    universe.readiness = make_readiness(*universe.universe);
  }
  return *universe.readiness;
}

// Makes a call on several things: checks them, takes the turn of their universe, and gives what was found.
template <typename Look>
couplet_status on_awaited(const couplet_awaited* awaited, std::int32_t count, std::int32_t* index,
                          couplet_message* message, const char* function, const Look& look) {
  return capi::guarded([&]() -> Status {
    COUPLET_TRY(capi::given(index, function, "index"));
    COUPLET_TRY_VALUE(couplet_universe* const universe, common_owner(awaited, count, function));
    const Things things{{awaited, static_cast<std::size_t>(count)}};
    return capi::within_turn(*universe, things, function, [&]() -> Status {
      COUPLET_TRY_VALUE(const auto converted, convert(things.awaited, function));
      couplet_message about{};
      COUPLET_TRY(look(readiness_of(*universe), converted, about));
      if (message != nullptr && awaited[*index].group != nullptr) {
        *message = about;
      }
      return {};
    });
  });
}

}  // namespace

extern "C" {

couplet_status couplet_wait_any(const couplet_awaited* awaited, int32_t awaited_count, double timeout_s, int32_t* index,
                                couplet_message* message) {
  constexpr auto function = "couplet_wait_any";
  return on_awaited(awaited, awaited_count, index, message, function,
                    [&](auto& readiness, const auto& things, couplet_message& about) -> Status {
                      COUPLET_TRY(capi::check_timeout(timeout_s, function));
                      return readiness.wait(things, couplet::os::deadline_after(timeout_s), *index, about);
                    });
}

couplet_status couplet_universe_descriptor(couplet_universe* universe, int32_t* descriptor) {
  constexpr auto function = "couplet_universe_descriptor";
  return capi::call(universe, function, [&]() -> Status {
    COUPLET_TRY(capi::given(descriptor, function, "descriptor"));
    COUPLET_TRY_VALUE(*descriptor, readiness_of(*universe).descriptor());
    return {};
  });
}

couplet_status couplet_arm_any(const couplet_awaited* awaited, int32_t awaited_count, int32_t* index,
                               couplet_message* message) {
  return on_awaited(awaited, awaited_count, index, message, "couplet_arm_any",
                    [&](auto& readiness, const auto& things, couplet_message& about) {
                      return readiness.arm(things, *index, about);
                    });
}

}  // extern "C"
