#include "universe/control_connection.hpp"

#include <poll.h>

#include "channel/handshake_socket.hpp"

namespace couplet::universe {
namespace {

constexpr int frames_per_poll = 64;

}  // namespace

ControlConnection::ControlConnection(os::Descriptor socket, const os::Endpoint& target, channel::Handshake handshake,
                                     std::string name, const LaneMaker& make_lane, State state)
    : state_(state),
      socket_(std::move(socket)),
      target_(target),
      handshake_(std::move(handshake)),
      name_(std::move(name)),
      make_lane_(make_lane),
      first_wanted_(handshake_.wanted()) {
  handlers_[static_cast<std::size_t>(wire::FrameFamily::control)] = this;
}

std::unique_ptr<ControlConnection> ControlConnection::initiate(os::Descriptor socket, const os::Endpoint& target,
                                                               const channel::Secret& secret,
                                                               const channel::HandshakeSelf& self, std::string name,
                                                               const LaneMaker& make_lane) {
  auto handshake = channel::Handshake::initiate(secret, self, {}, name);
  return std::unique_ptr<ControlConnection>(new ControlConnection(std::move(socket), target, std::move(handshake),
                                                                  std::move(name), make_lane, State::connecting));
}

std::unique_ptr<ControlConnection> ControlConnection::accept(os::Descriptor socket, const channel::Secret& secret,
                                                             const channel::HandshakeSelf& self, std::string name,
                                                             const LaneMaker& make_lane) {
  auto handshake = channel::Handshake::accept(secret, self, name);
  return std::unique_ptr<ControlConnection>(
      new ControlConnection(std::move(socket), {}, std::move(handshake), std::move(name), make_lane, State::handshake));
}

ControlConnection::~ControlConnection() {
  channel_.reset();  // the channel still refers to frames of queue_
}

int ControlConnection::descriptor() const noexcept {
  if (state_ == State::ended) {
    return -1;
  }
  return channel_ != nullptr && !channel_->lanes().empty() ? channel_->lanes().front()->descriptor() : socket_.number();
}

bool ControlConnection::wants_write() const noexcept {
  switch (state_) {
    case State::connecting:
      return true;
    case State::handshake:
      return !handshake_.output().empty();
    case State::open:
      return !channel_->lanes().empty() && channel_->lanes().front()->want_write();
    case State::ended:
      return false;
  }
  return false;
}

bool ControlConnection::ready() const noexcept {
  return !arrived_.empty() || (state_ == State::open && channel_->ready());
}

int ControlConnection::poll() {
  int work = 0;
  if (state_ == State::connecting) {
    work += poll_connecting();
  }
  if (state_ == State::handshake) {
    work += poll_handshake();
  }
  if (state_ == State::open) {
    work += channel_->poll(full() ? 0 : frames_per_poll);
  }
  return work;
}

int ControlConnection::poll_connecting() {
  const auto status = os::connect_result(socket_, target_);
  if (status.code() == Code::not_yet) {
    return 0;
  }
  if (status.ok()) {
    if (const auto local = os::local_endpoint(socket_); local.ok()) {
      local_ = *local;
    }
    state_ = State::handshake;
  } else {
    fail(status);
  }
  return 1;
}

int ControlConnection::poll_handshake() {
  const auto status = channel::drive_handshake(handshake_, socket_, name_, [](channel::Handshake& handshake) {
    const auto role = handshake.peer().role;
    if (role == wire::Role::rank || role == wire::Role::relay) {
      handshake.accept_peer();
    } else {
      handshake.refuse({Code::unsupported, "the hub accepts only ranks and relays"});
    }
  });
  if (status.code() == Code::not_yet) {
    return 0;
  }
  if (status.ok()) {
    open_channel();
  } else {
    fail(status);
  }
  return 1;
}

void ControlConnection::open_channel() {
  auto lane = make_lane_(std::move(socket_), handshake_.peer(), control_payload_bytes);
  if (!lane.ok()) {
    fail(lane.status());
    return;
  }
  channel_ = std::make_unique<channel::Channel>(handshake_.peer().id, name_, handlers_);
  channel_->attach(std::move(*lane));
  state_ = State::open;
  for (auto queued = queue_.begin(); queued != queue_.end();) {
    auto& outgoing = (queued++)->outgoing;  // sending may remove it from the queue
    channel_->send(outgoing);
  }
}

std::optional<ControlConnection::Arrived> ControlConnection::take() {
  if (arrived_.empty()) {
    return std::nullopt;
  }
  auto first = std::move(arrived_.front());
  arrived_.pop_front();
  arrived_bytes_ -= first.payload.size();
  return first;
}

void ControlConnection::send(ControlKind kind, std::shared_ptr<const std::string> payload) {
  if (state_ == State::ended) {
    return;
  }
  queued_bytes_ += payload->size();
  if (queued_bytes_ > most_queued_bytes) {
    fail({Code::limit, fmt::format("{} does not read: {} bytes are waiting for it", name_, queued_bytes_)});
    return;
  }
  auto& queued = queue_.emplace_back();
  queued.place = std::prev(queue_.end());
  queued.connection = this;
  queued.payload = std::move(payload);
  queued.outgoing.header.kind = wire::frame_kind(wire::FrameFamily::control, kind);
  queued.outgoing.payload = std::as_bytes(std::span(*queued.payload));
  queued.outgoing.finished = &ControlConnection::sent;
  queued.outgoing.owner = &queued;
  if (state_ == State::open) {
    channel_->send(queued.outgoing);
  }
}

void ControlConnection::sent(channel::Outgoing& outgoing, const Status& /*status*/) {
  auto* const queued = static_cast<Queued*>(outgoing.owner);
  auto* const connection = queued->connection;
  connection->queued_bytes_ -= queued->payload->size();
  connection->queue_.erase(queued->place);
}

bool ControlConnection::unanswered() const noexcept {
  return state_ == State::open && (sending() || os::unanswered_bytes(descriptor()) > 0);
}

void ControlConnection::shut() noexcept {
  if (state_ == State::open) {
    channel_->shut();
  } else {
    fail({Code::end, "it was closed"});
  }
}

void ControlConnection::fail(const Status& why) {
  if (state_ == State::ended) {
    return;
  }
  failure_ = why;
  if (channel_ != nullptr) {
    channel_->fail(why);  // the next poll ends the connection; the other side may be told first
    channel_->poll(0);
  }
  state_ = State::ended;
  socket_.close();
}

std::byte* ControlConnection::place(channel::Channel& /*channel*/, const wire::FrameHeader& /*header*/) {
  return nullptr;
}

Status ControlConnection::arrived(channel::Channel& /*channel*/, const wire::FrameHeader& header,
                                  std::span<const std::byte> payload) {
  const auto kind = static_cast<std::uint8_t>(header.kind & 0x0FU);
  if (kind != control_message) {
    return couplet::fail(Code::protocol, "control frame of kind {}, which does not exist", kind);
  }
  if (payload.size() > max_message_bytes) {
    return couplet::fail(Code::limit, "a control message of {} bytes, at most {} are allowed", payload.size(),
                         max_message_bytes);
  }
  arrived_bytes_ += payload.size();
  arrived_.push_back({kind, std::string(reinterpret_cast<const char*>(payload.data()), payload.size())});
  return {};
}

void ControlConnection::lost(channel::Channel& /*channel*/, const Status& why) {
  if (state_ == State::ended) {
    return;
  }
  failure_ = why;
  state_ = State::ended;
}

bool has_broken(const ControlConnection& connection) noexcept {
  pollfd socket{.fd = connection.descriptor(), .events = 0, .revents = 0};
  return connection.state() == ControlConnection::State::ended ||
         (::poll(&socket, 1, 0) > 0 && (socket.revents & (POLLERR | POLLHUP)) != 0);
}

bool has_unheard(const ControlConnection& connection) noexcept {
  pollfd socket{.fd = connection.descriptor(), .events = POLLIN, .revents = 0};
  return connection.ready() || connection.state() == ControlConnection::State::ended || ::poll(&socket, 1, 0) > 0;
}

}  // namespace couplet::universe
