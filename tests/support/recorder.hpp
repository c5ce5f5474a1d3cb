// A FrameHandler that records what it is told.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "channel/channel.hpp"

namespace couplet::test {

struct Recorder final : channel::FrameHandler {
  struct Frame {
    wire::FrameHeader header;
    std::string payload;
  };

  std::byte* place(channel::Channel&, const wire::FrameHeader& header) override {
    ++places;
    if (!use_place) {
      return nullptr;
    }
    memory.resize(header.payload_bytes);
    return memory.data();
  }
  Status arrived(channel::Channel& from, const wire::FrameHeader& header, std::span<const std::byte> payload) override {
    frames.push_back({header, std::string(reinterpret_cast<const char*>(payload.data()), payload.size())});
    return on_frame ? on_frame(from, frames.back()) : Status();
  }
  void unplaced(channel::Channel&, const wire::FrameHeader&) override { ++taken_back; }
  void lost(channel::Channel& from, const Status& why) override {
    losses.push_back(why);
    if (on_lost) {
      on_lost(from, why);
    }
  }

  // For the family `message` only.
  [[nodiscard]] channel::Handlers handlers() {
    channel::Handlers all{};
    all[static_cast<std::size_t>(wire::FrameFamily::message)] = this;
    return all;
  }

  std::vector<Frame> frames;
  std::vector<Status> losses;
  std::function<Status(channel::Channel&, const Frame&)> on_frame;
  std::function<void(channel::Channel&, const Status&)> on_lost;
  bool use_place = false;
  int places = 0;
  int taken_back = 0;
  std::vector<std::byte> memory;
};

// A frame with its own payload. It counts how often, and with what result, it was finished.
struct Sent : channel::Outgoing {
  explicit Sent(std::string bytes, std::int32_t tag = 0, wire::FrameFamily family = wire::FrameFamily::message)
      : text(std::move(bytes)) {
    header.kind = wire::frame_kind(family, 1);
    header.tag = tag;
    payload = std::as_bytes(std::span(text));
    owner = this;
    finished = [](channel::Outgoing& outgoing, const Status& status) {
      auto& self = *static_cast<Sent*>(outgoing.owner);
      self.outcomes.push_back(status);
      if (self.on_finished) {
        self.on_finished();
      }
    };
  }
  Sent(const Sent&) = delete;
  Sent& operator=(const Sent&) = delete;

  std::string text;
  std::vector<Status> outcomes;
  std::function<void()> on_finished;
};

[[nodiscard]] inline wire::FrameHeader message_header(std::int32_t tag = 0) {
  wire::FrameHeader header;
  header.kind = wire::frame_kind(wire::FrameFamily::message, 1);
  header.tag = tag;
  return header;
}

}  // namespace couplet::test
