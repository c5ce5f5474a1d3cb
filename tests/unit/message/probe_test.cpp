// What a receive that was posted now would meet.
#include "message/probe.hpp"

#include <gtest/gtest.h>

#include "support/parties.hpp"

namespace couplet::message {
namespace {

struct ProbeTest : ::testing::Test {
  test::LaneMessengers world{test::LaneKind::shm, 3};
  couplet_message about{};

  void send(int from, std::int32_t tag, std::uint64_t count = 1) {
    const std::vector<std::uint64_t> numbers(count, 7);
    ASSERT_TRUE(world[from].send(group(from), numbers.data(), count, COUPLET_UINT64, 0, tag).ok());
    world.poll();
  }
  Group& group(int rank = 0) { return world[rank].groups().universe(); }
  bool look(std::int32_t source = COUPLET_ANY_SOURCE, std::int32_t tag = COUPLET_ANY_TAG) {
    return Probe::look(world[0], group(), source, tag, about);
  }
};

TEST_F(ProbeTest, OnlyWhatAReceiveWouldMatchIsFound) {
  EXPECT_FALSE(look());
  send(1, 5);
  EXPECT_TRUE(look());
  EXPECT_TRUE(look(1, 5));
  EXPECT_FALSE(look(2, 5));
  EXPECT_FALSE(look(1, 6));
  EXPECT_TRUE(look(1));
  EXPECT_TRUE(look(COUPLET_ANY_SOURCE, 5));
}

TEST_F(ProbeTest, WhatIsDescribedIsWhatAReceiveGetsFirst) {
  send(2, 8, 3);
  send(1, 5, 2);
  ASSERT_TRUE(look());
  EXPECT_EQ(about.source, 2);
  EXPECT_EQ(about.tag, 8);
  EXPECT_EQ(about.bytes, 24U);
  couplet_message got{};
  std::array<std::uint64_t, 3> numbers{};
  ASSERT_TRUE(
      world[0].recv(group(), numbers.data(), 3, COUPLET_UINT64, COUPLET_ANY_SOURCE, COUPLET_ANY_TAG, &got).ok());
  EXPECT_EQ(got.source, 2);
  ASSERT_TRUE(look());
  EXPECT_EQ(about.source, 1);
}

TEST_F(ProbeTest, AMessageThatIsOnlyAnnouncedIsFound) {
  constexpr std::uint64_t many = 1 << 20;
  std::vector<std::uint64_t> numbers(many, 3);
  Request* sending = nullptr;
  ASSERT_TRUE(world[1].isend(group(1), numbers.data(), many, COUPLET_UINT64, 0, 5, &sending).ok());
  ASSERT_TRUE(world.run_until([&] { return look(1, 5); }));
  EXPECT_EQ(about.bytes, many * 8);
  Request* receiving = nullptr;
  std::vector<std::uint64_t> got(many);
  ASSERT_TRUE(world[0].irecv(group(), got.data(), many, COUPLET_UINT64, 1, 5, &receiving).ok());
  EXPECT_FALSE(look(1, 5));
  ASSERT_TRUE(world.run_until([&] { return sending->done && receiving->done; }));
  EXPECT_TRUE(world[1].wait(&sending, os::never, nullptr).ok());
  EXPECT_TRUE(world[0].wait(&receiving, os::never, nullptr).ok());
  EXPECT_EQ(got, numbers);
}

TEST_F(ProbeTest, ALostSenderIsFoundAndALostStrangerIsNot) {
  world.kill(2);
  ASSERT_TRUE(world.run_until([&] { return look(2, 5); }));
  EXPECT_EQ(about.bytes, 0U);
  EXPECT_FALSE(look(1, 5));
  EXPECT_FALSE(look());  // rank 1 can still send
}

TEST_F(ProbeTest, ARefusedReceiveIsRefusedHereToo) {
  EXPECT_TRUE(Probe::check(group(), COUPLET_ANY_SOURCE, COUPLET_ANY_TAG).ok());
  const Status stranger = Probe::check(group(), 3, 0);
  EXPECT_EQ(stranger.code(), Code::argument);
  EXPECT_NE(stranger.text().find("source 3 is outside group"), std::string::npos) << stranger.text();
  EXPECT_EQ(Probe::check(group(), 0, -2).code(), Code::argument);
}

}  // namespace
}  // namespace couplet::message
