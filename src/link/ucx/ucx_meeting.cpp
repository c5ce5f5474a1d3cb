#include "link/ucx/ucx_meeting.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "link/ucx/ucx_lane.hpp"
#include "os/socket.hpp"

namespace couplet::link {

Result<std::unique_ptr<UcxMeeting>> UcxMeeting::open(std::shared_ptr<UcxWorker> worker, os::Descriptor socket,
                                                     const std::optional<SessionKeys>& keys) {
  auto connection = std::make_unique<UcxConnection>();
  connection->worker = std::move(worker);
  connection->socket = std::move(socket);
  COUPLET_TRY_VALUE(connection->inbox, UcxInbox::open(connection->worker));
  return std::unique_ptr<UcxMeeting>(new UcxMeeting(std::move(connection), keys));
}

UcxMeeting::UcxMeeting(std::unique_ptr<UcxConnection> connection, const std::optional<SessionKeys>& keys)
    : connection_(std::move(connection)), keys_(keys) {
  output_ = wire::encode_ucx_introduction(connection_->worker->core().introduction(connection_->inbox->token()));
}

UcxMeeting::~UcxMeeting() {
  if (connection_ != nullptr && connection_->endpoint != nullptr && connection_->worker->mine()) {
    connection_->endpoint->release();
  }
}

int UcxMeeting::descriptor() const noexcept {
  return connection_->socket.number();
}

Status UcxMeeting::send() {
  while (!output_.empty()) {
    COUPLET_TRY_VALUE(const std::size_t sent, os::send_some(connection_->socket, output_.data(), output_.size()));
    output_.erase(0, sent);
  }
  return {};
}

// Receives into input_ until it has one whole item, and nothing beyond.
Status UcxMeeting::receive(Result<std::size_t> (*length_of)(std::string_view)) {
  std::array<char, 4096> part;
  while (true) {
    COUPLET_TRY_VALUE(const std::size_t known, length_of(input_));
    if (known != 0 && input_.size() >= known) {
      return {};
    }
    // The smallest item has as many bytes as the head of a verdict, and each length is known from the first 20 bytes.
    const std::size_t smallest =
        state_ == State::introducing ? wire::ucx_introduction_head_bytes : wire::ucx_verdict_head_bytes;
    const std::size_t wanted = std::min((known == 0 ? smallest : known) - input_.size(), part.size());
    const auto received = os::receive_some(connection_->socket, part.data(), wanted);
    if (received.code() == Code::end) {
      return fail(Code::peer_lost, "ucx: the peer has closed the connection while it was made");
    }
    COUPLET_TRY(received.status());
    input_.append(part.data(), *received);
  }
}

Status UcxMeeting::introduce() {
  COUPLET_TRY(receive(&wire::ucx_introduction_bytes));
  COUPLET_TRY_VALUE(const auto introduction, wire::decode_ucx_introduction(input_));
  input_.clear();
  connection_->peer_token = introduction.token;
  COUPLET_TRY_VALUE(connection_->endpoint, connection_->worker->core().connect(introduction));
  auto block = connection_->worker->core().take_block(0);
  block->head =
      wire::encode_ucx_head({.kind = wire::UcxKind::hello, .token = connection_->peer_token, .number = 0, .bytes = 0});
  connection_->endpoint->greet(std::move(block));
  state_ = State::greeting;
  return {};
}

Status UcxMeeting::greet() {
  connection_->worker->progress();
  // As long as UCX connects the endpoint, it would keep back what is sent until this process calls it again.
  const bool is_connected = !connection_->endpoint->holds_messages();
  if (connection_->inbox->is_greeted() && is_connected && !std::exchange(has_said_reached_, true)) {
    output_ += wire::encode_ucx_verdict({.is_reached = true, .why = {}});
  }
  COUPLET_TRY(connection_->endpoint->failure());
  const Status sent = send();
  COUPLET_TRY(receive(&wire::ucx_verdict_bytes));
  COUPLET_TRY_VALUE(const auto verdict, wire::decode_ucx_verdict(input_));
  if (!verdict.is_reached) {
    return fail(Code::unsupported, "the peer says: {}", verdict.why);
  }
  return has_said_reached_ && output_.empty() ? sent : Status(Code::not_yet);
}

Status UcxMeeting::poll() {
  if (state_ == State::introducing) {
    if (Status sent = send(); sent.error()) {
      return sent;
    }
    COUPLET_TRY(introduce());
  }
  if (state_ == State::greeting) {
    COUPLET_TRY(greet());
    state_ = State::done;
  }
  return {};
}

Result<std::unique_ptr<Lane>> UcxMeeting::lane() {
  auto lane = make_ucx_lane(std::move(*connection_), keys_);
  connection_.reset();
  return lane;
}

// The verdict follows what waits to be sent, which is short.
void UcxMeeting::give_up(const Status& why) noexcept {
  if (connection_ == nullptr || has_said_reached_) {
    return;
  }
  try {
    output_ += wire::encode_ucx_verdict({.is_reached = false, .why = why.text()});
    static_cast<void>(send());
  } catch (const std::bad_alloc&) {
    return;  // the peer sees the end of the connection
  }
}

}  // namespace couplet::link
