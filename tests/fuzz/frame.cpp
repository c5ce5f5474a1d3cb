// Frames from outside, as a lane hands them to a channel: each is delivered in order and as verified, or the channel fails,
// once, with a sentence.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "channel/channel.hpp"

using namespace couplet;

namespace {

void demand(bool condition) {
  if (!condition) {
    std::abort();
  }
}

// Per frame: a byte of wishes (1: the right sequence, 2: seal the header, 4: and the payload, 8: place), 40 bytes of header,
// two bytes with the length of the payload, the payload.
struct InputLane final : link::Lane {
  explicit InputLane(std::span<const std::byte> bytes, bool checked) : input(bytes) { own.checked = checked; }
  [[nodiscard]] const link::LaneTraits& traits() const noexcept override { return own; }
  [[nodiscard]] std::int64_t push(const wire::FrameHeader&, std::span<const std::byte> payload,
                                  std::uint64_t) override {
    return static_cast<std::int64_t>(wire::frame_header_bytes + payload.size());
  }
  [[nodiscard]] int poll(link::FrameReceiver& receiver, int budget) override {
    int frames = 0;
    while (frames < budget && input.size() >= 3 + wire::frame_header_bytes) {
      const auto wishes = std::to_integer<unsigned>(input[0]);
      auto header = wire::decode_frame(input.subspan(1).first<wire::frame_header_bytes>());
      std::uint16_t length = 0;
      std::memcpy(&length, &input[1 + wire::frame_header_bytes], sizeof length);
      input = input.subspan(3 + wire::frame_header_bytes);
      auto payload = input.first(std::min<std::size_t>(length, input.size()));
      input = input.subspan(payload.size());
      if ((wishes & 1U) != 0) {
        header.magic = wire::frame_magic;
        header.version = wire::frame_version;
        header.sequence = sequence++;
        header.payload_bytes = static_cast<std::uint32_t>(payload.size());
      }
      if ((wishes & 6U) != 0) {
        wire::seal_frame(header, payload, (wishes & 4U) != 0);
      }
      std::byte* const place = (wishes & 8U) != 0 && !payload.empty() && header.payload_bytes == payload.size()
                                   ? receiver.place(header)
                                   : nullptr;
      if (place != nullptr) {
        std::memcpy(place, payload.data(), payload.size());
        payload = {place, payload.size()};
      }
      ++frames;
      if (!receiver.arrived(header, payload)) {
        return frames;
      }
    }
    return frames > 0 ? frames : -1;
  }
  [[nodiscard]] bool readable() const noexcept override { return true; }
  void shut() noexcept override {}
  [[nodiscard]] const Status& failure() const noexcept override { return end; }

  link::LaneTraits own{.name = "input", .largest_payload = 1U << 16U};
  std::span<const std::byte> input;
  std::uint32_t sequence = 0;
  Status end{Code::end};
};

struct Handler final : channel::FrameHandler {
  std::byte* place(channel::Channel&, const wire::FrameHeader& header) override {
    demand(wire::verify_header(header).ok() && header.sequence == next && header.payload_bytes <= sizeof memory);
    return memory;
  }
  Status arrived(channel::Channel&, const wire::FrameHeader& header, std::span<const std::byte> payload) override {
    demand(wire::verify_header(header).ok() && wire::verify_payload(header, payload).ok() && header.sequence == next);
    ++next;
    return {};
  }
  void lost(channel::Channel&, const Status& why) override {
    demand(!why.ok() && !why.text().empty());
    ++losses;
  }
  std::uint32_t next = 0;
  int losses = 0;
  std::byte memory[1U << 16U];
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (bytes.empty()) {
    return 0;
  }
  static Handler handler;
  handler.next = 0;
  handler.losses = 0;
  channel::Handlers handlers{};
  handlers[1] = handlers[2] = &handler;
  channel::Channel channel(1, "the peer", handlers);
  channel.attach(std::make_unique<InputLane>(bytes.subspan(1), (data[0] & 1) != 0));
  while (channel.poll(4) > 0) {
  }
  demand(channel.settled() && handler.losses == 1);
  return 0;
}
