// Part of couplet.hpp, which programs include: waiting for any of several series, messages, requests and tasks.
// Tests: tests/languages.
#ifndef COUPLET_COUPLET_WAIT_HPP
#define COUPLET_COUPLET_WAIT_HPP

#include <couplet/couplet_message.hpp>
#include <couplet/couplet_series.hpp>
#include <couplet/couplet_task.hpp>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

namespace couplet {

/// One thing that is waited for. It refers to a series, group, request or task that stays open meanwhile.
class Awaited {
 public:
  /// A read of the series would give at_least steps, an answer or an error.
  Awaited(const detail::Series& series, std::uint64_t at_least = 1) noexcept {
    c_.series = series.handle();
    c_.at_least = at_least;
  }
  /// A message from rank `source` of the group with the tag `tag` can be received.
  explicit Awaited(const Group& group, std::int32_t source = any_source, std::int32_t tag = any_tag) noexcept {
    c_.group = group.handle();
    c_.source = source;
    c_.tag = tag;
  }
  /// The send or receive is complete.
  Awaited(const Request& request) noexcept { c_.request = request.handle(); }
  /// The task is done.
  Awaited(const Task& task) noexcept { c_.task = task.handle(); }

  /// Returns the struct of the C call.
  [[nodiscard]] const couplet_awaited& c_awaited() const noexcept { return c_; }

 private:
  couplet_awaited c_{};
};
static_assert(sizeof(Awaited) == sizeof(couplet_awaited));

/// What is ready.
struct Ready {
  std::size_t index;  ///< its place in the list
  Message message;    ///< describes a message that can be received: source, tag and size; its count is in bytes
};

namespace detail {
template <class Call>
std::optional<Ready> find_ready(std::span<const Awaited> awaited, const Call& call) {
  const couplet_awaited* const first = awaited.empty() ? nullptr : &awaited.front().c_awaited();
  std::int32_t index = -1;
  Message message{COUPLET_ANY_SOURCE, COUPLET_ANY_TAG, 0, 0};
  if (check(call(first, static_cast<std::int32_t>(awaited.size()), &index, &message)) != COUPLET_OK) {
    return std::nullopt;
  }
  return Ready{static_cast<std::size_t>(index), message};
}
}  // namespace detail

/// Waits until one of these things is ready, and says which one; it takes nothing away. Returns nothing if the timeout
/// has passed. Blocking and errors: as couplet_wait_any.
inline std::optional<Ready> wait_any(std::span<const Awaited> awaited, double timeout_s = for_ever) {
  return detail::find_ready(awaited, [timeout_s](auto* first, auto count, auto* index, auto* message) {
    return couplet_wait_any(first, count, timeout_s, index, message);
  });
}
inline std::optional<Ready> wait_any(std::initializer_list<Awaited> awaited, double timeout_s = for_ever) {
  return wait_any(std::span<const Awaited>(awaited.begin(), awaited.size()), timeout_s);
}

/// Looks as wait_any with a timeout of 0. If nothing is ready, arms the descriptor of the universe and returns nothing:
/// call it again when the descriptor can be read.
inline std::optional<Ready> arm_any(std::span<const Awaited> awaited) {
  return detail::find_ready(awaited, &couplet_arm_any);
}
inline std::optional<Ready> arm_any(std::initializer_list<Awaited> awaited) {
  return arm_any(std::span<const Awaited>(awaited.begin(), awaited.size()));
}

}  // namespace couplet

#endif
