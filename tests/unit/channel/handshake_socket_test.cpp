// A handshake over real sockets: which callers get in, which are refused, and which hang up.
#include "channel/handshake_socket.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <string_view>

namespace couplet::channel {
namespace {

Secret secret_of(std::uint8_t byte) {
  std::array<std::uint8_t, secret_bytes> bytes;
  bytes.fill(byte);
  return Secret(bytes);
}

struct HandshakeSocket : ::testing::Test {
  void SetUp() override {
    std::array<int, 2> pair{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair.data()), 0);
    near = os::Descriptor(pair[0]);
    far = os::Descriptor(pair[1]);
  }
  Status drive_near() {
    return drive_handshake(caller, near, "rank 8", [](Handshake&) { FAIL() << "the caller decides nothing"; });
  }
  Status drive_far(const Status& verdict = {}) {
    return drive_handshake(called, far, "a connection from here", [&](Handshake& handshake) {
      ++decisions;
      if (verdict.code() == Code::not_yet) {
        return;
      }
      if (verdict.ok()) {
        handshake.accept_peer();
      } else {
        handshake.refuse(verdict);
      }
    });
  }
  void set_caller_secret(std::uint8_t byte) {
    caller = Handshake::initiate(secret_of(byte), {.id = 3, .run_id = 7}, {.id = 8}, "rank 8");
  }

  os::Descriptor near;
  os::Descriptor far;
  Handshake caller = Handshake::initiate(secret_of(1), {.id = 3, .run_id = 7}, {.id = 8}, "rank 8");
  Handshake called = Handshake::accept(secret_of(1), {.id = 8, .run_id = 7}, "a connection from here");
  int decisions = 0;
};

TEST_F(HandshakeSocket, goes_on_until_it_is_done_and_leaves_what_follows) {
  EXPECT_EQ(drive_far().code(), Code::not_yet);   // nobody has said anything
  EXPECT_EQ(drive_near().code(), Code::not_yet);  // hello is out
  EXPECT_EQ(drive_far().code(), Code::not_yet);   // challenge
  EXPECT_EQ(drive_near().code(), Code::not_yet);  // proof
  EXPECT_TRUE(drive_far().ok());                  // verdict
  EXPECT_EQ(decisions, 1);
  ASSERT_EQ(::send(far.number(), "frame", 5, 0), 5);
  EXPECT_TRUE(drive_near().ok());
  EXPECT_EQ(caller.peer().id, 8U);
  EXPECT_EQ(called.peer().id, 3U);
  std::array<char, 8> next{};
  ASSERT_EQ(::recv(near.number(), next.data(), next.size(), 0), 5);
  EXPECT_STREQ(next.data(), "frame");
}

TEST_F(HandshakeSocket, who_has_not_decided_is_asked_again) {
  EXPECT_EQ(drive_near().code(), Code::not_yet);
  EXPECT_EQ(drive_far().code(), Code::not_yet);
  EXPECT_EQ(drive_near().code(), Code::not_yet);
  for (int time = 1; time <= 3; ++time) {
    EXPECT_EQ(drive_far(Code::not_yet).code(), Code::not_yet);
    EXPECT_EQ(decisions, time);
    EXPECT_EQ(drive_near().code(), Code::not_yet);  // it has not been told anything
  }
  EXPECT_TRUE(drive_far().ok());
  EXPECT_TRUE(drive_near().ok());
}

TEST_F(HandshakeSocket, a_refusal_reaches_the_caller) {
  const Status duplicate = fail(Code::exists, "there is a channel already");
  Status near_status = Code::not_yet;
  Status far_status = Code::not_yet;
  for (int round = 0; round < 10 && near_status.code() == Code::not_yet; ++round) {
    if (far_status.code() == Code::not_yet) {
      far_status = drive_far(duplicate);
    }
    near_status = drive_near();
  }
  EXPECT_EQ(near_status.code(), Code::exists);
  EXPECT_NE(near_status.text().find("there is a channel already"), std::string::npos) << near_status.text();
  EXPECT_EQ(far_status.code(), Code::exists);
}

TEST_F(HandshakeSocket, a_wrong_secret_is_told_and_not_what_the_socket_says) {
  set_caller_secret(2);
  static_cast<void>(drive_near());
  near.close();  // before the answer is there
  const Status status = drive_far();
  EXPECT_EQ(status.code(), Code::authentication) << status.text();
  EXPECT_EQ(decisions, 0);
}

TEST_F(HandshakeSocket, who_hangs_up_is_named) {
  static_cast<void>(drive_near());
  far.close();
  Status status = drive_near();
  EXPECT_EQ(status.code(), Code::peer_lost);
  EXPECT_NE(status.text().find("rank 8"), std::string::npos) << status.text();
}

TEST_F(HandshakeSocket, garbage_ends_it) {
  constexpr std::string_view request = "GET / HTTP/1.1\r\nHost: here\r\n\r\n";
  ASSERT_EQ(::send(near.number(), request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  EXPECT_TRUE(drive_far().error());
  EXPECT_EQ(decisions, 0);
}

}  // namespace
}  // namespace couplet::channel
