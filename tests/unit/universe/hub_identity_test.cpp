// A member returns to the hub only as the process that its connection has proven to be.
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "hub_world.hpp"

namespace couplet::universe {
namespace {

RejoinMessage rank_1() {
  RejoinMessage message;
  message.run_id = 0x1234;
  message.released = true;
  message.peer = 1;
  message.node_key = "key-a";
  message.host = "host-a";
  message.contact = HubWorld::contact_of_connection(101);
  message.programs = {{"ocean", 2, 0, true}, {"nowcast", 1, 2, true}};
  return message;
}

// Each member has the secret, and could return as any other one.
TEST(RecoveryOfProvenMembers, AMemberReturnsOnlyAsItself) {
  auto settings = HubWorld::settings("ocean:2,nowcast:1", -1);
  settings.restarted = true;
  settings.sign = [](channel::PeerId, std::uint16_t, const channel::PublicKey&) { return channel::Signature{}; };
  HubState hub(settings);
  const auto answer_to = [&](ConnectionId connection, const Caller& caller) {
    hub.connected(connection, 0, caller);
    hub.received(connection, rank_1(), 0);
    for (const auto& output : hub.take_outputs()) {
      const auto message = decode_hub_message(*output.payload);
      const auto* const refused = message.ok() ? std::get_if<RefusedMessage>(&*message) : nullptr;
      if (refused != nullptr && output.to == connection) {
        EXPECT_EQ(refused->code, Code::authentication);
        return refused->text;
      }
    }
    return std::string();
  };
  const std::string refusal = "it wants to return as rank 1 (incarnation 0), but has proven to be ";
  EXPECT_EQ(answer_to(1, {.id = 2, .incarnation = 0}), refusal + "rank 2 (incarnation 0)");
  EXPECT_EQ(answer_to(2, {.id = 1, .incarnation = 1}), refusal + "rank 1 (incarnation 1)");
  EXPECT_EQ(answer_to(3, {}), refusal + "a process that has not joined (incarnation 0)");
  EXPECT_EQ(answer_to(4, {.id = 1, .incarnation = 0}), "");
}

}  // namespace
}  // namespace couplet::universe
