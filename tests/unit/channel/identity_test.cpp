// Keys and tickets: what the hub signs.
#include "channel/identity.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "support/tickets.hpp"

namespace couplet::channel {
namespace {

std::string hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const auto byte : bytes) {
    text += fmt::format("{:02x}", byte);
  }
  return text;
}

TEST(Identity, ATicketIsOfOneHubOneProcessAndOneKey) {
  const HubKey hub(test::seed_of(1));
  const auto good = test::ticket_of(hub, 3, 1).ticket;
  EXPECT_TRUE(is_signed_by(hub.public_key(), hub.run_id(), good));
  EXPECT_FALSE(is_signed_by(HubKey(test::seed_of(2)).public_key(), hub.run_id(), good));
  EXPECT_FALSE(is_signed_by(hub.public_key(), hub.run_id() + 1, good)) << "of another run";
  auto changed = good;
  changed.peer = 4;
  EXPECT_FALSE(is_signed_by(hub.public_key(), hub.run_id(), changed));
  changed = good;
  changed.incarnation = 2;
  EXPECT_FALSE(is_signed_by(hub.public_key(), hub.run_id(), changed));
  changed = good;
  changed.key[0] ^= 1;
  EXPECT_FALSE(is_signed_by(hub.public_key(), hub.run_id(), changed));
  changed = good;
  changed.signature[0] ^= 1;
  EXPECT_FALSE(is_signed_by(hub.public_key(), hub.run_id(), changed));
  changed = good;
  changed.is_signed = false;
  EXPECT_FALSE(is_signed_by(hub.public_key(), hub.run_id(), changed));
}

TEST(Identity, BothOwnersComputeTheSameValue) {
  const auto one = fresh_credentials();
  const auto other = fresh_credentials();
  const auto value = shared_value(one.private_key, other.ticket.key);
  ASSERT_TRUE(value);
  EXPECT_EQ(value->bytes(), shared_value(other.private_key, one.ticket.key)->bytes());
  EXPECT_FALSE(shared_value(one.private_key, PublicKey{})) << "a key that gives everybody the same value";
}

TEST(Identity, AHubAndAMemberComputeTheSameValue) {
  const HubKey hub(test::seed_of(1));
  const auto member = fresh_credentials();
  const auto of_hub = exchange_key_of_hub(hub.public_key());
  ASSERT_TRUE(of_hub);
  EXPECT_EQ(shared_value(member.private_key, *of_hub)->bytes(),
            shared_value(hub.credentials()->private_key, member.ticket.key)->bytes());
  EXPECT_FALSE(exchange_key_of_hub(PublicKey{}));
}

// Computed apart from this code in Python (docs/formats/handshake.md).
TEST(Identity, GoldenBytes) {
  const HubKey hub(test::seed_of(1));
  EXPECT_EQ(hex(hub.public_key()), "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c");
  EXPECT_EQ(hub.run_id(), 0x8B27846A5B6CB47EU);
  PublicKey key;
  key.fill(0x22);
  EXPECT_EQ(hex(hub.sign(3, 1, key)),
            "a59b7b09bd32329e3078a1e4ae63c7ba25d9f09af030b3b3b219373e901a9e35"
            "39ec47933a0fb4914033edb51f9e1ed071138a1c6e2c031f429033cacfa3a40d");
}

}  // namespace
}  // namespace couplet::channel
