#include "universe/liveness.hpp"

#include <utility>

#include "os/process_page.hpp"

namespace couplet::universe {

void Liveness::enter(const std::string& node_directory, channel::PeerId self, std::uint16_t node) {
  node_directory_ = node_directory;
  self_ = self;
  node_ = node;
}

Status Liveness::alive(channel::PeerId id) {
  auto* const entry = host_.find_peer(id);
  if (entry == nullptr) {
    return {};
  }
  if (entry->state == PeerState::present && entry->node == node_ && id != self_) {
    look_at_lock(id, *entry);
  }
  if (entry->state == PeerState::left) {
    return fail(Code::peer_lost, "{} has left the universe", host_.peer_name(id));
  }
  if (entry->state == PeerState::lost) {
    return {Code::peer_lost, loss_texts_[id]};
  }
  return {};
}

bool Liveness::lock_is_free(channel::PeerId id) {
  auto& probe = probes_[id];
  if (probe == nullptr) {
    auto opened = os::LockProbe::open(os::page_path(node_directory_, id));
    if (!opened.ok()) {
      return opened.code() == Code::not_found;
    }
    probe = std::move(*opened);
  }
  return !probe->held();
}

void Liveness::look_at_lock(channel::PeerId id, PeerInfo& entry) {
  if (!lock_is_free(id)) {
    return;
  }
  const auto incarnation = entry.incarnation;
  host_.hear();  // a peer that left in good order has told the hub first
  if (entry.state != PeerState::present || entry.incarnation != incarnation) {
    return;
  }
  const auto page_gone = os::LockProbe::open(os::page_path(node_directory_, id)).code() == Code::not_found;
  if (page_gone && host_.hub_answers()) {
    return;  // it left; the hub's word is on its way
  }
  if (page_gone) {
    lose(id, PeerState::left, {});
  } else {
    lose(id, PeerState::lost,
         fmt::format("{} is lost: its process (pid {}) has ended without leaving", host_.peer_name(id), entry.process));
  }
}

void Liveness::tick() {
  std::vector<channel::PeerId> watched;
  watched.reserve(probes_.size());
  for (const auto& [id, probe] : probes_) {
    watched.push_back(id);
  }
  for (const auto id : watched) {
    auto* const entry = host_.find_peer(id);
    if (entry != nullptr && entry->state == PeerState::present) {
      look_at_lock(id, *entry);
    }
  }
}

void Liveness::lose(channel::PeerId id, PeerState state, const std::string& text) {
  auto* const entry = host_.find_peer(id);
  if (entry == nullptr || entry->state == PeerState::left || entry->state == PeerState::lost) {
    return;
  }
  const bool was_present = entry->state == PeerState::present;
  entry->state = state;
  probes_.erase(id);
  if (state == PeerState::lost) {
    loss_texts_[id] = text;
  }
  if (was_present) {
    const auto left = state == PeerState::left;
    losses_.push_back({id, left ? fail(Code::peer_lost, "{} has left the universe", host_.peer_name(id))
                                : Status(Code::peer_lost, text)});
  }
}

void Liveness::hub_says(channel::PeerId id, PeerInfo& entry, const PeerInfo& info, const std::string& text) {
  if (info.incarnation < entry.incarnation) {
    return;
  }
  if (info.state == PeerState::present) {
    if (info.incarnation != entry.incarnation) {
      lose(id, PeerState::lost, fmt::format("{} is lost: it was started again", host_.peer_name(id)));
      probes_.erase(id);
    } else if (entry.state == PeerState::lost) {
      return;  // its lock has told more than the hub knew
    }
    entry = info;
    return;
  }
  if (entry.state == PeerState::present) {
    lose(id, info.state, text.empty() ? fmt::format("{} is lost", host_.peer_name(id)) : text);
  } else if (entry.state == PeerState::absent) {
    entry = info;
    if (info.state == PeerState::lost) {
      loss_texts_[id] = text.empty() ? fmt::format("{} is lost", host_.peer_name(id)) : text;
    }
  }
}

void Liveness::tell() {
  if (handlers_.empty()) {
    return;  // kept for the first one: somebody may be lost before join has returned
  }
  const auto losses = std::exchange(losses_, {});
  for (const auto& loss : losses) {
    for (const auto& handler : handlers_) {
      handler(loss.id, loss.why);
    }
  }
}

}  // namespace couplet::universe
