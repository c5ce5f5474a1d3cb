// tcp: lanes over connected sockets. It turns a socket that has passed the handshake into a lane. Payload goes directly
// from the sender's memory into the socket and, if it is long, from the socket into the receiver's memory. runtime uses
// it.
// Invariants: at most the sealed records of one system call, or the goodbye, are queued; a connection that closes
// without a goodbye is a lost peer.
// docs/formats/tcp.md; tests/unit/link, tests/conformance.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/status.hpp"
#include "link/link.hpp"
#include "link/session_keys.hpp"
#include "os/socket.hpp"

namespace couplet::link {

struct TcpOptions {
  std::uint32_t largest_payload = 1U << 20U;  // for one frame
  std::uint64_t eager_bytes = 64U << 10U;
  std::uint32_t checked_payload_bytes = 4096;  // the check sum covers payloads up to this size
  std::uint32_t stage_bytes = 128U << 10U;     // size received with one system call; at least two records
  // If true, a peer may leave a full socket unread for any time, since it may compute.
  bool unread = true;
};

// Makes a lane of a connected, non-blocking socket. If there are `keys`, it encrypts with them. `early` are bytes that
// were read from the socket after the handshake, at most stage_bytes. Returns limit if the options are out of bounds,
// and unsupported if this build does not have the cipher.
Result<std::unique_ptr<Lane>> make_tcp_lane(os::Descriptor socket, const TcpOptions& options = {},
                                            const std::optional<SessionKeys>& keys = std::nullopt,
                                            std::span<const std::byte> early = {});

// The socket to which others connect.
class TcpListener {
 public:
  // Listens. Port 0 means any free port.
  static Result<std::unique_ptr<TcpListener>> open(const os::Endpoint& endpoint, const os::SocketOptions& options = {});
  TcpListener(const TcpListener&) = delete;
  TcpListener& operator=(const TcpListener&) = delete;

  // Returns the endpoint with the port on which it listens.
  [[nodiscard]] const os::Endpoint& endpoint() const noexcept { return endpoint_; }
  // Returns a descriptor that can be read when a peer has connected.
  [[nodiscard]] int descriptor() const noexcept { return socket_.number(); }
  // Returns the socket of the next peer, or not_yet if no peer has connected.
  Result<os::Descriptor> accept() { return os::accept_tcp(socket_, options_); }

 private:
  TcpListener(os::Descriptor socket, const os::Endpoint& endpoint, const os::SocketOptions& options)
      : socket_(std::move(socket)), endpoint_(endpoint), options_(options) {}
  os::Descriptor socket_;
  os::Endpoint endpoint_;
  os::SocketOptions options_;
};

// A connection that is being made.
class TcpConnector {
 public:
  // Begins to connect. `from` is the local address (its port is ignored); nullptr: the system chooses it.
  static Result<std::unique_ptr<TcpConnector>> open(const os::Endpoint& target, const os::Endpoint* from = nullptr,
                                                    const os::SocketOptions& options = {});
  TcpConnector(const TcpConnector&) = delete;
  TcpConnector& operator=(const TcpConnector&) = delete;

  // Returns a descriptor that can be written when there is an answer.
  [[nodiscard]] int descriptor() const noexcept { return socket_.number(); }
  // Returns the connected socket, once; not_yet; or system, which says why there is no connection.
  Result<os::Descriptor> poll();

 private:
  TcpConnector(os::Descriptor socket, const os::Endpoint& target) : socket_(std::move(socket)), target_(target) {}
  os::Descriptor socket_;
  os::Endpoint target_;
};

}  // namespace couplet::link
