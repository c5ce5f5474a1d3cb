#include "coalesce/plan.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace couplet::coalesce {
namespace {

// Half of the tag of an edge is the number of its client.
constexpr int client_shift = 32;

// Returns the offset of a request in the plan that begins with from_round, so that its rounds go on as before.
std::uint64_t offset_from(std::uint64_t from_round, std::uint64_t every, std::uint64_t offset) {
  if (offset >= from_round) return offset - from_round;
  const std::uint64_t past = (from_round - offset) % every;
  return past == 0 ? 0 : every - past;
}

void add_receiver(Wave& wave, std::size_t client, std::int32_t peer, RequestId id) {
  const auto found = std::find_if(wave.receivers.begin(), wave.receivers.end(),
                                  [&](const Wave::Receiver& one) { return one.client == client && one.peer == peer; });
  if (found != wave.receivers.end()) {
    found->requests.push_back(id);
  } else {
    wave.receivers.push_back({.client = client, .peer = peer, .requests = {id}});
  }
}

// Counts a request that moves the same bytes in each round now, and keeps the others.
void add_to_tally(Wave::Tally& tally, RequestId id, const Request& request) {
  const exchange::Edge& edge = request.edge;
  if (request.is_optional || edge.is_variable || edge.every != 1 || edge.offset != 0) {
    tally.others.push_back(id);
    return;
  }
  const bool is_out = edge.direction == exchange::Direction::out;
  ++(is_out ? tally.sent_parts : tally.received_parts);
  (is_out ? tally.sent_bytes : tally.received_bytes) += edge.bytes();
}

// Adds the requests of one client in one phase to a wave.
Status add_requests(const PlanSource& source, std::size_t number, int phase, Wave& wave, Plan& plan) {
  const std::ptrdiff_t client = source.at(source.order[number]);
  if (client < 0) return {};
  Wave::Tally tally{.client = static_cast<std::size_t>(client)};
  for (const RequestId id : source.requests_of(static_cast<std::size_t>(client))) {
    const Declared& one = *source.requests[id];
    if (one.request.phase != phase) continue;
    COUPLET_TRY_VALUE(const std::uint32_t edge, wave.exchange->add(edge_of(one.request, number, source.from_round)));
    plan.places[id] = {.exchange = wave.exchange.get(), .edge = edge};
    wave.requests.push_back(id);
    add_to_tally(tally, id, one.request);
    const bool has_length = one.request.is_optional || one.request.edge.is_variable;
    if (has_length && one.request.edge.direction == exchange::Direction::out) {
      plan.variable[static_cast<std::size_t>(phase)].push_back(id);
    }
    if (one.request.edge.direction == exchange::Direction::in) {
      add_receiver(wave, one.client, one.request.edge.peer, id);
    }
  }
  wave.hears_arrivals = wave.hears_arrivals || source.hears_arrivals(tally.client);
  wave.tallies.push_back(std::move(tally));
  return {};
}

std::string exchange_name(const PlanSource& source, int phase, std::string_view client) {
  std::string name = fmt::format("{}, coalesced phase {}", source.name, phase);
  // The client comes last, since a user may have named it as anything else here.
  if (source.number > 0) name += fmt::format(", plan {}", source.number);
  if (!client.empty()) name += fmt::format(", client {}", client);
  return name;
}

// Makes the exchange of some clients in one phase, given by their numbers.
Status make_wave(const PlanSource& source, int phase, std::span<const std::size_t> numbers, Sync& sync, Plan& plan) {
  const bool is_shared = source.switches.shares_messages();
  Wave& wave = sync.waves.emplace_back();
  const std::string name = exchange_name(source, phase, is_shared ? std::string_view() : source.order[numbers[0]]);
  COUPLET_TRY_VALUE(wave.exchange, source.make_exchange(name));
  for (const std::size_t number : numbers) COUPLET_TRY(add_requests(source, number, phase, wave, plan));
  COUPLET_TRY(wave.exchange->freeze());
  wave.counts.resize(wave.exchange->traffic().size());
  wave.waits_ns.resize(wave.counts.size());
  return {};
}

Status make_phase(const PlanSource& source, int phase, Plan& plan) {
  std::vector<Sync>& syncs = plan.phases.emplace_back();
  std::vector<std::size_t> numbers(source.order.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  if (source.switches.merges_waits) {
    Sync& all = syncs.emplace_back();
    for (const std::string& name : source.order) {
      if (const std::ptrdiff_t client = source.at(name); client >= 0) {
        all.clients.push_back(static_cast<std::size_t>(client));
      }
    }
    if (numbers.empty()) return {};
    if (source.switches.merges_messages) return make_wave(source, phase, numbers, all, plan);
    for (const std::size_t number : numbers) COUPLET_TRY(make_wave(source, phase, {&number, 1}, all, plan));
    return {};
  }
  for (const std::size_t number : numbers) {
    Sync& own = syncs.emplace_back();
    const std::ptrdiff_t client = source.at(source.order[number]);
    if (client >= 0) own.clients.push_back(static_cast<std::size_t>(client));
    COUPLET_TRY(make_wave(source, phase, {&number, 1}, own, plan));
  }
  return {};
}

}  // namespace

std::string title_of(std::string_view client, const exchange::Edge& edge) {
  std::string title = fmt::format("client '{}', tag {}", client, edge.tag);
  if (!edge.title.empty()) title += fmt::format(", '{}'", edge.title);
  return title;
}

exchange::Edge edge_of(const Request& request, std::size_t number, std::uint64_t from_round) {
  exchange::Edge edge = request.edge;
  const auto own_tag = static_cast<std::uint32_t>(static_cast<std::int32_t>(request.edge.tag));
  edge.tag = static_cast<std::int64_t>(std::uint64_t{number} << client_shift | own_tag);
  edge.is_variable = edge.is_variable || request.is_optional;
  edge.offset = offset_from(from_round, edge.every, edge.offset);
  return edge;
}

Status check_apart(std::span<const std::unique_ptr<Declared>> requests, int phase_count, std::int32_t rank) {
  for (int phase = 0; phase < phase_count; ++phase) {
    std::vector<exchange::Edge> edges;
    for (const std::unique_ptr<Declared>& one : requests) {
      if (one == nullptr || one->is_gone || one->request.phase != phase) continue;
      exchange::Edge& edge = edges.emplace_back(one->request.edge);
      for (exchange::Region& region : edge.regions) region = exchange::simplified(region);
    }
    COUPLET_TRY(exchange::check_apart(edges, rank));
  }
  return {};
}

Status make_plan(const PlanSource& source, Plan& plan) {
  plan.from_round = source.from_round;
  plan.places.assign(source.requests.size(), {});
  plan.variable.resize(static_cast<std::size_t>(source.phase_count));
  for (int phase = 0; phase < source.phase_count; ++phase) COUPLET_TRY(make_phase(source, phase, plan));
  return {};
}

}  // namespace couplet::coalesce
