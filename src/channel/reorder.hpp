// Keeps the frames that came over one lane before the frame that is due, which comes over another one. Above: channel.
// Invariants: bounded by what a sender may have unacknowledged (max_unacknowledged_bytes); a frame is kept once. Tests:
// tests/unit/channel/test_reorder.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "wire/frame.hpp"

namespace couplet::channel {

// What a sender with several lanes may have sent beyond what the peer has acknowledged; and so what a receiver may have
// to keep.
inline constexpr std::uint64_t max_unacknowledged_bytes = std::uint64_t{8} << 20;

class Reorder {
 public:
  struct Frame {
    wire::FrameHeader header;
    std::vector<std::byte> payload;
  };

  [[nodiscard]] bool empty() const noexcept { return frames_.empty(); }
  [[nodiscard]] bool contains(std::uint64_t number) const { return frames_.contains(number); }
  // limit: the sender has sent more than it may.
  Status keep(std::uint64_t number, const wire::FrameHeader& header, std::span<const std::byte> payload) {
    if (bytes_ > max_unacknowledged_bytes || frames_.size() >= max_frames) {
      return fail(Code::limit, "{} frames with {} bytes came before frame {} was due: more than may be under way",
                  frames_.size(), bytes_, number);
    }
    const auto [place, fresh] = frames_.try_emplace(number);
    if (fresh) {
      place->second.header = header;
      place->second.payload.assign(payload.begin(), payload.end());
      bytes_ += payload.size();
    }
    return {};
  }
  // The frame with that number, which leaves the buffer.
  [[nodiscard]] std::optional<Frame> take(std::uint64_t number) {
    const auto found = frames_.find(number);
    if (found == frames_.end()) {
      return std::nullopt;
    }
    std::optional<Frame> frame(std::move(found->second));
    bytes_ -= frame->payload.size();
    frames_.erase(found);
    return frame;
  }

 private:
  // A frame counts as at least this much against the sender's bound.
  static constexpr std::size_t max_frames = max_unacknowledged_bytes / wire::frame_header_bytes;
  std::map<std::uint64_t, Frame> frames_;
  std::uint64_t bytes_ = 0;
};

}  // namespace couplet::channel
