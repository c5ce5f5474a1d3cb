// Session: what one member knows about the collective calls of one group: how many were made, what the last ones were,
// and which have failed. Collectives owns one for each group that is used. Its parts are the mailbox and the meeting.
// Invariants: a call that has failed at another member fails here, too: while it is under way, when it begins, or, if
// it has ended already, in the next call. A notice counts only in the creation of the group that it names.
// Decisions: docs/decisions/0029, 0030. Page: docs/formats/collective.md.
// Tests: tests/conformance/collective, tests/universe/test_collectives.py.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collective/mailbox.hpp"
#include "collective/meeting.hpp"
#include "collective/past_calls.hpp"
#include "message/courier.hpp"
#include "message/member_losses.hpp"
#include "wire/collective.hpp"

namespace couplet::collective {

// What is known beside the messages of the peers. Functions that are not set: all peers are on one system, and nothing
// is known of the membership.
struct PeerFacts {
  Meeting::SystemOf system_of;
  message::MembershipFacts membership{};
  bool has_earlier_life = false;  // an earlier process had this rank, which the others may have met in their groups
  MethodTable table{};            // for groups of which this process is the first member
};

class Session {
 public:
  // What a notice has changed.
  struct News {
    std::optional<std::uint64_t> revoked;  // this call, which has begun here, is over
    Status why;
    bool is_told = true;                            // the others know it already
    std::optional<wire::CollectiveNotice> inquiry;  // a member waits in a call of this creation or an earlier one
    std::int32_t source = -1;
    bool has_more = false;  // the notice revokes a later call, too: it is taken once more
    bool is_ahead = false;  // the source has created the group again, and was not known to have done so
  };

  // A call that has failed before this member begins it.
  struct EarlyFailure {
    Status why;
    bool is_told = false;              // another member has told this one
    std::uint64_t cause = UINT64_MAX;  // the earlier call in which the failure began; UINT64_MAX: it began in this call
  };

  // creation: greater than the number of each creation of the group by this process before.
  Session(message::Courier& courier, const message::Group& group, const PeerFacts& facts, std::uint64_t creation);

  [[nodiscard]] Mailbox& mailbox() noexcept { return mailbox_; }
  [[nodiscard]] Meeting& meeting() noexcept { return meeting_; }
  [[nodiscard]] message::Group& group() noexcept { return mailbox_.group(); }

  // ---- calls ----
  // Counts one more call, and returns its number.
  std::uint64_t begin_call() noexcept {
    past_.make_room(next_call_);
    return next_call_++;
  }
  // Returns why the call has failed before this member has begun it; ok: it has not.
  [[nodiscard]] EarlyFailure failure_of(std::uint64_t call);
  // Notes that a call of this member has failed.
  void fail_call(std::uint64_t call, const Status& why) noexcept;
  [[nodiscard]] PastCalls& past() noexcept { return past_; }

  // Takes the next notice. Returns false if there is none. A notice for which there is no memory is taken again.
  bool take_notice(News& news);
  [[nodiscard]] bool has_notice() const noexcept { return is_held_ || mailbox_.has_notice(); }

  // ---- failures ----
  // Returns peer_lost if a member was lost since the group was created here, also if it is back. One that has left in
  // good order, and is not back, has sent all that its calls had to send; a call that needs more of it fails by itself.
  [[nodiscard]] Status lost_member();
  // Have the members met, is nothing known of a failure or a notice, and is no member lost?
  [[nodiscard]] bool is_undisturbed();
  // Called while this member waits for others at the meeting: their death is noticed without a hub, too.
  void watch_awaited(std::uint64_t call);
  // Returns peer_lost if a member that has to come to the meeting for the call is lost, or has left, and all that it
  // had sent has come. It may have been lost before the group was created here.
  [[nodiscard]] Status absent_member(std::uint64_t call) const;
  // Returns the ranks that have not come to the meeting for this call, as the end of a sentence; "" if all have met.
  [[nodiscard]] std::string waited_for(std::uint64_t call) const;
  // Returns an error if a member for which this one waits has created the group again: why a later call has failed, of
  // this creation or of one that follows, or mismatch.
  [[nodiscard]] Status created_again(std::uint64_t call, const std::vector<std::int32_t>& awaited) const;
  // Tells members that the call has failed. targets: empty: all. Not those that were lost since the members met, or if
  // they have not, since the group was created here: their next lives do not know it, unless the target has asked.
  // Without memory for the text they are told the code. asked: the inquiry of the target,
  // which may be of an earlier creation.
  void tell(std::uint64_t call, const Status& why, const std::vector<std::int32_t>& targets,
            const wire::CollectiveNotice* asked = nullptr) noexcept;
  // Asks the members whether they are in the same call.
  void ask(std::uint64_t call, const wire::CollectiveHead& head, const std::vector<std::int32_t>& targets);
  // The meeting for the call takes long: greets once more, and asks those that have created the group again; or all for
  // which it waits, if they may be in calls of a group that an earlier life of this process has met.
  void ask_awaited(std::uint64_t call, const wire::CollectiveHead& head);
  [[nodiscard]] message::MemberLosses& losses() noexcept { return losses_; }
  // The number of the next creation of the group: at least as great as that of each member that was heard of, and
  // greater than that of each member whose call has failed, since that one creates the group again, too.
  [[nodiscard]] std::uint64_t next_creation() const noexcept;
  // The group is created again: forgets everything but what members have sent that have done so before. Returns true if
  // anything was kept.
  bool start_again();

 private:
  static constexpr std::size_t max_early_texts = 256;  // of more failures, only the codes are kept
  using CallOfCreation = std::pair<std::uint64_t, std::uint64_t>;

  void note_creation(std::uint64_t creation, News& news);
  void revoked(const wire::CollectiveNotice& notice, std::int32_t source, News& news);
  void work_off(const wire::CollectiveNotice& notice, News& news);
  [[nodiscard]] wire::CollectiveNotice notice(wire::NoticeKind kind, std::uint64_t call) const;

  message::Courier& courier_;
  const PeerFacts& facts_;
  Mailbox mailbox_;
  Meeting meeting_;
  std::uint64_t next_call_ = 0;
  message::MemberLosses losses_;                     // since the group was created here
  std::map<CallOfCreation, EarlyFailure> failures_;  // those of calls that this member has not begun
  PastCalls past_;
  std::vector<std::uint64_t> creations_;  // for each member, the one that its last notice names
  std::uint64_t heard_ = 0;               // no number below it can be that of the next creation
  bool is_held_ = false;                  // a notice was taken from the mailbox, and its work is not done
  wire::CollectiveNotice held_;
  std::int32_t held_source_ = -1;
};

}  // namespace couplet::collective
