// PastCalls: the last calls of a group at one member, their heads, ends and failures. Session owns it.
// Invariant: a call that has not ended is not forgotten, unless there is no memory for it.
// Tests: tests/unit/collective/past_calls_test.cpp, tests/conformance/collective.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/status.hpp"
#include "wire/collective.hpp"

namespace couplet::collective {

class PastCalls {
 public:
  void clear();
  // Called before the call `next` begins: keeps what is known of those that have not ended.
  void make_room(std::uint64_t next) noexcept;
  void begin(std::uint64_t call, const wire::CollectiveHead& head) noexcept;
  // signature: that of the head.
  void end(std::uint64_t call, const wire::CollectiveHead& head, std::uint32_t signature) noexcept;
  void fail(std::uint64_t call, const Status& why) noexcept;

  // The call fails only because the earlier call `cause` has failed elsewhere, after that one had ended here. Throws
  // bad_alloc.
  void set_cause(std::uint64_t call, std::uint64_t cause);
  // Notes that another member has revoked `call` because of the earlier call `cause`, so that this member passes on
  // that cause; otherwise each member would revoke its own next call in turn. If `cause` had ended here, it counts as
  // failed now, and the result is true. Does nothing if `cause` is not earlier than `call`. Throws bad_alloc.
  bool note_cause(std::uint64_t call, std::uint64_t cause, const Status& why);
  // Returns `call` if it has no other cause.
  [[nodiscard]] std::uint64_t cause_of(std::uint64_t call) const noexcept;

  [[nodiscard]] bool is_known(std::uint64_t call) const noexcept { return place(call).call == call; }
  // Was the call made so long ago that a later one has its place?
  [[nodiscard]] bool has_forgotten(std::uint64_t call) const noexcept {
    return place(call).call != UINT64_MAX && place(call).call > call;
  }
  // A call that is known: has it ended?
  [[nodiscard]] bool has_ended(std::uint64_t call) const noexcept { return place(call).ended; }
  // Has the call begun and not ended, as far as it is still remembered?
  [[nodiscard]] bool is_open(std::uint64_t call) const noexcept { return is_known(call) && !has_ended(call); }
  // Returns why a call has failed; ok: it has not, or is not known.
  [[nodiscard]] Status failure_in(std::uint64_t call) const noexcept;
  // Returns why the first call failed after which no later one has succeeded; ok: none has.
  [[nodiscard]] const Status& failure() const noexcept { return failure_; }
  // Returns the signature of the call before `call`; 0 if it has failed, or there was none.
  [[nodiscard]] std::uint32_t signature_before(std::uint64_t call) const noexcept {
    const Past& before = place(call - 1);
    return call > 0 && before.call == call - 1 ? before.signature : 0;
  }
  // Returns what this member has made of a call; nullptr: it has failed, or is not known.
  [[nodiscard]] const wire::CollectiveHead* head_of(std::uint64_t call) const noexcept;
  // Returns the first call from `call` on that has begun and has not ended; `next` if there is none.
  [[nodiscard]] std::uint64_t first_open(std::uint64_t call, std::uint64_t next) const noexcept;

 private:
  static constexpr std::size_t min_kept = 64;
  struct Past {
    std::uint64_t call = UINT64_MAX;
    bool failed = false;
    bool ended = false;
    std::uint32_t signature = 0;  // that of `head`; 0: it has failed
    wire::CollectiveHead head;
    Status why;  // failed
  };

  [[nodiscard]] Past& place(std::uint64_t call) noexcept { return past_[call % past_.size()]; }
  [[nodiscard]] const Past& place(std::uint64_t call) const noexcept { return past_[call % past_.size()]; }

  std::vector<Past> past_ = std::vector<Past>(min_kept);
  std::map<std::uint64_t, std::uint64_t> causes_;  // for the last calls
  Status failure_;
  std::uint64_t failed_call_ = 0;  // the last call that has failed
};

}  // namespace couplet::collective
