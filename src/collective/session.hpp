// Session: what one member knows about the collective calls of one group: how many were made, whether the members have
// met, and what others have said about calls that have failed. Collectives owns one for each group that is used.
//
// The members meet in the first call, in a tree: each tells its parent that it and all below it have come (a greeting),
// and the first member answers with a number that no group ever had before (the epoch) and with the systems of the
// members. All messages of calls are in contexts that are made from the epoch, so that what is left of other groups and
// of failed calls is never taken for a part of a call. Page: docs/formats/collective.md. Tests:
// tests/conformance/collective, tests/universe/test_collective_deaths.py.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collective/algorithms.hpp"
#include "message/courier.hpp"
#include "wire/collective.hpp"

namespace couplet::collective {

// What is known of the peers beside their messages. Functions that are not set: all peers are on one system, and none
// has left.
struct PeerFacts {
  std::function<std::uint32_t(channel::PeerId)> system_of;  // a number for the system (the host) of a peer
  std::function<bool(channel::PeerId)> has_left;            // in good order
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

  Session(message::Courier& courier, const message::Group& group, const PeerFacts& facts);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Takes no more notices. What was sent still refers to this object, which has to outlive the messenger then.
  void close() noexcept;
  // Can this object be destroyed now? Otherwise messages of failed calls still refer to it.
  [[nodiscard]] bool is_idle() const noexcept { return group_.pending == (mailbox_ != nullptr && !mailbox_->done ? 1 : 0); }

  [[nodiscard]] message::Group& group() noexcept { return group_; }
  [[nodiscard]] bool met() const noexcept { return epoch_ != 0; }
  [[nodiscard]] const Systems& systems() const noexcept { return systems_; }
  [[nodiscard]] std::uint32_t context_of(std::uint64_t call) const noexcept;

  // ---- calls ----
  // Counts one more call, and returns its number.
  std::uint64_t begin_call() noexcept { return next_call_++; }
  [[nodiscard]] std::uint64_t next_call() const noexcept { return next_call_; }
  // Returns why the call has failed before this member has begun it; ok: it has not.
  [[nodiscard]] Status failure_of(std::uint64_t call);
  // Notes the end of a call of this member. signature: 0 if the call has failed.
  void end_call(std::uint64_t call, const wire::CollectiveHead& head, bool failed) noexcept;
  // The signature of the call before `call`, or 0.
  [[nodiscard]] std::uint32_t signature_before(std::uint64_t call) const noexcept;
  // Notes what the call is, as soon as it begins.
  void note_head(std::uint64_t call, const wire::CollectiveHead& head) noexcept;
  // What this member has made of a call, if it is one of the last.
  [[nodiscard]] const wire::CollectiveHead* head_of(std::uint64_t call) const noexcept;

  // ---- meeting ----
  // Does what can be done to meet for the call.
  void meet(std::uint64_t call);
  // Are there notices to be taken?
  [[nodiscard]] bool has_notice() const noexcept { return mailbox_ != nullptr && mailbox_->done; }
  // Takes the next notice. Returns false if there is none.
  bool take_notice(News& news);
  void watch() noexcept;

  // ---- failures ----
  // Returns peer_lost if a member was lost since this object was made. One that has left in good order has sent all
  // that its calls had to send; a call that needs more of it fails by itself.
  [[nodiscard]] Status lost_member() const;
  // Returns mismatch if a member has created the group again, while this one still waits for it in the old one.
  [[nodiscard]] Status created_again(std::uint64_t call, const std::vector<std::int32_t>& awaited) const;
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
  // Tells members that the call has failed. targets: empty: all.
  void tell(std::uint64_t call, const Status& why, const std::vector<std::int32_t>& targets);
  // Asks the members whether they are in the same call.
  void ask(std::uint64_t call, const wire::CollectiveHead& head, const std::vector<std::int32_t>& targets);
  // The neighbors in the tree of the meeting.
  [[nodiscard]] std::vector<std::int32_t> neighbors() const;
  // Forgets everything but greetings for a group that others have created again already. Returns true if there are any.
  bool start_again();

 private:
  struct Child {
    std::int32_t rank = -1;
    std::uint64_t stamp = 0;
    std::uint64_t call = 0;
    std::uint64_t birth = 0;      // of its session
    std::uint64_t met_birth = 0;  // of the session with which this one has met
    bool greeted = false;         // and was not answered
  };
  static constexpr std::size_t kept_calls = 64;
  static constexpr std::size_t max_early_failures = 256;
  struct Past {
    std::uint64_t call = UINT64_MAX;
    bool failed = false;
    bool ended = false;
    wire::CollectiveHead head;
  };

  void open_mailbox();
  void send_notice(const wire::CollectiveNotice& notice, std::int32_t target) noexcept;
  [[nodiscard]] wire::CollectiveNotice notice(wire::NoticeKind kind, std::uint64_t call) const;
  void greeted(const wire::CollectiveNotice& greeting, std::int32_t source);
  void met_in(const wire::CollectiveNotice& answer);
  void revoked(const wire::CollectiveNotice& notice, std::int32_t source, News& news);
  void answer_children();
  [[nodiscard]] Past& past(std::uint64_t call) noexcept { return past_[call % kept_calls]; }

  message::Courier& courier_;
  const PeerFacts& facts_;
  message::Group group_;  // an own copy: its requests are none of the user's
  std::uint32_t mailbox_context_;
  message::Request* mailbox_ = nullptr;
  std::string incoming_;
  std::uint64_t next_call_ = 0;
  std::uint64_t birth_;                // a number of this session, which no other ever has
  std::vector<std::uint32_t> losses_;  // of each member, when this object was made
  std::vector<Child> children_;
  std::int32_t parent_ = -1;
  std::uint64_t stamp_ = 0;                  // of the greeting that was sent last; 0: none
  std::uint64_t greeted_call_ = UINT64_MAX;  // the call of that greeting
  std::uint64_t epoch_ = 0;
  Systems systems_;
  std::vector<std::uint32_t> names_;          // of the systems of the members
  std::map<std::uint64_t, Status> failures_;  // of calls that this member has not begun
  std::array<Past, kept_calls> past_{};
};

}  // namespace couplet::collective
