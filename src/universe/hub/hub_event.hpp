// An event of a universe, for people and tools. Each is one line with a JSON object (docs/formats/hub.md, "Events").
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "channel/channel.hpp"
#include "os/socket.hpp"
#include "universe/hub/earlier_members.hpp"
#include "universe/membership.hpp"

namespace couplet::universe {

struct HubEvent {
  // joined, waiting, complete, left, lost, cut_off, rejoined, unreachable, series, opened, closed, withdrawn, dropped
  // or over; and, for the roster only, ticket: the hub has signed one for this peer and incarnation; register: a
  // series, with its writers; writer: whether this peer is one of them
  std::string name;
  std::string program;
  std::int32_t rank = -1;
  channel::PeerId peer = 0;
  std::string node;
  std::uint64_t incarnation = 0;
  std::string series;
  std::string text;
  // For the roster only.
  os::Endpoint listens_at = {};            // of joined and rejoined; port 0: nowhere
  std::vector<ProgramInfo> programs = {};  // of complete
  EarlierSeries entry = {};                // of register; of writer, which is in entry.writers if it is one
};

// Returns the line. with_time_s: seconds since 1970.
[[nodiscard]] std::string event_json(const HubEvent& event, double with_time_s);

}  // namespace couplet::universe
