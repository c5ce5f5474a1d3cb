// Groups, peers and requests of the messenger. The protocol is in send.cpp, receive.cpp and arrive.cpp, and waiting in
// wait.cpp.
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>

#include "base/assert.hpp"
#include "message/message.hpp"

namespace couplet::message {
namespace {

// The eager limit while there is no lane, whose limits would count. Every lane takes a message of this size in one
// frame.
constexpr std::uint64_t opening_eager_bytes = 1024;
constexpr int frames_per_look = 256;

}  // namespace

Messenger::Messenger(Channels& channels, engine::Engine* engine, channel::PeerId self, std::int32_t size,
                     const MessengerOptions& options)
    : channels_(channels),
      engine_(engine),
      self_(self),
      size_(size),
      options_(options),
      counters_(options.counters != nullptr ? *options.counters : own_counters_),
      flows_(static_cast<std::size_t>(size)),
      big_endian_(wire::own_big_endian != options.foreign_byte_order),
      blocks_(options.retained_bytes),
      nonce_(std::make_unique<std::array<std::uint8_t, 16>>()) {
  options_.payload_credit_bytes = std::min(options_.payload_credit_bytes, largest_payload_credit);
  options_.envelope_limit = std::min(options_.envelope_limit, largest_envelope_count);
  if (getrandom(nonce_->data(), nonce_->size(), 0) != static_cast<ssize_t>(nonce_->size())) {
    options_.read_memory = false;  // without a nonce there is no proof
  }
  groups_.push_back(std::make_unique<Group>(Group::range("universe", 0, size, self)));
  universe_group_ = groups_.front().get();
}

// Frees messages that no receive has asked for. Requests that are not complete belong to their pool or their caller.
Messenger::~Messenger() {
  while (Arrival* arrival = arrivals_.pop_front()) release_storage(*arrival);
}

// ---- groups ----

Result<Group*> Messenger::keep_group(Result<Group> made) {
  if (!made.ok()) return made.status();
  for (const auto& other : groups_) {
    if (other->context() == made->context() && other->hash() != made->hash()) {
      return fail(Code::exists, "group '{}' has the same context {:#010x} as group '{}': give it another name",
                  made->name(), made->context(), other->name());
    }
  }
  groups_.push_back(std::make_unique<Group>(std::move(*made)));
  return groups_.back().get();
}

Result<Group*> Messenger::program_group(std::string_view program, std::int32_t first, std::int32_t count) {
  return keep_group(Group::range(fmt::format("program {}", program), first, count, self_));
}

Result<Group*> Messenger::create_group(std::string_view name, std::span<const std::int32_t> ranks) {
  return keep_group(Group::of_ranks(std::string(name), ranks, size_, self_));
}

Status Messenger::free_group(Group& group) {
  if (&group == universe_group_)
    return fail(Code::state, "the group of the universe cannot be freed: it ends with the universe");
  if (group.pending > 0) {
    return fail(Code::state, "group '{}' cannot be freed: {} of its requests are not complete", group.name(),
                group.pending);
  }
  // Requests that are complete, and for which nobody has waited yet, are found by their group.
  requests_.for_each([&](Request& each) {
    if (each.group == &group) each.group = universe_group_;
  });
  std::erase_if(groups_, [&group](const auto& kept) { return kept.get() == &group; });
  return {};
}

bool Messenger::end_internal(channel::PeerId peer, std::uint32_t context, bool only_arrived) noexcept {
  bool found = false;
  const Flow* flow = flows_[peer].get();
  if (only_arrived && flow != nullptr && flow->channel != nullptr) {
    poll_channel(*flow->channel, frames_per_look);  // what was sent before has come then, if the lane holds it
  }
  for (Arrival* arrival = flow == nullptr ? nullptr : flow->arrivals.first(); arrival != nullptr;) {
    Arrival* next = ArrivalList::after(*arrival);
    if (arrival->context == context && arrival->claimed == nullptr && !arrival->arriving) {
      found = true;
      if (!arrival->envelope || arrival->dead) forget_arrival(*arrival);  // the sender of another would wait for ever
    }
    arrival = next;
  }
  if (found || !only_arrived) ended_.add(context);
  return found;
}

void Messenger::abandon(const Status& why) noexcept {
  for (const auto& flow : flows_) {
    if (flow == nullptr) continue;
    channel::Channel* channel = flow->channel;
    if (channel != nullptr) channel->fail(why);
    lose(*flow, why);
    if (channel != nullptr) poll_channel(*channel, 1);  // gives back what the channel still has of this messenger
  }
  while (Request* request = any_source_.pop_front()) finish(*request, why);
}

void Messenger::give_up_peer(Group& group, std::int32_t rank, const Status& why) noexcept {
  const Flow* flow = flows_[group.peer(rank)].get();
  if (flow != nullptr && flow->channel != nullptr) flow->channel->fail(why);
}

// ---- peers ----

Flow& Messenger::flow_to(channel::PeerId peer) {
  auto& flow = flows_[peer];
  if (flow == nullptr) {
    flow = std::make_unique<Flow>();
    flow->peer = peer;
    flow->messenger = this;
    reset_credit(*flow);
  }
  return *flow;
}

// Returns the flow of the channel's peer, or nullptr if the peer is not a rank of the universe.
Flow* Messenger::flow_of(channel::Channel& channel) {
  if (channel.peer() >= flows_.size()) return nullptr;
  Flow& flow = flow_to(channel.peer());
  if (flow.channel != &channel) adopt(flow, channel);
  // The channel was opening when its limits were last looked for.
  if (!flow.fast && !flow.lost) set_limit(flow);
  return &flow;
}

void Messenger::adopt(Flow& flow, channel::Channel& channel) {
  if (flow.lost) peer_returned(flow.peer);
  flow.channel = &channel;
  set_limit(flow);
}

void Messenger::peer_returned(channel::PeerId peer) {
  Flow& flow = flow_to(peer);
  if (!flow.lost) return;
  flow.lost = false;
  --losses_.peers;
  reset_credit(flow);
  flow.reach = Reach::unknown;
  flow.memory.reset();
  flow.helps = true;
}

// Sets the credit to that with which two ranks begin.
void Messenger::reset_credit(Flow& flow) noexcept {
  if (flow.granted > first_credit()) grown_credit_bytes_ -= flow.granted - first_credit();
  flow.credit = flow.granted = first_credit();
  flow.owed = 0;
}

// Returns the credit that the peer gets beyond what it is owed: twice as much as before, as long as the sum over all
// peers allows it.
std::uint64_t Messenger::grow_credit(Flow& flow) noexcept {
  const std::uint64_t more = std::min(flow.granted, options_.payload_credit_bytes - flow.granted);
  if (grown_credit_bytes_ + more > options_.max_grown_credit_bytes) return 0;
  grown_credit_bytes_ += more;
  flow.granted += more;
  return more;
}

// Checks whether lost peers have returned. Calls to a lost peer fail at once, so a caller that repeats them would
// otherwise never learn of the return.
void Messenger::look_for_returned() noexcept {
  if (engine_ == nullptr) return;
  try {
    if (options_.ask_for_news) options_.ask_for_news();
    channels_.look_for_returned();
  } catch (const std::bad_alloc&) {
    return;  // what is known has to do
  }
  engine_->look_at_all();
}

// Makes the flow ready for sending, as far as that is possible now.
Status Messenger::settle(Flow& flow) {
  if (flow.channel == nullptr) {
    auto channel = channels_.channel_to(flow.peer);
    if (!channel.ok()) return channel.status();
    flow.channel = *channel;
  }
  set_limit(flow);
  return {};
}

void Messenger::set_limit(Flow& flow) {
  const bool open = flow.channel->state() == channel::ChannelState::open;
  const link::LaneTraits& traits = flow.channel->traits();
  const auto named = std::find_if(options_.link_limits.begin(), options_.link_limits.end(),
                                  [&](const LinkLimits& one) { return one.link == traits.name; });
  const bool is_named = named != options_.link_limits.end();
  const auto of_link = [&](std::optional<std::uint64_t> LinkLimits::*limit, std::uint64_t otherwise) {
    return is_named ? ((*named).*limit).value_or(otherwise) : otherwise;
  };
  std::uint64_t limit = opening_eager_bytes;
  if (open) {
    const std::uint64_t own = of_link(&LinkLimits::eager_bytes, traits.eager_bytes);
    limit = flow.wanted_eager_bytes.value_or(options_.eager_bytes.value_or(own));
    limit = std::min<std::uint64_t>(limit, traits.largest_payload);
  }
  const std::uint64_t piece = options_.piece_bytes.value_or(of_link(&LinkLimits::piece_bytes, traits.largest_payload));
  flow.piece_bytes = std::clamp<std::uint64_t>(piece, 1, traits.largest_payload);
  const std::uint64_t most = options_.payload_credit_bytes;
  flow.eager_bytes = std::min(limit, most > wire::eager_overhead_bytes ? most - wire::eager_overhead_bytes : 0);
  flow.fast = open && !flow.lost;
  flow.link = counters::link_kind(traits.name);
  flow.rounds_per_poll =
      traits.same_memory
          ? 1024
          : rounds_per_socket_poll;  // to poll memory takes about 15 ns, to poll a socket is a system call
}

void Messenger::set_eager_bytes(std::uint64_t bytes, std::optional<channel::PeerId> peer) {
  if (!peer) options_.eager_bytes = bytes;
  for (auto& flow : flows_) {
    if (flow == nullptr || (peer && flow->peer != *peer)) continue;
    flow->wanted_eager_bytes = bytes;
    if (flow->channel != nullptr) set_limit(*flow);
  }
  if (peer && *peer < flows_.size()) flow_to(*peer).wanted_eager_bytes = bytes;
}

// Returns the loss with its text, or only its code if there is no memory.
Status Messenger::loss_of(const Flow& flow, const Status& why) const noexcept {
  try {
    return loss_text(flow, why);
  } catch (const std::bad_alloc&) {
    return why.code() == Code::end ? Code::peer_lost : why.code();
  }
}

Status Messenger::loss_text(const Flow& flow, const Status& why) const {
  const std::string name = channels_.peer_name(flow.peer);
  if (why.code() == Code::end) return fail(Code::peer_lost, "{} has left", name);
  const bool keep = why.code() == Code::protocol || why.code() == Code::version || why.code() == Code::authentication ||
                    why.code() == Code::limit || why.code() == Code::memory || why.code() == Code::state;
  const std::string text = why.text();
  return {keep ? why.code() : Code::peer_lost,
          text.find(name) != std::string::npos ? text : fmt::format("{}: {}", name, text)};
}

void Messenger::lost(channel::Channel& channel, const Status& why) {
  if (channel.peer() >= flows_.size()) return;
  try {
    Flow& flow = flow_to(channel.peer());
    if (flow.channel != nullptr && flow.channel != &channel) return;  // this channel is of an earlier incarnation
    lose(flow, why);
  } catch (const std::bad_alloc&) {
    // Only flow_to throws. No request depends on a peer without a flow, and the membership tells of the loss again.
    return;
  }
}

void Messenger::peer_lost(channel::PeerId peer, const Status& why) {
  if (peer >= flows_.size()) return;
  Flow& flow = flow_to(peer);
  // Nothing of the old incarnation arrives after this.
  if (flow.channel != nullptr) flow.channel->fail(loss_of(flow, why));
  lose(flow, why);
}

void Messenger::lose(Flow& flow, const Status& why) noexcept {
  if (flow.lost) {
    flow.channel = nullptr;
    return;
  }
  flow.lost = true;
  flow.left = why.code() == Code::end;
  ++flow.losses;
  ++losses_.count;
  ++losses_.peers;
  flow.fast = false;
  flow.loss = loss_of(flow, why);
  flow.placed = nullptr;
  flow.dropping = false;
  flow.sharing = nullptr;
  if (Arrival* half = std::exchange(flow.placing, nullptr)) forget_arrival(*half);
  for (Arrival* arrival = flow.arrivals.first(); arrival != nullptr;) {
    Arrival* next = ArrivalList::after(*arrival);
    arrival->charge = 0;
    arrival->dead = arrival->envelope;
    const bool greets = (arrival->context & internal_context) != 0 && arrival->tag == greeting_tag;
    if (greets && arrival->claimed == nullptr) forget_arrival(*arrival);
    arrival = next;
  }
  flow.stored = flow.envelopes = flow.offered = flow.owed = 0;
  while (Request* request = flow.posted.pop_front()) finish(*request, flow.loss);
  for (Request* request = flow.active.first(); request != nullptr;) {
    Request* next = RequestChain::after(*request);
    if (!is_under_way(*request)) {  // otherwise the channel gives it back, see taken()
      flow.active.remove(*request);
      finish(*request, flow.loss);
    }
    request = next;
  }
  flow.channel = nullptr;
  lose_any_source();
}

// Ends receives from any source for which no sender is left. The caller itself does not count as a sender, since it
// waits.
void Messenger::lose_any_source() {
  for (Request* request = any_source_.first(); request != nullptr;) {
    Request* next = RequestChain::after(*request);
    if (Status status = all_others_lost(*request->group); !status.ok()) {
      any_source_.remove(*request);
      finish(*request, std::move(status));
    }
    request = next;
  }
}

Status Messenger::all_others_lost(const Group& group) const {
  const Flow* last = nullptr;
  for (std::int32_t rank = 0; rank < group.size(); ++rank) {
    if (group.peer(rank) == self_) continue;
    const Flow* flow = flows_[group.peer(rank)].get();
    if (flow == nullptr || !flow->lost) return {};
    last = flow;
  }
  if (last == nullptr) return {};  // the group has no other member, but this process may still send to itself
  return last->loss.within(fmt::format("no possible source is left in group '{}'", group.name()));
}

std::vector<PeerReport> Messenger::report() const {
  std::vector<PeerReport> reports;
  for (const auto& flow : flows_) {
    if (flow == nullptr) continue;
    PeerReport report;
    report.peer = flow->peer;
    report.name = channels_.peer_name(flow->peer);
    if (flow->channel != nullptr) report.link = flow->channel->traits().name;
    report.eager_bytes = flow->eager_bytes;
    report.piece_bytes = flow->piece_bytes;
    report.large_messages = flow->reach == Reach::proven ? "read from the sender's memory" : "copied in pieces";
    if (flow->reach == Reach::proven && word_to_share(*flow, wire::least_shared_bytes) != nullptr) {
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

// ---- requests ----

Request* Messenger::take_request() {
  Request* request = requests_.take();
  *request = Request{};
  request->pooled = true;
  return request;
}

void Messenger::give_request(Request* request) noexcept {
  requests_.give(request);
}

void Messenger::finish(Request& request, Status status) noexcept {
  request.status = std::move(status);
  end(request);
}

// Returns 0 if there is no memory.
std::uint64_t Messenger::register_cookie(Request& request) noexcept {
  if (free_cookies_.empty()) {
    try {
      free_cookies_.reserve(cookies_.size() + 1);
      cookies_.emplace_back();
    } catch (const std::bad_alloc&) {
      return 0;
    }
    free_cookies_.push_back(static_cast<std::uint32_t>(cookies_.size() - 1));
  }
  const std::uint32_t index = free_cookies_.back();
  free_cookies_.pop_back();
  cookies_[index].request = &request;
  request.cookie = (std::uint64_t{cookies_[index].generation} << 32) | index;
  return request.cookie;
}

void Messenger::release_cookie(Request& request) noexcept {
  const auto index = static_cast<std::uint32_t>(request.cookie);
  cookies_[index].request = nullptr;
  if (++cookies_[index].generation == 0) cookies_[index].generation = 1;
  free_cookies_.push_back(index);  // the list has room for it since the slot was made
  request.cookie = 0;
}

// Returns the request with the cookie that a frame of the peer names, or nullptr if there is no such request with this
// peer.
Request* Messenger::find_cookie(std::uint64_t cookie, const Flow& flow, bool sending) const noexcept {
  const auto index = static_cast<std::uint32_t>(cookie);
  if (index >= cookies_.size()) return nullptr;
  Request* request = cookies_[index].request;
  if (request == nullptr || request->cookie != cookie) return nullptr;
  return request->flow == &flow && request->sending == sending ? request : nullptr;
}

std::string Messenger::describe(const Request& request) const {
  if (request.what != nullptr) return *request.what;
  const std::string tag = request.tag == COUPLET_ANY_TAG ? "any tag" : fmt::format("tag {}", request.tag);
  if (request.flow == nullptr) {
    return fmt::format("a message with {} from any rank of group '{}'", tag, request.group->name());
  }
  const std::string peer = channels_.peer_name(request.flow->peer);
  return fmt::format("{} {} with {} in group '{}'", request.sending ? "the delivery of a message to" : "a message from",
                     peer, tag, request.group->name());
}

}  // namespace couplet::message
