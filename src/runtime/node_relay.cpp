#include "runtime/node_relay.hpp"

namespace couplet::runtime {

using counters::Counter;

namespace {

// `couplet run` starts the hub again sooner. If somebody starts a hub later, holds whose connection had failed have
// ended by then.
constexpr std::uint64_t hub_patience_ns = 5'000'000'000;

}  // namespace

Status process_alive(universe::Membership& membership, channel::PeerId peer, std::uint16_t incarnation) {
  return membership.alive(peer, incarnation);
}

Result<std::unique_ptr<NodeRelay>> NodeRelay::open(universe::Membership& membership, engine::Engine& engine,
                                                   counters::Counters& counters, const relay::ServerOptions& options) {
  std::unique_ptr<NodeRelay> made(new NodeRelay(membership, engine, counters));
  COUPLET_TRY_VALUE(made->server_, relay::Server::open(*made, options));
  engine.add(*made, engine::Rate::often);
  if (made->server_->descriptor() >= 0) {
    COUPLET_TRY(engine.watch(made->server_->descriptor(), false, *made));
  }
  return made;
}

NodeRelay::~NodeRelay() {
  if (server_ && server_->descriptor() >= 0) {
    engine_.unwatch(server_->descriptor());
  }
  engine_.remove(*this);
}

int NodeRelay::poll(std::uint64_t /*now_ns*/, int budget) {
  const int work = server_->poll(budget);
  if (work > 0) {
    counters_.set(Counter::relay_steps_pushed, server_->pushed().steps);
    counters_.set(Counter::relay_bytes_pushed, server_->pushed().bytes);
  }
  return work;
}

bool NodeRelay::hub_is_away() const {
  return hub_missed_.total_ns() >= hub_patience_ns;
}

void NodeRelay::tick(std::uint64_t now_ns) {
  if (membership_.hub().ok()) {
    hub_missed_ = {};
  } else {
    hub_missed_.look(now_ns);
  }
  server_->tick();
  counters_.set(Counter::relay_subscribers, server_->subscriptions());
}

}  // namespace couplet::runtime
