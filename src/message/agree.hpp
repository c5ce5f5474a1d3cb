// Agreement among the members of a team, as far as collective creation and collective reads need it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"

namespace couplet::message {

// An ordered set of processes that all make the same calls in the same order. Implementations: one process alone; over
// messages (message/team.cpp). Every call is collective, blocks at most until the deadline, and fails on all when one
// is lost. After a failure the members begin anew with their next call.
class Team {
 public:
  virtual ~Team() = default;
  [[nodiscard]] virtual int rank() const noexcept = 0;
  [[nodiscard]] virtual int size() const noexcept = 0;
  // Element-wise minimum over the members, in place.
  virtual Status minimum(std::span<std::int64_t> values, std::uint64_t deadline_ns) = 0;
  // The bytes of every member in order of rank (lengths may differ).
  virtual Result<std::vector<std::string>> gather(const std::string& bytes, std::uint64_t deadline_ns) = 0;
  // Gives the bytes of rank 0 to every member, in place. What the others bring is replaced.
  virtual Status broadcast(std::string& bytes, std::uint64_t deadline_ns) {
    COUPLET_TRY_VALUE(auto all, gather(rank() == 0 ? bytes : std::string(), deadline_ns));
    bytes = std::move(all.front());
    return {};
  }
  // Returns why the next call would fail, if that is known already: a neighbour is lost, or has left the sequence of
  // calls. For a member that waits for something else before it makes that call. Does not wait.
  [[nodiscard]] virtual Status disturbance() { return {}; }
  // Returns why the members cannot meet again: one of them is lost, or was lost since they met first, so that its next
  // life knows nothing of what they have in common. A member that waits for something else makes its next call then,
  // which fails on all. Does not wait.
  [[nodiscard]] virtual Status broken_up() { return {}; }
  // This member leaves the sequence of calls, because of an error or for good: the next call of the others fails with
  // `why`, an error. Does not wait.
  virtual void leave(const Status& /*why*/) noexcept {}
};

}  // namespace couplet::message
