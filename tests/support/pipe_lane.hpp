// A pair of lanes over two byte buffers. The test can break it after a given byte of either direction, or at once.
//
//   test::Pipe pipe;                 // both ends: pipe.take_first(), pipe.take_second()
//   pipe.there().break_after = 57;   // the first end takes 57 bytes; then the lane is broken for both
#pragma once

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "link/link.hpp"

namespace couplet::test {

struct PipeDirection {
  std::vector<std::byte> bytes;
  std::size_t read = 0;
  std::uint64_t taken = 0;                  // bytes taken since the beginning
  std::uint64_t break_after = UINT64_MAX;   // the lane breaks after so many bytes
  std::uint64_t largest_push = UINT64_MAX;  // the largest number of bytes that one call takes
};

struct PipeState {
  PipeDirection directions[2];
  bool broken = false;
  bool shut[2] = {false, false};
  link::LaneTraits traits{.name = "pipe",
                          .checked = true,
                          .checked_payload_bytes = 0,
                          .largest_payload = 1U << 20,
                          .eager_bytes = 16U << 10,
                          .may_break = true};
};

class PipeLane final : public link::Lane {
 public:
  PipeLane(std::shared_ptr<PipeState> state, int side) : state_(std::move(state)), side_(side) {}
  ~PipeLane() override { state_->broken = true; }

  [[nodiscard]] const link::LaneTraits& traits() const noexcept override { return state_->traits; }
  [[nodiscard]] std::int64_t push(const wire::FrameHeader& header, std::span<const std::byte> payload,
                                  std::uint64_t offset) override {
    if (state_->broken || state_->shut[side_]) {
      set_lost();
      return -1;
    }
    PipeDirection& out = state_->directions[side_];
    std::vector<std::byte> frame(wire::frame_header_bytes + payload.size());
    wire::encode_frame(header, std::span<std::byte, wire::frame_header_bytes>(frame.data(), wire::frame_header_bytes));
    if (!payload.empty()) {
      std::memcpy(frame.data() + wire::frame_header_bytes, payload.data(), payload.size());
    }
    const std::uint64_t bytes = std::min({frame.size() - offset, out.break_after - out.taken, out.largest_push});
    out.bytes.insert(out.bytes.end(), frame.begin() + static_cast<std::ptrdiff_t>(offset),
                     frame.begin() + static_cast<std::ptrdiff_t>(offset + bytes));
    out.taken += bytes;
    if (out.taken == out.break_after) {
      state_->broken = true;
    }
    return static_cast<std::int64_t>(bytes);
  }
  [[nodiscard]] int poll(link::FrameReceiver& receiver, int budget) override {
    int frames = 0;
    while (frames < budget && take_frame(receiver)) {
      ++frames;
    }
    if (frames == 0 && failure_.ok() && state_->broken) {
      set_lost();
    } else if (frames == 0 && failure_.ok() && state_->shut[1 - side_]) {
      failure_ = fail(Code::end, "pipe: shut by the peer");
    }
    return frames == 0 && !failure_.ok() ? -1 : frames;
  }
  [[nodiscard]] bool readable() const noexcept override {
    const PipeDirection& in = state_->directions[1 - side_];
    return in.read < in.bytes.size() || state_->broken || state_->shut[1 - side_];
  }
  void shut() noexcept override { state_->shut[side_] = true; }
  [[nodiscard]] const Status& failure() const noexcept override { return failure_; }

 private:
  void set_lost() {
    if (failure_.ok()) {
      failure_ = fail(Code::peer_lost, "pipe: broken");
    }
  }
  std::size_t read(std::byte* target, std::size_t bytes) {
    PipeDirection& in = state_->directions[1 - side_];
    const std::size_t count = std::min(bytes, in.bytes.size() - in.read);
    if (count > 0) {
      std::memcpy(target, in.bytes.data() + in.read, count);
    }
    in.read += count;
    return count;
  }
  // Returns false if there is no whole frame, or the receiver has stopped.
  bool take_frame(link::FrameReceiver& receiver) {
    if (stopped_) {
      return false;
    }
    if (image_bytes_ < image_.size()) {
      image_bytes_ += read(image_.data() + image_bytes_, image_.size() - image_bytes_);
      if (image_bytes_ < image_.size()) {
        return false;
      }
      header_ = wire::decode_frame(image_);
      payload_bytes_ = 0;
      place_ = header_.payload_bytes == 0 ? nullptr : receiver.place(header_);
      if (place_ == nullptr) {
        own_.resize(header_.payload_bytes);
        place_ = own_.data();
      }
    }
    payload_bytes_ += read(place_ + payload_bytes_, header_.payload_bytes - payload_bytes_);
    if (payload_bytes_ < header_.payload_bytes) {
      return false;
    }
    image_bytes_ = 0;
    stopped_ = !receiver.arrived(header_, {place_, header_.payload_bytes});
    return true;
  }

  std::shared_ptr<PipeState> state_;
  int side_;
  Status failure_;
  std::array<std::byte, wire::frame_header_bytes> image_{};
  std::size_t image_bytes_ = 0;
  wire::FrameHeader header_;
  std::size_t payload_bytes_ = 0;
  std::vector<std::byte> own_;
  bool stopped_ = false;
};

struct Pipe {
  [[nodiscard]] std::unique_ptr<link::Lane> take_first() const { return std::make_unique<PipeLane>(state, 0); }
  [[nodiscard]] std::unique_ptr<link::Lane> take_second() const { return std::make_unique<PipeLane>(state, 1); }
  [[nodiscard]] PipeDirection& there() const { return state->directions[0]; }
  [[nodiscard]] PipeDirection& back() const { return state->directions[1]; }
  void break_now() const { state->broken = true; }

  std::shared_ptr<PipeState> state = std::make_shared<PipeState>();
};

}  // namespace couplet::test
