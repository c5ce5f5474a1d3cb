#include "universe/liveness.hpp"

#include <algorithm>
#include <utility>

#include "os/clock.hpp"
#include "os/process_page.hpp"
#include "universe/incarnations.hpp"

namespace couplet::universe {
namespace {

// All processes on the node are checked once in this time. With more than max_looks_per_tick * 10 peers it takes
// longer.
constexpr std::uint64_t round_ns = 1'000'000'000;
constexpr std::size_t max_looks_per_tick = 64;
// A process removes its page only when it ends in order, so a peer without a page has ended. The hub knows whether this
// peer has left or is lost. If the hub says nothing for this long (the hub may be stopped), the peer counts as one that
// has left.
constexpr std::uint64_t max_wait_for_word_ns = 3'000'000'000;

}  // namespace

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
    look_at_lock(id, *entry, true);
  }
  if (entry->state == PeerState::left) {
    return fail(Code::peer_lost, "{} has left the universe", host_.peer_name(id));
  }
  if (entry->state == PeerState::lost) {
    return {Code::peer_lost, loss_texts_[id]};
  }
  return {};
}

Status Liveness::alive(channel::PeerId id, std::uint16_t incarnation) {
  const auto* entry = host_.find_peer(id);
  if (entry == nullptr) {
    return {};
  }
  if (entry->incarnation < incarnation) {
    host_.hear();
  }
  if (entry->incarnation > incarnation) {
    return fail(Code::peer_lost, "{} has ended, and was started again", host_.peer_name(id));
  }
  if (entry->incarnation == incarnation && entry->state != PeerState::absent) {
    return alive(id);
  }
  const auto page = os::PeerPage::open(node_directory_, id);
  if (page.ok() && (*page)->header().incarnation == incarnation && !(*page)->owner_lives()) {
    return fail(Code::peer_lost, "{} is lost: its process has ended without leaving", host_.peer_name(id));
  }
  return {};
}

bool Liveness::lock_is_free(channel::PeerId id, bool keep_probe) {
  const auto kept = probes_.find(id);
  if (kept != probes_.end()) {
    return !kept->second->held();
  }
  auto opened = os::LockProbe::open(os::page_path(node_directory_, id));
  if (!opened.ok()) {
    return opened.code() == Code::not_found;
  }
  const bool held = (*opened)->held();
  if (keep_probe) {
    probes_.emplace(id, std::move(*opened));
  }
  return !held;
}

bool Liveness::has_no_page(channel::PeerId id) const {
  return os::LockProbe::open(os::page_path(node_directory_, id)).code() == Code::not_found;
}

void Liveness::look_at_lock(channel::PeerId id, PeerInfo& entry, bool keep_probe) {
  if (!lock_is_free(id, keep_probe)) {
    page_gone_since_ns_.erase(id);
    return;
  }
  const auto incarnation = entry.incarnation;
  host_.hear();  // a peer that left in good order has told the hub before
  if (entry.state != PeerState::present || entry.incarnation != incarnation) {
    return;
  }
  const bool page_gone = has_no_page(id);
  if (page_gone && has_no_page(self_)) {
    return;  // the node directory itself was removed, so a missing page proves nothing
  }
  if (page_gone && host_.hub_answers()) {
    const auto now = os::now_ns();
    const auto since = page_gone_since_ns_.emplace(id, now).first->second;
    if (now < since + max_wait_for_word_ns) {
      return;
    }
  }
  if (page_gone) {
    lose(id, PeerState::left, {});
  } else {
    const std::string pid = entry.process == 0 ? std::string() : fmt::format(" (pid {})", entry.process);
    lose(id, PeerState::lost,
         fmt::format("{} is lost: its process{} has ended without leaving", host_.peer_name(id), pid));
  }
}

void Liveness::tick(std::uint64_t now_ns) {
  std::vector<channel::PeerId> watched;
  watched.reserve(probes_.size());
  for (const auto& [id, probe] : probes_) {
    watched.push_back(id);
  }
  for (const auto id : watched) {
    auto* const entry = host_.find_peer(id);
    if (entry != nullptr && entry->state == PeerState::present) {
      look_at_lock(id, *entry, true);
    }
  }
  look_around(now_ns);
}

void Liveness::look_around(std::uint64_t now_ns) {
  if (node_directory_.empty()) {
    return;
  }
  if (round_.empty()) {
    if (now_ns < next_round_ns_) {
      return;
    }
    next_round_ns_ = now_ns + round_ns;
    round_ = host_.peers_on(node_);
  }
  for (std::size_t count = 0; count < max_looks_per_tick && !round_.empty(); ++count) {
    const auto id = round_.back();
    round_.pop_back();
    auto* const entry = host_.find_peer(id);
    if (id != self_ && entry != nullptr && entry->state == PeerState::present) {
      look_at_lock(id, *entry, false);
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
  page_gone_since_ns_.erase(id);
  if (state == PeerState::lost) {
    loss_texts_[id] = text;
  }
  if (was_present) {
    const auto left = state == PeerState::left;
    losses_.push_back({id, state,
                       left ? fail(Code::peer_lost, "{} has left the universe", host_.peer_name(id))
                            : Status(Code::peer_lost, text)});
  }
}

void Liveness::hub_says(channel::PeerId id, PeerInfo& entry, const PeerInfo& info, const std::string& text) {
  const auto later = later_.find(id);
  const auto& newest = later == later_.end() ? entry : later->second.back().info;
  const bool was_absent = newest.state == PeerState::absent;
  const std::uint32_t unheard = was_absent ? 0U : newest.incarnation + 1U;
  // Without a handler, this process is still joining, and processes that ended before do not concern it. A number from
  // unheard_incarnation on comes from a hub that knows of no earlier process: no lower one was given.
  const bool knows_before = !handlers_.empty() && (!was_absent || info.incarnation < unheard_incarnation);
  for (std::uint32_t number = unheard; knows_before && number < info.incarnation; ++number) {
    PeerInfo gone;
    gone.incarnation = static_cast<std::uint16_t>(number);
    gone.state = PeerState::lost;
    gone.node = was_absent ? node_ : entry.node;
    take(id, entry, gone,
         fmt::format("{} is lost: it has come and gone while the hub could not be heard", host_.peer_name(id)));
  }
  take(id, entry, info, text);
}

bool Liveness::hub_says_contact(channel::PeerId id, PeerInfo& entry, std::uint16_t incarnation,
                                const Contact& contact) {
  if (entry.incarnation == incarnation && entry.state == PeerState::present) {
    set_contact(entry, contact);
    return true;
  }
  const auto later = later_.find(id);
  if (later == later_.end() || later->second.back().info.incarnation != incarnation) {
    return false;
  }
  set_contact(later->second.back().info, contact);
  return true;
}

void Liveness::take(channel::PeerId id, PeerInfo& entry, const PeerInfo& info, const std::string& text) {
  if (info.incarnation < entry.incarnation) {
    return;
  }
  if (const auto later = later_.find(id); later != later_.end()) {
    auto& last = later->second.back();
    if (info.incarnation > last.info.incarnation) {
      later->second.push_back({info, text});
    } else if (info.incarnation == last.info.incarnation) {
      const bool has_contact = last.info.contact_known && !info.contact_known;
      const Contact contact = contact_of(last.info);
      last = {info, text};
      if (has_contact) {
        set_contact(last.info, contact);
      }
    }
    return;
  }
  if (info.incarnation > entry.incarnation && entry.state != PeerState::absent) {
    lose(id, PeerState::lost, fmt::format("{} is lost: it was started again", host_.peer_name(id)));
    probes_.erase(id);
    if (handlers_.empty()) {  // nobody knows the incarnation that was lost
      std::erase_if(losses_, [id](const Loss& loss) { return loss.id == id; });
    } else if (is_untold(id)) {
      later_[id].push_back({info, text});
      return;
    }
    enter(id, entry, info, text);
  } else if (entry.state == PeerState::absent) {
    enter(id, entry, info, text);
  } else if (info.state != PeerState::present) {
    lose(id, info.state, text.empty() ? fmt::format("{} is lost", host_.peer_name(id)) : text);
  } else if (entry.state == PeerState::present) {
    entry = info;
  }  // else its lock has proven its end, which the hub did not know yet
}

// Puts an incarnation into the table of which nothing was known before. It may have come and gone since: it is lost
// then, since a receive may wait for it all the same, and what it has sent is still to be taken.
void Liveness::enter(channel::PeerId id, PeerInfo& entry, const PeerInfo& info, const std::string& text) {
  entry = info;
  if (info.state == PeerState::left || info.state == PeerState::lost) {
    entry.state = PeerState::present;
    lose(id, info.state, text.empty() ? fmt::format("{} is lost", host_.peer_name(id)) : text);
  }
}

bool Liveness::is_present(channel::PeerId id, std::uint16_t incarnation) const {
  const auto* const entry = host_.find_peer(id);
  return entry != nullptr && entry->state == PeerState::present && entry->incarnation == incarnation;
}

void Liveness::cannot_reach(channel::PeerId id, std::uint16_t incarnation, const Status& why_lost) {
  if (is_present(id, incarnation) && !host_.hub_answers()) {
    lose(id, PeerState::lost, fmt::format("{} is lost: {}", host_.peer_name(id), why_lost.text()));
  }
}

void Liveness::has_died(channel::PeerId id, std::uint16_t incarnation) {
  host_.hear();  // it may have told the hub before that it leaves
  if (is_present(id, incarnation)) {
    lose(id, PeerState::lost, fmt::format("{} is lost: its process has ended without leaving", host_.peer_name(id)));
  }
}

bool Liveness::is_untold(channel::PeerId id) const noexcept {
  const auto is_of = [id](const Loss& loss) { return loss.id == id; };
  return std::any_of(losses_.begin(), losses_.end(), is_of) || std::any_of(leaving_.begin(), leaving_.end(), is_of);
}

bool Liveness::still_sends(const Loss& loss) const {
  return loss.state == PeerState::left &&
         std::any_of(still_sends_.begin(), still_sends_.end(), [&loss](const auto& ask) { return ask(loss.id); });
}

void Liveness::tell() {
  if (handlers_.empty() || telling_) {
    return;  // kept for the first handler: a peer may be lost before join has returned
  }
  telling_ = true;
  const auto end = std::unique_ptr<bool, void (*)(bool*)>(&telling_, [](bool* telling) { *telling = false; });
  losses_.insert(losses_.begin(), leaving_.begin(), leaving_.end());
  leaving_.clear();
  while (!losses_.empty()) {
    const Loss loss = losses_.front();
    if (still_sends(loss)) {
      leaving_.push_back(loss);
      losses_.pop_front();
      continue;
    }
    for (const auto& handler : handlers_) {
      handler(loss.id, loss.why);
    }
    losses_.pop_front();
    enter_later(loss.id);
  }
}

void Liveness::enter_later(channel::PeerId id) {
  auto* const entry = host_.find_peer(id);
  const auto later = later_.find(id);
  if (entry == nullptr || later == later_.end() || is_untold(id)) {
    return;
  }
  const Later next = std::move(later->second.front());
  later->second.pop_front();
  const bool is_last = later->second.empty();
  if (is_last) {
    later_.erase(later);
  }
  enter(id, *entry, next.info, next.text);
  if (!is_last) {
    lose(id, PeerState::lost, fmt::format("{} is lost: it was started again", host_.peer_name(id)));
  }
}

}  // namespace couplet::universe
