#include "os/socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include "os/error.hpp"
#include "os/reset.hpp"

namespace couplet::os {
namespace {

constexpr std::array<std::uint8_t, 12> ipv4_prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

struct Address {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof(sockaddr_storage);
  [[nodiscard]] sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
};

Address to_address(const Endpoint& endpoint) noexcept {
  Address address;
  if (is_ipv4(endpoint)) {
    sockaddr_in narrow{};
    narrow.sin_family = AF_INET;
    narrow.sin_port = htons(endpoint.port);
    std::memcpy(&narrow.sin_addr, endpoint.address.data() + ipv4_prefix.size(), 4);
    std::memcpy(&address.storage, &narrow, sizeof narrow);
    address.bytes = sizeof narrow;
  } else {
    sockaddr_in6 wide{};
    wide.sin6_family = AF_INET6;
    wide.sin6_port = htons(endpoint.port);
    wide.sin6_scope_id = endpoint.scope;
    std::memcpy(&wide.sin6_addr, endpoint.address.data(), 16);
    std::memcpy(&address.storage, &wide, sizeof wide);
    address.bytes = sizeof wide;
  }
  return address;
}

Result<Endpoint> from_address(const sockaddr* address) {
  Endpoint endpoint;
  if (address->sa_family == AF_INET) {
    sockaddr_in narrow{};
    std::memcpy(&narrow, address, sizeof narrow);
    std::copy(ipv4_prefix.begin(), ipv4_prefix.end(), endpoint.address.begin());
    std::memcpy(endpoint.address.data() + ipv4_prefix.size(), &narrow.sin_addr, 4);
    endpoint.port = ntohs(narrow.sin_port);
    return endpoint;
  }
  if (address->sa_family == AF_INET6) {
    sockaddr_in6 wide{};
    std::memcpy(&wide, address, sizeof wide);
    std::memcpy(endpoint.address.data(), &wide.sin6_addr, 16);
    endpoint.port = ntohs(wide.sin6_port);
    endpoint.scope = wide.sin6_scope_id;
    return endpoint;
  }
  return fail(Code::unsupported, "address family {} is neither IPv4 nor IPv6", address->sa_family);
}

Status set_option(const Descriptor& socket, int level, int option, int value, const char* name) {
  if (::setsockopt(socket.number(), level, option, &value, sizeof value) != 0) {
    return system_failure(errno, fmt::format("cannot set {} of a socket", name));
  }
  return {};
}

Status tune(const Descriptor& socket, const SocketOptions& options) {
  COUPLET_TRY(set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY"));
  COUPLET_TRY(set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1, "SO_KEEPALIVE"));
  COUPLET_TRY(set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, options.keepalive_idle_s, "TCP_KEEPIDLE"));
  COUPLET_TRY(set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 1, "TCP_KEEPINTVL"));
  COUPLET_TRY(set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, options.keepalive_probes, "TCP_KEEPCNT"));
  COUPLET_TRY(
      set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(options.user_timeout_ms), "TCP_USER_TIMEOUT"));
  if (options.buffer_bytes > 0) {
    COUPLET_TRY(set_option(socket, SOL_SOCKET, SO_SNDBUF, options.buffer_bytes, "SO_SNDBUF"));
    COUPLET_TRY(set_option(socket, SOL_SOCKET, SO_RCVBUF, options.buffer_bytes, "SO_RCVBUF"));
  }
  return {};
}

Result<Descriptor> open_socket(const Endpoint& endpoint, int type) {
  const int family = is_ipv4(endpoint) ? AF_INET : AF_INET6;
  Descriptor socket(::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) {
    return system_failure(errno, "cannot open a socket");
  }
  return socket;
}

Result<Endpoint> own_endpoint(const Descriptor& socket, bool peer) {
  Address address;
  const int answer = peer ? ::getpeername(socket.number(), address.get(), &address.bytes)
                          : ::getsockname(socket.number(), address.get(), &address.bytes);
  if (answer != 0) {
    return socket_failure(errno, peer ? "cannot tell the peer's address" : "cannot tell the own address");
  }
  return from_address(address.get());
}

// Returns the address that the text is, or nothing.
std::optional<Endpoint> numeric_address(const std::string& text) {
  Endpoint endpoint;
  if (::inet_pton(AF_INET, text.c_str(), endpoint.address.data() + ipv4_prefix.size()) == 1) {
    std::copy(ipv4_prefix.begin(), ipv4_prefix.end(), endpoint.address.begin());
    return endpoint;
  }
  if (::inet_pton(AF_INET6, text.c_str(), endpoint.address.data()) == 1) {
    return endpoint;
  }
  return std::nullopt;
}

struct Subnet {
  Endpoint base;
  unsigned prefix_bits = 0;  // counted in the 128 bits of an endpoint's address
};

Result<Subnet> parse_subnet(const std::string& text, std::size_t slash) {
  const auto base = numeric_address(text.substr(0, slash));
  const std::string length = text.substr(slash + 1);
  const unsigned max_bits = base && is_ipv4(*base) ? 32 : 128;
  unsigned bits = 0;
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bits);
  if (!base || error != std::errc() || end != length.data() + length.size() || bits > max_bits) {
    return fail(Code::config, "'{}' is no subnet; it has to be an address and the length of its prefix, such as {}",
                text, "10.1.0.0/16 or fd00:1::/64");
  }
  return Subnet{*base, bits + (128 - max_bits)};
}

bool is_inside(const Endpoint& endpoint, const Subnet& subnet) noexcept {
  for (unsigned bit = 0; bit < subnet.prefix_bits; ++bit) {
    const unsigned mask = 0x80U >> (bit % 8);
    if (((endpoint.address[bit / 8] ^ subnet.base.address[bit / 8]) & mask) != 0) {
      return false;
    }
  }
  return true;
}

bool is_link_local(const Endpoint& endpoint) noexcept {
  return endpoint.address[0] == 0xFE && (endpoint.address[1] & 0xC0U) == 0x80;
}

// Says whether a call of `target` reaches `own` on this host. The address 0 stands for this host.
bool is_reached_by(const Endpoint& own, const Endpoint& target) {
  if (own.port != target.port) {
    return false;
  }
  const auto begin = target.address.begin() + (is_ipv4(target) ? ipv4_prefix.size() : 0);
  return own.address == target.address || std::all_of(begin, target.address.end(), [](auto byte) { return byte == 0; });
}

// Returns the first address of an interface for which `fits` holds, IPv4 before IPv6, with port 0; or nothing.
template <typename Fits>
Result<std::optional<Endpoint>> own_address(const Fits& fits) {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) {
    return system_failure(errno, "cannot list network interfaces");
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> keeper(first, &::freeifaddrs);
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
      if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != family) {
        continue;
      }
      COUPLET_TRY_VALUE(const Endpoint own, from_address(entry->ifa_addr));
      if (!is_link_local(own) && fits(entry->ifa_name, own)) {
        return std::optional<Endpoint>(own);
      }
    }
  }
  return std::optional<Endpoint>();
}

// socket_failure() writes the words of the system at the end; others only put theirs before.
bool ends_with_one_of(const Status& failure, std::initializer_list<int> errors) noexcept {
  const std::string text = failure.text();
  return failure.error() &&
         std::ranges::any_of(errors, [&text](int error) { return text.ends_with(std::strerror(error)); });
}

}  // namespace

std::string endpoint_text(const Endpoint& endpoint) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (is_ipv4(endpoint)) {
    ::inet_ntop(AF_INET, endpoint.address.data() + ipv4_prefix.size(), text.data(), text.size());
    return fmt::format("{}:{}", text.data(), endpoint.port);
  }
  ::inet_ntop(AF_INET6, endpoint.address.data(), text.data(), text.size());
  if (endpoint.scope != 0) {
    return fmt::format("[{}%{}]:{}", text.data(), endpoint.scope, endpoint.port);
  }
  return fmt::format("[{}]:{}", text.data(), endpoint.port);
}

bool is_ipv4(const Endpoint& endpoint) noexcept {
  return std::equal(ipv4_prefix.begin(), ipv4_prefix.end(), endpoint.address.begin());
}

Result<Endpoint> resolve(std::string_view host_and_port) {
  const auto colon = host_and_port.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == host_and_port.size()) {
    return fail(Code::config, "'{}' is not host:port, as in localhost:7100", host_and_port);
  }
  std::string host(host_and_port.substr(0, colon));
  const std::string port(host_and_port.substr(colon + 1));
  if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  if (!std::all_of(port.begin(), port.end(), [](char digit) { return digit >= '0' && digit <= '9'; }) ||
      port.size() > 5 || std::stoul(port) > 65535) {
    return fail(Code::config, "'{}' in '{}' is not a port, a number up to 65535", port, host_and_port);
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) {
    return fail(Code::not_found, "host '{}' is unknown: {}", host, ::gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> keeper(found, &::freeaddrinfo);
  return from_address(found->ai_addr);
}

Result<Endpoint> interface_endpoint(const std::string& text) {
  if (const auto address = numeric_address(text)) {
    return *address;
  }
  const auto slash = text.find('/');
  if (slash != std::string::npos) {
    COUPLET_TRY_VALUE(const Subnet subnet, parse_subnet(text, slash));
    const auto inside = [&subnet](const char* /*name*/, const Endpoint& own) { return is_inside(own, subnet); };
    COUPLET_TRY_VALUE(const auto found, own_address(inside));
    if (!found) {
      return fail(Code::not_found, "this host has no address in the subnet {}", text);
    }
    return *found;
  }
  COUPLET_TRY_VALUE(const auto found,
                    own_address([&text](const char* name, const Endpoint& /*own*/) { return text == name; }));
  if (!found) {
    return fail(Code::not_found, "there is no network interface '{}' with an address that other hosts reach", text);
  }
  return *found;
}

Result<Endpoint> source_towards(const Endpoint& target) {
  COUPLET_TRY_VALUE(const Descriptor socket, open_socket(target, SOCK_DGRAM));
  const Address address = to_address(target);
  // The socket is a datagram socket, so that this call only looks up the route.
  if (::connect(socket.number(), address.get(), address.bytes) != 0) {
    return system_failure(errno, fmt::format("no route to {}", endpoint_text(target)));
  }
  COUPLET_TRY_VALUE(Endpoint source, own_endpoint(socket, false));
  source.port = 0;
  return source;
}

Result<Descriptor> listen_tcp(const Endpoint& endpoint, int backlog) {
  COUPLET_TRY_VALUE(Descriptor socket, open_socket(endpoint, SOCK_STREAM));
  COUPLET_TRY(set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR"));
  const Address address = to_address(endpoint);
  if (::bind(socket.number(), address.get(), address.bytes) != 0) {
    if (errno == EADDRINUSE) {
      return fail(Code::exists, "{} is in use by another program; choose another port, or 0 for any free one",
                  endpoint_text(endpoint));
    }
    return system_failure(errno, fmt::format("cannot bind to {}", endpoint_text(endpoint)));
  }
  if (::listen(socket.number(), backlog) != 0) {
    return system_failure(errno, fmt::format("cannot listen on {}", endpoint_text(endpoint)));
  }
  return socket;
}

Result<Descriptor> accept_tcp(const Descriptor& listener, const SocketOptions& options) {
  Descriptor socket(
      retry_interrupted([&] { return ::accept4(listener.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); }));
  if (!socket) {
    // A caller that is gone before it was accepted counts as one that has not called.
    if (errno == EAGAIN || errno == ECONNABORTED) {
      return Code::not_yet;
    }
    return system_failure(errno, "cannot accept a connection");
  }
  COUPLET_TRY(tune(socket, options));
  return socket;
}

Result<Descriptor> connect_tcp(const Endpoint& target, const Endpoint* from, const SocketOptions& options) {
  COUPLET_TRY_VALUE(Descriptor socket, open_socket(target, SOCK_STREAM));
  COUPLET_TRY(tune(socket, options));
  if (from != nullptr) {
    const Address address = to_address(*from);
    if (::bind(socket.number(), address.get(), address.bytes) != 0) {
      return system_failure(errno, fmt::format("cannot bind to {}", endpoint_text(*from)));
    }
  }
  const Address address = to_address(target);
  if (::connect(socket.number(), address.get(), address.bytes) != 0 && errno != EINPROGRESS && errno != EINTR) {
    return system_failure(errno, fmt::format("cannot connect to {}", endpoint_text(target)));
  }
  // Where nobody listens, the system may give the socket the very port that it calls. TCP then connects it to itself,
  // and nobody could listen there any more.
  if (const auto own = own_endpoint(socket, false); own.ok() && is_reached_by(*own, target)) {
    abort_on_close(socket);
    return system_failure(ECONNREFUSED, fmt::format("cannot connect to {}", endpoint_text(target)));
  }
  return socket;
}

Status connect_result(const Descriptor& socket, const Endpoint& target) {
  int error = 0;
  socklen_t bytes = sizeof error;
  if (::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) {
    error = errno;
  }
  if (error != 0) {
    return system_failure(error, fmt::format("cannot connect to {}", endpoint_text(target)));
  }
  Address address;
  if (::getpeername(socket.number(), address.get(), &address.bytes) != 0) {
    if (errno == ENOTCONN) {
      return Code::not_yet;
    }
    return system_failure(errno, fmt::format("cannot connect to {}", endpoint_text(target)));
  }
  return {};
}

Result<Endpoint> local_endpoint(const Descriptor& socket) {
  return own_endpoint(socket, false);
}
Result<Endpoint> peer_endpoint(const Descriptor& socket) {
  return own_endpoint(socket, true);
}

void allow_unread(const Descriptor& socket) noexcept {
  const int unlimited = 0;
  static_cast<void>(::setsockopt(socket.number(), IPPROTO_TCP, TCP_USER_TIMEOUT, &unlimited, sizeof unlimited));
}

void abort_on_close(const Descriptor& socket) noexcept {
  const linger abort{.l_onoff = 1, .l_linger = 0};
  static_cast<void>(::setsockopt(socket.number(), SOL_SOCKET, SO_LINGER, &abort, sizeof abort));
}

void stop_probing(int socket) noexcept {
  const int off = 0;
  static_cast<void>(::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &off, sizeof off));
  static_cast<void>(::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &off, sizeof off));
}

std::uint32_t silent_ms(const Descriptor& socket) noexcept {
  // Probes of a full window that had no answer.
  constexpr std::uint8_t unanswered_probes = 3;
  constexpr std::uint8_t retransmissions = 2;
  tcp_info info{};
  socklen_t bytes = sizeof info;
  if (::getsockopt(socket.number(), IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) {
    return 0;
  }
  const bool due =
      info.tcpi_probes >= unanswered_probes || (info.tcpi_unacked > 0 && info.tcpi_retransmits >= retransmissions);
  return due ? info.tcpi_last_ack_recv : 0;
}

std::size_t unanswered_bytes(int socket) noexcept {
  int bytes = 0;
  return ::ioctl(socket, SIOCOUTQ, &bytes) == 0 && bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

Status socket_failure(int error, std::string_view what) {
  switch (error) {
    case ECONNRESET:
    case EPIPE:
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
    case ENETDOWN:
    case ECONNABORTED:
    case ECONNREFUSED:
    case ENOTCONN:
      return fail(Code::peer_lost, "{}: {}", what, std::strerror(error));
    default:
      return system_failure(error, std::string(what));
  }
}

// socket_failure() puts the words of the system at the end, and callers only put text before it.
bool says_reset(const Status& failure) noexcept {
  return ends_with_one_of(failure, {ECONNRESET, ECONNABORTED, EPIPE});
}

bool says_silent(const Status& failure) noexcept {
  return ends_with_one_of(failure, {ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, EHOSTDOWN, ENETDOWN});
}

bool says_refused(const Status& failure) noexcept {
  return ends_with_one_of(failure, {ECONNREFUSED});
}

Result<std::size_t> send_some(const Descriptor& socket, const void* data, std::size_t bytes) {
  const ssize_t sent = retry_interrupted([&] { return ::send(socket.number(), data, bytes, MSG_NOSIGNAL); });
  if (sent >= 0) {
    return static_cast<std::size_t>(sent);
  }
  if (errno == EAGAIN) {
    return Code::not_yet;
  }
  return socket_failure(errno, "sending failed");
}

Result<std::size_t> receive_some(const Descriptor& socket, void* data, std::size_t bytes) {
  const ssize_t received = retry_interrupted([&] { return ::recv(socket.number(), data, bytes, 0); });
  if (received > 0 || bytes == 0) {
    return static_cast<std::size_t>(std::max<ssize_t>(received, 0));
  }
  if (received == 0) {
    return Code::end;
  }
  if (errno == EAGAIN) {
    return Code::not_yet;
  }
  return socket_failure(errno, "receiving failed");
}

}  // namespace couplet::os
