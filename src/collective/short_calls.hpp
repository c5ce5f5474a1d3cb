// ShortCalls: the calls of one group whose messages are all short, and that all members have made before: what a member
// needs to make one again at once, and to name one of which only the signature has come. KnownGroup owns it.
// Tests: tests/unit/collective/short_calls_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "collective/plan.hpp"
#include "wire/collective.hpp"

namespace couplet::collective {

struct ShortCall {
  Arguments like;               // without the memory
  wire::CollectiveHead head;    // without the call before
  std::uint32_t signature = 0;  // that of `head`
  std::shared_ptr<const Schedule> schedule;
};

class ShortCalls {
 public:
  static constexpr std::size_t max_calls = 16;  // of more, the one that was remembered first is forgotten

  // Remembers a call that has ended well, if all its messages are short. Without memory it is not remembered.
  void remember(const Arguments& arguments, const wire::CollectiveHead& head,
                const std::shared_ptr<const Schedule>& schedule) noexcept;
  void clear() noexcept { calls_.clear(); }
  // Returns the call that had the same arguments, but for the memory; nullptr: it is not remembered.
  [[nodiscard]] const ShortCall* find(const Arguments& arguments) const noexcept;
  // Returns the head with this signature; nullptr: it is not remembered.
  [[nodiscard]] const wire::CollectiveHead* find(std::uint32_t signature) const noexcept;

 private:
  std::vector<ShortCall> calls_;  // the last one that was remembered is the first one
};

}  // namespace couplet::collective
