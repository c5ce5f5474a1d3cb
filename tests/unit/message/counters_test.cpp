// What the messenger counts. Both ends count into the same numbers: sent and received ones are apart.
#include <gtest/gtest.h>

#include "support/parties.hpp"

namespace couplet::message {
namespace {

using counters::Counter;

struct Counted : ::testing::Test {
  counters::Counters counters;
  test::LaneMessengers world{test::LaneKind::shm, 2, MessengerOptions{.counters = &counters}};
  std::vector<std::byte> got = std::vector<std::byte>(std::size_t{1} << 20);

  void send(std::uint64_t bytes, bool posted_first) {
    const std::vector<std::byte> data(bytes, std::byte{7});
    Request* sending = nullptr;
    Request* receiving = nullptr;
    if (posted_first) post(receiving);
    ASSERT_TRUE(world[0].isend(world[0].groups().universe(), data.data(), bytes, COUPLET_BYTE, 1, 3, &sending).ok());
    if (!posted_first) {
      ASSERT_TRUE(world.run_until([&] { return counters.get(Counter::messages_unexpected) > 0; }));
      post(receiving);
    }
    ASSERT_TRUE(world.finish(1, &receiving).ok());
    ASSERT_TRUE(world.finish(0, &sending).ok());
  }
  void post(Request*& request) {
    ASSERT_TRUE(
        world[1].irecv(world[1].groups().universe(), got.data(), got.size(), COUPLET_BYTE, 0, 3, &request).ok());
  }
  void expect(Counter counter, std::uint64_t value) const {
    EXPECT_EQ(counters.get(counter), value) << counters::counter_name(counter);
  }
};

TEST_F(Counted, short_and_long_messages_by_link) {
  send(8, true);
  send(100, true);
  send(30000, false);
  send(1 << 20, true);
  expect(Counter::messages_sent_shm, 4);
  expect(Counter::messages_received_shm, 4);
  expect(Counter::message_bytes_sent_shm, 8 + 100 + 30000 + (1 << 20));
  expect(Counter::message_bytes_received_shm, 8 + 100 + 30000 + (1 << 20));
  EXPECT_EQ(counters.get(Counter::messages_eager) + counters.get(Counter::messages_rendezvous), 4U);
  EXPECT_GE(counters.get(Counter::messages_rendezvous), 1U);
  expect(Counter::messages_unexpected, 1);
  EXPECT_GE(counters.get(Counter::message_bytes_read_directly), std::uint64_t{1} << 20);
  expect(Counter::messages_sent_other, 0);
  expect(Counter::messages_sent_tcp, 0);
}

TEST_F(Counted, the_fast_path_counts_too) {
  Messenger& sender = world[0];
  Messenger& receiver = world[1];
  std::uint64_t value = 5;
  for (int round = 0; round < 100; ++round) {
    ASSERT_TRUE(sender.send(sender.groups().universe(), &value, 1, COUPLET_UINT64, 1, 0).ok());
    ASSERT_TRUE(receiver.recv(receiver.groups().universe(), &value, 1, COUPLET_UINT64, 0, 0, nullptr).ok());
  }
  expect(Counter::messages_sent_shm, 100);
  expect(Counter::messages_received_shm, 100);
  expect(Counter::message_bytes_sent_shm, 800);
  expect(Counter::message_bytes_received_shm, 800);
  expect(Counter::messages_eager, 100);
}

TEST_F(Counted, what_the_library_says_for_itself_is_no_message) {
  Group& group = world[0].groups().universe();
  ASSERT_TRUE(world[0].send_internal(group, internal_context | 1U, "agreed", 1, 0).ok());
  std::string text;
  ASSERT_TRUE(world[1].recv_internal(world[1].groups().universe(), internal_context | 1U, text, 0, 0, os::never).ok());
  EXPECT_EQ(text, "agreed");
  for (std::size_t index = 0; index <= static_cast<std::size_t>(Counter::messages_unexpected); ++index) {
    expect(static_cast<Counter>(index), 0);
  }
}

TEST_F(Counted, a_receive_that_ends_without_a_message_is_not_counted_but_its_wait_is) {
  Request* request = nullptr;
  post(request);
  const Status status = world[1].wait(&request, os::deadline_after(0.2), nullptr);
  EXPECT_EQ(status.code(), Code::timeout);
  EXPECT_GE(counters.get(Counter::message_wait_ns), 10'000'000U);
  expect(Counter::messages_received_shm, 0);
  const std::uint64_t value = 1;
  ASSERT_TRUE(world[0].send(world[0].groups().universe(), &value, 1, COUPLET_UINT64, 1, 3).ok());
  ASSERT_TRUE(world.finish(1, &request).ok());
  expect(Counter::messages_received_shm, 1);
}

}  // namespace
}  // namespace couplet::message
