#include <algorithm>
#include <new>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "capi/call.hpp"

namespace couplet::capi {

void add_group(couplet_universe& handle, message::Group& group) {
  group.owner = &handle;
  auto made = std::make_unique<couplet_group>();
  made->owner = &handle;
  made->group = &group;
  handle.groups.push_back(std::move(made));
}

Status create_group(couplet_universe& handle, const std::string& name, std::span<const std::int32_t> ranks,
                    couplet_group** group) {
  message::Messenger& messenger = handle.universe->messenger();
  COUPLET_TRY_VALUE(auto* made, messenger.groups().create(name, ranks));
  try {
    add_group(handle, *made);
  } catch (const std::bad_alloc&) {
    static_cast<void>(messenger.groups().free(*made));
    throw;
  }
  *group = handle.groups.back().get();
  return {};
}

}  // namespace couplet::capi

namespace {

using couplet::Code;
using couplet::fail;
using couplet::Status;
namespace capi = couplet::capi;

Status check_names(const char* function, const char* name, const char* text, couplet_group** group) {
  COUPLET_TRY(capi::named(text, function, name));
  return capi::given(group, function, "group");
}

}  // namespace

extern "C" {

couplet_status couplet_universe_group(couplet_universe* universe, couplet_group** group) {
  return capi::call(universe, "couplet_universe_group", [&]() -> Status {
    COUPLET_TRY(capi::given(group, "couplet_universe_group", "group"));
    *group = universe->groups[0].get();
    return {};
  });
}

couplet_status couplet_universe_program_group(couplet_universe* universe, couplet_group** group) {
  return capi::call(universe, "couplet_universe_program_group", [&]() -> Status {
    COUPLET_TRY(capi::given(group, "couplet_universe_program_group", "group"));
    *group = universe->groups[1].get();
    return {};
  });
}

couplet_status couplet_group_create(couplet_universe* universe, const char* name, const int32_t* ranks, int32_t count,
                                    couplet_group** group) {
  constexpr auto function = "couplet_group_create";
  return capi::call(universe, function, [&]() -> Status {
    COUPLET_TRY(check_names(function, "name", name, group));
    if (count < 1) {
      return fail(Code::argument, "{}: group '{}' must have at least 1 member, not {}", function, name, count);
    }
    COUPLET_TRY(capi::given(ranks, function, "ranks"));
    return capi::create_group(*universe, name, std::span(ranks, static_cast<std::size_t>(count)), group);
  });
}

couplet_status couplet_group_create_heads(couplet_universe* universe, const char* name, couplet_group** group) {
  constexpr auto function = "couplet_group_create_heads";
  return capi::call(universe, function, [&]() -> Status {
    COUPLET_TRY(check_names(function, "name", name, group));
    std::vector<int32_t> ranks;
    for (const auto& program : universe->universe->membership().programs()) {
      ranks.push_back(program.first_rank);
    }
    return capi::create_group(*universe, name, ranks, group);
  });
}

couplet_status couplet_group_create_program(couplet_universe* universe, const char* program, couplet_group** group) {
  constexpr auto function = "couplet_group_create_program";
  return capi::call(universe, function, [&]() -> Status {
    COUPLET_TRY(check_names(function, "program", program, group));
    std::string known;
    for (const auto& one : universe->universe->membership().programs()) {
      if (one.name == program) {
        std::vector<int32_t> ranks(static_cast<std::size_t>(one.size));
        std::iota(ranks.begin(), ranks.end(), one.first_rank);
        return capi::create_group(*universe, fmt::format("ranks of {}", program), ranks, group);
      }
      known += (known.empty() ? "'" : ", '") + one.name + "'";
    }
    return fail(Code::not_found, "{}: no program '{}' in this universe; it has {}", function, program, known);
  });
}

couplet_status couplet_group_create_filtered(couplet_universe* universe, const char* name, couplet_group_filter keep,
                                             void* context, couplet_group** group) {
  constexpr auto function = "couplet_group_create_filtered";
  return capi::call(universe, function, [&]() -> Status {
    COUPLET_TRY(check_names(function, "name", name, group));
    if (keep == nullptr) {
      return fail(Code::argument, "{}: keep is NULL", function);
    }
    std::vector<int32_t> ranks;
    const auto& programs = universe->universe->membership().programs();
    for (std::size_t id = 0; id < programs.size(); ++id) {
      const int32_t first = programs[id].first_rank;
      for (int32_t rank = first; rank < first + programs[id].size; ++rank) {
        if (keep(rank, static_cast<int32_t>(id), context) != 0) {
          ranks.push_back(rank);
        }
      }
    }
    if (ranks.empty()) {
      return fail(Code::argument, "{}: keep has returned 0 for every rank, and group '{}' must have a member", function,
                  name);
    }
    return capi::create_group(*universe, name, ranks, group);
  });
}

couplet_status couplet_group_rank(const couplet_group* group, int32_t* rank, int32_t* size) {
  return capi::look(group, "couplet_group_rank", [&]() -> Status {
    if (rank != nullptr) {
      *rank = group->group->rank();
    }
    if (size != nullptr) {
      *size = group->group->size();
    }
    return {};
  });
}

couplet_status couplet_group_free(couplet_group* group) {
  constexpr auto function = "couplet_group_free";
  const auto free = [&]() -> Status {
    auto& groups = group->owner->groups;
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.get() == group; });
    if (found - groups.begin() < 2) {
      return fail(Code::argument, "couplet_group_free: the groups of the universe and of the program are not freed");
    }
    if (group->group->pending == 0) {  // otherwise it is not freed, and nobody's call ends
      COUPLET_TRY(capi::end_others(*group->owner, function));
    }
    if (group->owner->collectives != nullptr || group->group->uncounted_calls > 0) {
      COUPLET_TRY(capi::collectives_of(*group->owner).release(*group->group));
    }
    COUPLET_TRY(group->owner->universe->messenger().groups().free(*group->group));
    capi::forget(*group->owner, groups, group);
    return {};
  };
  return capi::call(group, function, free, capi::Use::closes);
}

}  // extern "C"
