#include "universe/hub/hub_server.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include "os/clock.hpp"
#include "os/directory.hpp"
#include "os/error.hpp"
#include "os/host.hpp"
#include "universe/features.hpp"

namespace couplet::universe {
namespace {

constexpr int listen_backlog = 1024;
constexpr int messages_per_turn = 64;  // of one connection
constexpr std::uint64_t last_words_ns = 2'000'000'000;
constexpr std::uint64_t tick_ns = 100'000'000;
// What is neither a connection nor a caller, in by_descriptor_.
constexpr ConnectionId stop_wish = 0;
constexpr ConnectionId lifeline = UINT32_MAX;

std::string why_gone(const Status& failure) {
  switch (failure.code()) {
    case Code::end:
      return "it closed its connection to the hub without leaving";
    case Code::peer_lost:
      return "its connection to the hub broke (its process or host has died)";
    default:
      return failure.text();
  }
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

HubServer::HubServer(HubServerOptions options, os::Descriptor listener, const os::Endpoint& endpoint)
    : options_(std::move(options)), run_id_(options_.hub.run_id), listener_(std::move(listener)), endpoint_(endpoint) {}

HubServer::~HubServer() = default;

Result<std::unique_ptr<HubServer>> HubServer::open(HubServerOptions options) {
  COUPLET_TRY(check_programs(options.hub.programs));
  while (options.hub.run_id == 0) {
    COUPLET_TRY_VALUE(options.hub.run_id, os::random_bits());
  }
  options.hub.settings["encrypt"] = options.encrypt ? "true" : "false";
  COUPLET_TRY_VALUE(const auto wanted, os::resolve(options.listen));
  COUPLET_TRY_VALUE(auto listener, os::listen_tcp(wanted, listen_backlog));
  COUPLET_TRY_VALUE(const auto endpoint, os::local_endpoint(listener));
  auto server = std::unique_ptr<HubServer>(new HubServer(std::move(options), std::move(listener), endpoint));
  COUPLET_TRY(server->open_events());
  COUPLET_TRY_VALUE(server->directory_,
                    NodeDirectory::enter(server->options_.run_directory, server->run_id_, server->options_.node_name));
  const auto bell = os::bell_path(server->directory_->path(), channel::hub_peer);
  COUPLET_TRY(os::remove_file(bell));
  COUPLET_TRY_VALUE(server->doorbell_, os::Doorbell::open(bell, server->flag_));
  COUPLET_TRY(server->doorbell_->watch(server->listener_.number(), false));
  server->listening_ = true;
  server->state_ = std::make_unique<HubState>(server->options_.hub);
  return server;
}

Status HubServer::open_events() {
  if (options_.events.empty()) {
    return {};
  }
  events_ = os::Descriptor(::open(options_.events.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!events_) {
    return os::system_failure(errno, fmt::format("cannot open {} for events", options_.events));
  }
  return {};
}

Status HubServer::run(int stop_descriptor) {
  if (stop_descriptor >= 0) {
    COUPLET_TRY(doorbell_->watch(stop_descriptor, false));
  }
  by_descriptor_[stop_descriptor] = stop_wish;
  while (turn(tick_ns)) {
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
  std::array<int, 64> descriptors{};
  const auto count =
      doorbell_->sleep_for(busy_.empty() ? timeout_ns : 0, descriptors.data(), static_cast<int>(descriptors.size()));
  const auto now = os::now_ns();
  std::set<ConnectionId> due = std::exchange(busy_, {});
  bool called = false;
  for (int index = 0; index < count; ++index) {
    const auto found = by_descriptor_.find(descriptors[static_cast<std::size_t>(index)]);
    if (found == by_descriptor_.end()) {
      called = true;
    } else if (found->second == stop_wish) {
      doorbell_->unwatch(found->first);
      stop("the hub was told to end");
    } else if (found->second == lifeline) {
      doorbell_->unwatch(found->first);
      orphaned_ = true;
    } else {
      due.insert(found->second);
    }
  }
  for (const auto id : due) {
    serve(id, now);
  }
  if (called) {
    accept_all(now);  // after those who have ended: a number of theirs may be used again
  }
  if (orphaned_ && clients_.empty()) {
    stop("who started the hub is gone, and nobody is left");
  }
  state_->tick(now);
  speak(now);
  look_at_time(now);
  write_events();
  if (!state_->over()) {
    return true;
  }
  if (over_since_ns_ == 0) {
    over_since_ns_ = now;
  }
  return !clients_.empty() && now < over_since_ns_ + last_words_ns;
}

void HubServer::accept_all(std::uint64_t now_ns) {
  while (unproven_ < most_unproven && !state_->over()) {
    auto socket = os::accept_tcp(listener_);
    if (!socket.ok()) {
      if (socket.code() != Code::not_yet) {  // most likely the limit of open files
        if (deaf_until_ns_ == 0 && options_.note) {
          options_.note(socket.status().text());
        }
        deaf_until_ns_ = now_ns + tick_ns;
      }
      break;
    }
    const auto from = os::peer_endpoint(*socket);
    channel::HandshakeSelf self;
    self.role = wire::Role::hub;
    self.id = channel::hub_peer;
    self.run_id = run_id_;
    self.features = handshake_features(options_.encrypt);
    const auto id = next_id_++;
    auto& client = clients_[id];
    client.connection = ControlConnection::accept(
        std::move(*socket), options_.secret, self,
        fmt::format("the connection from {}", from.ok() ? os::endpoint_text(*from) : std::string("somewhere")),
        options_.make_lane);
    client.deadline_ns = now_ns + unproven_ns;
    ++unproven_;
    watch(id, client);
    serve(id, now_ns);
  }
}

void HubServer::watch(ConnectionId id, Client& client) {
  const int descriptor = client.connection->descriptor();
  const bool write = client.connection->wants_write();
  if (descriptor == client.descriptor && write == client.watched_write) {
    return;
  }
  if (descriptor != client.descriptor) {
    by_descriptor_.erase(client.descriptor);
  }
  if (descriptor >= 0) {
    static_cast<void>(doorbell_->watch(descriptor, write));
    by_descriptor_[descriptor] = id;
  }
  client.descriptor = descriptor;
  client.watched_write = write;
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
    --unproven_;
    state_->connected(id, now_ns);
  }
  hear(id, client, now_ns);
  if (connection.state() == ControlConnection::State::ended) {
    drop(id, why_gone(connection.failure()), now_ns);
    return;
  }
  if (connection.ready()) {
    busy_.insert(id);
  }
  watch(id, client);
}

void HubServer::hear(ConnectionId id, Client& client, std::uint64_t now_ns) {
  for (int count = 0; count < messages_per_turn; ++count) {
    const auto arrived = client.connection->take();
    if (!arrived) {
      return;
    }
    auto message = arrived->kind == control_json
                       ? decode_member_message(arrived->payload)
                       : Result<MemberMessage>(fail(Code::protocol, "a table of peers goes from the hub to members"));
    if (message.ok()) {
      state_->received(id, *message, now_ns);
    } else {
      state_->broken(id, message.status(), now_ns);
    }
  }
}

void HubServer::drop(ConnectionId id, const std::string& why, std::uint64_t now_ns) {
  const auto found = clients_.find(id);
  if (found->second.proven) {
    state_->disconnected(id, why, now_ns);
  } else {
    --unproven_;
  }
  by_descriptor_.erase(found->second.descriptor);
  if (found->second.descriptor >= 0) {
    doorbell_->unwatch(found->second.descriptor);
  }
  clients_.erase(found);
  busy_.erase(id);
}

void HubServer::speak(std::uint64_t now_ns) {
  for (auto& output : state_->take_outputs()) {
    const auto found = clients_.find(output.to);
    if (found == clients_.end() || found->second.shut) {
      continue;
    }
    auto& client = found->second;
    client.connection->send(output.kind, std::move(output.payload));
    if (output.last) {
      client.shut = true;
      client.deadline_ns = now_ns + last_words_ns;
      client.connection->shut();
    }
    busy_.insert(output.to);  // looked at in the next turn: it may have to be watched or dropped
  }
}

void HubServer::look_at_time(std::uint64_t now_ns) {
  std::vector<ConnectionId> late;
  for (const auto& [id, client] : clients_) {
    if ((!client.proven || client.shut) && now_ns >= client.deadline_ns) {
      late.push_back(id);
    }
  }
  for (const auto id : late) {
    drop(id, "it was silent for too long", now_ns);
  }
  listen(unproven_ < most_unproven && !state_->over() && now_ns >= deaf_until_ns_);
}

// Callers that cannot be taken now do not keep the hub awake.
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

void HubServer::write_events() {
  for (const auto& event : state_->take_events()) {
    if (!events_) {
      continue;
    }
    const auto line = event_json(event, seconds_since_1970()) + "\n";
    static_cast<void>(!::write(events_.number(), line.data(), line.size()));  // a full disk does not end the universe
  }
}

}  // namespace couplet::universe
