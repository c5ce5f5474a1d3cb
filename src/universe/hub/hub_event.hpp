// What happened in a universe, for people and tools: one JSON object a line (docs/formats/hub.md, "Events"). Pure.
#pragma once

#include <cstdint>
#include <string>

#include "channel/channel.hpp"

namespace couplet::universe {

struct HubEvent {
  std::string name;  // joined, complete, left, lost, series, opened, closed, waiting, rejoined, over
  std::string program;
  std::int32_t rank = -1;
  channel::PeerId peer = 0;
  std::string node;
  std::uint64_t incarnation = 0;
  std::string series;
  std::string text;
};

// with_time_s: seconds since 1970.
[[nodiscard]] std::string event_json(const HubEvent& event, double with_time_s);

}  // namespace couplet::universe
