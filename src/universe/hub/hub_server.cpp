#include "universe/hub/hub_server.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "os/clock.hpp"
#include "os/directory.hpp"
#include "os/error.hpp"
#include "os/host.hpp"
#include "os/reset.hpp"
#include "universe/features.hpp"
#include "universe/node_marks.hpp"

namespace couplet::universe {
namespace {

constexpr int listen_backlog = 4096;   // the system may allow fewer
constexpr int messages_per_turn = 64;  // for one connection
constexpr int callers_per_turn = 256;
constexpr std::uint64_t last_words_ns = 2'000'000'000;
constexpr std::uint64_t tick_ns = 100'000'000;
constexpr std::uint64_t find_out_ns = 4'000'000'000;  // for which it goes on to find out whether members have ended
constexpr std::uint64_t max_lock_wait_ns = 60'000'000'000;  // the longest wait for the lock of the run directory
constexpr std::uint64_t silence_look_ns = 250'000'000;
// The id that stop_descriptor has in by_descriptor_. No connection or caller has it.
constexpr ConnectionId stop_request = 0;
constexpr ConnectionId lifeline = UINT32_MAX;

std::string why_gone(const Status& failure) {
  if (os::says_reset(failure)) {
    return "its connection to the hub was reset, and it has not come back";
  }
  if (os::says_silent(failure)) {
    return "its host does not answer the hub (it may be down, or cut off), and it has not come back";
  }
  switch (failure.code()) {
    case Code::end:
      return "it closed its connection to the hub without leaving";
    case Code::peer_lost:
      return "its connection to the hub broke (its process or host has died)";
    default:
      return failure.text();
  }
}

// Takes the settings of the universe that bound the hub.
Status take_bounds(HubSettings& hub) {
  const auto take = [&](const char* key, auto& bound) -> Status {
    const auto text = setting_value(hub.settings, key);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bound);
    if (!text.empty() && (error != std::errc() || end != text.data() + text.size() || bound < 0)) {
      return fail(Code::config, "setting '{}' is '{}', expected a number not less than 0", key, text);
    }
    return {};
  };
  COUPLET_TRY(take("hub.max_told_contacts", hub.max_told_contacts));
  COUPLET_TRY(take("hub.rejoin_grace_s", hub.rejoin_grace_s));
  COUPLET_TRY(take("hub.reset_patience_s", hub.reset_patience_s));
  COUPLET_TRY(take("connection_patience_s", hub.connection_patience_s));
  return take("hub.rejoin_patience_s", hub.rejoin_patience_s);
}

// Returns the bounds for connections that have not proven the secret. They leave enough descriptors for members.
channel::UnprovenLimits unproven_limits() {
  constexpr std::size_t share = 4;
  return {.max_callers = std::clamp<std::size_t>(os::descriptor_limit() / share, 1, max_unproven)};
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Chooses the key. A hub that is started again has the key of the hub before it, by which the members know it.
Result<std::unique_ptr<HubHome>> prepare_home(HubServerOptions& options) {
  COUPLET_TRY_VALUE(auto home, HubHome::prepare({.run_directory = options.run_directory,
                                                 .node_name = options.node_name,
                                                 .key_file = options.key_file,
                                                 .resumed_run = options.hub.restarted ? options.hub.run_id : 0,
                                                 .programs = options.hub.programs}));
  options.hub.run_id = home->key().run_id();
  options.hub.sign = [key = home->key()](channel::PeerId peer, std::uint16_t incarnation,
                                         const channel::PublicKey& member) {
    return key.sign(peer, incarnation, member);
  };
  options.credentials = home->key().credentials();
  return home;
}

}  // namespace

HubServer::HubServer(HubServerOptions options, os::Descriptor listener, const os::Endpoint& endpoint)
    : options_(std::move(options)),
      run_id_(options_.hub.run_id),
      listener_(std::move(listener)),
      endpoint_(endpoint),
      unproven_(unproven_limits()) {}

HubServer::~HubServer() {
  if (state_ != nullptr && state_->over() && !state_->may_be_missed()) {
    home_->end();
  }
}

Result<std::unique_ptr<HubServer>> HubServer::open(HubServerOptions options) {
  COUPLET_TRY(check_programs(options.hub.programs));
  COUPLET_TRY(take_bounds(options.hub));
  COUPLET_TRY_VALUE(auto home, prepare_home(options));
  options.hub.settings["encrypt"] = options.protection == channel::Protection::encrypted ? "true" : "false";
  options.hub.settings["authenticate"] = options.protection == channel::Protection::authenticated ? "true" : "false";
  COUPLET_TRY_VALUE(const auto wanted, os::resolve(options.listen));
  COUPLET_TRY_VALUE(auto listener, os::listen_tcp(wanted, listen_backlog));
  COUPLET_TRY_VALUE(const auto endpoint, os::local_endpoint(listener));
  auto server = std::unique_ptr<HubServer>(new HubServer(std::move(options), std::move(listener), endpoint));
  server->home_ = std::move(home);
  COUPLET_TRY(server->events_.open(server->options_.events));
  COUPLET_TRY(server->home_->enter({os::now_ns() + max_lock_wait_ns}));
  if (!server->home_->is_locked() && server->options_.note) {
    server->options_.note("the file with the key of this hub cannot be locked: a second hub of the run is not noticed");
  }
  const auto& directory = server->home_->directory();
  const auto bell = os::bell_path(directory, channel::hub_peer);
  COUPLET_TRY(os::remove_file(bell));
  COUPLET_TRY_VALUE(server->doorbell_, os::Doorbell::open(bell, server->flag_));
  COUPLET_TRY(server->doorbell_->watch(server->listener_.number(), false));
  server->listening_ = true;
  server->options_.hub.has_unheard = [clients = &server->clients_](ConnectionId id) {
    const auto found = clients->find(id);
    return found != clients->end() && has_unheard(*found->second.connection);
  };
  if (server->options_.hub.restarted) {
    server->options_.hub.first_epoch = begin_epoch(directory);
  }
  server->roster_.open(directory, server->options_.hub.restarted);
  server->options_.hub.earlier = server->roster_.earlier();
  server->state_ = std::make_unique<HubState>(server->options_.hub);
  return server;
}

Status HubServer::run(int stop_descriptor) {
  if (stop_descriptor >= 0) {
    COUPLET_TRY(doorbell_->watch(stop_descriptor, false));
  }
  by_descriptor_[stop_descriptor] = stop_request;
  while (turn(tick_ns)) {
  }
  if (state_->may_be_missed() && options_.note) {
    options_.note(
        fmt::format("members may live that have not been told that the hub has ended: its key is kept, and "
                    "--resume {:016x} starts a hub that takes them back",
                    run_id_));
  }
  return {};
}

Status HubServer::end_with(int descriptor) {
  COUPLET_TRY(doorbell_->watch(descriptor, false));
  by_descriptor_[descriptor] = lifeline;
  return {};
}

void HubServer::stop(const std::string& why) {
  state_->stop(why);
}

bool HubServer::turn(std::uint64_t timeout_ns) {
  home_->serve(endpoint_);
  std::array<int, 64> descriptors{};
  const auto before = schedule_.clock.now_ns(os::now_ns());
  const auto due = state_->due_ns();
  const auto sleep = !busy_.empty() ? 0 : std::min(timeout_ns, due > before ? due - before : 0);
  const auto count = doorbell_->sleep_for(sleep, descriptors.data(), static_cast<int>(descriptors.size()));
  const auto now = schedule_.clock.now_ns(os::now_ns());
  std::set<ConnectionId> served = std::exchange(busy_, {});
  bool called = false;
  for (int index = 0; index < count; ++index) {
    const auto found = by_descriptor_.find(descriptors[static_cast<std::size_t>(index)]);
    if (found == by_descriptor_.end()) {
      called = true;
    } else if (found->second == stop_request) {
      doorbell_->unwatch(found->first);
      schedule_.stop_due_ns = now + find_out_ns;
    } else if (found->second == lifeline) {
      doorbell_->unwatch(found->first);
      orphaned_ = true;
    } else {
      served.insert(found->second);
    }
  }
  for (const auto id : served) {
    serve(id, now);
  }
  if (called) {
    accept_callers(now);  // after ended ones are closed, since their descriptors' numbers may be used again
  }
  if (orphaned_ && clients_.empty()) {
    stop("who started the hub is gone, and nobody is left");
  }
  if (now >= schedule_.next_tick_ns) {
    schedule_.next_tick_ns = now + tick_ns;
    look_at_locks(now);
    call_cut_off(now);
    roster_.tick();
    state_->tick(now);
  }
  // A member whose connection has just broken may have ended. If that can be found out, the key is not needed any more.
  if (schedule_.stop_due_ns != 0 && (state_->awaited_count() == 0 || now >= schedule_.stop_due_ns)) {
    stop("the hub was told to end");
  }
  state_->flush(now);
  write_events();  // before members are told: they know nothing that the roster does not say
  speak(now);
  look_at_time(now);
  if (!state_->over()) {
    return true;
  }
  if (schedule_.over_since_ns == 0) {
    schedule_.over_since_ns = now;
  }
  return !clients_.empty() && now < schedule_.over_since_ns + last_words_ns;
}

void HubServer::accept_callers(std::uint64_t now_ns) {
  for (int count = 0; count < callers_per_turn && unproven_.has_room(now_ns) && !state_->over(); ++count) {
    auto socket = os::accept_tcp(listener_, {.buffer_bytes = control_socket_bytes});
    if (socket.ok()) {
      accept_caller(std::move(*socket), now_ns);
      continue;
    }
    if (socket.code() != Code::not_yet) {
      out_of_descriptors(socket.status(), now_ns);
    }
    return;
  }
}

void HubServer::accept_caller(os::Descriptor socket, std::uint64_t now_ns) {
  const auto from = os::peer_endpoint(socket);
  channel::HandshakeSelf self;
  self.role = wire::Role::hub;
  self.id = channel::hub_peer;
  self.run_id = run_id_;
  self.features = handshake_features(options_.protection);
  self.credentials = options_.credentials;
  const auto id = next_id_++;
  const auto displaced = unproven_.admit(id, from.ok() ? from->address : os::Endpoint{}.address, now_ns);
  if (displaced) {
    drop(static_cast<ConnectionId>(*displaced), "its place was needed", now_ns);
  }
  auto& client = clients_[id];
  client.connection = ControlConnection::accept(
      std::move(socket), options_.secret, self,
      fmt::format("the connection from {}", from.ok() ? os::endpoint_text(*from) : std::string("somewhere")),
      options_.make_lane);
  watch(id, client);
  serve(id, now_ns);
}

// Most likely the limit of open files is reached. A caller that has not proven the secret is closed. If there is none,
// the hub accepts no caller for a moment.
void HubServer::out_of_descriptors(const Status& why, std::uint64_t now_ns) {
  if (!std::exchange(noted_no_descriptor_, true) && options_.note) {
    options_.note(why.text());
  }
  if (const auto victim = unproven_.victim()) {
    drop(static_cast<ConnectionId>(*victim), "its descriptor was needed", now_ns);
  } else {
    deaf_until_ns_ = now_ns + tick_ns;
  }
}

void HubServer::watch(ConnectionId id, Client& client) {
  // The messages of a client that does not read its answers wait in its socket until it has read some.
  const bool deaf = held_back(client) && client.connection->full();
  const Watch wanted{client.connection->descriptor(), !deaf, deaf || client.connection->wants_write()};
  const Watch before = std::exchange(client.watch, wanted);
  if (wanted == before) {
    return;
  }
  if (wanted.descriptor != before.descriptor) {
    by_descriptor_.erase(before.descriptor);  // the descriptor is closed
  }
  if (wanted.descriptor >= 0) {
    static_cast<void>(wanted.reading ? doorbell_->watch(wanted.descriptor, wanted.writing)
                                     : doorbell_->watch_writing(wanted.descriptor));
    by_descriptor_[wanted.descriptor] = id;
  }
}

void HubServer::serve(ConnectionId id, std::uint64_t now_ns) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) {
    return;
  }
  auto& client = found->second;
  auto& connection = *client.connection;
  connection.poll();
  if (!client.proven && connection.state() == ControlConnection::State::open) {
    client.proven = true;
    unproven_.remove(id);
    const auto& caller = connection.peer();
    state_->connected(id, now_ns, {caller.id, caller.incarnation, caller.key});
  } else if (!client.proven && connection.spoke()) {
    unproven_.spoke(id);
  }
  hear(id, client, now_ns);
  if (connection.state() == ControlConnection::State::ended) {
    const bool reset = os::says_reset(connection.failure());
    const bool silent = os::says_silent(connection.failure());
    drop(id, why_gone(connection.failure()), now_ns, reset || silent);
    return;
  }
  if (client.behind && !connection.sending()) {
    client.behind = false;
    state_->caught_up(id);
  }
  if (connection.ready() && !held_back(client)) {
    busy_.insert(id);
  }
  watch(id, client);
}

// The client does not read what it is sent, so nothing further is read from it, unless it has ended: what it has sent
// before is heard then, as is its end.
bool HubServer::held_back(const Client& client) const noexcept {
  return client.connection->queued_bytes() > options_.max_behind_bytes && !has_broken(*client.connection);
}

void HubServer::hear(ConnectionId id, Client& client, std::uint64_t now_ns) {
  for (int count = 0; count < messages_per_turn && !held_back(client); ++count) {
    const auto arrived = client.connection->take();
    if (!arrived) {
      return;
    }
    const auto message = decode_member_message(arrived->payload);
    if (message.ok()) {
      state_->received(id, *message, now_ns);
    } else {
      state_->broken(id, message.status(), now_ns);
    }
  }
}

void HubServer::drop(ConnectionId id, const std::string& why, std::uint64_t now_ns, bool may_return) {
  const auto found = clients_.find(id);
  if (found->second.proven && may_return) {
    state_->cut_off(id, why, now_ns);
    schedule_.next_lock_look_ns = now_ns;
  } else if (found->second.proven) {
    state_->disconnected(id, why, now_ns);
  }
  unproven_.remove(id);
  by_descriptor_.erase(found->second.watch.descriptor);
  if (found->second.watch.descriptor >= 0) {
    doorbell_->unwatch(found->second.watch.descriptor);
  }
  clients_.erase(found);
  busy_.erase(id);
  shut_.erase(id);
  unanswered_.erase(id);
}

void HubServer::speak(std::uint64_t now_ns) {
  for (auto& output : state_->take_outputs()) {
    const auto found = clients_.find(output.to);
    if (found == clients_.end() || found->second.shut) {
      continue;
    }
    auto& client = found->second;
    client.connection->send(control_message, std::move(output.payload));
    unanswered_.insert(output.to);
    if (!client.behind && held_back(client)) {
      client.behind = true;
      times_behind_.fetch_add(1, std::memory_order_relaxed);
      state_->fell_behind(output.to);
    }
    if (output.last) {
      client.shut = true;
      shut_.insert(output.to);
      client.deadline_ns = now_ns + last_words_ns;
      client.connection->shut();
    }
    busy_.insert(output.to);  // polled in the next turn, since it may have to be watched or dropped
  }
}

void HubServer::look_at_time(std::uint64_t now_ns) {
  drop_late(now_ns);
  if (now_ns >= schedule_.next_silence_look_ns) {
    schedule_.next_silence_look_ns = now_ns + silence_look_ns;
    look_for_silence(now_ns);
  }
  listen(unproven_.has_room(now_ns) && !state_->over() && now_ns >= deaf_until_ns_);
}

void HubServer::drop_late(std::uint64_t now_ns) {
  std::vector<ConnectionId> late;
  for (const auto id : shut_) {
    if (now_ns >= clients_.at(id).deadline_ns) {
      late.push_back(id);
    }
  }
  for (const auto id : late) {
    drop(id, "it was silent for too long", now_ns);
  }
  while (const auto oldest = unproven_.oldest()) {
    if (now_ns < unproven_.oldest_since_ns() + max_unproven_ns) {
      break;
    }
    drop(static_cast<ConnectionId>(*oldest), "it has not proven the secret", now_ns);
  }
}

// A member that is stopped reads nothing for as long as it likes, but its system answers. While data is on its way,
// only a system call on the connection finds out that the system is gone; otherwise keepalive finds it out.
void HubServer::look_for_silence(std::uint64_t now_ns) {
  const auto looked_at = std::vector<ConnectionId>(unanswered_.begin(), unanswered_.end());
  for (const auto id : looked_at) {
    const auto found = clients_.find(id);
    if (found == clients_.end() || !found->second.connection->unanswered()) {
      unanswered_.erase(id);
    } else {
      serve(id, now_ns);
    }
  }
}

// Switches the watch of the port. Callers that cannot be accepted now do not keep the hub awake.
void HubServer::listen(bool wanted) {
  if (wanted == listening_) {
    return;
  }
  listening_ = wanted;
  if (wanted) {
    static_cast<void>(doorbell_->watch(listener_.number(), false));
  } else {
    doorbell_->unwatch(listener_.number());
  }
}

// After a restart: checks the locks of the processes on this node that have not come back yet.
void HubServer::look_at_locks(std::uint64_t now_ns) {
  if (state_->awaited_count() == 0 || now_ns < schedule_.next_lock_look_ns) {
    return;
  }
  schedule_.next_lock_look_ns = now_ns + look_every_ns / 2;
  for (const auto& run : seen_on_node(home_->directory(), state_->awaited())) {
    state_->seen(run, "its process has ended without leaving", now_ns);
  }
}

void HubServer::call_cut_off(std::uint64_t now_ns) {
  for (const auto& answer : listener_calls_.call(state_->cut_off())) {
    state_->seen_at_port(answer, now_ns);
  }
}

void HubServer::write_events() {
  for (const auto& event : state_->take_events()) {
    const bool for_roster =
        event.name == "ticket" || event.name == "register" || event.name == "writer" || event.name == "programs";
    if (!for_roster) {
      events_.add(event, seconds_since_1970());
    }
    roster_.add(event);
  }
  events_.flush();
  roster_.flush();
}

}  // namespace couplet::universe
