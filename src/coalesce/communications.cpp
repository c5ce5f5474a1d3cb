#include "coalesce/communications.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/counted.hpp"
#include "coalesce/meeting.hpp"
#include "message/team.hpp"
#include "os/clock.hpp"

namespace couplet::coalesce {
namespace {

using exchange::Direction;

bool has_length(const Declared& one) {
  return one.request.is_optional || one.request.edge.is_variable;
}

// Adds what the exchanges of a plan have moved.
void add_traffic(const Plan& plan, std::vector<PeerCounts>& peers) {
  for (const std::vector<Sync>& syncs : plan.phases) {
    for (const Sync& sync : syncs) {
      for (const Wave& wave : sync.waves) {
        if (wave.exchange == nullptr) continue;
        const auto traffic = wave.exchange->traffic();
        for (std::size_t port = 0; port < traffic.size(); ++port) {
          PeerCounts& peer = peer_of(peers, traffic[port].peer);
          peer.sent_messages += traffic[port].sent_messages;
          peer.sent_bytes += traffic[port].sent_bytes;
          peer.received_messages += traffic[port].received_messages;
          peer.received_bytes += traffic[port].received_bytes;
          if (port < wave.waits_ns.size()) peer.wait_ns += wave.waits_ns[port];
        }
      }
    }
  }
}

// What the exchanges say begins with the title already.
Status titled(const std::string& title, const Status& status) {
  return status.text().starts_with(title) ? status : status.within(title);
}

template <typename Visit>
void for_each_wave(Plan& plan, const Visit& visit) {
  for (std::vector<Sync>& syncs : plan.phases) {
    for (Sync& sync : syncs) {
      for (Wave& wave : sync.waves) {
        if (wave.exchange != nullptr) visit(wave);
      }
    }
  }
}

}  // namespace

CommunicationsManager::CommunicationsManager(Surroundings around, const message::Group& group, std::string name,
                                             const Options& options)
    : around_(std::move(around)), group_(group), options_(options) {
  group_.pending = 0;
  counts_.name = std::move(name);
  counts_.rank = group.rank();
  counts_.merges_waits = options.switches.merges_waits;
  counts_.merges_messages = options.switches.merges_messages;
  counts_.phases.resize(static_cast<std::size_t>(options.phase_count));
}

std::string CommunicationsManager::title() const {
  return fmt::format("coalesce '{}'", counts_.name);
}

// ---- between rounds ----

Result<std::size_t> CommunicationsManager::add_client(std::string name, bool hears_arrivals) {
  auto added = clients_.add(std::move(name), hears_arrivals);
  return added.ok() ? added : Result<std::size_t>(added.status().within(title()));
}

Status CommunicationsManager::remove_client(std::size_t client) {
  Status removed = clients_.remove(client);
  return removed.ok() ? removed : removed.within(title());
}

Result<RequestId> CommunicationsManager::add(std::size_t client, Request request) {
  if (!clients_.has(client)) {
    return fail(Code::argument, "{}: there is no client with the number {}", title(), client);
  }
  exchange::Edge& edge = request.edge;
  edge.title = title_of(clients_.counts_of(client).name, edge);
  const auto wrong = [&](const Status& why) {
    return why.within(fmt::format("{}: {}", title(), exchange::describe(edge, group_.rank())));
  };
  if (request.phase < 0 || request.phase >= options_.phase_count) {
    return wrong(fail(Code::argument, "phase {} must be one of 0 to {}", request.phase, options_.phase_count - 1));
  }
  if (edge.tag < -max_client_tag || edge.tag > max_client_tag) {
    return wrong(fail(Code::argument, "the tag must be -{} to {}", max_client_tag, max_client_tag));
  }
  if (Status checked = exchange::check(edge, group_.size()); !checked.ok()) return wrong(checked);
  const std::string name = exchange::describe(edge, group_.rank());
  auto added = clients_.add(client, std::move(request));
  return added.ok() ? added : Result<RequestId>(added.status().within(fmt::format("{}: {}", title(), name)));
}

Result<std::vector<std::string>> CommunicationsManager::meet(std::uint64_t now_round, std::uint64_t from_round) {
  Registration own;
  own.status = check_apart(clients_.requests(), options_.phase_count, group_.rank());
  if (own.status.ok() && from_round < now_round) {
    own.status = fail(Code::argument, "round {} has begun; the next one is {}", from_round, now_round);
  }
  own.from_round = from_round;
  own.phase_count = options_.phase_count;
  own.merges_waits = options_.switches.merges_waits;
  own.merges_messages = options_.switches.merges_messages;
  own.clients = clients_.names();
  COUPLET_TRY_VALUE(const auto team,
                    message::MessageTeam::open(*around_.messenger, group_, "coalesce " + counts_.name));
  COUPLET_TRY_VALUE(const auto texts, team->gather(encode(own), os::deadline_after(options_.timeout_s)));
  COUPLET_TRY(Status(own.status));
  std::vector<Registration> all;
  for (const std::string& text : texts) {
    COUPLET_TRY_VALUE(Registration one, decode(text));
    all.push_back(std::move(one));
  }
  return common_order(all);
}

Status CommunicationsManager::freeze(std::uint64_t now_round, std::uint64_t from_round) {
  if (next_) {
    return fail(Code::state, "{}: the plan of round {} has not begun, and there can be only one", title(),
                next_->from_round);
  }
  for (Plan& plan : retired_) static_cast<void>(close_plan(plan));
  retired_.clear();
  auto order = meet(now_round, from_round);
  if (!order.ok()) return titled(title(), order.status());
  PlanSource source;
  source.make_exchange = around_.make_exchange;
  source.name = counts_.name;
  source.number = plan_count_++;
  source.from_round = from_round;
  source.phase_count = options_.phase_count;
  source.switches = options_.switches;
  source.rank = group_.rank();
  source.requests = clients_.requests();
  source.order = *order;
  source.requests_of = [this](std::size_t client) { return clients_.requests_of(client); };
  source.at = [this](const std::string& name) { return clients_.place_of(name); };
  source.hears_arrivals = [this](std::size_t client) { return clients_.hears_arrivals(client); };
  Plan plan;
  if (Status made = make_plan(source, plan); !made.ok()) {
    static_cast<void>(close_plan(plan));
    return titled(title(), made);
  }
  next_ = std::move(plan);
  return {};
}

void CommunicationsManager::begin_round(std::uint64_t round) {
  round_ = round;
  ++counts_.rounds;
  if (!next_ || next_->from_round > round) return;
  if (!plan_.phases.empty()) retired_.push_back(std::move(plan_));
  adopt(std::move(*next_));
  next_.reset();
}

void CommunicationsManager::adopt(Plan plan) {
  plan_ = std::move(plan);
  plan_clients_.clear();
  for (const Sync& sync : plan_.phases.front()) {
    plan_clients_.insert(plan_clients_.end(), sync.clients.begin(), sync.clients.end());
  }
  for_each_wave(plan_, [&](const Wave& wave) { counts_.method = wave.exchange->method(); });
  clients_.give_back_others(plan_clients_);
}

// ---- in a round ----

Status CommunicationsManager::begin_fill(int phase) {
  filled_ = phase;
  for (const RequestId id : plan_.variable[static_cast<std::size_t>(phase)]) {
    const Declared& one = clients_.request(id);
    const std::uint64_t usual = one.request.is_optional ? 0 : one.request.edge.bytes();
    COUPLET_TRY(plan_.places[id].exchange->set_length(plan_.places[id].edge, usual));
  }
  return {};
}

Status CommunicationsManager::start(Sync& sync) {
  filled_ = -1;
  for (Wave& wave : sync.waves) {
    if (wave.requests.empty()) continue;
    COUPLET_TRY(wave.exchange->start());
    wave.arrived_count = 0;
    wave.is_over = false;
  }
  is_waiting_ = false;
  waited_ns_ = 0;
  return {};
}

Status CommunicationsManager::wait_next(int phase, Sync& sync, std::uint64_t deadline_ns,
                                        std::vector<const Receiver*>& arrived, bool& is_over) {
  arrived.clear();
  PhaseCounts& phase_counts = counts_.phases[static_cast<std::size_t>(phase)];
  for (Wave& wave : sync.waves) {
    if (wave.is_over) continue;
    if (!std::exchange(is_waiting_, true)) ++phase_counts.waits;
    exchange::Partial partial{.arrived_count = wave.arrived_count, .is_patient = !wave.hears_arrivals};
    Status waited = wave.exchange->wait(deadline_ns, &partial);
    waited_ns_ += partial.waited_ns;
    COUPLET_TRY(waited);
    wave.arrived_count = partial.arrived_count;
    wave.is_over = partial.is_over;
    note_messages(wave, waited_ns_, arrived);
    if (wave.is_over) {
      if (wave.hears_arrivals) note_arrivals(wave, group_.rank(), arrived);
      count(wave);
      if (!options_.switches.merges_waits) clients_.counts_of(sync.clients.front()).wait_ns += waited_ns_;
    }
    is_over = std::all_of(sync.waves.begin(), sync.waves.end(), [](const Wave& one) { return one.is_over; });
    if (is_over) phase_counts.wait_ns += waited_ns_;
    return {};
  }
  is_over = true;
  return {};
}

// Finds the ports from which messages have come since the last look.
void CommunicationsManager::note_messages(Wave& wave, std::uint64_t waited_ns,
                                          std::vector<const Receiver*>& arrived) const {
  const auto traffic = wave.exchange->traffic();
  for (std::size_t port = 0; port < traffic.size(); ++port) {
    if (wave.counts[port] == traffic[port].received_messages) continue;
    wave.counts[port] = traffic[port].received_messages;
    wave.waits_ns[port] += waited_ns;
    if (wave.hears_arrivals) note_arrivals(wave, traffic[port].peer, arrived);
  }
}

void CommunicationsManager::note_arrivals(const Wave& wave, std::int32_t peer,
                                          std::vector<const Receiver*>& arrived) const {
  for (const Receiver& one : wave.receivers) {
    const bool has_come =
        one.peer == peer && std::any_of(one.requests.begin(), one.requests.end(), [this](RequestId id) {
          return clients_.request(id).request.edge.takes_part(round_);
        });
    if (has_come) arrived.push_back(&one);
  }
}

void CommunicationsManager::count(const Wave& wave) {
  for (const Wave::Tally& tally : wave.tallies) {
    ClientCounts& client = clients_.counts_of(tally.client);
    client.sent_parts += tally.sent_parts;
    client.sent_bytes += tally.sent_bytes;
    client.received_parts += tally.received_parts;
    client.received_bytes += tally.received_bytes;
    for (const RequestId id : tally.others) {
      if (!clients_.request(id).request.edge.takes_part(round_)) continue;
      const auto bytes = wave.exchange->length(plan_.places[id].edge);
      if (!bytes.ok()) continue;
      const bool is_out = clients_.request(id).request.edge.direction == Direction::out;
      if (clients_.request(id).request.is_optional && *bytes == 0) continue;
      ++(is_out ? client.sent_parts : client.received_parts);
      (is_out ? client.sent_bytes : client.received_bytes) += *bytes;
    }
  }
}

Status CommunicationsManager::set_length(RequestId request, std::uint64_t bytes) {
  if (request >= clients_.requests().size() || request >= plan_.places.size() ||
      plan_.places[request].exchange == nullptr) {
    return fail(Code::argument, "{}: there is no request {}", title(), request);
  }
  const Declared& one = clients_.request(request);
  const exchange::Edge& edge = one.request.edge;
  const auto wrong = [&](Code code, const std::string& text) {
    return fail(code, "{}: {}: {}", title(), exchange::describe(edge, group_.rank()), text);
  };
  if (edge.direction != Direction::out || !has_length(one)) {
    return wrong(Code::argument, "it has no length that this rank gives");
  }
  if (filled_ != one.request.phase) return wrong(Code::state, "a length is set in the fill of its phase only");
  if (bytes > edge.bytes())
    return wrong(Code::limit, fmt::format("room for {}, not for {}", counted(edge.bytes(), "byte"), bytes));
  if (!edge.is_variable && bytes != 0 && bytes != edge.bytes()) {
    return wrong(Code::argument,
                 fmt::format("it is optional, with 0 or {}, not {}", counted(edge.bytes(), "byte"), bytes));
  }
  return plan_.places[request].exchange->set_length(plan_.places[request].edge, bytes);
}

Result<std::uint64_t> CommunicationsManager::length(RequestId request) const {
  if (request >= clients_.requests().size() || clients_.requests()[request] == nullptr) {
    return fail(Code::argument, "{}: there is no request {}", title(), request);
  }
  if (request >= plan_.places.size() || plan_.places[request].exchange == nullptr ||
      !clients_.request(request).request.edge.takes_part(round_))
    return 0;
  return plan_.places[request].exchange->length(plan_.places[request].edge);
}

void CommunicationsManager::give_up(const Status& why) {
  const auto end = [&](const Wave& wave) { static_cast<void>(wave.exchange->give_up(why)); };
  for_each_wave(plan_, end);
  if (next_) for_each_wave(*next_, end);
  for (Plan& plan : retired_) for_each_wave(plan, end);
}

// ---- at any time ----

Counts CommunicationsManager::counts() const {
  Counts all = counts_;
  all.clients = clients_.counts();
  add_traffic(plan_, all.peers);
  for (const Plan& plan : retired_) add_traffic(plan, all.peers);
  return all;
}

Status CommunicationsManager::close_plan(Plan& plan) {
  add_traffic(plan, counts_.peers);
  Status first;
  for_each_wave(plan, [&](Wave& wave) {
    Status closed = wave.exchange->close();
    if (first.ok()) first = std::move(closed);
    if (!wave.exchange->is_idle()) unfinished_.push_back(std::move(wave.exchange));
    wave.exchange.reset();
  });
  plan.phases.clear();
  return first;
}

Status CommunicationsManager::close() {
  Status first;
  const auto end = [&](Plan& plan) {
    Status closed = close_plan(plan);
    if (first.ok()) first = std::move(closed);
  };
  for (Plan& plan : retired_) end(plan);
  retired_.clear();
  end(plan_);
  if (next_) end(*next_);
  next_.reset();
  return first;
}

}  // namespace couplet::coalesce
