// Calls: which calls of several threads are inside which handles of the user (series, groups, requests). A handle is
// closed only after the calls of other threads on it have ended. Turn is above it, and guards it with its mutex; it
// knows only the addresses of handles, and never reads what is stored there. Tests: tests/unit/engine/turn_test.cpp,
// tests/languages/test_closing.py.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"

namespace couplet::engine {

// What a call does to a handle.
enum class Use : std::uint8_t {
  uses,       // other calls may be inside at the same time
  completes,  // frees a request or a task once it is done; only one such call may be inside
  closes,     // frees the handle; no call may begin on it
};

struct Held {
  const void* handle = nullptr;
  Use use = Use::uses;
};

// Why a call is to end.
enum class Ending : std::uint8_t {
  none,       // it is not
  left,       // another thread leaves the universe
  closed,     // another thread closes a handle of the call
  completed,  // another thread is in a call that completes a request or a task of the call
};

// One call, from its begin to its end. The handles outlive it.
struct Call {
  std::span<const Held> handles{};
  Ending ending = Ending::none;  // otherwise another thread waits for the end of this call
  Call* next = nullptr;
};

// Returns the error of a second thread, if threads do not take turns.
[[nodiscard]] Status second_thread();
// Returns the error of a call that was ended in this way; ok for none.
[[nodiscard]] Status error_of(Ending ending);

// The calls that have begun and have not ended, also those that still wait for their first turn.
class Calls {
 public:
  // Returns state if another thread is closing a handle of the call, or completing it.
  Status add(Call& call);
  void remove(const Call& call) noexcept;
  // Tells the other calls to end that are inside a handle which this call completes or closes. Returns whether there is
  // any.
  bool end_others(const Call& call) noexcept;
  // Is another call inside a handle that this call completes or closes?
  [[nodiscard]] bool any_other(const Call& call) const noexcept;

  // The call that has the turn; nullptr: none, or one without handles. Changed with the turn.
  Call* current = nullptr;

 private:
  Call* first_ = nullptr;
};

}  // namespace couplet::engine
