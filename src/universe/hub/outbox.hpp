// Collects what the parts of the hub send: messages for connections, and events for people. Pure; emptied by the
// server.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "universe/control.hpp"
#include "universe/hub/hub_event.hpp"

namespace couplet::universe {

using ConnectionId = std::uint32_t;
using Payload = std::shared_ptr<const std::string>;

struct HubOutput {
  ConnectionId to = 0;
  Payload payload;
  bool last = false;  // close the connection when this is sent
};

[[nodiscard]] inline Payload payload_of(const HubMessage& message) {
  return std::make_shared<const std::string>(encode(message));
}

class Outbox {
 public:
  void say(ConnectionId to, const HubMessage& message, bool last = false) {
    outputs_.push_back({to, payload_of(message), last});
  }
  // Sends a message that was encoded once for many connections.
  void say(ConnectionId to, Payload payload, bool last = false) { outputs_.push_back({to, std::move(payload), last}); }
  // Sends a change. A connection that is behind is not told: it will be told the whole state when it has caught up.
  void say_change(ConnectionId to, const Payload& payload) {
    if (const auto found = behind_.find(to); found != behind_.end()) {
      found->second = true;
    } else {
      say(to, payload);
    }
  }
  void fell_behind(ConnectionId connection) { behind_.emplace(connection, false); }
  // The connection has read what waited for it. Returns true if a change was left out meanwhile.
  bool caught_up(ConnectionId connection) {
    const auto found = behind_.find(connection);
    const bool missed = found != behind_.end() && found->second;
    behind_.erase(connection);
    return missed;
  }
  // Answers a request with ok, or with what is wrong.
  void answer(ConnectionId to, RequestId request, const Status& status) {
    AnswerMessage reply;
    reply.request = request;
    reply.code = status.code();
    reply.text = status.error() ? status.text() : std::string();
    say(to, reply);
  }
  void note(HubEvent event) { events_.push_back(std::move(event)); }

  [[nodiscard]] std::vector<HubOutput> take_outputs() { return std::exchange(outputs_, {}); }
  [[nodiscard]] std::vector<HubEvent> take_events() { return std::exchange(events_, {}); }

 private:
  std::vector<HubOutput> outputs_;
  std::vector<HubEvent> events_;
  std::map<ConnectionId, bool> behind_;  // whether a change was left out
};

}  // namespace couplet::universe
