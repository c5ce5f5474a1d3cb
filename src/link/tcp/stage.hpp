// Stage: bytes that a tcp lane has received and not yet handed on. Private to link/tcp/.
// Tests: tests/unit/link/tcp_lane_test.cpp.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>

namespace couplet::link {

using Buffer = std::unique_ptr<std::byte[]>;

// Received bytes, in the order in which they came, in one piece.
struct Stage {
  Buffer memory;
  std::size_t capacity = 0;
  std::size_t begin = 0;
  std::size_t end = 0;

  explicit Stage(std::size_t bytes) : memory(std::make_unique_for_overwrite<std::byte[]>(bytes)), capacity(bytes) {}
  [[nodiscard]] std::size_t size() const noexcept { return end - begin; }
  [[nodiscard]] const std::byte* data() const noexcept { return memory.get() + begin; }
  [[nodiscard]] std::byte* room() noexcept { return memory.get() + end; }
  [[nodiscard]] std::size_t room_bytes() const noexcept { return capacity - end; }
  void take(std::size_t bytes) noexcept {
    begin += bytes;
    if (begin == end) {
      begin = end = 0;
    }
  }
  // Makes room for `bytes` in one piece.
  void make_room(std::size_t bytes) noexcept {
    if (capacity - begin < bytes) {
      std::memmove(memory.get(), data(), size());
      end -= begin;
      begin = 0;
    }
  }
};

}  // namespace couplet::link
