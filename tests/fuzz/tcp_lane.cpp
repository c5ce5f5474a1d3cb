// The bytes of a connection, plain or encrypted: for any input the lane delivers whole frames or fails.
#include "link/tcp/tcp_lane.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "receiver.hpp"

using namespace couplet;

namespace {

constexpr link::TcpOptions options{.largest_payload = 1U << 18U};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  int ends[2];
  if (bytes == 0 || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
    return 0;
  }
  const os::Descriptor peer(ends[1]);
  std::optional<link::SessionKeys> keys;
  if ((data[0] & 1U) != 0) {
    keys.emplace();
  }
  auto lane = link::make_tcp_lane(os::Descriptor(ends[0]), options, keys);
  fuzz::Receiver receiver(options.largest_payload);
  // It comes in two pieces, so that frames are cut anywhere.
  const std::size_t cut = (data[0] >> 1U) % bytes;
  for (const auto& [begin, end] : {std::pair<std::size_t, std::size_t>(1, 1 + cut), {1 + cut, bytes}}) {
    if (begin < end && end <= bytes) {
      static_cast<void>(os::send_some(peer, data + begin, end - begin));
    }
    while ((*lane)->poll(receiver, 3) > 0) {
    }
  }
  ::shutdown(peer.number(), SHUT_WR);
  int answer = 0;
  do {
    answer = (*lane)->poll(receiver, 3);
  } while (answer > 0);
  if (answer == 0 || (*lane)->failure().ok()) {
    // The connection has ended. A wait for a lane that does not notice would never end.
    std::abort();
  }
  return 0;
}
