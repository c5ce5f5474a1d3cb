#include "os/received_bytes.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace couplet::os {

std::uint64_t received_bytes(int socket) noexcept {
  // Linux appends fields to its tcp_info. glibc's ends before this one (tcpi_bytes_received), which is always here.
  constexpr std::size_t offset = 128;
  std::array<std::byte, 256> info{};
  socklen_t bytes = info.size();
  std::uint64_t received = 0;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, info.data(), &bytes) == 0 && bytes >= offset + sizeof received) {
    std::memcpy(&received, info.data() + offset, sizeof received);
  }
  return received;
}

}  // namespace couplet::os
