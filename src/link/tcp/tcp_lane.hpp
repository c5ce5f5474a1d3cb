// tcp: lanes over connected sockets. Turns a socket that has passed the handshake into a lane; payload goes straight from
// the sender's memory into the socket and, where it is long, from the socket into the receiver's memory.
// Used by runtime. Invariants: nothing is queued but at most one encrypted record or the goodbye; a connection that closes
// without a goodbye is a lost peer. docs/formats/tcp.md; tests/unit/link, tests/conformance.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/status.hpp"
#include "link/link.hpp"
#include "os/socket.hpp"
#include "wire/seal.hpp"

namespace couplet::link {

// Of one connection, from the handshake.
struct SessionKeys {
  wire::Cipher cipher = wire::Cipher::chacha20_poly1305;
  wire::SealKey send{};
  wire::SealKey receive{};
};

struct TcpOptions {
  std::uint32_t largest_payload = 1U << 20U;  // of one frame
  std::uint64_t eager_bytes = 64U << 10U;
  std::uint32_t checked_payload_bytes = 4096;  // payloads up to this are covered by the check sum
  std::uint32_t stage_bytes = 128U << 10U;     // received with one system call; at least two records
  bool unread = true;  // a peer may compute, and leave a full socket unread for as long as it likes
};

// Takes a connected, non-blocking socket. keys: encrypt. early: what was read from the socket beyond the handshake, at most
// stage_bytes. limit: the options are out of bounds; unsupported: the cipher.
Result<std::unique_ptr<Lane>> make_tcp_lane(os::Descriptor socket, const TcpOptions& options = {},
                                            const std::optional<SessionKeys>& keys = std::nullopt,
                                            std::span<const std::byte> early = {});

// Where others connect to.
class TcpListener {
 public:
  // Port 0: any free one.
  static Result<std::unique_ptr<TcpListener>> open(const os::Endpoint& endpoint, const os::SocketOptions& options = {});
  TcpListener(const TcpListener&) = delete;
  TcpListener& operator=(const TcpListener&) = delete;

  // With the port that it listens on.
  [[nodiscard]] const os::Endpoint& endpoint() const noexcept { return endpoint_; }
  // Readable when somebody has called.
  [[nodiscard]] int descriptor() const noexcept { return socket_.number(); }
  // not_yet: nobody has called.
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
  // from: the address to call from (its port is ignored); nullptr: as the system likes.
  static Result<std::unique_ptr<TcpConnector>> open(const os::Endpoint& target, const os::Endpoint* from = nullptr,
                                                    const os::SocketOptions& options = {});
  TcpConnector(const TcpConnector&) = delete;
  TcpConnector& operator=(const TcpConnector&) = delete;

  // Writable when there is an answer.
  [[nodiscard]] int descriptor() const noexcept { return socket_.number(); }
  // not_yet; system: why there is no connection; else the connected socket, once.
  Result<os::Descriptor> poll();

 private:
  TcpConnector(os::Descriptor socket, const os::Endpoint& target) : socket_(std::move(socket)), target_(target) {}
  os::Descriptor socket_;
  os::Endpoint target_;
};

}  // namespace couplet::link
