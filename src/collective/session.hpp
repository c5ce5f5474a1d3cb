// Session: what one member knows about the collective calls of one group: how many were made, what the last ones were,
// and which have failed. Collectives owns one for each group that is used. Its parts are the mailbox and the meeting.
// Invariants: a call that has failed at another member fails here, too: while it is under way, when it begins, or, if
// it has ended already, in the next call. Decision: docs/decisions/0029. Page: docs/formats/collective.md.
// Tests: tests/conformance/collective, tests/universe/test_collectives.py.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collective/mailbox.hpp"
#include "collective/meeting.hpp"
#include "message/courier.hpp"
#include "wire/collective.hpp"

namespace couplet::collective {

// What is known of the peers beside their messages. Functions that are not set: all peers are on one system, and none
// has left.
struct PeerFacts {
  Meeting::SystemOf system_of;
  std::function<bool(channel::PeerId)> has_left;  // in good order
};

class Session {
 public:
  // What a notice has changed.
  struct News {
    std::optional<std::uint64_t> revoked;  // this call, which has begun here, is over
    Status why;
    std::optional<wire::CollectiveNotice> inquiry;  // a member waits in a call
    std::int32_t source = -1;
  };

  // A call that has failed before this member begins it.
  struct EarlyFailure {
    Status why;
    bool is_told = false;  // the others have been told, by another member
  };

  Session(message::Courier& courier, const message::Group& group, const PeerFacts& facts);

  [[nodiscard]] Mailbox& mailbox() noexcept { return mailbox_; }
  [[nodiscard]] Meeting& meeting() noexcept { return meeting_; }
  [[nodiscard]] message::Group& group() noexcept { return mailbox_.group(); }

  // ---- calls ----
  // Counts one more call, and returns its number.
  std::uint64_t begin_call() noexcept { return next_call_++; }
  // Returns why the call has failed before this member has begun it; ok: it has not.
  [[nodiscard]] EarlyFailure failure_of(std::uint64_t call) noexcept;
  // Notes what the call is, when it begins.
  void note_head(std::uint64_t call, const wire::CollectiveHead& head) noexcept;
  // Notes the end of a call of this member.
  void end_call(std::uint64_t call, const wire::CollectiveHead& head) noexcept;
  void fail_call(std::uint64_t call, const Status& why) noexcept;
  // Called before a call is counted: keeps what is known of the calls that have not ended.
  void make_room() noexcept;
  // Returns why a call of this member has failed; ok: it has not, or is too long ago.
  [[nodiscard]] Status failure_in(std::uint64_t call) const noexcept;
  // Has a call failed since the group was created?
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }
  // Returns the signature of the call before `call`; 0 if it has failed, or there was none.
  [[nodiscard]] std::uint32_t signature_before(std::uint64_t call) const noexcept;
  // Returns what this member has made of a call, if it is one of the last.
  [[nodiscard]] const wire::CollectiveHead* head_of(std::uint64_t call) const noexcept;

  // Takes the next notice. Returns false if there is none. A notice for which there is no memory is taken again.
  bool take_notice(News& news);
  [[nodiscard]] bool has_notice() const noexcept { return is_held_ || mailbox_.has_notice(); }

  // ---- failures ----
  // Returns peer_lost if a member was lost since this object was made. One that has left in good order has sent all
  // that its calls had to send; a call that needs more of it fails by itself.
  [[nodiscard]] Status lost_member() const;
  // Returns peer_lost if a member that has to come to the meeting for the call has left, and all that it had sent has
  // come.
  [[nodiscard]] Status absent_member(std::uint64_t call) const;
  // Tells members that the call has failed. targets: empty: all. Without memory for the text they are told the code.
  void tell(std::uint64_t call, const Status& why, const std::vector<std::int32_t>& targets) noexcept;
  // Asks the members whether they are in the same call.
  void ask(std::uint64_t call, const wire::CollectiveHead& head, const std::vector<std::int32_t>& targets);
  // The group is created again: forgets everything but the greetings of members that have done so before. Returns true
  // if there are any.
  bool start_again();

 private:
  static constexpr std::size_t min_kept_calls = 64;
  static constexpr std::size_t max_early_texts = 256;  // of more failures, only the codes are kept
  struct Past {
    std::uint64_t call = UINT64_MAX;
    bool failed = false;
    bool ended = false;
    wire::CollectiveHead head;
    Status why;  // failed
  };
  // The last creations of the group by a member, as its notices say.
  struct Births {
    std::uint64_t last = 0;
    std::uint64_t stale = 0;  // the last one before this member created the group again
  };

  void note_losses();
  void revoked(const wire::CollectiveNotice& notice, std::int32_t source, News& news);
  void work_off(const wire::CollectiveNotice& notice, News& news);
  [[nodiscard]] wire::CollectiveNotice notice(wire::NoticeKind kind, std::uint64_t call) const;
  [[nodiscard]] Past& past(std::uint64_t call) noexcept { return past_[call % past_.size()]; }
  [[nodiscard]] const Past& past(std::uint64_t call) const noexcept { return past_[call % past_.size()]; }

  message::Courier& courier_;
  const PeerFacts& facts_;
  Mailbox mailbox_;
  Meeting meeting_;
  std::uint64_t next_call_ = 0;
  std::vector<std::uint32_t> losses_;  // for each member, how often it had been lost when this object was made
  std::map<std::uint64_t, EarlyFailure> failures_;  // those of calls that this member has not begun
  std::vector<Past> past_ = std::vector<Past>(min_kept_calls);
  std::vector<Births> births_;  // for each member
  bool has_failed_ = false;
  bool is_held_ = false;  // a notice was taken from the mailbox, and its work is not done
  wire::CollectiveNotice held_;
  std::int32_t held_source_ = -1;
};

}  // namespace couplet::collective
