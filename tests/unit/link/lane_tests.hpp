// The part that the tests of lanes share: a receiver that keeps what arrives, and frames with recognisable content.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "link/link.hpp"
#include "os/clock.hpp"

namespace couplet::link {

inline std::vector<std::byte> payload_of(std::uint32_t bytes, std::uint32_t seed) {
  std::vector<std::byte> payload(bytes);
  for (std::uint32_t index = 0; index < bytes; ++index) {
    payload[index] = static_cast<std::byte>((index * 131U + seed * 7919U + (index >> 8U)) & 0xFFU);
  }
  return payload;
}

inline wire::FrameHeader header_of(std::uint32_t number, std::uint32_t bytes) {
  wire::FrameHeader header;
  header.kind = wire::frame_kind(wire::FrameFamily::message, 1);
  header.sequence = number;
  header.payload_bytes = bytes;
  header.tag = static_cast<std::int32_t>(number * 3);
  header.context = number ^ 0x5A5A5A5AU;
  header.first = std::uint64_t{number} << 33U;
  header.second = ~std::uint64_t{number};
  return header;
}

// Checks that frames arrive whole and in order.
class CheckingReceiver : public FrameReceiver {
 public:
  explicit CheckingReceiver(bool places) : places_(places) {}
  std::byte* place(const wire::FrameHeader& header) override {
    if (!places_) {
      return nullptr;
    }
    placed_.assign(header.payload_bytes, std::byte{0xEE});
    return placed_.data();
  }
  bool arrived(const wire::FrameHeader& header, std::span<const std::byte> payload) override {
    const wire::FrameHeader expected = header_of(frames, header.payload_bytes);
    good = good && std::memcmp(&expected, &header, sizeof header) == 0 && payload.size() == header.payload_bytes;
    const auto content = payload_of(header.payload_bytes, frames);
    good = good && (content.empty() || std::memcmp(content.data(), payload.data(), content.size()) == 0);
    good = good && (!places_ || content.size() <= most_unplaced_bytes || payload.data() == placed_.data());
    ++frames;
    return !stop_at || frames != stop_at;
  }
  std::uint32_t frames = 0;
  std::uint32_t stop_at = 0;
  bool good = true;

 private:
  bool places_;
  std::vector<std::byte> placed_;
};

// Sends one frame, in as many pushes as it takes.
struct Sending {
  std::uint32_t number = 0;
  std::uint64_t taken = 0;
  std::vector<std::byte> payload;
  // Returns -1 if it has failed, 0 if the frame is not whole yet, and 1 if it is whole and the next one may begin.
  int push(Lane& lane) {
    const auto bytes = static_cast<std::uint32_t>(payload.size());
    const std::int64_t answer = lane.push(header_of(number, bytes), payload, taken);
    if (answer < 0) {
      return -1;
    }
    taken += static_cast<std::uint64_t>(answer);
    return taken == wire::frame_header_bytes + bytes ? 1 : 0;
  }
  void begin(std::uint32_t next, std::uint32_t bytes) {
    number = next;
    taken = 0;
    payload = payload_of(bytes, next);
  }
};

inline constexpr std::uint32_t interesting_bytes[] = {0,     1,     8,     15,     16,     17,     63,       64,
                                                      65,    127,   512,   4096,   4097,   8192,   16383,    16385,
                                                      40000, 65536, 65537, 131072, 131073, 300001, 1U << 20U};

// Sends `count` frames of changing sizes from one lane to the other, and pushes and polls in turn. Everything must
// arrive whole.
inline void expect_all_arrive(Lane& from, Lane& to, bool places, std::uint32_t count, int budget = 8) {
  CheckingReceiver receiver(places);
  Sending sending;
  std::uint32_t next = 0;
  sending.begin(0, interesting_bytes[0]);
  const std::uint64_t watchdog_ns = os::deadline_after(60);
  while (receiver.frames < count && os::now_ns() < watchdog_ns) {
    if (next < count) {
      const int answer = sending.push(from);
      ASSERT_GE(answer, 0) << from.failure().text();
      if (answer == 1 && ++next < count) {
        sending.begin(next, interesting_bytes[(next * 7) % std::size(interesting_bytes)]);
      }
    }
    // With a socket, the sender may hold bytes that only its poll moves.
    ASSERT_GE(from.poll(receiver, 0), -1);
    const int polled = to.poll(receiver, budget);
    ASSERT_GE(polled, 0) << to.failure().text();
  }
  EXPECT_EQ(receiver.frames, count);
  EXPECT_TRUE(receiver.good);
}

}  // namespace couplet::link
