#include "exchange/mpi/buffers.hpp"

namespace couplet::exchange {

Status Buffers::reserve(Team& team, Way way) {
  std::vector<std::uint64_t> offsets;
  for (const Port& port : team.ports()) {
    offsets.push_back(bytes_);
    bytes_ += is_used(port, way) ? buffer_bytes(capacity(port, way)) : 0;
  }
  COUPLET_TRY_VALUE(memory_, team.reserve(bytes_));
  for (std::size_t port = 0; port < offsets.size(); ++port) {
    payloads_.push_back(is_used(team.ports()[port], way) ? memory_ + offsets[port] + line_bytes : nullptr);
  }
  return {};
}

}  // namespace couplet::exchange
