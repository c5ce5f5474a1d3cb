#include "message/probe.hpp"

namespace couplet::message {

void watch_source(const Request& request, Channels& channels) noexcept {
  const Flow* flow = request.flow;
  if (!request.done && flow != nullptr && flow->channel == nullptr) channels.waits_for(flow->peer);
}

Status Probe::check(const Group& group, std::int32_t source, std::int32_t tag) {
  const bool known = source == COUPLET_ANY_SOURCE || (source >= 0 && source < group.size());
  if (known && tag >= COUPLET_ANY_TAG) return {};
  return misused_receive(group, nullptr, 0, COUPLET_BYTE, source, tag);
}

bool Probe::look(Messenger& messenger, Group& group, std::int32_t source, std::int32_t tag, couplet_message& message) {
  const Flow* const flow = source == COUPLET_ANY_SOURCE ? nullptr : messenger.peers_.find(group.peer(source));
  if (source != COUPLET_ANY_SOURCE && (flow == nullptr || flow->channel == nullptr)) {
    messenger.channels_.waits_for(group.peer(source));
  }
  if (source != COUPLET_ANY_SOURCE && flow == nullptr && messenger.peers_.lost() == 0) return false;
  Request receive;  // it is never posted
  messenger.receiving_.prepare(receive, group, nullptr, 0, *find_type(COUPLET_BYTE), source, tag);
  if (const Arrival* const arrival = messenger.matching_.find(receive); arrival != nullptr) {
    message = {group.rank_of(arrival->flow->peer), arrival->tag, arrival->bytes, arrival->bytes};
    return true;
  }
  if (messenger.peers_.lost() == 0 || messenger.peers_.senders_left(receive).ok()) return false;
  message = {source, tag, 0, 0};
  return true;
}

bool Probe::done(Messenger& messenger, const Request& request) {
  watch_source(request, messenger.channels_);
  return request.done;
}

}  // namespace couplet::message
