// The part that the fuzz targets share: a check, and a lane whose frames come from the input.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "link/link.hpp"

namespace couplet::fuzzing {

inline void demand(bool condition) {
  if (!condition) {
    std::abort();
  }
}

// Takes the first bytes of the input as a value; zeros if there are too few.
template <class T>
T take(std::span<const std::byte>& input) {
  T value{};
  const std::size_t bytes = std::min(sizeof value, input.size());
  std::memcpy(&value, input.data(), bytes);
  input = input.subspan(bytes);
  return value;
}

// Discards what is sent, and ends when its input ends.
class InputLane : public link::Lane {
 public:
  InputLane(std::span<const std::byte> bytes, bool checked, std::uint32_t largest_payload) : input_(bytes) {
    traits_.name = "input";
    traits_.checked = checked;
    traits_.largest_payload = largest_payload;
  }
  [[nodiscard]] const link::LaneTraits& traits() const noexcept override { return traits_; }
  [[nodiscard]] std::int64_t push(const wire::FrameHeader&, std::span<const std::byte> payload,
                                  std::uint64_t) override {
    return static_cast<std::int64_t>(wire::frame_header_bytes + payload.size());
  }
  [[nodiscard]] bool readable() const noexcept override { return true; }
  void shut() noexcept override {}
  [[nodiscard]] const Status& failure() const noexcept override { return end_; }

 protected:
  // Passes a frame up, through a place if one is wanted and given.
  static bool deliver(link::FrameReceiver& receiver, const wire::FrameHeader& header,
                      std::span<const std::byte> payload, bool want_place) {
    std::byte* const place = want_place && !payload.empty() ? receiver.place(header) : nullptr;
    if (place != nullptr) {
      std::memcpy(place, payload.data(), payload.size());
      payload = {place, payload.size()};
    }
    return receiver.arrived(header, payload);
  }
  std::span<const std::byte> input_;
  link::LaneTraits traits_;
  std::uint32_t sequence_ = 0;

 private:
  Status end_{Code::end};
};

}  // namespace couplet::fuzzing
