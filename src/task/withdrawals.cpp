#include "task/withdrawals.hpp"

#include "task/mailbox.hpp"

namespace couplet::task {

using wire::TaskMessage;
using wire::TaskMessageKind;

bool Withdrawals::may_ask(channel::PeerId coupler) const {
  return met_.contains(coupler) && !unanswered_.contains(coupler);
}

Status Withdrawals::send(channel::PeerId coupler, std::uint64_t space, std::uint64_t number) {
  TaskMessage message;
  message.kind = TaskMessageKind::withdraw;
  message.space = space;
  message.number = number;
  unanswered_[coupler][number] = {.space = space, .sent = true};
  Status sent = mailbox_.send(coupler, message);  // if the coupler is this process, the answer has come by now
  if (!sent.ok()) {
    unanswered_[coupler][number].sent = false;
  }
  return sent;
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

bool Withdrawals::take(channel::PeerId source, const TaskMessage& message) {
  met_.insert(source);
  const auto found = unanswered_.find(source);
  if (message.kind == TaskMessageKind::heard && found != unanswered_.end()) {
    found->second.erase(message.number);
    if (found->second.empty()) {
      unanswered_.erase(found);
    }
  }
  return message.kind == TaskMessageKind::heard;
}

void Withdrawals::lost(channel::PeerId peer) {
  met_.erase(peer);
  unanswered_.erase(peer);
}

}  // namespace couplet::task
