#include "message/peers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

namespace couplet::message {
namespace {

// The eager limit while there is no lane, whose limits would count. Every lane takes a message of this size in one
// frame.
constexpr std::uint64_t opening_eager_bytes = 1024;

}  // namespace

Peers::Peers(channel::Channels& channels, engine::Engine* engine, channel::PeerId self, std::int32_t universe_size,
             MessengerOptions& options, Credit& credit, Sending& sending)
    : channels_(channels),
      engine_(engine),
      self_(self),
      options_(options),
      credit_(credit),
      sending_(sending),
      flows_(static_cast<std::size_t>(universe_size)) {}

Flow& Peers::to(channel::PeerId peer) {
  auto& flow = flows_[peer];
  if (flow == nullptr) {
    flow = std::make_unique<Flow>();
    flow->peer = peer;
    flow->sending = &sending_;
    credit_.reset(*flow);
  }
  return *flow;
}

Flow* Peers::of(channel::Channel& channel) {
  if (!has(channel.peer())) return nullptr;
  Flow& flow = to(channel.peer());
  if (flow.channel != &channel) adopt(flow, channel);
  // The channel was opening when its limits were last looked for.
  if (!flow.fast && !flow.lost) set_limits(flow);
  return &flow;
}

void Peers::adopt(Flow& flow, channel::Channel& channel) {
  if (flow.lost) take_back(flow.peer);
  flow.channel = &channel;
  set_limits(flow);
}

void Peers::take_back(channel::PeerId peer) {
  Flow& flow = to(peer);
  if (!flow.lost) return;
  flow.lost = false;
  --lost_;
  credit_.reset(flow);
  flow.reach = Reach::unknown;
  flow.memory.reset();
  flow.helps = true;
}

void Peers::look_for_returned() noexcept {
  if (engine_ == nullptr) return;
  try {
    if (options_.ask_for_news) options_.ask_for_news();
    channels_.look_for_returned();
  } catch (const std::bad_alloc&) {
    return;  // what is known has to do
  }
  engine_->look_at_all();
}

Status Peers::settle(Flow& flow) {
  if (flow.channel == nullptr) {
    auto channel = channels_.channel_to(flow.peer);
    if (channel.code() == Code::peer_lost) {  // it may be back: only calls that wait read what the hub says
      look_for_returned();
      channel = channels_.channel_to(flow.peer);
    }
    if (!channel.ok()) return channel.status();
    flow.channel = *channel;
  }
  set_limits(flow);
  return {};
}

void Peers::set_limits(Flow& flow) const {
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
  constexpr std::uint32_t rounds_per_memory_poll = 1024;  // to poll memory takes about 15 ns
  flow.rounds_per_poll = traits.same_memory ? rounds_per_memory_poll : rounds_per_socket_poll;
}

void Peers::set_eager_bytes(std::uint64_t bytes, std::optional<channel::PeerId> peer) {
  if (!peer) options_.eager_bytes = bytes;
  for (auto& flow : flows_) {
    if (flow == nullptr || (peer && flow->peer != *peer)) continue;
    flow->wanted_eager_bytes = bytes;
    if (flow->channel != nullptr) set_limits(*flow);
  }
  if (peer && has(*peer)) to(*peer).wanted_eager_bytes = bytes;
}

void Peers::lose(Flow& flow, const Status& why) noexcept {
  flow.lost = true;
  flow.left = why.code() == Code::end;
  if (flow.channel != nullptr && !flow.left) {
    ++flow.deaths;
    flow.untold = true;
  }
  ++flow.losses;
  ++losses_;
  ++lost_;
  flow.fast = false;
  flow.loss = loss_of(flow, why);
}

void Peers::told(const Request& request) noexcept {
  if (request.flow != nullptr && (request.context & internal_context) == 0 && !request.detached) {
    told(*request.flow, request.flow->deaths);
  }
}

void Peers::told(Flow& flow, std::uint32_t deaths) noexcept {
  flow.told_deaths = std::max(flow.told_deaths, deaths);
  flow.untold = flow.told_deaths < flow.deaths;
}

void Peers::spoken_to(Flow& flow) noexcept {
  if (flow.lost) return;
  for (const Arrival* one = flow.arrivals.first(); one != nullptr; one = ArrivalList::after(*one)) {
    if ((one->context & internal_context) == 0 && one->deaths < flow.deaths) return;
  }
  told(flow, flow.deaths);
}

Status Peers::loss_of(const Flow& flow, const Status& why) const noexcept {
  try {
    return loss_text(flow, why);
  } catch (const std::bad_alloc&) {
    return why.code() == Code::end ? Code::peer_lost : why.code();
  }
}

Status Peers::loss_text(const Flow& flow, const Status& why) const {
  const std::string peer = name(flow.peer);
  if (why.code() == Code::end) return fail(Code::peer_lost, "{} has left", peer);
  const bool keep = why.code() == Code::protocol || why.code() == Code::version || why.code() == Code::authentication ||
                    why.code() == Code::limit || why.code() == Code::memory || why.code() == Code::state;
  const std::string text = why.text();
  return {keep ? why.code() : Code::peer_lost,
          text.find(peer) != std::string::npos ? text : fmt::format("{}: {}", peer, text)};
}

Status Peers::all_others_lost(const Group& group) const {
  const Flow* last = nullptr;
  for (std::int32_t rank = 0; rank < group.size(); ++rank) {
    if (group.peer(rank) == self_) continue;
    const Flow* flow = find(group.peer(rank));
    if (flow == nullptr || !flow->lost) return {};
    last = flow;
  }
  if (last == nullptr) return {};  // the group has no other member, but this process may still send to itself
  return last->loss.within(fmt::format("no possible source is left in group '{}'", group.name()));
}

Status Peers::senders_left(const Request& request) const {
  if (request.flow == nullptr) return all_others_lost(*request.group);
  return request.flow->lost ? request.flow->loss : Status();
}

}  // namespace couplet::message
