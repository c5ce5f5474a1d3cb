// No two keys ever have tickets of one rank and incarnation, whatever becomes of the processes and of the hub.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "hub_world.hpp"
#include "universe/incarnations.hpp"

namespace couplet::universe {
namespace {

class HubTickets : public ::testing::Test {
 protected:
  // What a hub signs. The test fails if it signs a number twice.
  HubSettings settings(const std::string& programs) {
    auto result = HubWorld::settings(programs, -1);
    result.sign = [this](channel::PeerId peer, std::uint16_t incarnation, const channel::PublicKey&) {
      const int times = ++signed_[{peer, incarnation}];
      EXPECT_EQ(times, 1) << "universe rank " << peer << ", incarnation " << incarnation;
      return channel::Signature{};
    };
    return result;
  }
  static HubSettings resumed(HubSettings settings) {
    settings.restarted = true;
    settings.rejoin_grace_s = 1;
    return settings;
  }
  // Begins to join, takes the ticket, and returns its connection.
  static ConnectionId take_ticket(HubWorld& world, const std::string& program, int size = 1) {
    const auto thief = world.connect();
    world.send(thief, JoinMessage{false, program, 0, size, 60, "host-a"});
    world.send(thief, NodeMessage{"key-a"});
    EXPECT_TRUE(world.has<PlacedMessage>(thief));
    return thief;
  }
  static std::uint16_t number_of(HubWorld& world, ConnectionId connection) {
    return world.last<PlacedMessage>(connection).incarnation;
  }
  // What the roster of that hub would tell the next one.
  static EarlierMembers roster_of(HubWorld& world) {
    EarlierMembers earlier;
    for (const auto& event : world.events()) {
      if (event.name == "ticket") {
        earlier.tickets[event.peer] = static_cast<std::uint16_t>(event.incarnation);
      }
    }
    return earlier;
  }

  std::map<std::pair<channel::PeerId, std::uint16_t>, int> signed_;
};

// Fault: a process that took its ticket and ended before it was present left a second key that was valid for the rank.
TEST_F(HubTickets, ANumberIsUsedUpWhenItsTicketIsSigned) {
  HubWorld world(settings("ocean:1,victim:1"));
  world.cut(take_ticket(world, "ocean"));
  const auto ocean = world.join("ocean", 0, 1);
  EXPECT_EQ(number_of(world, ocean), unheard_incarnation) << "others do not take it for one that was started again";
  const auto victim = world.join("victim", 0, 1);
  EXPECT_EQ(world.known(victim, 0).incarnation, unheard_incarnation);
  EXPECT_EQ(world.known(victim, 0).state, PeerState::present);
  EXPECT_EQ(number_of(world, victim), 0U);
}

TEST_F(HubTickets, AThiefBeforeARestartTakesTheNumberOfTheLifeThatNeverWas) {
  HubWorld world(settings("ocean:1,victim:1"));
  const auto ocean = world.join("ocean", 0, 1);
  world.join("victim", 0, 1);
  world.cut(ocean);
  world.cut(take_ticket(world, "ocean"));
  world.cut(take_ticket(world, "ocean"));
  EXPECT_EQ(number_of(world, world.join("ocean", 0, 1)), 3U);
}

TEST_F(HubTickets, RelaysHaveNumbersOfTheirOwnToo) {
  HubWorld world(settings("ocean:1"));
  world.join("ocean", 0, 1);
  const auto thief = world.connect();
  world.send(thief, JoinMessage{true, {}, 0, 1, 60, "host-a"});
  world.send(thief, NodeMessage{"key-a"});
  EXPECT_EQ(number_of(world, thief), 0U);
  world.cut(thief);
  const auto relay = world.join_relay("a");
  EXPECT_EQ(number_of(world, relay), unheard_incarnation);
  world.cut(relay);
  EXPECT_EQ(number_of(world, world.join_relay("a")), unheard_incarnation + 1);
}

// Its connection was reset before the hub had heard that it was present.
TEST_F(HubTickets, WhoHasTheTicketIsTakenBackWithItsNumber) {
  HubWorld world(settings("ocean:1,victim:1"));
  const auto ocean = take_ticket(world, "ocean");
  world.reset(ocean);
  RejoinMessage message;
  message.run_id = 0x1234;
  message.node_key = "key-a";
  message.host = "host-a";
  message.contact = HubWorld::contact_of_connection(101);
  message.programs = {{"ocean", 1, 0, true}, {"victim", 1, 1, true}};
  world.hub().connected(90, world.now_ns(), {.id = 0, .incarnation = 0});
  world.send(90, message);
  EXPECT_TRUE(world.has<RejoinedMessage>(90));
  const auto victim = world.join("victim", 0, 1);
  EXPECT_EQ(world.known(victim, 0).incarnation, 0U);
  world.cut(90);
  EXPECT_EQ(number_of(world, world.join("ocean", 0, 1)), 1U);
}

TEST_F(HubTickets, AHubThatIsStartedAgainKnowsFromTheRosterWhatWasSigned) {
  HubWorld first(settings("ocean:1,victim:1,guest:1?"));
  first.cut(take_ticket(first, "ocean"));
  first.join("ocean", 0, 1);
  first.join("victim", 0, 1);
  first.cut(take_ticket(first, "guest"));
  auto next = resumed(settings("ocean:1,victim:1,guest:1?"));
  next.earlier = roster_of(first);
  next.earlier.programs = {{"ocean", 1, 0, true}, {"victim", 1, 1, true}, {"guest", 1, 2, false}};
  next.earlier.ranks[0] = {PeerState::present, unheard_incarnation, {}};
  next.earlier.ranks[1] = {PeerState::left, 0, {}};
  HubWorld second(next);
  second.advance(0.1);
  second.advance(2);
  EXPECT_EQ(number_of(second, second.join("victim", 0, 1)), 1U);
  EXPECT_EQ(number_of(second, second.join("guest", 0, 1)), unheard_incarnation);
}

// Two hubs in a row that are killed before the universe is complete.
TEST_F(HubTickets, AHubThatIsStartedAgainTwiceGivesNoNumberTwice) {
  EarlierMembers earlier;
  for (int hub = 0; hub < 3; ++hub) {
    auto own = settings("ocean:1,victim:1");
    own.restarted = hub > 0;
    own.rejoin_grace_s = 1;
    own.earlier = earlier;
    HubWorld world(own);
    world.advance(0.1);
    world.advance(2);  // the grace has ended
    take_ticket(world, "ocean");
    for (const auto& [peer, number] : roster_of(world).tickets) {
      earlier.tickets[peer] = number;
    }
  }
  EXPECT_EQ(earlier.tickets.at(0), unheard_incarnation + 1);
}

TEST_F(HubTickets, AHubThatDoesNotKnowWhatWasSignedGivesNumbersOfItsOwn) {
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
    auto own = settings("ocean:1,victim:1");
    if (epoch > 0) {
      own = resumed(own);
      own.first_epoch = epoch;
      own.earlier.tickets_are_known = false;
    }
    HubWorld world(own);
    world.advance(0.1);
    world.advance(2);
    world.cut(take_ticket(world, "ocean"));
    take_ticket(world, "ocean");
  }
  EXPECT_EQ(signed_.size(), 6U);
}

// Fault: a member that came back told that the rank is absent, and the hub began with number 0 again.
TEST_F(HubTickets, AMemberThatKnowsLessThanTheHubTakesBackNoNumber) {
  HubWorld world(resumed(settings("ocean:1,victim:1,guest:1?")));
  world.advance(0.1);
  world.advance(2);  // nobody has come back: the hub lets others in
  const auto guest = world.join("guest", 0, 1, 60, "b");
  EXPECT_EQ(number_of(world, guest), unheard_incarnation);
  world.cut(guest);
  RejoinMessage message;
  message.run_id = 0x1234;
  message.released = true;
  message.node_key = "key-a";
  message.host = "host-a";
  message.contact = HubWorld::contact_of_connection(101);
  message.programs = {{"ocean", 1, 0, true}, {"victim", 1, 1, true}, {"guest", 1, 2, false}};
  message.exceptions = {{2, 1, PeerState::absent, 0, unknown_node}};
  world.hub().connected(90, world.now_ns(), {.id = 0, .incarnation = 0});
  world.send(90, message);
  ASSERT_TRUE(world.has<RejoinedMessage>(90));
  world.advance(2);
  EXPECT_EQ(number_of(world, world.join("guest", 0, 1, 60, "b")), unheard_incarnation + 1);
}

TEST_F(HubTickets, NumbersDoNotBeginAnewWhenAllAreUsedUp) {
  auto own = resumed(settings("ocean:1,victim:1"));
  own.earlier.tickets[0] = max_incarnation - 1;
  HubWorld world(own);
  world.advance(0.1);
  world.advance(2);
  world.cut(take_ticket(world, "ocean"));
  const auto refused = world.connect();
  world.send(refused, JoinMessage{false, "ocean", 0, 1, 60, "host-a"});
  world.send(refused, NodeMessage{"key-a"});
  EXPECT_EQ(world.last<RefusedMessage>(refused).code, Code::limit);
  EXPECT_EQ(world.last<RefusedMessage>(refused).text,
            "program 'ocean' rank 0 (universe rank 0) on host host-a was started 65535 times, the most that are "
            "possible");
}

}  // namespace
}  // namespace couplet::universe
