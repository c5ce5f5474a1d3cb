#include "task/withdrawals.hpp"

#include "task/mailbox.hpp"

namespace couplet::task {

using wire::TaskMessage;
using wire::TaskMessageKind;

bool Withdrawals::may_ask(channel::PeerId coupler) const {
  return have_answered_.contains(coupler) && !unanswered_.contains(coupler);
}

Status Withdrawals::send(channel::PeerId coupler, std::uint64_t space, std::uint64_t number) {
  TaskMessage message;
  message.kind = TaskMessageKind::withdraw;
  message.space = space;
  message.number = number;
  unanswered_[coupler][number] = {.space = space, .sent = false};
  COUPLET_TRY(mailbox_.send(coupler, message));
  if (const auto found = unanswered_.find(coupler); found != unanswered_.end()) {
    // If the coupler is this process, it has answered by now.
    if (const auto withdrawal = found->second.find(number); withdrawal != found->second.end()) {
      withdrawal->second.sent = true;
    }
  }
  return {};
}

Status Withdrawals::ask(channel::PeerId coupler, std::uint64_t space) {
  const auto found = unanswered_.find(coupler);
  if (found == unanswered_.end()) {
    return send(coupler, space, mailbox_.next_number());
  }
  const std::map<std::uint64_t, Withdrawal> all = found->second;
  for (const auto& [number, withdrawal] : all) {
    if (!withdrawal.sent) {
      COUPLET_TRY(send(coupler, withdrawal.space, number));
    }
  }
  return {};
}

// An answer to a withdrawal that is not known is one of an earlier life, and says nothing of this one.
bool Withdrawals::take(channel::PeerId source, const TaskMessage& message) {
  if (message.kind != TaskMessageKind::heard) {
    return false;
  }
  const auto found = unanswered_.find(source);
  if (found != unanswered_.end() && found->second.contains(message.number)) {
    have_answered_.insert(source);
    found->second.erase(message.number);
    if (found->second.empty()) {
      unanswered_.erase(found);
    }
  }
  return true;
}

void Withdrawals::lost(channel::PeerId peer) noexcept {
  have_answered_.erase(peer);
  unanswered_.erase(peer);
}

}  // namespace couplet::task
