#include "message/group_set.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace couplet::message {

GroupSet::GroupSet(channel::PeerId self, std::int32_t universe_size, Requests& requests)
    : self_(self), universe_size_(universe_size), requests_(requests) {
  groups_.push_back(std::make_unique<Group>(Group::range("universe", 0, universe_size, self)));
}

Result<Group*> GroupSet::keep(Result<Group> made) {
  if (!made.ok()) return made.status();
  for (const auto& other : groups_) {
    if (other->context() == made->context() && other->hash() != made->hash()) {
      return fail(Code::exists, "group '{}' has the same context {:#010x} as group '{}': give it another name",
                  made->name(), made->context(), other->name());
    }
  }
  groups_.push_back(std::make_unique<Group>(std::move(*made)));
  return groups_.back().get();
}

Result<Group*> GroupSet::add_program(std::string_view program, std::int32_t first, std::int32_t count) {
  return keep(Group::range(fmt::format("program {}", program), first, count, self_));
}

Result<Group*> GroupSet::create(std::string_view name, std::span<const std::int32_t> ranks) {
  return keep(Group::of_ranks(std::string(name), ranks, universe_size_, self_));
}

Status GroupSet::free(Group& group) {
  if (&group == &universe()) {
    return fail(Code::state, "the group of the universe cannot be freed: it ends with the universe");
  }
  if (group.pending > 0) {
    return fail(Code::state, "group '{}' cannot be freed: {} of its requests are not complete", group.name(),
                group.pending);
  }
  requests_.change_group(group, universe());
  std::erase_if(groups_, [&group](const auto& kept) { return kept.get() == &group; });
  return {};
}

int GroupSet::count_like(const Group& group) const noexcept {
  int count = 0;
  for (const auto& one : groups_) count += one->hash() == group.hash() ? 1 : 0;
  return count;
}

void GroupSet::gather_uncounted(Group& group) noexcept {
  std::uint64_t count = 0;
  for (const auto& one : groups_) {
    if (one->hash() == group.hash()) count += std::exchange(one->uncounted_calls, 0);
  }
  group.uncounted_calls = count;
}

}  // namespace couplet::message
