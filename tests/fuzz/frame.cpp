// Frames from outside, as a lane passes them to a channel: each is delivered in order and as verified, or the channel
// fails once, with a sentence.
#include <memory>

#include "channel/channel.hpp"
#include "fuzzing.hpp"

using namespace couplet;
using fuzzing::demand;
using fuzzing::take;

namespace {

constexpr std::uint32_t largest_payload = 1U << 16U;

// For each frame: a byte of flags (1: the right sequence, 2: seal the header, 4: and the payload, 8: place), 40 bytes
// of header, two bytes with the length of the payload, and the payload.
struct FrameLane final : fuzzing::InputLane {
  using InputLane::InputLane;
  [[nodiscard]] int poll(link::FrameReceiver& receiver, int budget) override {
    int frames = 0;
    while (frames < budget && input_.size() >= 3 + wire::frame_header_bytes) {
      const auto choices = take<std::uint8_t>(input_);
      auto header = wire::decode_frame(input_.first<wire::frame_header_bytes>());
      input_ = input_.subspan(wire::frame_header_bytes);
      const auto length = take<std::uint16_t>(input_);
      const auto payload = input_.first(std::min<std::size_t>(length, input_.size()));
      input_ = input_.subspan(payload.size());
      if ((choices & 1U) != 0) {
        header.magic = wire::frame_magic;
        header.version = wire::frame_version;
        header.sequence = sequence_++;
        header.payload_bytes = static_cast<std::uint32_t>(payload.size());
      }
      if ((choices & 6U) != 0) {
        wire::seal_frame(header, payload, (choices & 4U) != 0);
      }
      ++frames;
      if (!deliver(receiver, header, payload, (choices & 8U) != 0 && header.payload_bytes == payload.size())) {
        return frames;
      }
    }
    return frames > 0 ? frames : -1;
  }
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
  std::byte memory[largest_payload];
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
  channel.attach(std::make_unique<FrameLane>(bytes.subspan(1), (data[0] & 1) != 0, largest_payload));
  while (channel.poll(4) > 0) {
  }
  demand(channel.settled() && handler.losses == 1);
  return 0;
}
