// TCP sockets, non-blocking, and the addresses that they use.
// Invariants: nothing here blocks but resolve() (a name may need a look-up); every socket is close-on-exec and closed in
// forked children.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "os/descriptor.hpp"

namespace couplet::os {

// IPv6, or IPv4 as ::ffff:a.b.c.d.
struct Endpoint {
  std::array<std::uint8_t, 16> address{};
  std::uint16_t port = 0;
  std::uint32_t scope = 0;  // interface index of a link-local address
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

struct SocketOptions {
  std::uint32_t user_timeout_ms = 3000;  // to connect, and for the peer to read what is sent: see allow_unread()
  int keepalive_idle_s = 1;              // silence before the first probe; then one each second
  int keepalive_probes = 2;
  int buffer_bytes = 0;  // of both directions; 0: the system's own adjustment
};

// "10.0.0.1:4711", "[fe80::1%2]:4711"
[[nodiscard]] std::string endpoint_text(const Endpoint& endpoint);
[[nodiscard]] bool is_ipv4(const Endpoint& endpoint) noexcept;
// "host:port", "10.0.0.1:0", "[::1]:4711"; config: it is none, not_found: the host is unknown. May wait for a name server.
Result<Endpoint> resolve(std::string_view host_and_port);
// First address of the interface of that name (IPv4 before IPv6), or the address itself; port 0. not_found.
Result<Endpoint> interface_endpoint(const std::string& name_or_address);
// The address by which this host would reach `target`; port 0.
Result<Endpoint> source_towards(const Endpoint& target);

// Port 0: any free one, see local_endpoint(). exists: the port is taken.
Result<Descriptor> listen_tcp(const Endpoint& endpoint, int backlog = 128);
// not_yet: nobody has called. The accepted socket is tuned with `options`.
Result<Descriptor> accept_tcp(const Descriptor& listener, const SocketOptions& options = {});
// Begins to connect, from the address `from` where that is given; see connect_result().
Result<Descriptor> connect_tcp(const Endpoint& target, const Endpoint* from = nullptr,
                               const SocketOptions& options = {});
// not_yet: still trying (wait until it is writable); ok: connected; system: why not.
Status connect_result(const Descriptor& socket, const Endpoint& target);

Result<Endpoint> local_endpoint(const Descriptor& socket);
Result<Endpoint> peer_endpoint(const Descriptor& socket);

// Bytes moved; not_yet: none can be now; end: the peer has closed (receive only); peer_lost: reset, timed out; system.
Result<std::size_t> send_some(const Descriptor& socket, const void* data, std::size_t bytes);
Result<std::size_t> receive_some(const Descriptor& socket, void* data, std::size_t bytes);
// From now on the peer may leave what is sent unread for as long as it likes: user_timeout_ms holds no more. A system that is
// gone is then found by silent_ms(), or by keepalive when nothing is on its way.
void allow_unread(const Descriptor& socket) noexcept;
// Since when the peer's system has answered nothing, though it ought to have; 0: nothing is due. The system of a process that
// reads nothing answers.
[[nodiscard]] std::uint32_t silent_ms(const Descriptor& socket) noexcept;
// Bytes that were sent and that the peer's system has not acknowledged; 0 if that cannot be found out.
[[nodiscard]] std::size_t unanswered_bytes(int socket) noexcept;
// The Status for an errno of a connected socket: peer_lost where the connection is gone, else system.
[[nodiscard]] Status socket_failure(int error, std::string_view what);

}  // namespace couplet::os
