#include "universe/member.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace couplet::universe {
namespace {

const PeerInfo absent_peer;

}  // namespace

Member::Member(JoinOptions options) : options_(std::move(options)) {}

Member::~Member() {
  if (engine_ != nullptr) {
    static_cast<void>(attach(nullptr));
  }
}

// ---- looking

PeerInfo* Member::find_peer(channel::PeerId id) noexcept {
  if (id < ranks_.size()) {
    return &ranks_[id];
  }
  const auto relay = relays_.find(id);
  return relay == relays_.end() ? nullptr : &relay->second;
}

const PeerInfo& Member::peer(channel::PeerId id) const noexcept {
  const auto* const info = const_cast<Member*>(this)->find_peer(id);
  return info == nullptr ? absent_peer : *info;
}

std::vector<channel::PeerId> Member::peers_on(std::uint16_t node) const {
  const auto there = [&](const PeerInfo& info) { return info.state == PeerState::present && info.node == node; };
  std::vector<channel::PeerId> peers;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (there(ranks_[rank])) {
      peers.push_back(static_cast<channel::PeerId>(rank));
    }
  }
  for (const auto& [relay, info] : relays_) {
    if (there(info)) {
      peers.push_back(relay);
    }
  }
  return peers;
}

std::string_view Member::node_name(std::uint16_t node) const noexcept {
  return node < node_names_.size() ? std::string_view(node_names_[node]) : std::string_view("unknown");
}

std::string Member::peer_name(channel::PeerId id) const {
  if (id == channel::hub_peer) {
    return fmt::format("the hub at {}", options_.hub);
  }
  const auto& info = peer(id);
  if (id >= channel::first_relay_peer) {
    return fmt::format("the relay of node {}", node_name(info.node));
  }
  for (const auto& program : programs_) {
    const auto first = static_cast<channel::PeerId>(program.first_rank);
    if (id >= first && id - first < static_cast<channel::PeerId>(program.size)) {
      const auto host =
          info.state == PeerState::absent ? std::string() : fmt::format(" on host {}", node_name(info.node));
      return fmt::format("program '{}' rank {} (universe rank {}){}", program.name, id - first, id, host);
    }
  }
  return fmt::format("universe rank {} (which does not exist)", id);
}

// ---- what the hub says

int Member::poll(std::uint64_t /*now_ns*/, int /*budget*/) {
  const bool losses = liveness_.has_news();
  const int work = connection_ == nullptr ? 0 : connection_->poll();
  hear();
  liveness_.tell();
  watch();
  return work + (losses ? 1 : 0);
}

bool Member::ready() const {
  return liveness_.has_news() || (connection_ != nullptr && connection_->ready());
}

void Member::hear() {
  if (connection_ == nullptr) {
    return;
  }
  connection_->poll();
  while (auto arrived = connection_->take()) {
    if (const auto status = take(*arrived); !status.ok()) {
      connection_->fail(status);
      break;
    }
  }
  if (connection_->state() == ControlConnection::State::ended && hub_status_.ok() && !goodbye_) {
    hub_lost(connection_->failure());
  }
}

Status Member::take(const ControlConnection::Arrived& arrived) {
  if (arrived.kind == control_peer_table) {
    return take_table(arrived.payload);
  }
  auto message = decode_hub_message(arrived.payload);
  COUPLET_TRY(message.status());
  std::visit([this](auto& each) { heard(each); }, *message);
  return {};
}

Status Member::take_table(const std::string& payload) {
  COUPLET_TRY_VALUE(const auto entries, wire::decode_peer_table(std::as_bytes(std::span(payload))));
  for (const auto& entry : entries) {
    if (entry.peer >= ranks_.size() && entry.peer < channel::first_relay_peer) {
      return fail(Code::protocol, "the hub's table has rank {}, but the universe has {}", entry.peer, ranks_.size());
    }
    update_peer(entry.peer, info_of(entry), {});
  }
  return {};
}

void Member::update_peer(channel::PeerId id, const PeerInfo& info, const std::string& text) {
  if (id >= ranks_.size() && id < channel::first_relay_peer) {
    return;
  }
  liveness_.hub_says(id, id < ranks_.size() ? ranks_[id] : relays_[id], info, text);
}

void Member::hub_lost(const Status& why) {
  if (!hub_says_over_.empty()) {
    hub_status_ = fail(Code::hub_lost, "the hub at {} has ended: {}", options_.hub, hub_says_over_);
    return;
  }
  hub_status_ = fail(Code::hub_lost, "the hub at {} is lost: {}", options_.hub, why.text());
  if (complete_ && options_.note) {
    options_.note(hub_status_.text() + "; this process goes on without it");
  }
}

void Member::heard(AdmittedMessage& message) {
  admitted_ = std::move(message);
}

void Member::heard(PlacedMessage& message) {
  const bool relay = message.peer >= channel::first_relay_peer;
  std::int64_t ranks = 0;
  for (const auto& program : message.programs) {
    ranks += program.size;
  }
  if (placed_ || relay != options_.relay || (!relay && message.peer >= ranks)) {
    refused_ = fail(Code::protocol, "the hub gives this process the impossible number {}", message.peer);
    return;
  }
  placed_ = true;
  id_ = message.peer;
  node_ = message.node;
  incarnation_ = message.incarnation;
  programs_ = std::move(message.programs);
  ranks_.resize(static_cast<std::size_t>(ranks));
  for (std::size_t index = 0; index < programs_.size(); ++index) {
    if (!relay && programs_[index].name == options_.identity.program) {
      program_ = static_cast<std::int32_t>(index);
    }
  }
}

void Member::heard(CompleteMessage& message) {
  node_names_ = std::move(message.nodes);
  complete_ = true;
}

void Member::heard(PeerMessage& message) {
  if (message.info.node >= node_names_.size()) {
    node_names_.resize(message.info.node + std::size_t{1});
  }
  node_names_[message.info.node] = message.node;
  update_peer(message.peer, message.info, message.text);
}

void Member::heard(WaitingMessage& message) {
  if (options_.note) {
    options_.note(message.text);
  }
}

void Member::heard(RefusedMessage& message) {
  refused_ = Status(message.code, message.text);
  if (!refused_.error()) {
    refused_ = {Code::protocol, message.text};
  }
}

void Member::heard(AnswerMessage& message) {
  const auto waiting = answers_.find(message.request);
  if (waiting != answers_.end()) {
    waiting->second = std::move(message);
  }
}

void Member::heard(SeriesMessage& message) {
  news_[message.name] = {static_cast<std::int64_t>(message.incarnation), message.closed};
}

void Member::heard(GoodbyeMessage& /*message*/) {
  goodbye_ = true;
}

void Member::heard(OverMessage& message) {
  hub_says_over_ = message.text;
}

void Member::say(const MemberMessage& message) {
  connection_->send(control_json, std::make_shared<const std::string>(encode(message)));
}

}  // namespace couplet::universe
