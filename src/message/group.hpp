// Group: an ordered set of ranks of the universe under a name. Name and members make the context, the number by which
// messages of different groups are told apart. Pure; tests: tests/unit/message/group_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "channel/channel.hpp"

namespace couplet::message {

// Contexts with this bit belong to the library (teams); those of users' groups never have it.
inline constexpr std::uint32_t internal_context = 0x80000000;
// In such a context: the greeting of a member of a team. It is worth nothing when its sender is gone.
inline constexpr std::int32_t greeting_tag = INT32_MAX;

// 64 bits over name and members, the same on every host.
[[nodiscard]] std::uint64_t hash_members(std::string_view name, std::span<const std::int32_t> ranks);
// The context that belongs to such a hash.
[[nodiscard]] constexpr std::uint32_t user_context(std::uint64_t hash) noexcept {
  return static_cast<std::uint32_t>(hash ^ (hash >> 32)) & ~internal_context;
}

class Group {
 public:
  // `count` ranks from `first` on. self: the caller's rank in the universe.
  static Group range(std::string name, std::int32_t first, std::int32_t count, channel::PeerId self);
  // argument: no members, a member twice or outside the universe.
  static Result<Group> of_ranks(std::string name, std::span<const std::int32_t> ranks, std::int32_t universe_size,
                                channel::PeerId self);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::int32_t rank() const noexcept { return rank_; }  // the caller's; -1: not a member
  [[nodiscard]] std::int32_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t context() const noexcept { return context_; }
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  // Rank in the universe; 0 <= rank < size().
  [[nodiscard]] channel::PeerId peer(std::int32_t rank) const noexcept {
    return static_cast<channel::PeerId>(ranks_.empty() ? first_ + rank : ranks_[static_cast<std::size_t>(rank)]);
  }
  // -1: no member.
  [[nodiscard]] std::int32_t rank_of(channel::PeerId peer) const noexcept;

  std::int32_t pending = 0;  // requests that are not complete; kept by Messenger
  // Collective calls that could not be counted for lack of memory; kept by Collectives, which counts them later.
  std::uint64_t uncounted_calls = 0;
  void* owner = nullptr;  // for the layer above: what its handle belongs to

 private:
  Group() = default;
  void seal(channel::PeerId self);

  std::uint64_t hash_ = 0;
  std::uint32_t context_ = 0;
  std::int32_t rank_ = -1;
  std::int32_t size_ = 0;
  std::int32_t first_ = 0;
  std::vector<std::int32_t> ranks_;                            // empty: first_, first_ + 1, ...
  std::vector<std::pair<std::int32_t, std::int32_t>> sorted_;  // (rank in the universe, rank in the group)
  std::string name_;
};

}  // namespace couplet::message
