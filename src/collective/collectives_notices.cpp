// The part of Collectives that takes notices of other members, and ends calls.
#include "base/scope_count.hpp"
#include "collective/call.hpp"
#include "collective/collective.hpp"
#include "os/clock.hpp"

namespace couplet::collective {
namespace {

constexpr int max_notices_at_once = 64;

}  // namespace

bool Collectives::take_notices(KnownGroup& known) {
  if (!known.session.has_notice()) return false;
  Session::News news;
  bool any = false;
  for (int taken = 0; taken < max_notices_at_once && known.session.take_notice(news); ++taken) {
    any = true;
    if (news.inquiry) inquired(known, *news.inquiry, news.source);
    if (news.is_ahead) {
      for (Call* const call : calls_.active()) {
        if (call->known == &known) call->idle = {};
      }
    }
    if (!news.revoked) continue;
    for (std::size_t index = 0; index < calls_.active().size(); ++index) {  // another thread may begin one meanwhile
      Call& call = *calls_.active()[index];
      if (call.known == &known && call.number == *news.revoked && call.open()) revoke(call, news.why, !news.is_told);
    }
  }
  return any;
}

// Answers the inquiry of a member that waits in a call. That member is told if this member makes, or has made, another
// call with the same number, and if the call with this number has failed here.
void Collectives::inquired(KnownGroup& known, const wire::CollectiveNotice& inquiry, std::int32_t source) {
  Session& session = known.session;
  if (inquiry.creation < session.meeting().creation()) {  // the failure that ended that creation may not reach it
    const bool is_new = session.losses().has(courier_, source);  // what failed before is no matter of its life
    const Status failure = is_new ? Status() : former_.failure_since(session.group().hash(), inquiry.creation, source);
    if (!failure.ok()) {
      const std::string again = fmt::format("rank {} has created the group again", session.group().rank());
      session.tell(inquiry.call, failure.within(again), {source}, &inquiry);
    }
    return session.meeting().tell_creation(source);
  }
  if (session.meeting().met() && inquiry.epoch != session.meeting().epoch()) {
    const std::string name = courier_.name(session.group().peer(source));
    if (inquiry.epoch == 0) {  // the epoch is on its way, unless an earlier process of the member has met the others
      if (!session.losses().has(courier_, source)) return;
      const Status why = fail(Code::peer_lost, "rank {} ({}) was started again: create the group again", source, name);
      return session.tell(inquiry.call, why, {source}, &inquiry);
    }
    const Status why =
        fail(Code::mismatch, "rank {} ({}) waits in call {} of a group that was created before that of rank {}", source,
             name, inquiry.call, session.group().rank());
    for (Call* const call : calls_.active()) {
      if (call->known == &known && call->open()) return revoke(*call, why, true);
    }
    return;
  }
  if (const Status failure = session.past().failure_in(inquiry.call); !failure.ok()) {
    return session.tell(inquiry.call, failure, {source}, &inquiry);
  }
  const std::int32_t own = session.group().rank();
  if (!session.meeting().met() && session.past().has_forgotten(inquiry.call)) {  // no call succeeds before that
    const Status why = fail(Code::peer_lost, "call {} has failed at rank {} long ago", inquiry.call, own);
    return session.tell(inquiry.call, why, {source}, &inquiry);
  }
  const wire::CollectiveHead* const mine = session.past().head_of(inquiry.call);
  if (mine == nullptr || mine->agrees(inquiry.head)) return;
  const bool uneven = mine->kind == inquiry.head.kind && mine->count == 0 && inquiry.head.count == 0;
  if (uneven && mine->signature() == inquiry.head.signature()) return;
  const Status why = fail(Code::mismatch, "rank {} ({}) calls {}, and rank {} ({}) calls {}", source,
                          courier_.name(session.group().peer(source)), describe(inquiry.head), own,
                          courier_.name(session.group().peer(own)), describe(*mine));
  for (Call* const call : calls_.active()) {
    if (call->known == &known && call->number == inquiry.call && call->open()) return revoke(*call, why, true);
  }
  session.tell(inquiry.call, why, {source}, &inquiry);
}

// first_hand: this member has found the error, and tells all. Otherwise it passes the error on (Call::tell).
void Collectives::revoke(Call& call, const Status& why, bool first_hand) noexcept {
  const ScopeCount busy(busy_);  // to tell others may take a question to the hub, which polls
  Session& session = call.known->session;
  const Status named =
      first_hand && why.error() ? in_call(why, call.number, session.group(), name_of(call.arguments)) : why;
  call.tell(named, first_hand);
  session.fail_call(call.number, named);
  const bool running = call.stage == CallStage::running;
  call.stage = CallStage::aborting;
  call.ending_ns = os::now_ns() + max_ending_ns;
  call.outcome = named;
  if (running) {
    try {
      call.execution.abort();
    } catch (const std::bad_alloc&) {
      static_cast<void>(0);  // what could not be copied ends by itself, or is cut off
    }
    call.settle(courier_, 0);
  } else {
    call.stage = CallStage::lingering;
    call.schedule.reset();
    call.conclude(courier_, named);
  }
}

}  // namespace couplet::collective
