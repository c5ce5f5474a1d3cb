#include "channel/handshake_socket.hpp"

#include <algorithm>
#include <array>

#include "os/socket.hpp"

namespace couplet::channel {
namespace {

Status send_output(Handshake& handshake, const HandshakeBytes& bytes) {
  while (!handshake.output().empty()) {
    COUPLET_TRY_VALUE(const auto sent, bytes.send(handshake.output()));
    handshake.sent(sent);
  }
  return {};
}

Status receive_input(Handshake& handshake, const HandshakeBytes& bytes) {
  std::array<std::byte, wire::handshake_most_bytes> memory;
  const auto wanted = std::min(handshake.wanted(), memory.size());
  COUPLET_TRY_VALUE(const auto received, bytes.receive(std::span(memory).first(wanted)));
  static_cast<void>(handshake.input(std::span(memory).first(received)));
  return {};
}

}  // namespace

Status drive_handshake(Handshake& handshake, const os::Descriptor& socket, std::string_view name,
                       const std::function<void(Handshake&)>& decide) {
  const HandshakeBytes bytes{
      .send = [&socket](std::span<const std::byte> out) { return os::send_some(socket, out.data(), out.size()); },
      .receive = [&socket](std::span<std::byte> in) { return os::receive_some(socket, in.data(), in.size()); },
  };
  return drive_handshake(handshake, bytes, name, decide);
}

Status drive_handshake(Handshake& handshake, const HandshakeBytes& bytes, std::string_view name,
                       const std::function<void(Handshake&)>& decide) {
  Status status;
  while (status.ok()) {
    status = send_output(handshake, bytes);
    if (!status.ok() && handshake.state() != HandshakeState::failed) {
      break;
    }
    switch (handshake.state()) {
      case HandshakeState::deciding:
        decide(handshake);
        if (handshake.state() == HandshakeState::deciding) {
          return Code::not_yet;
        }
        break;
      // The peer is told why, as far as it can be.
      case HandshakeState::failed:
        return status.code() == Code::not_yet ? status : handshake.failure();
      case HandshakeState::done:
        return {};
      case HandshakeState::talking:
        status = receive_input(handshake, bytes);
        break;
    }
  }
  if (status.code() == Code::end) {
    return fail(Code::peer_lost, "{} has closed the connection during the handshake", name);
  }
  return status.error() ? status.within(name) : std::move(status);
}

}  // namespace couplet::channel
