// Takes what a lane delivers from any input, and aborts if a frame is not as its header says.
#pragma once

#include <cstdlib>
#include <memory>
#include <span>

#include "link/link.hpp"

namespace couplet::fuzz {

class Receiver final : public link::FrameReceiver {
 public:
  explicit Receiver(std::size_t max_payload_bytes) : max_payload_bytes_(max_payload_bytes) {}

  // Every second frame has no place, so that the lane keeps its payload.
  std::byte* place(const wire::FrameHeader& header) override {
    if (header.payload_bytes > max_payload_bytes_) {
      std::abort();
    }
    if (header.tag % 2 == 0) {
      return nullptr;
    }
    memory_ = std::make_unique<std::byte[]>(header.payload_bytes);
    return memory_.get();
  }
  bool arrived(const wire::FrameHeader& header, std::span<const std::byte> payload) override {
    if (payload.size() != header.payload_bytes) {
      std::abort();
    }
    for (const std::byte byte : payload) {
      sum_ += std::to_integer<unsigned>(byte);  // all bytes can be read
    }
    return header.context != 1;
  }

 private:
  std::size_t max_payload_bytes_;
  std::unique_ptr<std::byte[]> memory_;
  unsigned sum_ = 0;
};

}  // namespace couplet::fuzz
