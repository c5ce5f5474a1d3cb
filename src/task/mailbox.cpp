#include "task/mailbox.hpp"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "base/scope_count.hpp"
#include "message/courier.hpp"

namespace couplet::task {
namespace {

constexpr std::uint32_t mailbox_context = message::internal_context | 0x7461736B;  // "task"

// Returns true if the message may come before a listener is there. The others are answers, which no listener waits for
// any longer.
bool begins(wire::TaskMessageKind kind) noexcept {
  using wire::TaskMessageKind;
  return kind == TaskMessageKind::submit || kind == TaskMessageKind::closed || kind == TaskMessageKind::hello ||
         kind == TaskMessageKind::goodbye || kind == TaskMessageKind::opened || kind == TaskMessageKind::ask;
}

// Does the message say something of its sender, which has to be known even if there is no room for requests?
bool says_of_itself(wire::TaskMessageKind kind) noexcept {
  using wire::TaskMessageKind;
  return kind == TaskMessageKind::closed || kind == TaskMessageKind::hello || kind == TaskMessageKind::goodbye ||
         kind == TaskMessageKind::opened;
}

// Returns the cost of keeping a message.
std::uint64_t cost_of(const wire::TaskMessage& message) noexcept {
  return Mailbox::kept_message_bytes + message.payload.size() + message.text.size() +
         message.numbers.size() * sizeof(std::int64_t);
}

// Does the message say of its sender what does not hold for the process that has its rank now?
bool is_outdated(const Environment& environment, channel::PeerId source, const wire::TaskMessage& message) noexcept {
  return says_of_itself(message.kind) && message.kind != wire::TaskMessageKind::opened &&
         life_of(message) < environment.incarnation(source);
}

}  // namespace

std::uint64_t space_of(std::string_view kind, std::string_view name) {
  return XXH3_64bits_withSeed(name.data(), name.size(), XXH3_64bits(kind.data(), kind.size()));
}

void give_up(Environment& environment, channel::PeerId peer, const Status& why) noexcept {
  auto& messenger = environment.messenger();
  messenger.give_up_peer(messenger.groups().universe(), static_cast<std::int32_t>(peer), why);
}

Mailbox::Mailbox(Environment& environment, std::uint64_t max_kept_bytes)
    : environment_(environment),
      max_kept_bytes_(max_kept_bytes),
      next_number_(std::uint64_t{environment.incarnation(environment.self())} << number_bits) {
  environment_.engine().add(*this, engine::Rate::often);
  receive();
}

Mailbox::~Mailbox() {
  environment_.engine().remove(*this);
}

bool Mailbox::Arrivals::has_room() const noexcept {
  std::uint64_t bytes = 0;
  for (const auto& each : *this) {
    if (!each->is_matched()) return false;
    bytes += each->request->result.bytes;
  }
  return bytes <= largest_arriving_bytes && size() < most_arriving;
}

// If no other process is left, a receive asks whether one is back, and polls meanwhile.
void Mailbox::receive() {
  auto& messenger = environment_.messenger();
  auto next = std::make_unique<Arriving>();
  arriving_.reserve(arriving_.size() + 1);  // nothing below may throw once the request has the address of the image
  const ScopeCount quiet(quiet_);
  const ScopeCount receiving(receiving_);
  next->request = messenger.irecv_internal(messenger.groups().universe(), mailbox_context, next->image);
  arriving_.push_back(std::move(next));
}

std::size_t Mailbox::Arrivals::first_complete() const noexcept {
  for (std::size_t place = 0; place < size(); ++place) {
    const message::Request& request = *(*this)[place]->request;
    const auto holds_up = [&](const auto& earlier) {
      return !earlier->request->done && earlier->request->flow == request.flow;
    };
    if (request.done && std::none_of(begin(), begin() + static_cast<std::ptrdiff_t>(place), holds_up)) {
      return place;
    }
  }
  return size();
}

bool Mailbox::ready() const {
  const bool can_go_on = arriving_.first_complete() < arriving_.size() || (!arriving_.empty() && arriving_.has_room());
  return quiet_ == 0 && (can_go_on || !due_.empty() || looks_wanted_ > 0);
}

// The answer may have to come from the hub. While this process waits for it, the mailbox is polled, too. That poll does
// nothing, since the listeners are in the middle of their own calls.
bool Mailbox::is_gone(channel::PeerId peer) {
  const ScopeCount quiet(quiet_);
  return environment_.gone(peer);
}

Status Mailbox::send(channel::PeerId target, const wire::TaskMessage& message) {
  if (target == environment_.self()) {
    deliver(target, message);
    return {};
  }
  const ScopeCount quiet(quiet_);
  if (environment_.gone(target)) {
    return fail(Code::peer_lost, "{} is gone", environment_.peer_name(target));
  }
  if (const auto found = breaks_.cut_off.find(target); found != breaks_.cut_off.end()) {
    return found->second;
  }
  if (message.numbers.size() > wire::largest_task_message_numbers ||
      message.payload.size() > wire::largest_task_message_payload) {
    return fail(Code::limit, "a task message with {} numbers and {} bytes for {}: it holds at most {} and {}",
                message.numbers.size(), message.payload.size(), environment_.peer_name(target),
                wire::largest_task_message_numbers, wire::largest_task_message_payload);
  }
  auto& messenger = environment_.messenger();
  return messenger.send_internal(messenger.groups().universe(), mailbox_context, wire::encode_task_message(message),
                                 static_cast<std::int32_t>(target), 0);
}

Status Mailbox::listen(std::uint64_t space, Listener& listener) {
  if (!listeners_.emplace(space, &listener).second) {
    return Code::exists;
  }
  ended_.erase(space);
  const auto found = kept_.find(space);
  if (found != kept_.end()) {
    std::vector<Kept> messages = std::move(found->second);
    kept_.erase(found);
    for (Kept& kept : messages) {
      kept_bytes_ -= cost_of(kept.message);
      if (is_outdated(environment_, kept.source, kept.message)) continue;
      try {
        listener.message(kept.source, std::move(kept.message));
      } catch (const std::bad_alloc&) {
        give_up(environment_, kept.source, Code::memory);
      }
    }
  }
  return {};
}

void Mailbox::forget(std::uint64_t space) {
  listeners_.erase(space);
}

void Mailbox::end(std::uint64_t space, const std::set<channel::PeerId>& workers) {
  forget(space);
  ended_.insert(space);
  ended_workers_[space].insert(workers.begin(), workers.end());
}

std::set<channel::PeerId> Mailbox::take_ended_workers(std::uint64_t space) {
  const auto found = ended_workers_.find(space);
  if (found == ended_workers_.end()) {
    return {};
  }
  auto peers = std::move(found->second);
  ended_workers_.erase(found);
  return peers;
}

// Answers a message for which there is no listener: a late worker group has nothing to do, a request is not taken or is
// withdrawn, an area does not exist.
void Mailbox::turn_away(channel::PeerId source, const wire::TaskMessage& message, const Status& why) {
  wire::TaskMessage answer;
  answer.space = message.space;
  answer.number = message.number;
  if (message.kind == wire::TaskMessageKind::hello) {
    ended_workers_[message.space].insert(source);
    answer.kind = wire::TaskMessageKind::end;
    answer.code = mark_of(message);
  } else if (message.kind == wire::TaskMessageKind::submit) {
    answer.kind = wire::TaskMessageKind::taken;
    answer.code = static_cast<std::int32_t>(why.code());
    answer.text = why.text();
  } else if (message.kind == wire::TaskMessageKind::withdraw) {
    answer.kind = wire::TaskMessageKind::heard;
  } else if (message.kind == wire::TaskMessageKind::ask) {
    answer.kind = wire::TaskMessageKind::unknown;
  } else {
    return;  // the sender waits for no answer to it
  }
  static_cast<void>(send(source, answer));
}

void Mailbox::deliver(channel::PeerId source, wire::TaskMessage message) {
  if (is_outdated(environment_, source, message) || withdrawals.take(source, message)) {
    return;
  }
  const auto found = listeners_.find(message.space);
  if (found != listeners_.end()) {
    found->second->message(source, std::move(message));
    return;
  }
  if (ended_.contains(message.space)) {
    if (message.kind == wire::TaskMessageKind::goodbye) {
      ended_workers_[message.space].erase(source);
    }
    const std::string self = environment_.peer_name(environment_.self());
    return turn_away(source, message, fail(Code::peer_lost, "{} no longer dispatches tasks", self));
  }
  keep(source, std::move(message));
}

void Mailbox::keep(channel::PeerId source, wire::TaskMessage message) {
  const auto kept = kept_.find(message.space);
  if (message.kind == wire::TaskMessageKind::withdraw && kept != kept_.end()) {
    std::erase_if(kept->second, [&](const Kept& one) {
      const bool is_meant = one.source == source && one.message.kind == wire::TaskMessageKind::submit &&
                            one.message.number == message.number;
      kept_bytes_ -= is_meant ? cost_of(one.message) : 0;
      return is_meant;
    });
  }
  if (message.kind == wire::TaskMessageKind::withdraw) {
    return turn_away(source, message, {});
  }
  if (!begins(message.kind)) {
    return;
  }
  if (says_of_itself(message.kind) && kept != kept_.end()) {  // it replaces what the sender has said before
    std::erase_if(kept->second, [&](const Kept& one) {
      const bool is_older = one.source == source && one.message.kind == message.kind;
      kept_bytes_ -= is_older ? cost_of(one.message) : 0;
      return is_older;
    });
  }
  const std::uint64_t cost = cost_of(message);
  if (kept_bytes_ + cost > max_kept_bytes_ && !says_of_itself(message.kind)) {
    return turn_away(source, message,
                     fail(Code::limit, "{} has not opened the tasks, and already keeps {} bytes of task messages",
                          environment_.peer_name(environment_.self()), kept_bytes_));
  }
  kept_[message.space].push_back({source, std::move(message)});
  kept_bytes_ += cost;
}

template <typename Call>
void Mailbox::tell(const Call& call) {
  const auto listeners = listeners_;  // a listener that is told may stop listening
  for (const auto& [space, listener] : listeners) {
    if (listeners_.contains(space)) {
      call(*listener);
    }
  }
}

// Takes a peer for lost from which no answer will come, although it lives. The next poll reports it.
void Mailbox::lose(channel::PeerId peer, const Status& why) {
  if (breaks_.cut_off.contains(peer)) {
    return;
  }
  due_.push_back(News{peer, why});  // what needs memory comes first
  try {
    breaks_.cut_off.emplace(peer, why);
  } catch (const std::bad_alloc&) {
    due_.pop_back();
    throw;
  }
  withdrawals.lost(peer);
}

// The connection to a peer that lives can fail: after its patience, or since one side has no memory for a message.
void Mailbox::look_for_failed_connections() {
  auto& messenger = environment_.messenger();
  const message::Courier courier(messenger);
  if (breaks_.losses == courier.losses()) {
    return;
  }
  const std::uint64_t losses = courier.losses();
  for (std::int32_t rank = 0; rank < messenger.groups().universe().size(); ++rank) {
    const auto peer = static_cast<channel::PeerId>(rank);
    const bool lives = !breaks_.gone.contains(peer) && !environment_.is_lost(peer);
    if (courier.is_lost(peer) && !courier.has_left(peer) && lives) {
      lose(peer, courier.loss(peer));
    }
  }
  breaks_.losses = losses;  // if there was no memory to tell of one, the next poll looks again
}

// What a poll would have handled before the loss is handled before it, also if polls do nothing now.
void Mailbox::lost(channel::PeerId peer, Status why) {
  breaks_.cut_off.erase(peer);
  breaks_.gone.insert(peer);
  withdrawals.lost(peer);
  while (quiet_ > 0 && fetch()) continue;
  due_.push_back(News{peer, std::move(why)});
}

void Mailbox::tell_looked() {
  const int left = std::exchange(looks_wanted_, 2) - 1;  // if something throws, nothing is missed
  const auto listeners = listeners_;
  looks_wanted_ = left;
  for (const auto& [space, listener] : listeners) {
    if (listeners_.contains(space)) {
      listener->looked();
    }
  }
}

// If there is no memory for the message, its sender would wait for ever.
void Mailbox::take(const Arrived& arrived) {
  const auto source = static_cast<channel::PeerId>(arrived.sender);
  Status status = arrived.status;
  try {
    if (status.ok()) {
      auto message = wire::decode_task_message(arrived.arrival->image);
      if (!message) {
        return lose(source, fail(Code::protocol, "{} has sent a task message that cannot be decoded: {}",
                                 environment_.peer_name(source), message.status().text()));
      }
      if (!breaks_.cut_off.contains(source)) {
        deliver(source, std::move(message).value());
      }
    }
  } catch (const std::bad_alloc&) {
    status = Code::memory;
  }
  if (status.code() == Code::memory || status.code() == Code::limit) {
    give_up(environment_, source,
            fail(status.code(), "there is no memory for a task message of {} bytes", arrived.bytes));
  }
}

// Moves the next message that is complete to what is due, and begins receives while there is room. Returns false if
// there is none.
bool Mailbox::fetch() {
  std::size_t place = arriving_.first_complete();
  while (place == arriving_.size() && arriving_.has_room() && receiving_ == 0) {
    receive();
    place = arriving_.first_complete();
  }
  if (place == arriving_.size()) {
    return false;
  }
  due_.emplace_back(Arrived());  // what needs memory comes first
  Arrived next{.arrival = std::move(arriving_[place])};
  arriving_.erase(arriving_.begin() + static_cast<std::ptrdiff_t>(place));
  const bool was_matched = next.arrival->is_matched();
  next.sender = next.arrival->request->result.source;
  next.bytes = next.arrival->request->result.bytes;
  next.status = environment_.messenger().wait(&next.arrival->request, 0, nullptr);
  if (!next.status.ok() && !was_matched) {
    due_.pop_back();
    return false;  // no sender is left: the membership reports which, and the next poll asks again
  }
  due_.back() = std::move(next);
  return true;
}

// Handles what is due first. News for which there is no memory stays due.
void Mailbox::handle_next() {
  auto next = std::move(due_.front());
  due_.pop_front();
  if (const auto* const arrived = std::get_if<Arrived>(&next); arrived != nullptr) {
    return take(*arrived);
  }
  try {
    const News& news = std::get<News>(next);
    tell([&](Listener& listener) {
      if (news.loss) {
        listener.lost(news.peer, *news.loss);
      } else {
        listener.returned(news.peer);
      }
    });
  } catch (const std::bad_alloc&) {
    due_.push_front(std::move(next));
    throw;
  }
}

int Mailbox::poll(std::uint64_t /*now_ns*/, int budget) {
  if (quiet_ > 0) {
    return 0;
  }
  int work = 0;
  while (work < budget && (!due_.empty() || fetch() || !due_.empty())) {  // news may come while a receive begins
    handle_next();
    ++work;
  }
  if (looks_wanted_ > 0) {
    tell_looked();
  }
  if (work < budget) {
    look_for_failed_connections();  // what came before is handled
  }
  return work;
}

}  // namespace couplet::task
