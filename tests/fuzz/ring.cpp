// Cells of a mapped ring as a faulty peer might write them: nothing outside the ring and the receiver's memory is
// touched.
#include "link/ring.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "receiver.hpp"

using namespace couplet;

namespace {

constexpr wire::RingShape shape{.cell_count = 16, .bulk_bytes = 4096};
constexpr link::LaneTraits traits{.name = "ring", .checked = false, .largest_payload = 1U << 16U};
constexpr std::size_t record_bytes = 1 + sizeof(wire::FrameHeader) + wire::inline_payload_bytes;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  const std::size_t size = wire::ring_file_bytes(shape);
  const std::unique_ptr<std::byte, decltype(&std::free)> memory(
      static_cast<std::byte*>(std::aligned_alloc(wire::ring_alignment, size)), &std::free);
  std::memset(memory.get(), 0, size);
  auto map = wire::RingMap::lay_out({memory.get(), size}, shape, {});
  auto out = map->direction(1);
  for (std::uint32_t position = 0; position < shape.cell_count && bytes >= record_bytes; ++position) {
    wire::Cell& cell = out.cells[position];
    std::memcpy(&cell.header, data + 1, sizeof cell.header);
    std::memcpy(cell.tail.data(), data + 1 + sizeof cell.header, cell.tail.size());
    cell.control.store(wire::cell_control(position, static_cast<wire::CellKind>(data[0])));
    data += record_bytes;
    bytes -= record_bytes;
  }
  if (bytes >= 16) {  // and progress that was never made
    std::uint32_t cells = 0;
    std::uint64_t bulk = 0;
    std::memcpy(&cells, data, sizeof cells);
    std::memcpy(&bulk, data + 8, sizeof bulk);
    map->direction(0).reader->cells.store(cells);
    map->direction(0).reader->bulk.store(bulk);
  }
  link::RingLane lane(traits, map->direction(0), map->direction(1), nullptr, "ring");
  fuzz::Receiver receiver(traits.largest_payload);
  wire::FrameHeader header;
  header.payload_bytes = 10000;
  const std::vector<std::byte> payload(header.payload_bytes);
  std::uint64_t taken = 0;
  for (int round = 0; round < 40; ++round) {
    static_cast<void>(lane.poll(receiver, 2));
    const std::int64_t pushed = lane.push(header, payload, taken);
    if (pushed < 0 || (taken += static_cast<std::uint64_t>(pushed)) > payload.size() + wire::frame_header_bytes) {
      break;
    }
    if (taken == payload.size() + wire::frame_header_bytes) {
      taken = 0;
    }
  }
  return 0;
}
