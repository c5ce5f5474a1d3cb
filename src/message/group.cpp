#include "message/group.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstddef>

namespace couplet::message {

std::uint64_t hash_members(std::string_view name, std::span<const std::int32_t> ranks) {
  std::string image(name);
  image.push_back('\0');
  for (const std::int32_t rank : ranks) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
      image.push_back(static_cast<char>((static_cast<std::uint32_t>(rank) >> shift) & 0xFF));
    }
  }
  return XXH3_64bits(image.data(), image.size());
}

Group Group::range(std::string name, std::int32_t first, std::int32_t count, channel::PeerId self) {
  Group group;
  group.name_ = std::move(name);
  group.first_ = first;
  group.size_ = count;
  group.seal(self);
  return group;
}

Result<Group> Group::of_ranks(std::string name, std::span<const std::int32_t> ranks, std::int32_t universe_size,
                              channel::PeerId self) {
  if (ranks.empty()) return fail(Code::argument, "group '{}' has no members", name);
  Group group;
  group.sorted_.reserve(ranks.size());
  for (std::size_t index = 0; index < ranks.size(); ++index) {
    if (ranks[index] < 0 || ranks[index] >= universe_size) {
      return fail(Code::argument, "group '{}': member {} is rank {}, the universe has ranks 0 to {}", name, index,
                  ranks[index], universe_size - 1);
    }
    group.sorted_.emplace_back(ranks[index], static_cast<std::int32_t>(index));
  }
  std::sort(group.sorted_.begin(), group.sorted_.end());
  const auto twice = std::adjacent_find(group.sorted_.begin(), group.sorted_.end(),
                                        [](const auto& left, const auto& right) { return left.first == right.first; });
  if (twice != group.sorted_.end()) {
    return fail(Code::argument, "group '{}': rank {} is a member twice", name, twice->first);
  }
  group.name_ = std::move(name);
  group.ranks_.assign(ranks.begin(), ranks.end());
  group.size_ = static_cast<std::int32_t>(ranks.size());
  group.seal(self);
  return group;
}

void Group::seal(channel::PeerId self) {
  if (!ranks_.empty()) {
    hash_ = hash_members(name_, ranks_);
  } else {
    const std::int32_t range[2] = {first_, size_};
    hash_ = hash_members(name_, range);
  }
  context_ = user_context(hash_);
  rank_ = rank_of(self);
}

std::int32_t Group::rank_of(channel::PeerId peer) const noexcept {
  const auto wanted = static_cast<std::int64_t>(peer);
  if (ranks_.empty()) {
    return wanted >= first_ && wanted < std::int64_t{first_} + size_ ? static_cast<std::int32_t>(wanted - first_) : -1;
  }
  const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), wanted,
                                      [](const auto& entry, std::int64_t rank) { return entry.first < rank; });
  return found != sorted_.end() && found->first == wanted ? found->second : -1;
}

}  // namespace couplet::message
