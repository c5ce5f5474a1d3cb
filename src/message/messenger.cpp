#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/counted.hpp"
#include "message/absence.hpp"
#include "message/message.hpp"
#include "message/probe.hpp"

namespace couplet::message {
namespace {

constexpr int frames_per_look = 256;
constexpr int frames_per_test = 16;

MessengerOptions bounded(MessengerOptions options) {
  options.payload_credit_bytes = std::min(options.payload_credit_bytes, largest_payload_credit);
  options.envelope_limit = std::min(options.envelope_limit, largest_envelope_count);
  return options;
}

// Returns argument if a caller's list has the same request twice. It would be given back twice, and then be handed out
// as two requests.
Status check_distinct(std::span<Request* const> requests, const char* function) {
  std::size_t again = requests.size();
  for (std::size_t index = 0; index < requests.size(); ++index) {
    if (requests[index] == nullptr) continue;
    if (requests[index]->listed && again == requests.size()) again = index;
    requests[index]->listed = true;
  }
  for (Request* const request : requests) {
    if (request != nullptr) request->listed = false;
  }
  if (again == requests.size()) return {};
  return fail(Code::argument, "{}: entry {} of {} is the same request as an earlier entry", function, again,
              requests.size());
}

// Returns how many messages were offered to the peer and are still wanted: a user that has interrupted a send waits for
// it no longer.
std::uint64_t awaited_offers(const Flow& flow) noexcept {
  std::uint64_t count = 0;
  for (const Request* one = flow.active.first(); one != nullptr; one = RequestChain::after(*one)) {
    const bool is_given_up = one->detached && (one->context & internal_context) == 0;
    count += one->sending && one->stage == Stage::offered && !is_given_up ? 1 : 0;
  }
  return count;
}

// Names the peers to which something was sent that has not gone, and says how many sends are not complete.
std::string what_is_unsent(const auto& flows, channel::PeerId self) {
  constexpr std::size_t max_named = 3;
  std::vector<std::string_view> names;
  std::uint64_t sends = 0;
  for (const auto& flow : flows) {
    if (flow == nullptr || flow->channel == nullptr || flow->peer == self) continue;
    const std::uint64_t sends_before = sends;
    for (const Request* one = flow->active.first(); one != nullptr; one = RequestChain::after(*one)) {
      sends += one->sending && (one->context & internal_context) == 0 ? 1 : 0;
    }
    if (sends > sends_before || flow->channel->sending()) names.emplace_back(flow->channel->peer_name());
  }
  const std::size_t named = std::min(names.size(), max_named);
  const std::string others = names.size() > named ? fmt::format(" and {} others", names.size() - named) : "";
  return fmt::format("what was sent to {}{} to go (sends that are not complete: {})",
                     fmt::join(std::span(names).first(named), ", "), others, sends);
}

// Gives a request back that is done, and returns its result.
Status collect(Requests& requests, Request** request, couplet_message* message) {
  Request* const done = std::exchange(*request, nullptr);
  Status status = std::move(done->status);
  if (status.ok() && message != nullptr) *message = done->result;
  requests.give(done);
  return status;
}

}  // namespace

Messenger::Messenger(Channels& channels, engine::Engine* engine, channel::PeerId self, std::int32_t size,
                     const MessengerOptions& options)
    : channels_(channels),
      options_(bounded(options)),
      requests_(options.counters != nullptr ? *options.counters : own_counters_),
      groups_(self, size, requests_),
      matching_(options.retained_bytes, options.counters != nullptr ? *options.counters : own_counters_),
      frames_(wire::own_big_endian != options.foreign_byte_order),
      credit_(options_, size, frames_),
      memory_(options.read_memory, options.counters != nullptr ? *options.counters : own_counters_),
      waiting_(channels, engine, options.spin_rounds, options.counters != nullptr ? *options.counters : own_counters_),
      sharing_(self, frames_, memory_, waiting_, options.counters != nullptr ? *options.counters : own_counters_),
      peers_(channels, engine, self, size, options_, credit_, sending_),
      sending_(options_, peers_, requests_, frames_, memory_, waiting_),
      receiving_(peers_, requests_, matching_, frames_, credit_, memory_, sharing_, waiting_),
      arriving_(peers_, requests_, matching_, frames_, credit_, memory_, sharing_, sending_, receiving_) {}

// ---- requests ----

Status Messenger::wait(Request** request, std::uint64_t deadline_ns, couplet_message* message) {
  if (*request == nullptr) return {};
  if (!(*request)->done) COUPLET_TRY(waiting_.finish(**request, deadline_ns));
  return collect(requests_, request, message);
}

void Messenger::withdraw(Request** request) {
  Request* given = *request;
  if (given == nullptr || given->done || given->sending || given->stage != Stage::posted) return;
  receiving_.unpost(*given);
  *request = nullptr;
  requests_.give(given);
}

Status Messenger::test(Request** request, couplet_message* message) {
  if (*request == nullptr) return {};
  engine::Engine* const engine = waiting_.engine();
  if (engine != nullptr && (*request)->flow != nullptr && was_absent(*(*request)->flow)) engine->poll();
  // Polls the request's own channel at once, even if that takes a system call, and the others when their time has come.
  channel::Channel* channel = (*request)->flow != nullptr ? (*request)->flow->channel : nullptr;
  if (!(*request)->done && engine != nullptr && channel != nullptr) Waiting::poll(*channel, frames_per_test);
  if (!(*request)->done && engine != nullptr) channel != nullptr ? engine->poll_others() : engine->poll();
  watch_source(**request, channels_);
  if (!(*request)->done) return Code::not_yet;
  return collect(requests_, request, message);
}

Status Messenger::waitall(std::span<Request*> requests, std::uint64_t deadline_ns, couplet_status* statuses,
                          couplet_message* messages) {
  COUPLET_TRY(check_distinct(requests, "waitall"));
  Status first;
  for (std::size_t index = 0; index < requests.size(); ++index) {
    Status status = wait(&requests[index], deadline_ns, messages != nullptr ? messages + index : nullptr);
    if (status.code() == Code::interrupted) return status;
    if (statuses != nullptr) statuses[index] = static_cast<couplet_status>(status.code());
    if (first.ok() && !status.ok()) first = std::move(status);
  }
  return first;
}

Status Messenger::waitany(std::span<Request*> requests, std::uint64_t deadline_ns, std::int32_t* index,
                          couplet_message* message) {
  std::size_t found = requests.size();
  bool any = false;
  for (const Request* request : requests) any = any || request != nullptr;
  *index = -1;
  if (!any) return {};
  COUPLET_TRY(check_distinct(requests, "waitany"));
  const auto one_done = [this, &requests, &found] {
    for (found = 0; found < requests.size(); ++found) {
      if (requests[found] == nullptr) continue;
      if (requests[found]->done) return true;
      watch_source(*requests[found], channels_);
    }
    return false;
  };
  if (!one_done()) {
    COUPLET_TRY(waiting_.until(
        one_done, deadline_ns, [&requests] { return fmt::format("any of {}", counted(requests.size(), "request")); },
        true));
  }
  *index = static_cast<std::int32_t>(found);
  return collect(requests_, &requests[found], message);
}

// ---- for the library itself ----

Status Messenger::send_internal(Group& group, std::uint32_t context, std::string bytes, std::int32_t target,
                                std::int32_t tag) {
  return sending_.send_copy(group, context, std::move(bytes), target, tag);
}

Status Messenger::recv_internal(Group& group, std::uint32_t context, std::string& bytes, std::int32_t source,
                                std::int32_t tag, std::uint64_t deadline_ns) {
  Request request;
  receiving_.prepare(request, group, nullptr, 0, *find_type(COUPLET_BYTE), source, tag);
  request.context = context;
  request.text = &bytes;
  receiving_.begin(request);
  if (!request.done && !(waiting_.has_engine() && waiting_.spin(request))) {
    COUPLET_TRY(receiving_.finish(request, deadline_ns));
  }
  return std::move(request.status);
}

Request* Messenger::irecv_internal(Group& group, std::uint32_t context, std::string& bytes) {
  Request* made = requests_.take();  // nothing below throws
  receiving_.prepare(*made, group, nullptr, 0, *find_type(COUPLET_BYTE), COUPLET_ANY_SOURCE, COUPLET_ANY_TAG);
  made->context = context;
  made->text = &bytes;
  receiving_.begin(*made);
  return made;
}

bool Messenger::end_internal(channel::PeerId peer, std::uint32_t context, bool only_arrived) noexcept {
  const Flow* flow = peers_.find(peer);
  if (only_arrived && flow != nullptr && flow->channel != nullptr) {
    Waiting::poll(*flow->channel, frames_per_look);  // what was sent before has come then, if the lane holds it
  }
  const bool found = flow != nullptr && matching_.for_each_in(*flow, context, [this](Arrival& arrival) {
    if (!arrival.envelope || arrival.dead) receiving_.forget(arrival);  // the sender of another would wait for ever
  });
  if (found || !only_arrived) matching_.ended().add(context);
  return found;
}

void Messenger::move_until(std::uint64_t until_ns) noexcept {
  static_cast<void>(waiting_.until([] { return false; }, until_ns, [] { return std::string(); }, false));
}

// ---- peers ----

void Messenger::peer_lost(channel::PeerId peer, const Status& why) {
  if (!peers_.has(peer)) return;
  Flow& flow = peers_.to(peer);
  // Nothing of the old incarnation arrives after this.
  if (flow.channel != nullptr) flow.channel->fail(peers_.loss_of(flow, why));
  arriving_.lose(flow, why);
}

void Messenger::give_up_peer(Group& group, std::int32_t rank, const Status& why) noexcept {
  const Flow* flow = peers_.find(group.peer(rank));
  if (flow != nullptr && flow->channel != nullptr) flow->channel->fail(why);
}

void Messenger::abandon(const Status& why) noexcept {
  for (const auto& flow : peers_.all()) {
    if (flow == nullptr) continue;
    channel::Channel* channel = flow->channel;
    if (channel != nullptr) channel->fail(why);
    arriving_.lose(*flow, why);
    if (channel != nullptr) Waiting::poll(*channel, 1);  // gives back what the channel still has of this messenger
  }
  while (Request* request = matching_.any_source().first()) {
    receiving_.end_with(*request, why);
  }
}

std::vector<PeerReport> Messenger::report() const {
  std::vector<PeerReport> reports;
  for (const auto& flow : peers_.all()) {
    if (flow == nullptr) continue;
    PeerReport report;
    report.peer = flow->peer;
    report.name = peers_.name(flow->peer);
    if (flow->channel != nullptr) report.link = flow->channel->traits().name;
    report.eager_bytes = flow->eager_bytes;
    report.piece_bytes = flow->piece_bytes;
    report.large_messages = flow->reach == Reach::proven ? "read from the sender's memory" : "copied in pieces";
    if (flow->reach == Reach::proven && sharing_.word(*flow, wire::least_shared_bytes) != nullptr) {
      report.large_messages += ", by both sides from 256 KiB on";
    }
    report.why = flow->reach == Reach::unknown ? "no large message has come yet" : flow->reach_reason;
    report.credit_bytes = flow->credit;
    report.stored_bytes = flow->stored;
    report.envelopes = flow->envelopes;
    report.lost = flow->lost;
    reports.push_back(std::move(report));
  }
  return reports;
}

// A peer that computes does not acknowledge. So in the end it is enough if the system has everything, since the system
// delivers it even if this process has ended.
Status Messenger::flush(engine::PeerPatience& patience) {
  const auto none = [this](bool (channel::Channel::*still)() const noexcept) {
    bool found = false;
    for (const auto& flow : peers_.all()) {
      if (flow == nullptr || flow->channel == nullptr || !(flow->channel->*still)()) continue;
      flow->channel->ask_acknowledgement();
      found = true;
    }
    return !found;
  };
  const auto offered = [this] {
    std::uint64_t count = 0;
    for (const auto& flow : peers_.all()) {
      const bool counts = flow != nullptr && flow->channel != nullptr && flow->peer != peers_.self();
      count += counts ? awaited_offers(*flow) : 0;
    }
    return count;
  };
  const auto flushed = [&] { return none(&channel::Channel::sending) && offered() == 0; };
  Status status;
  for (std::uint64_t left = offered(); !flushed(); left = offered()) {
    // A peer that reads an offered message from this process's memory takes it, though no byte goes to it.
    const auto moved = [&] { return flushed() || offered() < left; };
    status = patience.wait(*waiting_.engine(), moved, [this] { return what_is_unsent(peers_.all(), peers_.self()); });
    if (!status.ok()) break;
    patience.renew();
  }
  if (status.ok()) return requests_.unheard_failures();
  if (status.code() != Code::timeout || !none(&channel::Channel::queued)) return status;
  if (const std::uint64_t count = offered(); count > 0) {
    return fail(Code::timeout, "{} not received: a send that is not complete ends with its process",
                counted(count, "message was", "messages were"));
  }
  return requests_.unheard_failures();
}

}  // namespace couplet::message
