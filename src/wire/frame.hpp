// wire: every byte layout that leaves a process, and the only place that casts bytes from outside. This file is the
// frame, the unit in which channels move everything between two processes. link and channel include it.
// Invariants: integers are little endian; a frame is this header and then payload_bytes of payload; a decoder returns
// nothing that it has not checked. There is one page for each format in docs/formats/, and golden bytes in
// tests/unit/wire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"

namespace couplet::wire {

inline constexpr std::uint8_t frame_magic = 0xC7;
inline constexpr std::uint8_t frame_version = 1;

// The layer that reads a frame: the high four bits of its kind. The low four bits belong to that layer.
enum class FrameFamily : std::uint8_t { channel = 0, message = 1, control = 2, relay = 3 };
inline constexpr std::size_t frame_families = 16;

enum FrameFlags : std::uint8_t {
  frame_checked = 1,          // `check` covers the header
  frame_payload_checked = 2,  // `check` also covers the payload
  frame_acknowledge = 4,      // the receiver acknowledges the frame at once; only on lanes that may break
};

// It has 40 bytes, so that with 8 to 16 bytes of payload and a flag word it fits into one cache line.
struct FrameHeader {
  std::uint8_t magic = frame_magic;
  std::uint8_t version = frame_version;
  std::uint8_t kind = 0;  // FrameFamily << 4 | the kind within the family
  std::uint8_t flags = 0;
  std::uint32_t sequence = 0;  // counts the frames of a channel in one direction from 0, and wraps
  std::uint32_t payload_bytes = 0;
  std::uint32_t check = 0;    // the low half of XXH3 over the header with check = 0 (and the payload)
  std::int32_t tag = 0;       // this and the following members belong to the family
  std::uint32_t context = 0;  // message: the group
  std::uint64_t first = 0;    // message: the total bytes
  std::uint64_t second = 0;   // message: the identity of a rendezvous
};
static_assert(sizeof(FrameHeader) == 40 && alignof(FrameHeader) == 8);
inline constexpr std::size_t frame_header_bytes = sizeof(FrameHeader);

[[nodiscard]] constexpr FrameFamily family_of(const FrameHeader& header) noexcept {
  return static_cast<FrameFamily>(header.kind >> 4);
}
[[nodiscard]] constexpr std::uint8_t frame_kind(FrameFamily family, std::uint8_t what) noexcept {
  return static_cast<std::uint8_t>((static_cast<std::uint8_t>(family) << 4) | what);
}

// Sets flags and check. If with_payload is true, the check also covers the payload. Sets extra_flags too.
void seal_frame(FrameHeader& header, std::span<const std::byte> payload, bool with_payload,
                std::uint8_t extra_flags = 0) noexcept;
// Checks magic and version, and the check of the header if the flags say so. Returns a protocol or version error that
// says what is wrong. If the payload is checked too, verify_payload does it once the payload has arrived.
[[nodiscard]] Status verify_header(const FrameHeader& header);
[[nodiscard]] Status verify_payload(const FrameHeader& header, std::span<const std::byte> payload);

// Byte images: 40 bytes, little endian on every host.
void encode_frame(const FrameHeader& header, std::span<std::byte, frame_header_bytes> image) noexcept;
[[nodiscard]] FrameHeader decode_frame(std::span<const std::byte, frame_header_bytes> image) noexcept;

}  // namespace couplet::wire
