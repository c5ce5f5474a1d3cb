// What a member does when the hub goes away and comes back: it dials the hub again, names itself, and repeats the
// requests that were not answered.
#include <algorithm>
#include <charconv>

#include "os/clock.hpp"
#include "os/host.hpp"
#include "universe/member.hpp"

namespace couplet::universe {
namespace {

// How long calls wait for a hub that is away, counted from the loss of the connection. A time in which the process made
// no call, and could not dial, does not count. The setting hub.return_patience_s overrides it.
constexpr double default_return_patience_s = 4;

double seconds_setting(const std::string& text, double otherwise) {
  double value = otherwise;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool fits = error == std::errc() && end == text.data() + text.size() && value >= 0 && value < 1e9;
  return fits ? value : otherwise;
}

// Returns all ranks but those that are present in their first incarnation, and the relays that have been present: at
// most max_runs_per_message runs.
std::vector<PeerRun> exceptions_of(const std::vector<PeerInfo>& ranks,
                                   const std::map<channel::PeerId, PeerInfo>& relays) {
  std::vector<PeerRun> runs;
  for (std::size_t rank = 0; rank < ranks.size() && runs.size() < max_runs_per_message; ++rank) {
    const auto& info = ranks[rank];
    if (info.state == PeerState::present && info.incarnation == 0) {
      continue;
    }
    const auto peer = static_cast<channel::PeerId>(rank);
    auto* const last = runs.empty() ? nullptr : &runs.back();
    if (last != nullptr && last->first + last->count == peer && last->state == info.state &&
        last->incarnation == info.incarnation && last->node == info.node) {
      ++last->count;
    } else {
      runs.push_back({peer, 1, info.state, info.incarnation, info.node});
    }
  }
  for (const auto& [relay, info] : relays) {
    if (info.state != PeerState::absent && runs.size() < max_runs_per_message) {
      runs.push_back({relay, 1, info.state, info.incarnation, info.node});
    }
  }
  return runs;
}

}  // namespace

bool Member::hub_may_return() const {
  return reached_ && hub_says_over_.empty() && refusal_.final.ok() && !goodbye_;
}

// Is the hub there, or away for so short a time that it is worth waiting?
bool Member::answers_may_come() const {
  if (hub_status_.ok()) {
    return true;
  }
  const auto patience = seconds_setting(setting("hub.return_patience_s"), default_return_patience_s);
  const auto now = os::now_ns();
  return hub_may_return() &&
         (now < hub_lost_ns_ + static_cast<std::uint64_t>(patience * 1e9) || (patience > 0 && redial_.overdue(now)));
}

// The connection has ended. Called once for each connection.
void Member::hub_lost(const Status& why) {
  const bool was_there = hub_status_.ok();
  hub_status_ = Code::hub_lost;  // also if there is no memory for the text below
  if (hub_says_over_.empty() && reached_) {
    const auto now = os::now_ns();
    hub_lost_ns_ = hub_lost_ns_ == 0 ? now : hub_lost_ns_;
    redial_.failed(now);
  }
  if (!hub_says_over_.empty()) {
    hub_status_ = fail(Code::hub_lost, "the hub at {} has ended: {}", options_.hub, hub_says_over_);
    return;
  }
  if (refusal_.on_this_connection) {
    hub_status_ =
        fail(Code::hub_lost, "the hub at {} does not take this process back: {}", options_.hub, refusal_.noted);
    return;
  }
  hub_status_ = fail(Code::hub_lost, "the hub at {} is lost: {}", options_.hub, why.text());
  if (reached_ && options_.note && complete_ && was_there) {
    options_.note(hub_status_.text() + "; this process goes on without it");
  }
}

void Member::dial_again(std::uint64_t now_ns) {
  if (hub_status_.ok() || !hub_may_return()) {
    return;
  }
  if (redial_.overdue(now_ns)) {
    hub_lost_ns_ = now_ns;
  }
  redial_.looked(now_ns);
  if (!redial_.due(now_ns) || connection_ == nullptr || connection_->state() != ControlConnection::State::ended) {
    return;
  }
  redial_.dialed();
  if (auto status = dial(); !status.ok()) {
    redial_.failed(now_ns);
  }
}

// Called when the connection is open. Names this process to the hub: with `rejoin` if a hub has known it before, else
// with `join`.
void Member::introduce() {
  introduced_ = true;
  if (page_ != nullptr) {
    say(rejoin_message());
    return;
  }
  admitted_ = false;
  const auto left_ns = join_deadline_ns_ - std::min(join_deadline_ns_, os::now_ns());
  JoinMessage message;
  message.relay = options_.relay;
  message.program = options_.identity.program;
  message.rank = options_.identity.rank;
  message.size = options_.identity.size;
  message.timeout_s = options_.timeout_s < 0 ? -1
                      : reached_again_       ? static_cast<double>(left_ns) / 1e9
                                             : options_.timeout_s;
  message.host = options_.node_name.empty() ? os::host_name() : options_.node_name;
  say(message);
}

RejoinMessage Member::rejoin_message() const {
  RejoinMessage message;
  message.run_id = run_id_;
  message.epoch = epoch_;
  message.relay = options_.relay;
  message.released = complete_;
  message.peer = id_;
  message.incarnation = incarnation_;
  message.node = node_;
  message.node_key = directory_->key();
  message.host = options_.node_name.empty() ? os::host_name() : options_.node_name;
  const auto left_ns = join_deadline_ns_ - std::min(join_deadline_ns_, os::now_ns());
  message.timeout_s = join_deadline_ns_ == os::never ? -1 : static_cast<double>(left_ns) / 1e9;
  message.contact = contact_;
  message.programs = programs_;
  if (complete_) {
    message.exceptions = exceptions_of(ranks_, relays_);
  }
  message.series = account_.claims();
  message.pending = account_.pending();
  message.withdrawn = account_.withdrawn();
  return message;
}

Status Member::heard(RejoinedMessage& message) {
  epoch_ = message.epoch;
  hub_is_back();
  return {};
}

void Member::hub_is_back() {
  if (hub_status_.ok()) {
    return;
  }
  hub_status_ = {};
  refusal_.noted.clear();
  hub_lost_ns_ = 0;
  redial_.reached();
  contacts_asked_.clear();
  requests_.ask_again();
  if (options_.note && complete_) {
    options_.note(fmt::format("the hub at {} is there again", options_.hub));
  }
}

}  // namespace couplet::universe
