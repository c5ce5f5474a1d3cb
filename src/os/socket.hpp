// Non-blocking TCP sockets, and their addresses.
// Invariants: nothing here blocks except resolve(), since a name may need a look-up; every socket is close-on-exec and
// closed in forked children.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "os/descriptor.hpp"

namespace couplet::os {

// An IPv6 address, or an IPv4 address as ::ffff:a.b.c.d.
struct Endpoint {
  std::array<std::uint8_t, 16> address{};
  std::uint16_t port = 0;
  std::uint32_t scope = 0;  // interface index of a link-local address
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

struct SocketOptions {
  // The time to connect, and for the peer to read what is sent: see allow_unread().
  std::uint32_t user_timeout_ms = 3000;
  int keepalive_idle_s = 1;  // silence before the first probe; then one each second
  int keepalive_probes = 2;
  int buffer_bytes = 0;  // in both directions; 0: the system adjusts it
};

// Returns, for example, "10.0.0.1:4711" or "[fe80::1%2]:4711".
[[nodiscard]] std::string endpoint_text(const Endpoint& endpoint);
[[nodiscard]] bool is_ipv4(const Endpoint& endpoint) noexcept;
// Resolves "host:port", "10.0.0.1:0" or "[::1]:4711". Returns config if it is none of these, and not_found if the host
// is unknown. May wait for a name server.
Result<Endpoint> resolve(std::string_view host_and_port);
// Returns an address of this host, with port 0. `text` is the name of an interface (IPv4 comes before IPv6), an address
// (returned as it is), or a subnet such as 10.1.0.0/16 or fd00:1::/64 (the first own address in it). Link-local
// addresses of IPv6 are left out, since another host cannot tell by which of its interfaces it reaches them. Returns
// not_found if there is no such address, and config if what follows a '/' is no length of a prefix.
Result<Endpoint> interface_endpoint(const std::string& text);
// Returns the address by which this host would reach `target`, with port 0.
Result<Endpoint> source_towards(const Endpoint& target);

// Listens. Port 0 means any free port, see local_endpoint(). Returns exists if the port is taken.
Result<Descriptor> listen_tcp(const Endpoint& endpoint, int backlog = 128);
// Accepts a connection and sets `options` on its socket. Returns not_yet if no peer has called.
Result<Descriptor> accept_tcp(const Descriptor& listener, const SocketOptions& options = {});
// Begins to connect, from the address `from` if it is given; see connect_result().
Result<Descriptor> connect_tcp(const Endpoint& target, const Endpoint* from = nullptr,
                               const SocketOptions& options = {});
// Returns ok if the socket is connected, not_yet while it is still trying (wait until it can be written), and system if
// it has failed.
Status connect_result(const Descriptor& socket, const Endpoint& target);

Result<Endpoint> local_endpoint(const Descriptor& socket);
Result<Endpoint> peer_endpoint(const Descriptor& socket);

// Returns the number of bytes that were moved; not_yet if none can be moved now; end if the peer has closed (only when
// receiving); peer_lost after a reset or a timeout; or system.
Result<std::size_t> send_some(const Descriptor& socket, const void* data, std::size_t bytes);
Result<std::size_t> receive_some(const Descriptor& socket, void* data, std::size_t bytes);
// Lets the peer leave what is sent unread for as long as it likes: user_timeout_ms no longer applies. A system that is
// gone is then found by silent_ms(), or by keepalive if nothing is on its way.
void allow_unread(const Descriptor& socket) noexcept;
// From now on, silence of the peer's system does not end the connection. Does nothing if this is no tcp socket.
void stop_probing(int socket) noexcept;
// Makes the connection end with a reset when it is closed, and not with an end in good order, which the system also
// sends for a process that has ended.
void abort_on_close(const Descriptor& socket) noexcept;
// Returns for how long the peer's system has not answered although an answer is due; 0 if none is due. The system of a
// process that reads nothing does answer.
[[nodiscard]] std::uint32_t silent_ms(const Descriptor& socket) noexcept;
// Returns the number of bytes that were sent and that the peer's system has not acknowledged, or 0 if this cannot be
// found out.
[[nodiscard]] std::size_t unanswered_bytes(int socket) noexcept;
// Returns the Status for an errno of a connected socket: peer_lost if the connection is gone, else system.
[[nodiscard]] Status socket_failure(int error, std::string_view what);

}  // namespace couplet::os
