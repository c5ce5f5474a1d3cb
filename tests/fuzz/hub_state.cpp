// The hub with several connections that send anything in any order. Input: a byte "connection and action", a byte with
// the length of a message for `received`, the message, and so on. The first byte of all says whether the hub was
// started again. The hub's own assertions are the judge, and so are the decoders of its answers.
#include "universe/hub/hub_state.hpp"

#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace couplet::universe;

namespace {

void check(HubState& hub) {
  for (const auto& output : hub.take_outputs()) {
    if (!decode_hub_message(*output.payload).ok()) {
      std::abort();
    }
  }
  for (const auto& event : hub.take_events()) {
    static_cast<void>(event_json(event, 0));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  HubSettings settings;
  settings.programs = {{"ocean", 2, true}, {"nowcast", 0, true}, {"follower", 1, false}};
  settings.linger_s = 3;
  settings.run_id = 1;
  std::string_view text(reinterpret_cast<const char*>(data), bytes);
  settings.restarted = !text.empty() && text.front() % 2 != 0;
  text.remove_prefix(std::min<std::size_t>(text.size(), 1));
  HubState hub(std::move(settings));
  ConnectionId connections[8] = {};
  ConnectionId next = 1;
  for (std::uint64_t now_ns = 1; !text.empty(); now_ns += 500'000'000) {
    const auto head = static_cast<unsigned char>(text.front());
    auto& connection = connections[head % 8];
    const std::size_t length = text.size() > 1 ? static_cast<unsigned char>(text[1]) : 0;
    const auto line = text.substr(std::min<std::size_t>(text.size(), 2), length);
    text.remove_prefix(std::min(text.size(), line.size() + 2));
    if (connection == 0) {
      connection = next++;
      hub.connected(connection, now_ns);
    }
    const auto message = decode_member_message(line);
    if (message.ok()) {
      hub.received(connection, *message, now_ns);
    } else if (head % 3 == 0) {
      hub.broken(connection, message.status(), now_ns);
    } else {
      hub.disconnected(connection, "gone", now_ns);
      connection = 0;
    }
    hub.tick(now_ns);
    hub.flush(now_ns);
    check(hub);
  }
  return 0;
}
