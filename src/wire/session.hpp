// The frames of family channel, which the channels of two processes exchange with each other.
// Format: docs/formats/frame.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.hpp"
#include "wire/frame.hpp"

namespace couplet::wire {

// Kinds of family channel. `failed`, `session` and `acknowledge` are not numbered: their sequence is 0.
inline constexpr std::uint8_t channel_end = frame_kind(FrameFamily::channel, 0);
inline constexpr std::uint8_t channel_failed = frame_kind(FrameFamily::channel, 1);
inline constexpr std::uint8_t channel_session = frame_kind(FrameFamily::channel, 2);
inline constexpr std::uint8_t channel_acknowledge = frame_kind(FrameFamily::channel, 3);

// The first frame of each side on a lane that may break. It names the channel, and says how much of it has arrived at
// the sender.
struct SessionNotice {
  std::uint64_t session = 0;       // session of the sender's channel; never 0
  std::uint64_t peer_session = 0;  // session of the receiver's channel, as the sender knows it; 0: not known yet
  std::uint64_t received = 0;      // numbered frames that the sender has received
};
inline constexpr std::size_t session_bytes = 24;

using SessionImage = std::array<std::byte, session_bytes>;
[[nodiscard]] SessionImage encode_session(const SessionNotice& notice) noexcept;
// Returns protocol if the payload has another length, or session is 0.
[[nodiscard]] Result<SessionNotice> decode_session(std::span<const std::byte> payload);

// The payload of `failed` says why the sender gives up the channel.
inline constexpr std::size_t max_reason_bytes = 1024;
// Returns the reason for the user. Each byte that cannot be printed becomes a question mark.
[[nodiscard]] std::string printable_reason(std::span<const std::byte> payload);

}  // namespace couplet::wire
