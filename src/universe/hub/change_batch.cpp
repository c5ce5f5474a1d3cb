#include "universe/hub/change_batch.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "universe/hub/seats.hpp"

namespace couplet::universe {
namespace {

constexpr std::size_t max_group_bytes = max_message_bytes / 2;  // texts of reasons, or contacts, in one message

}  // namespace

void ChangeBatch::add(channel::PeerId peer, const PeerInfo& info, std::string why) {
  reasons_.note(peer, info, why);
  changes_.push_back({peer, 0, info, std::move(why)});
  encoded_.clear();
}

void ChangeBatch::add_node(std::uint16_t node, std::string name) {
  const bool next = !nodes_.empty() && nodes_.back().first + nodes_.back().names.size() == node &&
                    nodes_.back().names.size() < max_nodes_per_message;
  if (!next) {
    nodes_.push_back({node, {}});
  }
  nodes_.back().names.push_back(std::move(name));
  encoded_.clear();
}

std::uint64_t ChangeBatch::due_ns() const noexcept {
  return changes_.empty() && nodes_.empty() ? UINT64_MAX : next_ns_;
}

std::vector<Payload> ChangeBatch::take(std::uint64_t now_ns, std::size_t members, bool with_contacts) {
  next_ns_ = now_ns + std::max<std::uint64_t>(min_batch_interval_ns, batch_interval_per_member_ns * members);
  auto payloads = look(with_contacts);
  changes_.clear();
  nodes_.clear();
  encoded_.clear();
  return payloads;
}

const std::vector<Payload>& ChangeBatch::look(bool with_contacts) {
  if (!encoded_.empty()) {
    return encoded_;
  }
  std::unordered_map<channel::PeerId, std::uint32_t> turns;
  for (auto& change : changes_) {
    change.turn = turns[change.peer]++;
  }
  const auto key = [](const Change& change) {
    return std::tuple(change.turn, static_cast<int>(change.info.state), std::string_view(change.why), change.peer);
  };
  std::stable_sort(changes_.begin(), changes_.end(), [&](const Change& a, const Change& b) { return key(a) < key(b); });
  for (const auto& node : nodes_) {
    encoded_.push_back(payload_of(node));
  }
  std::vector<StateGroup> groups;
  std::vector<ContactEntry> contacts;
  const Change* before = nullptr;
  for (const auto& change : changes_) {
    if (before == nullptr || before->turn != change.turn || before->why != change.why) {
      groups.push_back({change.why, {}});
    }
    add_to_runs(groups.back().runs, change.peer, change.info);
    before = &change;
    if (with_contacts && change.info.contact_known && change.info.state == PeerState::present) {
      contacts.push_back({change.peer, change.info.incarnation, contact_of(change.info)});
    }
  }
  for (auto& payload : encode_states(groups)) {
    encoded_.push_back(std::move(payload));
  }
  for (auto& payload : encode_contacts(contacts)) {
    encoded_.push_back(std::move(payload));
  }
  return encoded_;
}

std::vector<Payload> encode_states(const std::vector<StateGroup>& groups) {
  std::vector<Payload> payloads;
  StatesMessage message;
  std::size_t runs = 0;
  std::size_t bytes = 0;
  const auto finish = [&] {
    if (!message.groups.empty()) {
      payloads.push_back(payload_of(message));
    }
    message.groups.clear();
    runs = 0;
    bytes = 0;
  };
  for (const auto& group : groups) {
    for (std::size_t first = 0; first < group.runs.size();) {
      if (runs == max_runs_per_message || bytes > max_group_bytes) {
        finish();
      }
      const auto count = std::min(group.runs.size() - first, max_runs_per_message - runs);
      const auto begin = group.runs.begin() + static_cast<std::ptrdiff_t>(first);
      message.groups.push_back({group.why, {begin, begin + static_cast<std::ptrdiff_t>(count)}});
      first += count;
      runs += count;
      bytes += std::min(group.why.size(), max_text_bytes);
    }
  }
  finish();
  return payloads;
}

std::vector<Payload> encode_contacts(const std::vector<ContactEntry>& entries) {
  std::vector<Payload> payloads;
  for (std::size_t first = 0; first < entries.size();) {
    std::size_t count = 0;
    for (std::size_t bytes = 0; first + count < entries.size() && count < max_entries_per_message; ++count) {
      bytes += entries[first + count].contact.transports.bytes().size();
      if (bytes > max_group_bytes) {
        break;
      }
    }
    const auto begin = entries.begin() + static_cast<std::ptrdiff_t>(first);
    payloads.push_back(payload_of(ContactsMessage{{begin, begin + static_cast<std::ptrdiff_t>(count)}}));
    first += count;
  }
  return payloads;
}

}  // namespace couplet::universe
