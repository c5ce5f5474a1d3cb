// Keeps the frames that arrive early over one lane, while an earlier frame is still under way over another lane. Above:
// channel. Invariants: bounded by what a sender may have unacknowledged (max_unacknowledged_bytes); a frame is kept
// once. Tests: tests/unit/channel/retention_test.cpp.
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

// The most bytes that a sender with several lanes sends before the peer has acknowledged them. So it also bounds what a
// receiver has to keep.
inline constexpr std::uint64_t max_unacknowledged_bytes = std::uint64_t{8} << 20;

class Reorder {
 public:
  struct Frame {
    wire::FrameHeader header;
    std::vector<std::byte> payload;
  };

  [[nodiscard]] bool empty() const noexcept { return frames_.empty(); }
  [[nodiscard]] bool contains(std::uint64_t number) const { return frames_.contains(number); }
  // Keeps a frame. Returns limit if the sender has sent more than it may.
  Status keep(std::uint64_t number, const wire::FrameHeader& header, std::span<const std::byte> payload) {
    if (bytes_ > max_unacknowledged_bytes || frames_.size() >= max_frames) {
      return fail(Code::limit, "{} early frames with {} bytes are kept, which leaves no room for frame {}",
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
  // Returns the frame with that number, if it is here, and removes it.
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
  // The bound on the number of frames. Even an empty frame counts with the bytes of its header.
  static constexpr std::size_t max_frames = max_unacknowledged_bytes / wire::frame_header_bytes;
  std::map<std::uint64_t, Frame> frames_;
  std::uint64_t bytes_ = 0;
};

}  // namespace couplet::channel
