// FormerGroups: what is kept of groups that were freed. Collectives owns it.
// It knows the number of the next creation, since all members begin with the same one if they have created the group
// equally often. And it knows why calls have failed, since members that are still in an earlier creation may have been
// told nothing.
// Tests: tests/unit/collective/former_groups_test.cpp. Decision: docs/decisions/0030.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/status.hpp"

namespace couplet::collective {

class FormerGroups {
 public:
  // Notes that a creation of the group has ended. group: its hash. next: the number of the next one. why: ok, or why a
  // call has failed in it. lost: the ranks that were lost in it, or have left. Throws bad_alloc.
  void note(std::uint64_t group, std::uint64_t creation, std::uint64_t next, const Status& why,
            const std::vector<std::int32_t>& lost = {});
  // Returns the number of the next creation of a group: greater than those of its creations in which this process has
  // made a call.
  [[nodiscard]] std::uint64_t next_creation(std::uint64_t group) const noexcept;
  // Returns why a call of that creation of the group has failed, or of the next one in which any has; ok: none has.
  // What had failed before the present life of the rank is left out.
  [[nodiscard]] Status failure_since(std::uint64_t group, std::uint64_t creation, std::int32_t rank) const noexcept;

 private:
  static constexpr std::size_t max_numbers = 1 << 16;  // of more groups, only the greatest number is kept
  static constexpr std::size_t max_groups = 256;       // whose failures are kept
  static constexpr std::size_t max_failures = 16;      // for each group
  struct Former {
    std::uint64_t noted = 0;                      // `notes_` when it was noted last
    std::map<std::uint64_t, Status> failures;     // by creation
    std::map<std::int32_t, std::uint64_t> lives;  // the first creation that a later life of the rank can have been in
  };
  void note_next(std::uint64_t group, std::uint64_t next);

  std::unordered_map<std::uint64_t, std::uint64_t> next_;  // the number of the next creation
  std::deque<std::uint64_t> numbered_;                     // the groups of next_, in the order in which they came
  std::uint64_t forgotten_ = 1;                            // the greatest of those that are not in next_ any more
  std::map<std::uint64_t, Former> groups_;
  std::uint64_t notes_ = 0;
};

}  // namespace couplet::collective
