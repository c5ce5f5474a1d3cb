// Sockets, and the calls that read and write either a socket or a file.
#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "calls.hpp"
#include "files.hpp"
#include "network.hpp"
#include "waiting.hpp"

namespace world {

ssize_t write_file(OpenFile& file, const void* data, std::size_t bytes);
ssize_t read_file(OpenFile& file, void* data, std::size_t bytes);

namespace {

constexpr std::uint32_t network_address = 0x0A000001;  // 10.0.0.1 is node 0
constexpr std::size_t max_datagrams = 10;

sockaddr_in address_of(Place place) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(place.port);
  address.sin_addr.s_addr = htonl(network_address + static_cast<std::uint32_t>(place.node));
  return address;
}

Place place_of(const sockaddr* address) {
  sockaddr_in internet{};
  std::memcpy(&internet, address, sizeof internet);
  const std::uint32_t number = ntohl(internet.sin_addr.s_addr);
  const bool loopback = number >> 24 == 127 || number == 0;
  const int node = loopback ? kernel->process().node : static_cast<int>(number - network_address);
  return {node, ntohs(internet.sin_port)};
}

int put_address(Place place, sockaddr* target, socklen_t* bytes) {
  const auto address = address_of(place);
  std::memcpy(target, &address, std::min<std::size_t>(*bytes, sizeof address));
  *bytes = sizeof address;
  return 0;
}

std::shared_ptr<DatagramSocket> datagram_target(const sockaddr* address) {
  sockaddr_un local{};
  std::memcpy(&local, address, sizeof local);
  const auto inode = own_files().find(simulated_path(static_cast<const char*>(local.sun_path)));
  const auto found = inode ? inode->socket.lock() : nullptr;
  errno = inode ? ECONNREFUSED : ENOENT;
  return found && !found->gone ? found : nullptr;
}

int bind_datagram(const std::shared_ptr<DatagramSocket>& socket, const sockaddr* address) {
  sockaddr_un local{};
  std::memcpy(&local, address, sizeof local);
  const auto inode = own_files().make(simulated_path(static_cast<const char*>(local.sun_path)), S_IFSOCK | 0600);
  if (!inode) {
    return failed(errno == EEXIST ? EADDRINUSE : errno);
  }
  inode->socket = socket;
  return 0;
}

ssize_t send_datagram(const DatagramSocket& socket, const void* data, std::size_t bytes) {
  const auto target = socket.target.lock();
  if (!target || target->gone) {
    return failed(ECONNREFUSED);
  }
  if (target->waiting.size() >= max_datagrams) {
    return failed(EAGAIN);
  }
  target->waiting.emplace_back(static_cast<const char*>(data), bytes);
  return static_cast<ssize_t>(bytes);
}

ssize_t receive_datagram(DatagramSocket& socket, void* data, std::size_t bytes) {
  if (socket.waiting.empty()) {
    return failed(EAGAIN);
  }
  const auto part = std::min(bytes, socket.waiting.front().size());
  std::memcpy(data, socket.waiting.front().data(), part);
  socket.waiting.pop_front();
  return static_cast<ssize_t>(part);
}

ssize_t write_object(int descriptor, const void* data, std::size_t bytes) {
  kernel->step();
  const auto object = kernel->object(descriptor);
  if (auto* const stream = as<Stream>(object.get())) {
    const ssize_t sent = stream->send(data, bytes);
    if (kernel->prints()) {
      std::printf("%28s descriptor %d: %zd of %zu bytes sent\n", "", descriptor, sent, bytes);
    }
    return sent;
  }
  if (const auto* const socket = as<DatagramSocket>(object.get())) {
    return send_datagram(*socket, data, bytes);
  }
  if (auto* const counter = as<EventCounter>(object.get())) {
    std::uint64_t added = 0;
    std::memcpy(&added, data, sizeof added);
    counter->count += added;
    return sizeof added;
  }
  auto* const file = as<OpenFile>(object.get());
  return file != nullptr ? write_file(*file, data, bytes) : failed(EBADF);
}

ssize_t take_from(Object* object, void* data, std::size_t bytes) {
  if (auto* const stream = as<Stream>(object)) {
    return stream->receive(data, bytes);
  }
  if (auto* const socket = as<DatagramSocket>(object)) {
    return receive_datagram(*socket, data, bytes);
  }
  if (auto* const counter = as<EventCounter>(object)) {
    if (counter->count == 0) {
      return failed(EAGAIN);
    }
    std::memcpy(data, &counter->count, sizeof counter->count);
    counter->count = 0;
    return sizeof counter->count;
  }
  auto* const file = as<OpenFile>(object);
  return file != nullptr ? read_file(*file, data, bytes) : failed(EAGAIN);
}

ssize_t read_object(int descriptor, void* data, std::size_t bytes) {
  kernel->step(call_ns, Kernel::Effect::none);
  const ssize_t read = take_from(kernel->object(descriptor).get(), data, bytes);
  if (read >= 0 || errno != EAGAIN) {
    kernel->changes.note();
  }
  return read;
}

ssize_t write_parts(int descriptor, const iovec* parts, std::size_t count) {
  std::string all;
  for (std::size_t index = 0; index < count; ++index) {
    all.append(static_cast<const char*>(parts[index].iov_base), parts[index].iov_len);
  }
  return write_object(descriptor, all.data(), all.size());
}

ssize_t read_parts(int descriptor, const iovec* parts, std::size_t count) {
  ssize_t done = 0;
  for (std::size_t index = 0; index < count; ++index) {
    const ssize_t read = read_object(descriptor, parts[index].iov_base, parts[index].iov_len);
    if (read <= 0 && done == 0) {
      return read;
    }
    done += std::max<ssize_t>(read, 0);
    if (read < static_cast<ssize_t>(parts[index].iov_len)) {
      break;
    }
  }
  return done;
}

int set_stream_option(Stream& stream, int level, int option, int value) {
  if (level == SOL_SOCKET && option == SO_KEEPALIVE) {
    stream.options.keepalive = value != 0;
  } else if (level == SOL_SOCKET && option == SO_LINGER) {
    stream.options.aborts_on_close = value != 0;  // l_onoff; the time is always 0
  } else if (level == IPPROTO_TCP && option == TCP_KEEPIDLE) {
    stream.options.keepalive_ns += static_cast<Nanoseconds>(value) * second;
  } else if (level == IPPROTO_TCP && option == TCP_KEEPCNT) {
    stream.options.keepalive_ns += static_cast<Nanoseconds>(value) * second;  // probes are sent once a second
  } else if (level == IPPROTO_TCP && option == TCP_USER_TIMEOUT) {
    stream.options.user_timeout_ns = static_cast<Nanoseconds>(value) * 1'000'000;
  }
  return 0;
}

int put_info(const Stream& stream, void* value, socklen_t* bytes) {
  tcp_info info{};
  if (const Nanoseconds since = stream.silent_since(); since != 0) {
    info.tcpi_unacked = 1;
    info.tcpi_retransmits = kernel->now() - since > second ? 3 : 0;
    info.tcpi_last_ack_recv = static_cast<std::uint32_t>((kernel->now() - since) / 1'000'000);
  }
  const auto size = std::min<std::size_t>(*bytes, sizeof info);
  std::memcpy(value, &info, size);
  *bytes = static_cast<socklen_t>(size);
  return 0;
}

}  // namespace
}  // namespace world

using world::DatagramSocket;
using world::failed;
using world::inside;
using world::kernel;
using world::Stream;

WORLD_CALL(int, socket, int family, int type, int protocol) {
  if (!inside()) {
    return WORLD_REAL(socket)(family, type, protocol);
  }
  kernel->step();
  const int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (family == AF_INET && kind == SOCK_STREAM) {
    const auto stream = std::make_shared<Stream>(kernel->process().node);
    world::network().add(stream);
    return kernel->attach(stream);
  }
  if (kind == SOCK_DGRAM) {
    const auto socket = std::make_shared<DatagramSocket>();
    socket->own.node = kernel->process().node;
    return kernel->attach(socket);
  }
  return failed(EAFNOSUPPORT);
}

WORLD_CALL(int, bind, int descriptor, const sockaddr* address, socklen_t bytes) {
  if (!inside()) {
    return WORLD_REAL(bind)(descriptor, address, bytes);
  }
  kernel->step();
  if (const auto socket = kernel->object_as<DatagramSocket>(descriptor)) {
    return world::bind_datagram(socket, address);
  }
  const auto stream = kernel->object_as<Stream>(descriptor);
  if (!stream) {
    return failed(EBADF);
  }
  const auto place = world::place_of(address);
  if (place.node != kernel->process().node) {
    return failed(EADDRNOTAVAIL);
  }
  if (place.port != 0 && world::network().listener(place)) {
    return failed(EADDRINUSE);
  }
  stream->own = {place.node, place.port != 0 ? place.port : world::network().free_port()};
  return 0;
}

WORLD_CALL(int, listen, int descriptor, int backlog) {
  const auto stream = inside() ? kernel->object_as<Stream>(descriptor) : nullptr;
  if (stream) {
    kernel->changes.note();
  }
  return stream ? stream->listen(backlog) : WORLD_REAL(listen)(descriptor, backlog);
}

WORLD_CALL(int, connect, int descriptor, const sockaddr* address, socklen_t bytes) {
  if (!inside()) {
    return WORLD_REAL(connect)(descriptor, address, bytes);
  }
  kernel->step();
  if (const auto socket = kernel->object_as<DatagramSocket>(descriptor)) {
    if (address->sa_family != AF_UNIX) {
      return 0;  // only to find out the own address
    }
    const auto target = world::datagram_target(address);
    socket->target = target;
    return target ? 0 : -1;
  }
  const auto stream = kernel->object_as<Stream>(descriptor);
  return stream ? stream->connect(world::place_of(address)) : failed(EBADF);
}

WORLD_CALL(int, accept4, int descriptor, sockaddr* address, socklen_t* bytes, int flags) {
  if (!inside()) {
    return WORLD_REAL(accept4)(descriptor, address, bytes, flags);
  }
  kernel->step();
  const auto stream = kernel->object_as<Stream>(descriptor);
  const auto accepted = stream ? stream->accept() : nullptr;
  return accepted ? kernel->attach(accepted) : stream ? -1 : failed(EBADF);
}

WORLD_CALL(int, shutdown, int descriptor, int how) {
  const auto stream = inside() ? kernel->object_as<Stream>(descriptor) : nullptr;
  if (!stream) {
    return WORLD_REAL(shutdown)(descriptor, how);
  }
  kernel->step();
  stream->shut_write();
  return 0;
}

WORLD_CALL(int, close, int descriptor) {
  if (!inside() || descriptor < world::first_descriptor) {
    return WORLD_REAL(close)(descriptor);
  }
  return kernel->close(descriptor) ? 0 : -1;
}

WORLD_CALL(ssize_t, send, int descriptor, const void* data, std::size_t bytes, int flags) {
  return inside() ? world::write_object(descriptor, data, bytes) : WORLD_REAL(send)(descriptor, data, bytes, flags);
}

WORLD_CALL(ssize_t, sendmsg, int descriptor, const msghdr* message, int flags) {
  return inside() ? world::write_parts(descriptor, message->msg_iov, message->msg_iovlen)
                  : WORLD_REAL(sendmsg)(descriptor, message, flags);
}

WORLD_CALL(ssize_t, recv, int descriptor, void* data, std::size_t bytes, int flags) {
  return inside() ? world::read_object(descriptor, data, bytes) : WORLD_REAL(recv)(descriptor, data, bytes, flags);
}

WORLD_CALL(ssize_t, write, int descriptor, const void* data, std::size_t bytes) {
  return inside() && descriptor >= world::first_descriptor ? world::write_object(descriptor, data, bytes)
                                                           : WORLD_REAL(write)(descriptor, data, bytes);
}

WORLD_CALL(ssize_t, read, int descriptor, void* data, std::size_t bytes) {
  return inside() && descriptor >= world::first_descriptor ? world::read_object(descriptor, data, bytes)
                                                           : WORLD_REAL(read)(descriptor, data, bytes);
}

WORLD_CALL(ssize_t, readv, int descriptor, const iovec* parts, int count) {
  return inside() && descriptor >= world::first_descriptor
             ? world::read_parts(descriptor, parts, static_cast<std::size_t>(count))
             : WORLD_REAL(readv)(descriptor, parts, count);
}

WORLD_CALL(int, setsockopt, int descriptor, int level, int option, const void* value, socklen_t bytes) {
  if (!inside()) {
    return WORLD_REAL(setsockopt)(descriptor, level, option, value, bytes);
  }
  int number = 0;
  std::memcpy(&number, value, std::min<std::size_t>(bytes, sizeof number));
  const auto stream = kernel->object_as<Stream>(descriptor);
  return stream ? world::set_stream_option(*stream, level, option, number) : 0;
}

WORLD_CALL(int, getsockopt, int descriptor, int level, int option, void* value, socklen_t* bytes) {
  if (!inside()) {
    return WORLD_REAL(getsockopt)(descriptor, level, option, value, bytes);
  }
  kernel->step();
  const auto stream = kernel->object_as<Stream>(descriptor);
  if (!stream) {
    return failed(EBADF);
  }
  if (level == IPPROTO_TCP && option == TCP_INFO) {
    return world::put_info(*stream, value, bytes);
  }
  const int number = option == SO_ERROR ? stream->take_error() : 0;
  std::memcpy(value, &number, sizeof number);
  *bytes = sizeof number;
  return 0;
}

WORLD_CALL(int, getsockname, int descriptor, sockaddr* address, socklen_t* bytes) {
  if (!inside()) {
    return WORLD_REAL(getsockname)(descriptor, address, bytes);
  }
  if (const auto socket = kernel->object_as<DatagramSocket>(descriptor)) {
    return world::put_address(socket->own, address, bytes);
  }
  const auto stream = kernel->object_as<Stream>(descriptor);
  return stream ? world::put_address(stream->own, address, bytes) : failed(EBADF);
}

WORLD_CALL(int, getpeername, int descriptor, sockaddr* address, socklen_t* bytes) {
  if (!inside()) {
    return WORLD_REAL(getpeername)(descriptor, address, bytes);
  }
  const auto stream = kernel->object_as<Stream>(descriptor);
  return stream && stream->established() ? world::put_address(stream->other, address, bytes) : failed(ENOTCONN);
}

WORLD_CALL(int, ioctl, int descriptor, unsigned long request, ...) {
  va_list rest;
  va_start(rest, request);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  const auto stream = inside() ? kernel->object_as<Stream>(descriptor) : nullptr;
  if (!stream || request != SIOCOUTQ) {
    return inside() && descriptor >= world::first_descriptor ? failed(ENOTTY)
                                                             : WORLD_REAL(ioctl)(descriptor, request, argument);
  }
  *static_cast<int*>(argument) = static_cast<int>(stream->unanswered());
  return 0;
}

WORLD_CALL(int, getaddrinfo, const char* host, const char* service, const addrinfo* hints, addrinfo** found) {
  if (!inside()) {
    return WORLD_REAL(getaddrinfo)(host, service, hints, found);
  }
  auto* const address = new sockaddr_in{};
  address->sin_family = AF_INET;
  address->sin_port = htons(static_cast<std::uint16_t>(std::atoi(service)));
  if (::inet_pton(AF_INET, host, &address->sin_addr) != 1) {
    delete address;
    return EAI_NONAME;
  }
  *found = new addrinfo{};
  (*found)->ai_family = AF_INET;
  (*found)->ai_socktype = SOCK_STREAM;
  (*found)->ai_addrlen = sizeof *address;
  (*found)->ai_addr = reinterpret_cast<sockaddr*>(address);
  return 0;
}

WORLD_CALL(void, freeaddrinfo, addrinfo* list) {
  if (!inside()) {
    WORLD_REAL(freeaddrinfo)(list);
    return;
  }
  delete reinterpret_cast<sockaddr_in*>(list->ai_addr);
  delete list;
}
