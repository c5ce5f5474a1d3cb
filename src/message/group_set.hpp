// The groups of a process. Two groups that differ never have the same context.
// Tests: tests/unit/message/group_set_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "message/group.hpp"
#include "message/requests.hpp"

namespace couplet::message {

class GroupSet {
 public:
  // Begins with the group of all ranks of the universe. requests: those of the groups' messages; they outlive this.
  GroupSet(channel::PeerId self, std::int32_t universe_size, Requests& requests);

  [[nodiscard]] Group& universe() noexcept { return *groups_.front(); }
  // Returns the group of the ranks [first, first + count), with the program's name. Called once, by runtime.
  Result<Group*> add_program(std::string_view program, std::int32_t first, std::int32_t count);
  // Returns argument; or exists, if another group of this process has the same context.
  Result<Group*> create(std::string_view name, std::span<const std::int32_t> ranks);
  // Returns state if requests of the group are pending.
  Status free(Group& group);
  // How many groups have this one's name and members?
  [[nodiscard]] int count_like(const Group& group) const noexcept;
  // Moves the uncounted calls of all groups with this one's name and members to this one.
  void gather_uncounted(Group& group) noexcept;

 private:
  Result<Group*> keep(Result<Group> made);

  channel::PeerId self_;
  std::int32_t universe_size_;
  Requests& requests_;
  std::vector<std::unique_ptr<Group>> groups_;  // the first one is that of the universe
};

}  // namespace couplet::message
