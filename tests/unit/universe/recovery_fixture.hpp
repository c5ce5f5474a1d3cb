// A hub that was started again, and what members tell it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "hub_world.hpp"

namespace couplet::universe {

inline HubSettings resumed(const std::string& programs) {
  auto settings = HubWorld::settings(programs, -1);
  settings.restarted = true;
  return settings;
}

// As the hub of before had placed it: ocean's ranks on node 0, all others on node 1.
inline RejoinMessage member(channel::PeerId peer, std::vector<ProgramInfo> programs, bool released = true) {
  RejoinMessage message;
  message.run_id = 0x1234;
  message.released = released;
  message.peer = peer;
  message.node = peer < static_cast<channel::PeerId>(programs.front().size) ? 0 : 1;
  message.node_key = message.node == 0 ? "key-a" : "key-b";
  message.host = message.node == 0 ? "host-a" : "host-b";
  message.contact = HubWorld::contact_of_connection(100 + peer);
  message.programs = std::move(programs);
  return message;
}

inline std::vector<ProgramInfo> two_oceans_and_a_nowcast() {
  return {{"ocean", 2, 0, true}, {"nowcast", 1, 2, true}};
}

class Recovery : public ::testing::Test {
 protected:
  ConnectionId rejoin(const RejoinMessage& message) {
    const auto connection = world_.connect();
    world_.send(connection, message);
    return connection;
  }
  ConnectionId rejoin(channel::PeerId peer) { return rejoin(member(peer, two_oceans_and_a_nowcast())); }

  HubWorld world_{resumed("ocean:2,nowcast:1")};
};

}  // namespace couplet::universe
