#include "wire/frame.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <bit>
#include <cstring>

namespace couplet::wire {

namespace {

// Up to this size, header and payload are hashed as one piece on the stack, which costs less than a hash in pieces.
constexpr std::size_t one_piece_bytes = 256;

constexpr bool little_endian_host = std::endian::native == std::endian::little;

[[nodiscard, maybe_unused]] constexpr std::uint32_t to_little(std::uint32_t value) noexcept {
  return little_endian_host ? value : __builtin_bswap32(value);
}

[[nodiscard, maybe_unused]] constexpr std::uint64_t to_little(std::uint64_t value) noexcept {
  return little_endian_host ? value : __builtin_bswap64(value);
}

// Returns the structure whose memory is the image. It swaps the integers on a big-endian host, and changes nothing
// elsewhere. It is its own inverse.
[[nodiscard]] FrameHeader to_image_order(const FrameHeader& header) noexcept {
  FrameHeader image = header;
  if constexpr (!little_endian_host) {
    image.sequence = to_little(header.sequence);
    image.payload_bytes = to_little(header.payload_bytes);
    image.check = to_little(header.check);
    image.tag = static_cast<std::int32_t>(to_little(static_cast<std::uint32_t>(header.tag)));
    image.context = to_little(header.context);
    image.first = to_little(header.first);
    image.second = to_little(header.second);
  }
  return image;
}

[[nodiscard]] std::uint32_t low_half(XXH64_hash_t hash) noexcept {
  return static_cast<std::uint32_t>(hash & 0xFFFFFFFFU);
}

// Returns the check sum. `payload` is empty if it is not covered.
[[nodiscard]] std::uint32_t check_of(const FrameHeader& header, std::span<const std::byte> payload) noexcept {
  FrameHeader image = to_image_order(header);
  image.check = 0;
  if (payload.empty()) {
    return low_half(XXH3_64bits(&image, sizeof(image)));
  }
  if (payload.size() <= one_piece_bytes) {
    std::array<std::byte, sizeof(FrameHeader) + one_piece_bytes> piece;  // NOLINT: filled below
    std::memcpy(piece.data(), &image, sizeof(image));
    std::memcpy(piece.data() + sizeof(image), payload.data(), payload.size());
    return low_half(XXH3_64bits(piece.data(), sizeof(image) + payload.size()));
  }
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, &image, sizeof(image));
  XXH3_64bits_update(&state, payload.data(), payload.size());
  return low_half(XXH3_64bits_digest(&state));
}

constexpr std::uint8_t checked_whole = frame_checked | frame_payload_checked;
constexpr std::uint8_t known_flags = checked_whole | frame_acknowledge;

}  // namespace

void seal_frame(FrameHeader& header, std::span<const std::byte> payload, bool with_payload,
                std::uint8_t extra_flags) noexcept {
  header.flags = static_cast<std::uint8_t>((with_payload ? checked_whole : static_cast<std::uint8_t>(frame_checked)) |
                                           extra_flags);
  header.check = check_of(header, with_payload ? payload : std::span<const std::byte>{});
}

Status verify_header(const FrameHeader& header) {
  if (header.magic != frame_magic) {
    return fail(Code::protocol, "bytes that are not a frame (they begin with 0x{:02x}, not 0x{:02x})", header.magic,
                frame_magic);
  }
  if (header.version != frame_version) {
    return fail(Code::version, "a frame of version {}, but this program reads version {}", header.version,
                frame_version);
  }
  const bool checked = (header.flags & frame_checked) != 0;
  const bool payload_checked = (header.flags & frame_payload_checked) != 0;
  if ((header.flags & ~known_flags) != 0 || (payload_checked && !checked)) {
    return fail(Code::protocol, "frame {} has flags 0x{:02x} that do not exist", header.sequence, header.flags);
  }
  if (checked && !payload_checked && header.check != check_of(header, {})) {
    return fail(Code::protocol, "the header of frame {} was damaged on the way", header.sequence);
  }
  return {};
}

Status verify_payload(const FrameHeader& header, std::span<const std::byte> payload) {
  if (payload.size() != header.payload_bytes) {
    return fail(Code::protocol, "frame {} announces {} bytes but brings {}", header.sequence, header.payload_bytes,
                payload.size());
  }
  if ((header.flags & frame_payload_checked) != 0 && header.check != check_of(header, payload)) {
    return fail(Code::protocol, "frame {} was damaged on the way", header.sequence);
  }
  return {};
}

void encode_frame(const FrameHeader& header, std::span<std::byte, frame_header_bytes> image) noexcept {
  const FrameHeader ordered = to_image_order(header);
  std::memcpy(image.data(), &ordered, frame_header_bytes);
}

FrameHeader decode_frame(std::span<const std::byte, frame_header_bytes> image) noexcept {
  FrameHeader ordered;
  std::memcpy(&ordered, image.data(), frame_header_bytes);
  return to_image_order(ordered);
}

}  // namespace couplet::wire
