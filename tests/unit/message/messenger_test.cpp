// Messenger's rules over the simulated network; only non-blocking calls.
#include <gtest/gtest.h>

#include <numeric>

#include "support/sim_messengers.hpp"

namespace couplet::message {
namespace {

using test::SimMessengers;

std::vector<std::uint8_t> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::uint8_t> data(bytes);
  for (std::size_t index = 0; index < bytes; ++index) data[index] = static_cast<std::uint8_t>(index * 7 + seed * 31);
  return data;
}

struct Message : ::testing::Test {
  SimMessengers sim{1, 3};

  Request* send(int from, int to, const std::vector<std::uint8_t>& data, std::int32_t tag) {
    Request* request = nullptr;
    const Status status =
        sim[from].isend(sim[from].groups().universe(), data.data(), data.size(), COUPLET_BYTE, to, tag, &request);
    EXPECT_TRUE(status.ok()) << status.text();
    return request;
  }
  Request* receive(int at, std::vector<std::uint8_t>& data, std::int32_t source, std::int32_t tag) {
    Request* request = nullptr;
    const Status status =
        sim[at].irecv(sim[at].groups().universe(), data.data(), data.size(), COUPLET_BYTE, source, tag, &request);
    EXPECT_TRUE(status.ok()) << status.text();
    return request;
  }
  void expect_ok(int rank, Request* request, couplet_message* message = nullptr) {
    const Status status = sim.finish(rank, &request, message);
    EXPECT_TRUE(status.ok()) << status.text();
    EXPECT_EQ(request, nullptr);
  }
};

TEST_F(Message, sizes_travel_whole_posted_before_and_after) {
  for (const bool posted_first : {true, false}) {
    for (const std::size_t bytes : std::initializer_list<std::size_t>{0, 1, 7, 8, 64, 65, 1023, 1024, 4096, 16384,
                                                                      16385, 65536, 65537, 1000003}) {
      const auto data = pattern(bytes, 1);
      std::vector<std::uint8_t> got(bytes);
      couplet_message message{};
      Request* receiving = posted_first ? receive(1, got, 0, 5) : nullptr;
      Request* sending = send(0, 1, data, 5);
      if (!posted_first) {
        sim.run_out();
        receiving = receive(1, got, 0, 5);
      }
      expect_ok(1, receiving, &message);
      expect_ok(0, sending);
      EXPECT_EQ(got, data) << bytes;
      EXPECT_EQ(message.source, 0);
      EXPECT_EQ(message.tag, 5);
      EXPECT_EQ(message.bytes, bytes);
      EXPECT_EQ(message.count, bytes);
      EXPECT_EQ(sim[0].pending() + sim[1].pending(), 0U);
    }
  }
}

TEST_F(Message, order_per_source_and_tag_with_wildcards) {
  std::vector<Request*> sends;
  std::vector<std::vector<std::uint8_t>> data;
  for (unsigned index = 0; index < 10; ++index) data.push_back(pattern(index % 2 == 0 ? 10 : 100000, index));
  for (int index = 0; index < 10; ++index)
    sends.push_back(send(0, 1, data[static_cast<std::size_t>(index)], index % 2));
  std::vector<std::uint8_t> got(100000);
  couplet_message message{};
  for (const int expected : {1, 3}) {  // tag 1 first, though tag 0 came before
    expect_ok(1, receive(1, got, COUPLET_ANY_SOURCE, 1), &message);
    EXPECT_TRUE(std::equal(data[static_cast<std::size_t>(expected)].begin(),
                           data[static_cast<std::size_t>(expected)].end(), got.begin()));
  }
  for (const int expected : {0, 2, 4, 5, 6}) {  // then whatever comes next
    expect_ok(1, receive(1, got, 0, COUPLET_ANY_TAG), &message);
    EXPECT_EQ(message.tag, expected % 2);
    EXPECT_TRUE(std::equal(data[static_cast<std::size_t>(expected)].begin(),
                           data[static_cast<std::size_t>(expected)].end(), got.begin()));
  }
  for (const int expected : {7, 8, 9}) {
    expect_ok(1, receive(1, got, COUPLET_ANY_SOURCE, COUPLET_ANY_TAG), &message);
    EXPECT_EQ(message.bytes, data[static_cast<std::size_t>(expected)].size());
  }
  for (Request* request : sends) expect_ok(0, request);
}

TEST_F(Message, the_receive_posted_first_wins) {
  std::vector<std::uint8_t> any(8);
  std::vector<std::uint8_t> own(8);
  Request* first = receive(1, any, COUPLET_ANY_SOURCE, COUPLET_ANY_TAG);
  Request* second = receive(1, own, 0, 3);
  const auto one = pattern(8, 1);
  const auto two = pattern(8, 2);
  expect_ok(0, send(0, 1, one, 3));
  expect_ok(0, send(0, 1, two, 3));
  expect_ok(1, first);
  expect_ok(1, second);
  EXPECT_EQ(any, one);
  EXPECT_EQ(own, two);
}

TEST_F(Message, a_message_that_is_too_long_is_truncated_and_the_rest_works) {
  for (const std::size_t bytes : std::initializer_list<std::size_t>{100, 5000, 200000}) {
    for (const bool posted_first : {true, false}) {
      std::vector<std::uint8_t> small(50);
      std::vector<std::uint8_t> good(bytes);
      const auto data = pattern(bytes, 3);
      Request* receiving = posted_first ? receive(2, small, 0, 1) : nullptr;
      Request* long_one = send(0, 2, data, 1);
      Request* next_one = send(0, 2, data, 1);
      if (!posted_first) sim.run_out();
      if (!posted_first) receiving = receive(2, small, 0, 1);
      const Status status = sim.finish(2, &receiving);
      EXPECT_EQ(status.code(), Code::truncated);
      EXPECT_NE(status.text().find(fmt::format("a message of {} bytes from sim rank 0 with tag 1", bytes)),
                std::string::npos)
          << status.text();
      expect_ok(2, receive(2, good, 0, 1));
      EXPECT_EQ(good, data);
      expect_ok(0, long_one);
      expect_ok(0, next_one);
    }
  }
}

TEST_F(Message, bytes_that_are_no_whole_number_of_elements_are_an_error) {
  for (const std::size_t bytes : std::initializer_list<std::size_t>{12, 120004}) {
    const auto data = pattern(bytes, 1);
    std::vector<double> got(bytes);
    Request* sending = send(0, 1, data, 1);
    Request* request = nullptr;
    ASSERT_TRUE(sim[1].irecv(sim[1].groups().universe(), got.data(), got.size(), COUPLET_DOUBLE, 0, 1, &request).ok());
    const Status status = sim.finish(1, &request);
    EXPECT_EQ(status.code(), Code::type);
    EXPECT_NE(status.text().find("double"), std::string::npos);
    expect_ok(0, sending);
  }
}

TEST_F(Message, misuse_is_refused_by_name) {
  Messenger& own = sim[0];
  Group& group = own.groups().universe();
  Request* request = nullptr;
  double data[4] = {};
  EXPECT_EQ(own.isend(group, data, 4, COUPLET_DOUBLE, 3, 0, &request).text(),
            "send: target 3 is outside group 'universe', which has ranks 0 to 2");
  EXPECT_EQ(own.isend(group, data, 4, COUPLET_DOUBLE, -1, 0, &request).code(), Code::argument);
  EXPECT_EQ(own.isend(group, data, 4, COUPLET_DOUBLE, 1, -1, &request).text(), "send: tag -1 is negative");
  EXPECT_EQ(own.isend(group, data, 4, 99, 1, 0, &request).text(),
            "send: 99 is neither an element type nor a datatype (was it freed?)");
  EXPECT_EQ(own.isend(group, nullptr, 4, COUPLET_DOUBLE, 1, 0, &request).text(), "send: no data for 4 elements");
  EXPECT_EQ(own.isend(group, data, UINT64_MAX / 4, COUPLET_DOUBLE, 1, 0, &request).code(), Code::argument);
  EXPECT_EQ(own.irecv(group, data, 4, COUPLET_DOUBLE, 7, 0, &request).text(),
            "receive: source 7 is outside group 'universe', which has ranks 0 to 2");
  EXPECT_EQ(own.irecv(group, data, 4, COUPLET_DOUBLE, -2, 0, &request).code(), Code::argument);
  EXPECT_EQ(own.irecv(group, data, 4, COUPLET_DOUBLE, 1, -2, &request).text(), "receive: tag -2 is negative");
  EXPECT_EQ(own.irecv(group, data, 4, -1, 1, 0, &request).code(), Code::type);
  EXPECT_EQ(own.irecv(group, nullptr, 4, COUPLET_DOUBLE, 1, 0, &request).code(), Code::argument);
  EXPECT_EQ(own.send(group, data, 4, COUPLET_DOUBLE, 3, 0).code(), Code::argument);
  EXPECT_EQ(own.recv(group, data, 4, COUPLET_DOUBLE, 3, 0, nullptr).code(), Code::argument);
  EXPECT_EQ(request, nullptr);
  EXPECT_EQ(own.pending(), 0U);
}

TEST_F(Message, groups_are_told_apart) {
  const std::int32_t ranks[] = {1, 0};
  auto of_0 = sim[0].groups().create("turned", ranks);
  auto of_1 = sim[1].groups().create("turned", ranks);
  ASSERT_TRUE(of_0.ok() && of_1.ok());
  EXPECT_EQ((*of_0)->rank(), 1);
  const auto one = pattern(8, 1);
  const auto two = pattern(8, 2);
  expect_ok(0, send(0, 1, one, 4));
  Request* sending = nullptr;
  ASSERT_TRUE(sim[0].isend(**of_0, two.data(), 8, COUPLET_BYTE, 0, 4, &sending).ok());
  expect_ok(0, sending);
  std::vector<std::uint8_t> got(8);
  Request* receiving = nullptr;
  couplet_message message{};
  ASSERT_TRUE(sim[1].irecv(**of_1, got.data(), 8, COUPLET_BYTE, COUPLET_ANY_SOURCE, COUPLET_ANY_TAG, &receiving).ok());
  EXPECT_EQ(sim[1].groups().free(**of_1).code(), Code::state);  // a request is pending
  expect_ok(1, receiving, &message);
  EXPECT_EQ(got, two);
  EXPECT_EQ(message.source, 1);  // a rank of the group
  expect_ok(1, receive(1, got, 0, 4));
  EXPECT_EQ(got, one);
  EXPECT_TRUE(sim[1].groups().free(**of_1).ok());
  EXPECT_EQ(sim[1].groups().free(sim[1].groups().universe()).code(), Code::state);
}

// Waiting for a request that was complete read its group, which had been freed.
TEST(message_group, is_freed_before_its_complete_requests_were_waited_for) {
  SimMessengers sim(2, 4);
  const std::int32_t ranks[] = {0, 1};
  auto group = sim[0].groups().create("pair", ranks);
  ASSERT_TRUE(group.ok());
  const auto bytes = pattern(8, 1);
  Request* sending = nullptr;
  ASSERT_TRUE(sim[0].isend(**group, bytes.data(), 8, COUPLET_BYTE, 1, 4, &sending).ok());
  ASSERT_TRUE(sending->done);
  EXPECT_TRUE(sim[0].groups().free(**group).ok());
  EXPECT_EQ(sending->group, &sim[0].groups().universe());
  EXPECT_TRUE(sim[0].wait(&sending, os::never, nullptr).ok());
}

TEST(message_group, a_context_that_collides_is_refused) {
  SimMessengers sim(1, 4);
  const std::int32_t ranks[] = {0, 1};
  ASSERT_TRUE(sim[0].groups().create("a", ranks).ok());
  ASSERT_TRUE(sim[0].groups().create("a", ranks).ok());  // the same group again
  // About 2^15.5 random names are enough to find two with equal contexts (31 bits).
  std::unordered_map<std::uint32_t, std::string> seen;
  for (int number = 0; number < 10'000'000; ++number) {
    const std::string name = fmt::format("group {}", number);
    const auto [other, fresh] = seen.emplace(user_context(hash_members(name, ranks)), name);
    if (fresh) continue;
    ASSERT_TRUE(sim[0].groups().create(name, ranks).ok());
    auto refused = sim[0].groups().create(other->second, ranks);
    EXPECT_EQ(refused.code(), Code::exists);
    EXPECT_NE(refused.status().text().find(other->second), std::string::npos);
    EXPECT_NE(refused.status().text().find(name), std::string::npos);
    return;
  }
  FAIL() << "no collision found";
}

TEST_F(Message, a_flood_of_one_tag_does_not_block_another) {
  // 40 MB of eager messages that nobody asks for, and one of another tag behind them.
  const auto data = pattern(10000, 1);
  std::vector<Request*> flood;
  for (int index = 0; index < 4000; ++index) flood.push_back(send(0, 1, data, 7));
  const auto wanted = pattern(10000, 2);
  Request* last = send(0, 1, wanted, 8);
  std::vector<std::uint8_t> got(10000);
  expect_ok(1, receive(1, got, 0, 8));
  EXPECT_EQ(got, wanted);
  expect_ok(0, last);
  EXPECT_LE(sim[1].stored_bytes(), 2 * largest_payload_credit);
  EXPECT_GT(sim[1].stored_bytes(), largest_payload_credit / 2);
  EXPECT_LE(sim[1].report().front().stored_bytes, largest_payload_credit);
  for (int index = 0; index < 4000; ++index) {
    got.assign(got.size(), 0);
    expect_ok(1, receive(1, got, 0, 7));
    ASSERT_EQ(got, data);
  }
  for (Request* request : flood) expect_ok(0, request);
  EXPECT_EQ(sim[1].stored_bytes(), 0U);
}

TEST(message_end, what_nobody_has_asked_for_goes_with_the_messenger) {
  const auto data = pattern(5000, 3);
  SimMessengers sim(1, 2);
  Request* request = nullptr;
  ASSERT_TRUE(sim[0].isend(sim[0].groups().universe(), data.data(), data.size(), COUPLET_BYTE, 1, 7, &request).ok());
  ASSERT_TRUE(sim.finish(0, &request).ok());
  sim.run_out();
  EXPECT_GE(sim[1].stored_bytes(), data.size());
}  // the pool of blocks asserts that all came back

// Fault: 4 MiB for each peer were 40 GB at 10,000 ranks.
TEST(message_credit, the_sum_over_all_peers_is_bounded) {
  EXPECT_EQ(wire::first_payload_credit(2), wire::max_payload_credit);
  EXPECT_EQ(wire::first_payload_credit(256), wire::max_payload_credit);
  EXPECT_EQ(wire::first_payload_credit(1024), wire::max_payload_credit / 4);
  EXPECT_EQ(wire::first_payload_credit(1'000'000), wire::min_payload_credit);
  for (const std::uint64_t ranks : std::initializer_list<std::uint64_t>{1, 300, 1000, 10'000, 16'384}) {
    EXPECT_LE(ranks * wire::first_payload_credit(ranks), wire::max_total_credit_bytes);
  }
}

TEST(message_credit, it_grows_with_use_as_far_as_the_sum_allows) {
  for (const std::uint64_t limit : std::initializer_list<std::uint64_t>{wire::max_total_credit_bytes, 0}) {
    constexpr int ranks = 1024;
    SimMessengers sim(1, ranks, {.max_grown_credit_bytes = limit});
    const auto data = pattern(10000, 1);
    std::vector<std::uint8_t> got(data.size());
    for (int round = 0; round < 2000; ++round) {
      Request* receiving = nullptr;
      Request* sending = nullptr;
      ASSERT_TRUE(
          sim[1].irecv(sim[1].groups().universe(), got.data(), got.size(), COUPLET_BYTE, 0, 1, &receiving).ok());
      ASSERT_TRUE(
          sim[0].isend(sim[0].groups().universe(), data.data(), data.size(), COUPLET_BYTE, 1, 1, &sending).ok());
      ASSERT_TRUE(sim.finish(0, &sending).ok());
      ASSERT_TRUE(sim.finish(1, &receiving).ok());
    }
    sim.run_out();
    const std::uint64_t credit = sim[0].report().front().credit_bytes;
    EXPECT_LE(credit, wire::max_payload_credit);
    if (limit == 0) {
      EXPECT_LE(credit, wire::first_payload_credit(ranks));
    } else {
      EXPECT_GT(credit, wire::first_payload_credit(ranks));
    }
  }
}

TEST_F(Message, empty_messages_are_bounded_too) {
  std::vector<Request*> flood;
  for (int index = 0; index < 70000; ++index) flood.push_back(send(0, 1, {}, 7));
  sim.run_out();
  EXPECT_LE(sim[1].report().front().stored_bytes, largest_payload_credit);
  EXPECT_EQ(sim[1].report().front().envelopes, 70000 - largest_payload_credit / wire::eager_overhead_bytes);
  std::vector<std::uint8_t> none;
  for (int index = 0; index < 70000; ++index) expect_ok(1, receive(1, none, 0, 7));
  for (Request* request : flood) expect_ok(0, request);
}

TEST(message_limits, too_many_envelopes_are_refused_and_name_the_sender) {
  MessengerOptions options;
  options.eager_bytes = 0;
  options.payload_credit_bytes = 0;
  options.envelope_limit = 100;
  SimMessengers sim(1, 2, options);
  std::vector<Request*> requests(101, nullptr);
  std::uint64_t data = 1;
  for (int index = 0; index < 100; ++index) {
    ASSERT_TRUE(sim[0]
                    .isend(sim[0].groups().universe(), &data, 1, COUPLET_UINT64, 1, 0,
                           &requests[static_cast<std::size_t>(index)])
                    .ok());
  }
  const Status status = sim[0].isend(sim[0].groups().universe(), &data, 1, COUPLET_UINT64, 1, 0, &requests[100]);
  EXPECT_EQ(status.code(), Code::limit);
  EXPECT_EQ(status.text(),
            "sim rank 0 has 100 messages for sim rank 1 that nobody has received: the limit of waiting messages");
  EXPECT_EQ(requests[100], nullptr);
  for (int index = 0; index < 100; ++index) {  // the others go on
    std::uint64_t got = 0;
    Request* request = nullptr;
    ASSERT_TRUE(sim[1].irecv(sim[1].groups().universe(), &got, 1, COUPLET_UINT64, 0, 0, &request).ok());
    EXPECT_TRUE(sim.finish(1, &request).ok());
    EXPECT_EQ(got, 1U);
    EXPECT_TRUE(sim.finish(0, &requests[static_cast<std::size_t>(index)]).ok());
  }
}

TEST_F(Message, a_lost_peer_ends_what_only_it_could_complete) {
  std::vector<std::uint8_t> from_0(100);
  std::vector<std::uint8_t> from_2(8);
  std::vector<std::uint8_t> any(8);
  const auto big = pattern(1000000, 1);
  const auto small = pattern(8, 2);
  expect_ok(0, send(0, 1, small, 9));  // has arrived before the death, and stays receivable
  sim.run_out();
  Request* receiving = receive(1, from_0, 0, 1);
  Request* sending = send(1, 0, big, 1);
  Request* any_source = receive(1, any, COUPLET_ANY_SOURCE, 1);
  Request* alive = receive(1, from_2, 2, 2);
  sim.kill(0);
  const Status received = sim.finish(1, &receiving);
  EXPECT_EQ(received.code(), Code::peer_lost) << received.text();
  EXPECT_NE(received.text().find("sim rank 0"), std::string::npos) << received.text();
  EXPECT_EQ(sim.finish(1, &sending).code(), Code::peer_lost);
  // Those that come later.
  Request* later = receive(1, from_0, 0, 3);
  EXPECT_EQ(sim.finish(1, &later).code(), Code::peer_lost);
  later = send(1, 0, small, 3);
  EXPECT_EQ(sim.finish(1, &later).code(), Code::peer_lost);
  EXPECT_EQ(sim[1].send(sim[1].groups().universe(), small.data(), 8, COUPLET_BYTE, 0, 1).code(), Code::peer_lost);
  std::vector<std::uint8_t> got(8);
  expect_ok(1, receive(1, got, 0, 9));
  EXPECT_EQ(got, small);
  // Rank 2 can still send.
  expect_ok(2, send(2, 1, small, 2));
  expect_ok(1, alive);
  EXPECT_FALSE(any_source->done);
  sim.kill(2);
  const Status none_left = sim.finish(1, &any_source);
  EXPECT_EQ(none_left.code(), Code::peer_lost);
  EXPECT_NE(none_left.text().find("no possible source is left in group 'universe'"), std::string::npos)
      << none_left.text();
  later = receive(1, any, COUPLET_ANY_SOURCE, 1);
  EXPECT_EQ(sim.finish(1, &later).code(), Code::peer_lost);
  EXPECT_EQ(sim[1].pending(), 0U);
}

TEST_F(Message, a_peer_that_never_connected_is_lost_by_membership) {
  std::vector<std::uint8_t> got(8);
  Request* receiving = receive(1, got, 0, 1);
  sim[1].peer_lost(0, Status(Code::peer_lost, "program 'ocean' rank 0 was killed"));
  const Status status = sim.finish(1, &receiving);
  EXPECT_EQ(status.code(), Code::peer_lost);
  EXPECT_EQ(status.text(), "sim rank 0: program 'ocean' rank 0 was killed");
  sim[1].peer_returned(0);
  receiving = receive(1, got, 0, 1);
  const auto data = pattern(8, 4);
  expect_ok(0, send(0, 1, data, 1));
  expect_ok(1, receiving);
  EXPECT_EQ(got, data);
}

TEST_F(Message, an_envelope_of_a_lost_peer_is_no_message) {
  const auto big = pattern(1000000, 1);
  Request* sending = send(0, 1, big, 1);
  sim.run_out();
  sim.kill(0);
  sim.run_out();
  std::vector<std::uint8_t> got(big.size());
  Request* receiving = receive(1, got, COUPLET_ANY_SOURCE, COUPLET_ANY_TAG);
  EXPECT_EQ(sim.finish(1, &receiving).code(), Code::peer_lost);
  EXPECT_FALSE(sending->done);
}

TEST_F(Message, many_to_one_and_one_to_many) {
  std::vector<Request*> sends;
  std::vector<std::vector<std::uint8_t>> data;
  for (unsigned index = 0; index < 200; ++index) data.push_back(pattern(8 + index * 300, index));
  for (unsigned index = 0; index < 200; ++index)
    sends.push_back(send(index % 2 == 0 ? 0 : 2, 1, data[index], static_cast<int>(index)));
  std::vector<std::uint8_t> got(8 + 200 * 300);
  std::vector<bool> seen(200);
  for (int index = 0; index < 200; ++index) {
    couplet_message message{};
    expect_ok(1, receive(1, got, COUPLET_ANY_SOURCE, COUPLET_ANY_TAG), &message);
    const auto tag = static_cast<std::size_t>(message.tag);
    EXPECT_FALSE(seen[tag]);
    seen[tag] = true;
    EXPECT_EQ(message.source, tag % 2 == 0 ? 0 : 2);
    ASSERT_EQ(message.bytes, data[tag].size());
    EXPECT_TRUE(std::equal(data[tag].begin(), data[tag].end(), got.begin()));
  }
  for (unsigned index = 0; index < 200; ++index) expect_ok(index % 2 == 0 ? 0 : 2, sends[index]);
  EXPECT_EQ(sim[1].stored_bytes(), 0U);
}

TEST_F(Message, null_requests_are_complete) {
  Request* none = nullptr;
  EXPECT_TRUE(sim[0].test(&none, nullptr).ok());
  EXPECT_TRUE(sim[0].wait(&none, os::never, nullptr).ok());
  std::vector<Request*> requests(3, nullptr);
  EXPECT_TRUE(sim[0].waitall(requests, os::never, nullptr, nullptr).ok());
  std::int32_t index = 5;
  EXPECT_TRUE(sim[0].waitany(requests, os::never, &index, nullptr).ok());
  EXPECT_EQ(index, -1);
}

// Fault: the memory for as many bytes as a peer announced was asked for, and the exception left the poll.
TEST_F(Message, the_length_of_an_internal_message_is_bounded) {
  constexpr std::uint32_t context = internal_context | 77U;
  for (const std::uint64_t bytes : {max_internal_message_bytes + 1, std::uint64_t{1} << 63U, UINT64_MAX}) {
    for (const bool posted_first : {true, false}) {
      SimMessengers world(5, 2);
      world.connect(0, 1);
      std::string text;
      Request* request = posted_first ? world[1].irecv_internal(world[1].groups().universe(), context, text) : nullptr;
      std::array<std::byte, wire::envelope_bytes> payload;
      wire::encode_envelope({}, payload);
      wire::FrameHeader header;
      header.kind = wire::message_frame_kind(wire::MessageKind::envelope);
      header.context = context;
      header.first = bytes;
      header.second = 1;
      ASSERT_TRUE(world.channels().channel(0, 1).try_send(header, payload));
      if (!posted_first) {
        world.run_out();
        request = world[1].irecv_internal(world[1].groups().universe(), context, text);
      }
      const Status status = world.finish(1, &request);
      EXPECT_EQ(status.code(), Code::limit) << status.text();
      EXPECT_NE(status.text().find(fmt::format("sim rank 0 announces an internal message of {} bytes", bytes)),
                std::string::npos)
          << status.text();
      EXPECT_TRUE(text.empty());
    }
  }
}

TEST_F(Message, frames_that_break_the_protocol_end_the_channel_by_name) {
  struct Case {
    wire::MessageKind kind;
    std::uint64_t first;
    std::uint64_t second;
    std::size_t payload;
    const char* text;
  };
  const Case cases[] = {
      {wire::MessageKind::eager, 9, 0, 8, "sends a message of 9 bytes in a frame of 8"},
      {wire::MessageKind::eager, 8, 1, 8, "gives back 1 bytes of credit"},
      {wire::MessageKind::envelope, 100, 1, 8, "an envelope has 8 bytes"},
      {wire::MessageKind::clear, 0, 0x100000000, 0, "asks for a message that was not offered"},
      {wire::MessageKind::clear, 0, 77, 0, "asks for a message that was not offered"},
      {wire::MessageKind::data, 0, 0x100000000, 8, "that was not asked for like that"},
      {wire::MessageKind::done, 0, 0x100000000, 0, "has finished a message that was not offered"},
      {wire::MessageKind::credit, 1, 0, 0, "gives back 1 bytes of credit"},
      {wire::MessageKind::share, 1, 0x100000000, 40, "shares a message that was not offered"},
      {wire::MessageKind::shared, 1, 0x100000000, 0, "has copied pieces of a message that is not shared"},
  };
  for (const Case& broken : cases) {
    SimMessengers world(5, 2);
    world.connect(0, 1);
    std::vector<std::byte> payload(broken.payload);
    wire::FrameHeader header;
    header.kind = wire::message_frame_kind(broken.kind);
    header.first = broken.first;
    header.second = broken.second;
    ASSERT_TRUE(world.channels().channel(0, 1).try_send(header, payload));
    std::uint64_t got = 0;
    Request* request = nullptr;
    ASSERT_TRUE(world[1].irecv(world[1].groups().universe(), &got, 1, COUPLET_UINT64, 0, 5, &request).ok());
    const Status status = world.finish(1, &request);
    EXPECT_EQ(status.code(), Code::protocol) << broken.text;
    EXPECT_NE(status.text().find(broken.text), std::string::npos) << status.text();
    EXPECT_NE(status.text().find("sim rank 0"), std::string::npos) << status.text();
  }
}

}  // namespace
}  // namespace couplet::message
