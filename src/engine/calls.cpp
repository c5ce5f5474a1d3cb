#include "engine/calls.hpp"

#include <algorithm>

namespace couplet::engine {
namespace {

// Returns the strongest use that `call` makes of a handle which is one of `others`, or uses.
Use strongest_use(const Call& call, const Call& other) noexcept {
  Use strongest = Use::uses;
  for (const Held& held : call.handles) {
    if (held.use > strongest && std::any_of(other.handles.begin(), other.handles.end(),
                                            [&](const Held& its) { return its.handle == held.handle; })) {
      strongest = held.use;
    }
  }
  return strongest;
}

}  // namespace

Status second_thread() {
  return fail(Code::thread, "a second thread uses this universe; join it with threads = 1 to serialise its calls");
}

Status error_of(Ending ending) {
  switch (ending) {
    case Ending::none:
      return {};
    case Ending::left:
      return fail(Code::state, "another thread of this process leaves the universe");
    case Ending::closed:
      return fail(Code::state, "the handle was closed by another thread of this process");
    case Ending::completed:
      break;
  }
  return fail(Code::state, "another thread of this process completes the request or task with a call of its own");
}

Status Calls::add(Call& call) {
  for (const Call* other = first_; other != nullptr; other = other->next) {
    const Use its = strongest_use(*other, call);
    if (its == Use::closes) return fail(Code::state, "another thread of this process closes the handle");
    if (its == Use::completes && strongest_use(call, *other) != Use::closes) {
      return fail(Code::state, "another thread of this process is in a call that completes the request or task");
    }
  }
  call.next = first_;
  first_ = &call;
  return {};
}

void Calls::remove(const Call& call) noexcept {
  Call** place = &first_;
  while (*place != nullptr && *place != &call) place = &(*place)->next;
  if (*place != nullptr) *place = call.next;
}

bool Calls::end_others(const Call& call) noexcept {
  bool any = false;
  for (Call* other = first_; other != nullptr; other = other->next) {
    if (other == &call) continue;
    const Use use = strongest_use(call, *other);
    if (use == Use::uses) continue;
    if (other->ending != Ending::closed) other->ending = use == Use::closes ? Ending::closed : Ending::completed;
    any = true;
  }
  return any;
}

bool Calls::any_other(const Call& call) const noexcept {
  for (const Call* other = first_; other != nullptr; other = other->next) {
    if (other != &call && strongest_use(call, *other) != Use::uses) return true;
  }
  return false;
}

}  // namespace couplet::engine
