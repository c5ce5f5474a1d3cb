// How soon what has arrived is seen by calls that do not wait.
#include <gtest/gtest.h>
#include <poll.h>

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

}  // namespace
}  // namespace couplet::message
