// The handshake: what both ends learn, and every way in which somebody may not get in.
#include "channel/handshake.hpp"

#include <gtest/gtest.h>
#include <sodium.h>

#include <cstring>

#include "base/random.hpp"
#include "support/tickets.hpp"

namespace couplet::channel {
namespace {

Secret secret_of(std::uint8_t byte) {
  std::array<std::uint8_t, secret_bytes> bytes;
  bytes.fill(byte);
  return Secret(bytes);
}

Ephemeral ephemeral_of(std::uint8_t nonce_byte, std::uint8_t key_byte) {
  Ephemeral ephemeral;
  ephemeral.nonce.fill(nonce_byte);
  ephemeral.private_key.bytes().fill(key_byte);
  return ephemeral;
}

constexpr std::uint64_t run = 0x1234567890ABCDEF;

HandshakeSelf rank(PeerId id) {
  return {.id = id, .incarnation = 0, .run_id = run};
}

Handshake caller(const Secret& secret = secret_of(1), HandshakeSelf self = rank(3),
                 HandshakeTarget target = {.id = 8}) {
  return Handshake::initiate(secret, self, target, "rank 8");
}

Handshake called(const Secret& secret = secret_of(1), HandshakeSelf self = rank(8)) {
  return Handshake::accept(secret, self, "a connection from 127.0.0.1");
}

std::vector<std::byte> take_output(Handshake& handshake) {
  const auto output = handshake.output();
  std::vector<std::byte> bytes(output.begin(), output.end());
  handshake.sent(bytes.size());
  return bytes;
}

// Carries bytes both ways, in pieces of at most `piece`, until both are silent; the called end accepts.
void talk(Handshake& first, Handshake& second, std::size_t piece = 1000, bool decide = true) {
  bool moved = true;
  while (moved) {
    moved = false;
    for (const auto& [from, to] : {std::pair(&first, &second), std::pair(&second, &first)}) {
      const std::size_t bytes = std::min(piece, from->output().size());
      if (bytes > 0) {
        const std::size_t used = to->input(from->output().first(bytes));
        from->sent(bytes);
        moved = true;
        EXPECT_TRUE(used == bytes || to->state() == HandshakeState::failed);
      }
    }
    if (decide && second.state() == HandshakeState::deciding) {
      second.accept_peer();
      moved = true;
    }
  }
}

TEST(Handshake, both_ends_learn_who_the_other_is) {
  for (const std::size_t piece : {1U, 7U, 1000U}) {
    HandshakeSelf relay{.role = wire::Role::relay,
                        .id = first_relay_peer + 2,
                        .incarnation = 4,
                        .run_id = run,
                        .features = feature_cma | feature_aes256_gcm};
    HandshakeSelf self = rank(3);
    self.features = feature_cma | feature_encryption;
    auto first = caller(secret_of(1), self, {.id = first_relay_peer + 2, .incarnation = 4});
    auto second = called(secret_of(1), relay);
    talk(first, second, piece);
    ASSERT_EQ(first.state(), HandshakeState::done) << first.failure().text();
    ASSERT_EQ(second.state(), HandshakeState::done) << second.failure().text();
    EXPECT_EQ(first.peer().id, first_relay_peer + 2);
    EXPECT_EQ(first.peer().incarnation, 4);
    EXPECT_EQ(first.peer().role, wire::Role::relay);
    EXPECT_EQ(first.peer().run_id, run);
    EXPECT_EQ(second.peer().id, 3U);
    EXPECT_EQ(second.peer().role, wire::Role::rank);
    for (const Handshake* end : {&first, &second}) {
      EXPECT_EQ(end->peer().version, 1);
      EXPECT_EQ(end->peer().protection, Protection::encrypted);
      EXPECT_FALSE(end->peer().aes256_gcm);
      EXPECT_TRUE(end->peer().cma);
      EXPECT_TRUE(end->peer().same_byte_order);
      EXPECT_EQ(end->wanted(), 0U);
      EXPECT_TRUE(end->output().empty());
    }
    EXPECT_EQ(first.peer().send_key.bytes(), second.peer().receive_key.bytes());
    EXPECT_EQ(first.peer().receive_key.bytes(), second.peer().send_key.bytes());
    EXPECT_NE(first.peer().send_key.bytes(), first.peer().receive_key.bytes());
  }
}

// A rank of the universe whose hub has the seed 0x01..., with this private key.
HandshakeSelf rank_with_ticket(PeerId id, std::uint8_t key_byte) {
  const HubKey hub(test::seed_of(1));
  Credentials credentials;
  credentials.private_key = test::seed_of(key_byte);
  auto& ticket = credentials.ticket;
  crypto_scalarmult_base(ticket.key.data(), credentials.private_key.bytes().data());
  ticket.peer = id;
  ticket.is_signed = true;
  ticket.signature = hub.sign(id, 0, ticket.key);
  credentials.hub_key = hub.public_key();
  auto self = rank(id);
  self.credentials = test::shared(credentials);
  return self;
}

// The whole conversation, computed apart from this code in Python, with hashlib.blake2b, X25519 as in RFC 7748 and
// Ed25519 as in RFC 8032 (docs/formats/handshake.md).
TEST(Handshake, golden_bytes) {
  const auto hex = [](std::span<const std::byte> bytes) {
    std::string text;
    for (const std::byte byte : bytes) {
      text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    }
    return text;
  };
  auto first =
      Handshake::initiate(secret_of(1), rank_with_ticket(3, 0xC5), {.id = 8}, "rank 8", ephemeral_of(0xA1, 0xA3));
  auto second = Handshake::accept(secret_of(1), rank_with_ticket(8, 0xD6), "a connection", ephemeral_of(0xB2, 0xB4));
  const auto hello = take_output(first);
  EXPECT_EQ(hex(hello),
            "c743504c0301f8000101010001000000efcdab907856341200000000000000000300000008000000ffff000000000000"
            "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a15fc2f8a124437afcee7d4567fe31e02c"
            "2d042939de96f07b06e28c0c4c3af740030000000000010045c6abd80800a051c5a0f3183911f9c059242ace8d1d3430"
            "4df63dd2fccdd9653c7214e768390a89867a0451f9b3aff18a5876f30e025629bb2e2d49200daeff664dfabbb7a28bab"
            "6629e0195dd3099b4f2917d36300a7c15709a8f9affd530f2774f4659979f80639c2925c673b10d9099751d78b08a6c9"
            "cebbfa4a8a3a6f6b");
  second.input(hello);
  const auto challenge = take_output(second);
  EXPECT_EQ(hex(challenge),
            "c743504c0302f8000101010001000000efcdab9078563412000000000000000008000000030000000000000000000000"
            "b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2472a870bb4b0106f9ae3d0b4b0dcbd55"
            "b1cf48214083882e78dba2680ea93250080000000000010035280d440c7c140260bf6f3489fb18d81b0327d3909c9c55"
            "286b5ffcdd6d2421780b9aee635b1eb81f8be5502f1a964515b1218acd4b32124a1a4938adf42da5cff0ee09846308f2"
            "b5ca5133b9e456db597bd9713eb5948fad45ab50a94ae6036e8f7763a80a56278144ccdce9985741828e25b88012f5a8"
            "409023145bf23b15");
  first.input(challenge);
  const auto proof = take_output(first);
  EXPECT_EQ(hex(proof),
            "c743504c03034800a6c695b23c3f18cf60c9abb7c1ce6286065a60fa2773942aef870c1bc9d19e87f7f471ff4194902d"
            "4f42910803be87656207ebe3ca450d2db7daee2f16c0f15f");
  second.input(proof);
  ASSERT_EQ(second.state(), HandshakeState::deciding) << second.failure().text();
  second.accept_peer();
  const auto verdict = take_output(second);
  EXPECT_EQ(hex(verdict),
            "c743504c0304500000000000000000009b7f23ecc220937c75aae8783902425d6d0c5991075cc63e1178e7f96827a5cd"
            "5c83255b0cbd2417fbc9cfe5ee2ebbd96b29fc6100d3cf451f7b7c38821413d8");
  first.input(verdict);
  EXPECT_EQ(first.state(), HandshakeState::done) << first.failure().text();
  EXPECT_EQ(hex(std::as_bytes(std::span(first.peer().send_key.bytes()))),
            "91cd0d0f6ad65f187fbc471ea5b06daecf60978e9bb4afb289bb92adc65c41f9");
  EXPECT_EQ(hex(std::as_bytes(std::span(first.peer().receive_key.bytes()))),
            "e52282d8dd9b69945e5002559294b8e4fe59ed19eb05fb204a4b87a6f95d8b22");
}

TEST(Handshake, keys_are_of_one_connection_only) {
  std::vector<std::array<std::uint8_t, secret_bytes>> keys;
  for (int time = 0; time < 4; ++time) {
    auto first = caller();
    auto second = called();
    talk(first, second);
    keys.push_back(first.peer().send_key.bytes());
    keys.push_back(first.peer().receive_key.bytes());
  }
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end());
}

TEST(Handshake, bytes_after_it_are_left_to_the_lane) {
  auto first = caller();
  auto second = called();
  second.input(take_output(first));
  first.input(take_output(second));
  auto proof = take_output(first);
  const std::size_t proof_bytes = proof.size();
  proof.resize(proof_bytes + 100);
  EXPECT_EQ(second.input(proof), proof_bytes);
  second.accept_peer();
  auto verdict = take_output(second);
  const std::size_t verdict_bytes = verdict.size();
  verdict.resize(verdict_bytes + 5);
  EXPECT_EQ(first.input(verdict), verdict_bytes);
  EXPECT_EQ(first.state(), HandshakeState::done);
}

TEST(Handshake, a_wrong_secret_is_an_authentication_error_on_both_sides) {
  auto first = caller(secret_of(1));
  auto second = called(secret_of(2));
  talk(first, second);
  for (const Handshake* end : {&first, &second}) {
    EXPECT_EQ(end->state(), HandshakeState::failed);
    EXPECT_EQ(end->failure().code(), Code::authentication);
    EXPECT_NE(end->failure().text().find("do not have the same secret"), std::string::npos);
    EXPECT_EQ(end->peer().id, no_peer);  // nothing of what was not proven is shown
  }
  EXPECT_NE(first.failure().text().find("rank 8"), std::string::npos);
  EXPECT_NE(second.failure().text().find("127.0.0.1"), std::string::npos);
}

TEST(Handshake, garbage_is_refused_at_its_first_byte_and_gets_no_answer) {
  auto second = called();
  const std::string text = "GET / HTTP/1.1\r\n";
  EXPECT_EQ(second.wanted(), 8U);
  second.input(std::as_bytes(std::span(text)).first(1));
  EXPECT_EQ(second.state(), HandshakeState::failed);
  EXPECT_EQ(second.failure().code(), Code::protocol);
  EXPECT_TRUE(second.output().empty());
  EXPECT_EQ(second.input(std::as_bytes(std::span(text))), 0U);
}

TEST(Handshake, every_changed_bit_is_found) {
  Random random(7);
  // message 0: hello, 1: challenge, 2: proof, 3: verdict
  for (int message = 0; message < 4; ++message) {
    for (int time = 0; time < 200; ++time) {
      auto first = caller();
      auto second = called();
      for (int step = 0; step <= message; ++step) {
        auto& from = step % 2 == 0 ? first : second;
        auto& to = step % 2 == 0 ? second : first;
        auto bytes = take_output(from);
        if (step == message) {
          bytes[random.below(bytes.size())] ^= static_cast<std::byte>(1U << random.below(8));
        }
        to.input(bytes);
        if (second.state() == HandshakeState::deciding && step < message) {
          second.accept_peer();
        }
      }
      auto& judge = message % 2 == 0 ? second : first;
      // If the length was made longer, the rest never comes.
      EXPECT_TRUE(judge.state() == HandshakeState::failed ||
                  (judge.state() == HandshakeState::talking && message == 3 && judge.wanted() > 0))
          << message;
    }
  }
}

TEST(Handshake, version_ranges_that_do_not_meet_are_named_on_both_sides) {
  HandshakeSelf newer = rank(3);
  newer.lowest_version = 4;
  newer.highest_version = 6;
  HandshakeSelf older = rank(8);
  older.lowest_version = 1;
  older.highest_version = 2;
  auto first = caller(secret_of(1), newer);
  auto second = called(secret_of(1), older);
  talk(first, second);
  for (const Handshake* end : {&first, &second}) {
    EXPECT_EQ(end->failure().code(), Code::version);
    EXPECT_NE(end->failure().text().find("the caller speaks protocol versions 4 to 6, the called program 1 to 2"),
              std::string::npos)
        << end->failure().text();
  }
}

TEST(Handshake, the_highest_common_version_is_used) {
  HandshakeSelf newer = rank(3);
  newer.lowest_version = 2;
  newer.highest_version = 6;
  HandshakeSelf older = rank(8);
  older.lowest_version = 1;
  older.highest_version = 4;
  auto first = caller(secret_of(1), newer);
  auto second = called(secret_of(1), older);
  talk(first, second);
  EXPECT_EQ(first.peer().version, 4);
  EXPECT_EQ(second.peer().version, 4);
}

TEST(Handshake, another_layout_is_a_version_error) {
  auto first = caller();
  auto hello = take_output(first);
  hello[4] = std::byte{9};
  auto second = called();
  second.input(hello);
  EXPECT_EQ(second.failure().code(), Code::version);
  EXPECT_NE(second.failure().text().find("layout 9"), std::string::npos);
}

TEST(Handshake, another_run_or_target_or_incarnation_is_a_mismatch) {
  struct Case {
    HandshakeSelf second;
    HandshakeTarget target;
    std::string text;
  };
  HandshakeSelf other_run = rank(8);
  other_run.run_id = 77;
  HandshakeSelf restarted = rank(8);
  restarted.incarnation = 2;
  for (const Case& wrong :
       {Case{other_run, {.id = 8}, "the caller belongs to run 1234567890abcdef"}, Case{rank(9), {.id = 8}, "rank 9"},
        Case{restarted, {.id = 8, .incarnation = 1}, "incarnation 2"}}) {
    auto first = caller(secret_of(1), rank(3), wrong.target);
    auto second = called(secret_of(1), wrong.second);
    talk(first, second);
    for (const Handshake* end : {&first, &second}) {
      EXPECT_EQ(end->failure().code(), Code::mismatch);
      EXPECT_NE(end->failure().text().find(wrong.text), std::string::npos) << end->failure().text();
    }
  }
}

TEST(Handshake, a_member_that_does_not_know_the_run_yet_learns_it_from_the_hub) {
  auto member = Handshake::initiate(secret_of(1), {}, {}, "the hub at 127.0.0.1:4711");
  auto hub = Handshake::accept(secret_of(1), {.role = wire::Role::hub, .id = hub_peer, .run_id = run}, "a connection");
  talk(member, hub);
  ASSERT_EQ(member.state(), HandshakeState::done) << member.failure().text();
  EXPECT_EQ(member.peer().run_id, run);
  EXPECT_EQ(member.peer().role, wire::Role::hub);
  EXPECT_EQ(hub.peer().id, no_peer);
}

TEST(Handshake, a_duplicate_is_refused_by_name_and_the_lower_id_wins) {
  EXPECT_TRUE(connection_wins(3, 8));
  EXPECT_FALSE(connection_wins(8, 3));
  auto first = caller();
  auto second = called();
  talk(first, second, 1000, false);
  ASSERT_EQ(second.state(), HandshakeState::deciding);
  second.refuse(fail(Code::exists, "duplicate: rank 8 is connecting to rank 3 itself"));
  talk(first, second);
  EXPECT_EQ(first.state(), HandshakeState::failed);
  EXPECT_EQ(first.failure().code(), Code::exists);
  EXPECT_NE(first.failure().text().find("duplicate: rank 8"), std::string::npos);
  EXPECT_EQ(second.failure().code(), Code::exists);
}

TEST(Handshake, a_long_reason_is_cut) {
  auto first = caller();
  auto second = called();
  talk(first, second, 1000, false);
  second.refuse(fail(Code::limit, "{}", std::string(5000, 'x')));
  talk(first, second);
  EXPECT_EQ(first.failure().code(), Code::limit);
  EXPECT_LT(first.failure().text().size(), 700U);
}

TEST(Handshake, somebody_with_the_own_identity_is_refused) {
  auto first = caller(secret_of(1), rank(8));
  auto second = called();
  talk(first, second);
  EXPECT_EQ(second.failure().code(), Code::exists);
  EXPECT_EQ(first.failure().code(), Code::exists);
}

TEST(Handshake, a_recorded_conversation_and_the_secret_do_not_give_the_session_keys) {
  // The same secret and nonces, and so everything that is said except the public keys and hashes: the keys of the
  // session depend on private keys that were never sent.
  const auto session_key = [](std::uint8_t caller_key, std::uint8_t called_key) {
    auto first = Handshake::initiate(secret_of(1), rank(3), {.id = 8}, "rank 8", ephemeral_of(1, caller_key));
    auto second = Handshake::accept(secret_of(1), rank(8), "a connection", ephemeral_of(2, called_key));
    talk(first, second);
    EXPECT_EQ(first.state(), HandshakeState::done);
    EXPECT_EQ(first.peer().send_key.bytes(), second.peer().receive_key.bytes());
    return first.peer().send_key.bytes();
  };
  EXPECT_NE(session_key(3, 4), session_key(5, 4));
  EXPECT_NE(session_key(3, 4), session_key(3, 5));
}

TEST(Handshake, an_ephemeral_key_that_makes_no_secret_is_refused) {
  // A member that knows the secret sends the public key 0, with which every shared value is 0.
  const auto sign = [](std::string_view label, std::span<const std::byte> said, std::span<std::byte> message) {
    std::vector<std::byte> text(1, static_cast<std::byte>(label.size()));
    const auto labelled = std::as_bytes(std::span(label));
    text.insert(text.end(), labelled.begin(), labelled.end());
    text.insert(text.end(), said.begin(), said.end());
    text.insert(text.end(), message.begin(), message.end() - 32);
    const auto secret = secret_of(1);
    crypto_generichash(reinterpret_cast<unsigned char*>(message.last(32).data()), 32,
                       reinterpret_cast<const unsigned char*>(text.data()), text.size(), secret.bytes().data(),
                       secret_bytes);
  };
  auto first = caller();
  auto hello = take_output(first);
  std::memset(hello.data() + 80, 0, 32);
  sign("couplet hello", {}, hello);
  auto second = called();
  second.input(hello);
  const auto challenge = take_output(second);
  auto said = hello;
  said.insert(said.end(), challenge.begin(), challenge.end());
  auto proof = wire::encode_proof();
  sign("couplet proof", said, proof);
  second.input(proof);
  EXPECT_EQ(second.state(), HandshakeState::failed);
  EXPECT_EQ(second.failure().code(), Code::protocol);
  EXPECT_EQ(second.peer().id, no_peer);
}

// Attacks by a process that does not know the secret but hears everything.

TEST(HandshakeAttack, reflection) {
  // The attacker answers the caller with the caller's own bytes, as they are and dressed up as a challenge.
  auto victim = caller();
  auto hello = take_output(victim);
  auto again = hello;
  again[5] = std::byte{2};  // "challenge"
  victim.input(again);
  EXPECT_EQ(victim.failure().code(), Code::authentication);
  auto other = caller();
  other.input(take_output(other));
  EXPECT_EQ(other.failure().code(), Code::protocol);

  // ... or lets the victim's accepting end answer the victim's own call.
  auto calling = caller();
  auto accepting = called(secret_of(1), rank(3));
  talk(calling, accepting);
  EXPECT_EQ(calling.state(), HandshakeState::failed);
  EXPECT_EQ(accepting.state(), HandshakeState::failed);

  // ... or sends the challenge back as a proof.
  auto first = caller();
  auto second = called();
  second.input(take_output(first));
  auto challenge = take_output(second);
  std::vector<std::byte> proof = wire::encode_proof();
  std::memcpy(proof.data() + 8, challenge.data() + challenge.size() - 32, 32);
  second.input(proof);
  EXPECT_EQ(second.failure().code(), Code::authentication);
}

TEST(HandshakeAttack, replay_of_a_whole_conversation) {
  auto first = caller();
  auto second = called();
  const auto hello = take_output(first);
  second.input(hello);
  const auto challenge = take_output(second);
  first.input(challenge);
  const auto proof = take_output(first);
  second.input(proof);
  ASSERT_EQ(second.state(), HandshakeState::deciding);
  second.accept_peer();
  const auto verdict = take_output(second);

  // To the called end: the hello is good, the proof is not.
  auto victim = called();
  victim.input(hello);
  EXPECT_EQ(victim.state(), HandshakeState::talking);
  EXPECT_NE(take_output(victim), challenge);
  victim.input(proof);
  EXPECT_EQ(victim.failure().code(), Code::authentication);

  // To the calling end.
  auto caller_victim = caller();
  (void)take_output(caller_victim);
  caller_victim.input(challenge);
  EXPECT_EQ(caller_victim.failure().code(), Code::authentication);

  // The verdict of another connection does not open this one.
  auto third = caller();
  auto fourth = called();
  fourth.input(take_output(third));
  third.input(take_output(fourth));
  third.input(verdict);
  EXPECT_EQ(third.failure().code(), Code::authentication);
}

TEST(HandshakeAttack, somebody_of_another_universe_in_the_middle) {
  // The attacker has its own secret and speaks to both ends.
  auto victim = caller(secret_of(1));
  auto to_victim = called(secret_of(66));
  talk(victim, to_victim);
  EXPECT_EQ(victim.failure().code(), Code::authentication);
  auto to_target = caller(secret_of(66));
  auto target = called(secret_of(1));
  talk(to_target, target);
  EXPECT_EQ(target.failure().code(), Code::authentication);
}

TEST(HandshakeAttack, nonces_exchanged_on_the_way) {
  // The attacker passes the messages on but puts its own nonce in.
  auto first = caller();
  auto second = called();
  auto hello = take_output(first);
  std::memset(hello.data() + 48, 0, 32);
  second.input(hello);
  EXPECT_EQ(second.failure().code(), Code::authentication);
}

TEST(HandshakeAttack, two_callers_mixed_up) {
  // The proof of one caller does not serve another connection of the same pair.
  auto first = caller();
  auto other = caller();
  auto second = called();
  auto third = called();
  second.input(take_output(first));
  third.input(take_output(other));
  first.input(take_output(second));
  other.input(take_output(third));
  second.input(take_output(other));
  EXPECT_EQ(second.failure().code(), Code::authentication);
}

TEST(HandshakeAttack, a_forged_refusal_only_ends_the_connection) {
  auto first = caller();
  first.input(wire::encode_refused());
  EXPECT_EQ(first.failure().code(), Code::authentication);
  auto second = called();
  second.input(wire::encode_refused());  // before it has said anything
  EXPECT_EQ(second.failure().code(), Code::protocol);
}

}  // namespace
}  // namespace couplet::channel
