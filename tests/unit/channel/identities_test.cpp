// A member of the universe has the secret, and can prove only itself.
#include "channel/identities.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "channel/handshake.hpp"
#include "support/tickets.hpp"

namespace couplet::channel {
namespace {

class IdentitiesTest : public testing::Test {
 protected:
  HandshakeSelf as(PeerId id, std::uint16_t incarnation, const Credentials& credentials) const {
    return {.role = id == hub_peer ? wire::Role::hub : wire::Role::rank,
            .id = id,
            .incarnation = incarnation,
            .run_id = hub_.run_id(),
            .credentials = test::shared(credentials)};
  }
  HandshakeSelf rank(PeerId id, std::uint16_t incarnation = 0) const {
    return as(id, incarnation, test::ticket_of(hub_, id, incarnation));
  }
  HandshakeSelf the_hub() const { return as(hub_peer, 0, *hub_.credentials()); }
  static HandshakeSelf newcomer() { return {.credentials = test::shared(fresh_credentials())}; }

  // Carries the whole conversation; the called end accepts. Returns how it ends for the caller and for the called.
  std::pair<Status, Status> talk(const HandshakeSelf& first, const HandshakeSelf& second) {
    caller_.emplace(
        Handshake::initiate(secret_, first, {.id = second.id, .incarnation = any_incarnation}, "the called"));
    called_.emplace(Handshake::accept(secret_, second, "the caller"));
    for (int round = 0; round < 4; ++round) {
      carry(*caller_, *called_);
      if (called_->state() == HandshakeState::deciding) {
        called_->accept_peer();
      }
      carry(*called_, *caller_);
    }
    return {caller_->failure(), called_->failure()};
  }
  static void carry(Handshake& from, Handshake& to) {
    const auto bytes = from.output();
    static_cast<void>(to.input(bytes));
    from.sent(bytes.size());
  }
  // Both the caller and the called are told, and neither believes.
  void expect_refused(const HandshakeSelf& impostor, const std::string& why) {
    const auto [as_caller, told_by_called] = talk(impostor, rank(8));
    EXPECT_EQ(told_by_called.code(), Code::authentication);
    EXPECT_EQ(told_by_called.text(), "handshake with the caller: " + why);
    EXPECT_EQ(as_caller.text(), "handshake with the called: the connection was refused: " + why);
    EXPECT_EQ(as_caller.code(), Code::authentication);
    const auto [told_by_caller, as_called] = talk(rank(8), impostor);
    EXPECT_EQ(told_by_caller.text(), "handshake with the called: " + why);
    EXPECT_NE(caller_->state(), HandshakeState::done);
  }

  // A called end that does not check anything itself shows the ticket, and proves what it can.
  void expect_no_proof(const Credentials& thief, PeerId posing_as, const std::string& why) {
    const auto honest = rank(8);
    wire::HandshakeHello shown;
    shown.source = posing_as;
    shown.ticket = thief.ticket;
    Identities of_thief(test::shared(thief));
    Identities of_honest(honest.credentials);
    of_thief.meet(honest.credentials->ticket);
    of_honest.meet(shown.ticket);
    const std::array<std::byte, 100> transcript{};
    std::array<std::byte, wire::handshake_mac_bytes> proof{};
    of_thief.prove(Identities::Side::called, transcript, proof);
    EXPECT_EQ(of_honest.check_proof(shown, Identities::Side::called, transcript, proof).text(), why);
    of_honest.prove(Identities::Side::caller, transcript, proof);  // sent back to where it came from
    EXPECT_EQ(of_honest.check_proof(shown, Identities::Side::called, transcript, proof).text(), why);
  }

  Secret secret_ = test::seed_of(9);
  HubKey hub_{test::seed_of(1)};
  std::optional<Handshake> caller_;
  std::optional<Handshake> called_;
};

TEST_F(IdentitiesTest, MembersWithTheirTicketsBelieveEachOther) {
  const auto [caller, called] = talk(rank(3, 2), rank(8));
  EXPECT_TRUE(caller.ok()) << caller.text();
  EXPECT_TRUE(called.ok()) << called.text();
  EXPECT_EQ(called_->state(), HandshakeState::done);
  EXPECT_EQ(called_->peer().id, 3U);
  EXPECT_EQ(called_->peer().incarnation, 2);
}

// Before, every member could present itself as any other one, since all have the secret.
TEST_F(IdentitiesTest, AMemberThatPresentsItselfAsAnotherRankIsRefused) {
  expect_refused(as(3, 0, test::ticket_of(hub_, 5, 0)),
                 "it presents itself as rank 3 (incarnation 0), but its ticket is that of rank 5 (incarnation 0)");
}

TEST_F(IdentitiesTest, AMemberThatPresentsItselfAsARelayIsRefused) {
  auto impostor = as(first_relay_peer + 1, 0, test::ticket_of(hub_, 5, 0));
  impostor.role = wire::Role::relay;
  expect_refused(impostor,
                 "it presents itself as relay 1 (incarnation 0), but its ticket is that of rank 5 (incarnation 0)");
}

TEST_F(IdentitiesTest, ATicketOfAnOldIncarnationIsRefused) {
  expect_refused(as(3, 2, test::ticket_of(hub_, 3, 1)),
                 "it presents itself as rank 3 (incarnation 2), but its ticket is that of rank 3 (incarnation 1)");
}

// The ticket was read from a connection. It says nothing without the private key.
TEST_F(IdentitiesTest, AReplayedTicketWithoutItsKeyIsRefused) {
  auto thief = fresh_credentials();
  thief.ticket = test::ticket_of(hub_, 3, 0).ticket;
  thief.hub_key = hub_.public_key();
  const std::string why = "it shows the key of rank 3 (incarnation 0), but does not have the private one";
  const auto [as_caller, told_by_called] = talk(as(3, 0, thief), rank(8));
  EXPECT_EQ(told_by_called.code(), Code::authentication);
  EXPECT_EQ(told_by_called.text(), "handshake with the caller: " + why);
  expect_no_proof(thief, 3, why);
}

TEST_F(IdentitiesTest, ATicketThatTheHubDidNotSignIsRefused) {
  auto forged = test::ticket_of(HubKey(test::seed_of(2)), 3, 0);
  forged.hub_key = hub_.public_key();
  expect_refused(
      as(3, 0, forged),
      "it presents itself as rank 3 (incarnation 0), but the hub of this universe has not signed its ticket");
}

TEST_F(IdentitiesTest, AMemberWithoutATicketIsRefused) {
  auto none = fresh_credentials();
  none.ticket.peer = 3;
  none.hub_key = hub_.public_key();
  expect_refused(as(3, 0, none), "it presents itself as rank 3 (incarnation 0), but it shows no ticket of the hub");
  auto bare = rank(3);
  bare.credentials = nullptr;
  const auto [as_caller, told_by_called] = talk(bare, rank(8));
  EXPECT_EQ(told_by_called.text(),
            "handshake with the caller: it presents itself as rank 3 (incarnation 0), but it shows no key");
}

TEST_F(IdentitiesTest, ANewcomerLearnsTheHubsKeyAndTheHubLearnsItsKey) {
  const auto member = newcomer();
  const auto [caller, called] = talk(member, the_hub());
  EXPECT_TRUE(caller.ok()) << caller.text();
  EXPECT_TRUE(called.ok()) << called.text();
  EXPECT_EQ(caller_->peer().key, hub_.public_key());
  EXPECT_EQ(called_->peer().key, member.credentials->ticket.key);
}

TEST_F(IdentitiesTest, AMemberReturnsToTheHubAsItself) {
  const auto [caller, called] = talk(rank(3, 1), the_hub());
  EXPECT_TRUE(caller.ok()) << caller.text();
  EXPECT_TRUE(called.ok()) << called.text();
  EXPECT_EQ(called_->peer().id, 3U);
}

// A member has the secret, and listens at the hub's address after the hub has died.
TEST_F(IdentitiesTest, AMemberThatPresentsItselfAsTheHubIsRefused) {
  const HubKey own(test::seed_of(2));
  auto impostor = as(hub_peer, 0, *own.credentials());
  for (const auto& member : {rank(3), newcomer()}) {
    const auto [told, as_called] = talk(member, impostor);
    EXPECT_EQ(told.code(), Code::authentication);
    EXPECT_NE(told.text().find(fmt::format("it presents itself as the hub of run {:016x}, but its key is that of the "
                                           "hub of run {:016x}",
                                           hub_.run_id(), own.run_id())),
              std::string::npos)
        << told.text();
  }
  impostor.run_id = own.run_id();  // it calls itself another run, which a member of this run does not accept, either
  auto member = rank(3);
  member.run_id = any_run;
  const auto [told, as_called] = talk(member, impostor);
  EXPECT_EQ(told.code(), Code::authentication);
  EXPECT_EQ(
      told.text(),
      fmt::format("handshake with the called: it is the hub of run {:016x}, but this process belongs to run {:016x}",
                  own.run_id(), hub_.run_id()));
}

TEST_F(IdentitiesTest, TheHubsPublicKeyIsNotEnoughToBeTheHub) {
  auto thief = fresh_credentials();
  thief.ticket = hub_.credentials()->ticket;
  thief.hub_key = hub_.public_key();
  expect_no_proof(thief, hub_peer, "it shows the key of the hub (incarnation 0), but does not have the private one");
}

}  // namespace
}  // namespace couplet::channel
