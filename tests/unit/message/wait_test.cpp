// How soon what has arrived is seen by calls that do not wait.
#include <gtest/gtest.h>
#include <poll.h>

#include <array>

#include "support/parties.hpp"

namespace couplet::message {
namespace {

using test::LaneKind;
using test::Parties;

// Fault: sockets were looked at in every 16th call: up to 48 calls for 8 bytes that were there.
TEST(Testing, ARankThatOnlyTestsGetsItsBytesWithinAFewCalls) {
  Parties parties(LaneKind::tcp, 2);
  test::Party& receiver = parties[0];
  test::Party& sender = parties[1];
  receiver.engine->remove(receiver);
  receiver.engine->add(receiver, engine::Rate::seldom);  // as sockets are
  for (std::uint64_t number = 1; number <= 50; ++number) {
    std::uint64_t got = 0;
    Request* receiving = nullptr;
    ASSERT_TRUE(receiver.messenger->irecv(receiver.group(), &got, 1, COUPLET_UINT64, 1, 0, &receiving).ok());
    ASSERT_TRUE(sender.messenger->send(sender.group(), &number, 1, COUPLET_UINT64, 0, 0).ok());
    pollfd arrived{.fd = receiver.channel(1).lanes().front()->descriptor(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&arrived, 1, 30'000), 1);
    int calls = 1;
    Status status = receiver.messenger->test(&receiving, nullptr);
    for (; status.code() == Code::not_yet && calls < 100; ++calls)
      status = receiver.messenger->test(&receiving, nullptr);
    ASSERT_TRUE(status.ok()) << status.text();
    EXPECT_LE(calls, number == 1 ? 3 : 1);  // the first one also finds its channel
    EXPECT_EQ(got, number);
  }
}

// Fault: a request that stood twice in the list was given back twice. The next two requests were then the same one, and
// a wait for one of them never ended.
TEST(Waiting, ARequestTwiceInAListIsRefusedAndStaysUsable) {
  Parties parties(LaneKind::shm, 1);
  test::Party& rank = parties[0];
  std::array<std::uint64_t, 2> got{};
  std::array<Request*, 2> receiving{};
  ASSERT_TRUE(rank.messenger->irecv(rank.group(), got.data(), 1, COUPLET_UINT64, 0, 0, receiving.data()).ok());
  std::array<Request*, 3> list = {receiving[0], nullptr, receiving[0]};
  const Status refused = rank.messenger->waitall(list, os::never, nullptr, nullptr);
  EXPECT_EQ(refused.code(), Code::argument);
  EXPECT_NE(refused.text().find("entry 2 of 3 is the same request"), std::string::npos) << refused.text();
  std::int32_t index = 0;
  EXPECT_EQ(rank.messenger->waitany(list, os::never, &index, nullptr).code(), Code::argument);
  ASSERT_TRUE(rank.messenger->irecv(rank.group(), &got[1], 1, COUPLET_UINT64, 0, 1, &receiving[1]).ok());
  EXPECT_NE(receiving[0], receiving[1]);
  for (std::uint64_t tag = 0; tag < 2; ++tag) {
    const std::uint64_t number = tag + 1;
    ASSERT_TRUE(rank.messenger->send(rank.group(), &number, 1, COUPLET_UINT64, 0, static_cast<std::int32_t>(tag)).ok());
  }
  ASSERT_TRUE(rank.messenger->waitall(receiving, os::deadline_after(30), nullptr, nullptr).ok());
  EXPECT_EQ(got, (std::array<std::uint64_t, 2>{1, 2}));
}

}  // namespace
}  // namespace couplet::message
