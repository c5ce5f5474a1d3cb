#include "universe/member.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "os/clock.hpp"
#include "universe/node_marks.hpp"

namespace couplet::universe {
namespace {

const PeerInfo absent_peer;

}  // namespace

Member::Member(JoinOptions options) : options_(std::move(options)) {
  if (!options_.credentials) {
    options_.credentials = std::make_shared<const channel::Credentials>(channel::fresh_credentials());
  }
}

Member::~Member() {
  if (engine_ != nullptr) {
    static_cast<void>(attach(nullptr));
  }
}

// ---- checking peers

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

void Member::cannot_reach(channel::PeerId id, std::uint16_t incarnation, LossProof proof, const Status& why) {
  say(CallMeBackMessage{id, incarnation, contact_of(peer(id))});
  if (proof == LossProof::certain) {
    liveness_.has_died(id, incarnation);
  } else if (proof == LossProof::without_hub) {
    liveness_.cannot_reach(id, incarnation, why);
  }
}

bool Member::ask_contact(channel::PeerId id) {
  constexpr channel::PeerId block = 256;
  constexpr std::uint64_t ask_every_ns = 1'000'000'000;
  const auto& info = peer(id);
  if (info.contact_known || info.state == PeerState::left || info.state == PeerState::lost) {
    return true;
  }
  if (info.state == PeerState::absent || !hub_status_.ok()) {
    return false;
  }
  const bool relay = id >= channel::first_relay_peer;
  const auto first = relay ? id : id / block * block;
  const auto now = os::now_ns();
  auto& asked = contacts_asked_[first];
  if (asked == 0 || now - asked > ask_every_ns) {
    asked = now;
    say(ContactsOfMessage{first, relay ? 1 : block});
  }
  return false;
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

// ---- messages of the hub

int Member::poll(std::uint64_t /*now_ns*/, int /*budget*/) {
  const bool losses = liveness_.has_news();
  const int work = connection_ == nullptr ? 0 : connection_->poll();
  hear();
  liveness_.tell();
  for (const auto caller : std::exchange(callers_, {})) {
    if (call_back_) {
      call_back_(caller);
    }
  }
  watch();
  return work + (losses ? 1 : 0);
}

bool Member::ready() const {
  return liveness_.has_news() || (connection_ != nullptr && connection_->ready());
}

void Member::tick(std::uint64_t now_ns) {
  liveness_.tick(now_ns);
  dial_again(now_ns);
  watch();
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
  if (connection_->state() == ControlConnection::State::open && !introduced_ && reached_again_) {
    introduce();
  }
  if (connection_->state() == ControlConnection::State::ended && !goodbye_ && !std::exchange(broken_, true)) {
    hub_lost(connection_->failure());
  }
}

Status Member::take(const ControlConnection::Arrived& arrived) {
  auto message = decode_hub_message(arrived.payload);
  COUPLET_TRY(message.status());
  return std::visit([this](auto& each) { return heard(each); }, *message);
}

Status Member::heard(AdmittedMessage& message) {
  if (directory_ != nullptr && message.run_id != run_id_) {
    refusal_.final = fail(Code::mismatch, "the hub at {} serves another universe now", options_.hub);
    return {};
  }
  admitted_ = true;
  run_id_ = message.run_id;
  epoch_ = message.epoch;
  settings_ = std::move(message.settings);
  if (directory_ != nullptr) {  // the hub was started again while this process was joining
    say(NodeMessage{directory_->key(), noted_number(directory_->path())});
  }
  hub_is_back();
  return {};
}

Status Member::heard(PlacedMessage& message) {
  const bool relay = message.peer >= channel::first_relay_peer;
  std::int64_t ranks = 0;
  for (const auto& program : message.programs) {
    ranks += program.size;
  }
  if (page_ != nullptr || relay != options_.relay || (!relay && message.peer >= ranks)) {
    refusal_.final = fail(Code::protocol, "the hub gives this process the impossible number {}", message.peer);
    return {};
  }
  placed_ = true;
  id_ = message.peer;
  node_ = message.node;
  incarnation_ = message.incarnation;
  auto credentials = *options_.credentials;
  credentials.ticket = {.peer = id_,
                        .incarnation = incarnation_,
                        .is_signed = true,
                        .key = credentials.ticket.key,
                        .signature = message.signature};
  credentials.hub_key = connection_->peer().key;
  if (!channel::is_signed_by(*credentials.hub_key, run_id_, credentials.ticket)) {
    refusal_.final = fail(Code::protocol, "the hub's signature of the ticket of this process is wrong");
    return {};
  }
  options_.credentials = std::make_shared<const channel::Credentials>(credentials);
  programs_ = std::move(message.programs);
  PeerInfo unheard;  // a hub that was started again does not know the nodes of ranks that have not come back to it
  unheard.node = unknown_node;
  ranks_.resize(static_cast<std::size_t>(ranks), unheard);
  for (std::size_t index = 0; index < programs_.size(); ++index) {
    if (!relay && programs_[index].name == options_.identity.program) {
      program_ = static_cast<std::int32_t>(index);
    }
  }
  return {};
}

Status Member::heard(NodesMessage& message) {
  if (node_names_.size() < message.first + message.names.size()) {
    node_names_.resize(message.first + message.names.size());
  }
  for (std::size_t index = 0; index < message.names.size(); ++index) {
    node_names_[message.first + index] = std::move(message.names[index]);
  }
  return {};
}

Status Member::heard(StatesMessage& message) {
  for (const auto& group : message.groups) {
    for (const auto& run : group.runs) {
      const auto end = std::uint64_t{run.first} + run.count;
      const bool relays = run.first >= channel::first_relay_peer;
      if (relays ? end > channel::first_relay_peer + unknown_node : end > ranks_.size()) {
        return fail(Code::protocol, "the hub tells of peers {} to {}, but the universe has {} ranks", run.first,
                    end - 1, ranks_.size());
      }
      update_run(run, group.why);
    }
  }
  return {};
}

void Member::update_run(const PeerRun& run, const std::string& why) {
  for (std::uint32_t index = 0; index < run.count; ++index) {
    const channel::PeerId id = run.first + index;
    auto& known = id < ranks_.size() ? ranks_[id] : relays_[id];
    PeerInfo info = known;
    info.contact_known = known.contact_known && known.incarnation == run.incarnation;
    if (!info.contact_known) {
      info.contacts = {};
    }
    info.incarnation = run.incarnation;
    info.state = run.state;
    if (id >= channel::first_relay_peer) {
      info.node = static_cast<std::uint16_t>(id - channel::first_relay_peer);
    } else if (run.node != unknown_node) {
      info.node = run.node;
    }
    if (id == id_ && run.state != PeerState::present) {
      continue;  // this process knows its own state better
    }
    const bool changed = known.state != info.state || known.incarnation != info.incarnation;
    const auto text = changed && run.state == PeerState::lost && !why.empty()
                          ? fmt::format("{} is lost: {}", peer_name(id), why)
                          : std::string();
    liveness_.hub_says(id, known, info, text);
  }
}

Status Member::heard(ContactsMessage& message) {
  for (const auto& entry : message.entries) {
    auto* const known = find_peer(entry.peer);
    if (known != nullptr) {
      liveness_.hub_says_contact(entry.peer, *known, entry.incarnation, entry.contact);
    }
  }
  return {};
}

Status Member::heard(CompleteMessage& /*message*/) {
  complete_ = true;
  return {};
}

Status Member::heard(WaitingMessage& message) {
  if (options_.note) {
    options_.note(message.text);
  }
  return {};
}

Status Member::heard(RefusedMessage& message) {
  if (message.code == Code::not_yet) {
    return {};  // the hub ends this connection; this process dials again
  }
  Status why(message.code, message.text);
  if (!why.error()) {
    why = {Code::protocol, message.text};
  }
  // If this process counts as lost, that is final. Any other reason of a hub that was started again may go with that
  // hub, which may have wrong options, and be replaced by another one.
  const bool final = !complete_ || why.code() == Code::peer_lost;
  if (final) {
    refusal_.final = why;
  }
  if (!complete_) {
    return {};
  }
  refusal_.on_this_connection = true;
  hub_status_ = fail(Code::hub_lost, "the hub at {} does not take this process back: {}", options_.hub, why.text());
  if (std::exchange(refusal_.noted, why.text()) != why.text() && options_.note) {
    options_.note(hub_status_.text() +
                  (final ? "; this process goes on without it" : "; this process goes on without it, and asks again"));
  }
  return {};
}

Status Member::heard(AnswerMessage& message) {
  requests_.answered(std::move(message));
  return {};
}

Status Member::heard(SeriesMessage& message) {
  news_[message.name] = {static_cast<std::int64_t>(message.incarnation), message.closed, std::move(message.opened)};
  return {};
}

Status Member::heard(GoodbyeMessage& /*message*/) {
  goodbye_ = true;
  return {};
}

Status Member::heard(OverMessage& message) {
  hub_says_over_ = message.text.empty() ? "it is over" : message.text;
  return {};
}

Status Member::heard(RecallMessage& message) {
  if (const auto description = account_.description(message.name, message.incarnation); description != nullptr) {
    requests_.send_record(message.name, message.incarnation, *description);
  }
  return {};
}

Status Member::heard(LookMessage& message) {
  if (directory_ == nullptr) {
    return fail(Code::protocol, "the hub asks what is on the node of this process before it knows the node");
  }
  SeenMessage answer{seen_on_node(directory_->path(), message.peers), {}};
  std::size_t asked = 0;
  for (const auto& run : message.contacts_of) {
    for (std::uint32_t index = 0; index < run.count && asked < max_contacts_looked_for; ++index, ++asked) {
      const auto* const known = find_peer(run.first + index);
      if (known != nullptr && known->contact_known && known->incarnation == run.incarnation) {
        answer.contacts.push_back({run.first + index, known->incarnation, contact_of(*known)});
      }
    }
  }
  if (!answer.seen.empty() || !answer.contacts.empty()) {
    say(answer);
  }
  return {};
}

Status Member::heard(CallBackMessage& message) {
  const auto& info = peer(message.from);
  if (call_back_ && info.state == PeerState::present && info.incarnation == message.incarnation) {
    callers_.push_back(message.from);
  }
  return {};
}

// Sends a message to the hub. The first message on a connection is that of introduce(): what is said before it, or
// while there is no connection, is dropped, and requests are sent again when the hub is back.
void Member::say(const MemberMessage& message) {
  if (connection_ != nullptr && introduced_) {
    connection_->send(control_message, std::make_shared<const std::string>(encode(message)));
  }
}

}  // namespace couplet::universe
