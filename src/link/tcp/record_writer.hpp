// Cuts the frames that a tcp lane sends into sealed records. Used by tcp_lane.
// Format: docs/formats/tcp.md. Tests: tests/unit/link/tcp_lane_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "wire/frame.hpp"
#include "wire/seal.hpp"

namespace couplet::link {

class RecordWriter {
 private:
  // A frame with a payload up to this size is one record, which is sealed from a copy. The header of a longer frame has
  // a record of its own, so that the receiver opens the records of the payload in their final memory.
  static constexpr std::size_t max_gathered_bytes = 4096;
  // A long payload is cut into records of this size. One of them and the header's record fit into the 64 KiB that a
  // system hands to the network as one segment. A longer one would leave a short segment behind, which costs as much.
  static constexpr std::size_t long_plain_bytes = 63U << 10U;
  static constexpr std::size_t added_bytes = wire::record_prefix_bytes + wire::record_tag_bytes;
  static_assert(long_plain_bytes + added_bytes <= wire::record_bytes && max_gathered_bytes <= long_plain_bytes);

 public:
  // The most bytes that one call of seal() writes.
  static constexpr std::size_t max_bytes = wire::frame_header_bytes + added_bytes + long_plain_bytes + added_bytes;

  // What one call has sealed: bytes of the frame, and the bytes of the records that hold them.
  struct Sealed {
    std::size_t frame_bytes = 0;
    std::size_t record_bytes = 0;
  };

  explicit RecordWriter(std::unique_ptr<wire::RecordSeal> seal) noexcept : seal_(std::move(seal)) {}

  // Seals what follows in the frame from its byte `at` on, and writes the records to `records`, which has room for
  // max_bytes. `at` is the sum of frame_bytes of the earlier calls for this frame.
  Sealed seal(const wire::FrameHeader& header, std::span<const std::byte> payload, std::uint64_t at,
              std::byte* records) noexcept;
  // Writes the record of `plain`, as wire::RecordSeal::seal.
  std::size_t seal(std::span<const std::byte> plain, std::byte* record) noexcept { return seal_->seal(plain, record); }

 private:
  std::unique_ptr<wire::RecordSeal> seal_;
  std::array<std::byte, wire::frame_header_bytes + max_gathered_bytes> gathered_;
};

}  // namespace couplet::link
