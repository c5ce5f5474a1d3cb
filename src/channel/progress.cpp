#include "channel/progress.hpp"

#include "os/received_bytes.hpp"
#include "os/socket.hpp"

namespace couplet::channel {

// Sockets and rings know of bytes. For other descriptors, the system gives an error, and they count as 0.
std::uint64_t taken_by_peer(const Channel& channel) noexcept {
  std::uint64_t taken = channel.sender().acknowledged();
  for (const auto& lane : channel.lanes()) {
    taken += lane->taken() - os::unanswered_bytes(lane->descriptor());
  }
  return taken;
}

std::uint64_t arrived_from_peer(const Channel& channel) noexcept {
  std::uint64_t arrived = channel.frames_received();
  for (const auto& lane : channel.lanes()) {
    arrived += os::received_bytes(lane->descriptor());
  }
  return arrived;
}

}  // namespace couplet::channel
