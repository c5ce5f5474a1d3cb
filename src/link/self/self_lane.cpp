#include "link/self/self_lane.hpp"

#include <cstdlib>
#include <cstring>

#include "link/ring.hpp"

namespace couplet::link {
namespace {

constexpr LaneTraits self_traits{
    .name = "self", .checked = false, .same_memory = true, .largest_payload = 1U << 20U, .eager_bytes = 16U << 10U};

struct Release {
  void operator()(std::byte* memory) const noexcept { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte, Release>;

struct SelfMemory {
  Memory memory;
};

class SelfLane final : private SelfMemory, public RingLane {
 public:
  SelfLane(Memory owned, const wire::RingMap& map)
      : SelfMemory{std::move(owned)}, RingLane(self_traits, map.direction(0), map.direction(0), nullptr, "self ring") {}
};

}  // namespace

Result<std::unique_ptr<Lane>> make_self_lane(const wire::RingShape& shape) {
  COUPLET_TRY(wire::check_ring_shape(shape));
  const std::size_t bytes = wire::ring_file_bytes(shape);
  Memory memory(static_cast<std::byte*>(std::aligned_alloc(wire::ring_alignment, bytes)));
  if (!memory) {
    return fail(Code::memory, "no memory for a ring of {} bytes", bytes);
  }
  std::memset(memory.get(), 0, bytes);
  COUPLET_TRY_VALUE(const wire::RingMap map, wire::RingMap::lay_out({memory.get(), bytes}, shape, {}));
  return std::unique_ptr<Lane>(new SelfLane(std::move(memory), map));
}

}  // namespace couplet::link
