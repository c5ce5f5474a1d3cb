// One suite for messages over every link. A world of one rank sends to itself.
#include <gtest/gtest.h>

#include <numeric>

#include "layout/type_handles.hpp"
#include "support/parties.hpp"
#include "support/sim_messengers.hpp"

namespace couplet::message {
namespace {

using test::LaneKind;
using test::LaneMessengers;
using test::MessageWorld;
using test::SimMessengers;
using test::WorldMaker;

std::vector<std::uint8_t> pattern(std::size_t bytes, std::size_t seed) {
  std::vector<std::uint8_t> data(bytes);
  for (std::size_t index = 0; index < bytes; ++index) {
    data[index] = static_cast<std::uint8_t>(index * 7 + (index >> 8) * 13 + seed * 31);
  }
  return data;
}

class MessageConformance : public ::testing::TestWithParam<WorldMaker> {
 protected:
  void make(int size, const MessengerOptions& options = {}) {
    world_.reset();
    world_ = GetParam().make(1, GetParam().several ? size : 1, options);
    to_ = GetParam().several ? 1 : 0;
  }
  MessageWorld& world() { return *world_; }
  Messenger& at(int rank) { return (*world_)[rank]; }
  [[nodiscard]] int to() const { return to_; }

  Request* send(int from, int target, const std::vector<std::uint8_t>& data, std::int32_t tag) {
    Request* request = nullptr;
    const Status status =
        at(from).isend(at(from).groups().universe(), data.data(), data.size(), COUPLET_BYTE, target, tag, &request);
    EXPECT_TRUE(status.ok()) << status.text();
    return request;
  }
  Request* receive(int rank, std::vector<std::uint8_t>& data, std::int32_t source, std::int32_t tag) {
    Request* request = nullptr;
    const Status status =
        at(rank).irecv(at(rank).groups().universe(), data.data(), data.size(), COUPLET_BYTE, source, tag, &request);
    EXPECT_TRUE(status.ok()) << status.text();
    return request;
  }
  void expect_ok(int rank, Request* request, couplet_message* message = nullptr) {
    const Status status = world().finish(rank, &request, message);
    EXPECT_TRUE(status.ok()) << status.text();
  }
  // Waits until everything that was sent to `rank` before has arrived, by a message that was sent after it.
  void catch_up(int from, int rank) {
    std::vector<std::uint8_t> none;
    Request* sending = send(from, rank, none, 2147483647);
    expect_ok(rank, receive(rank, none, from, 2147483647));
    expect_ok(from, sending);
  }

 private:
  std::unique_ptr<MessageWorld> world_;
  int to_ = 0;
};

TEST_P(MessageConformance, SizesPostedBeforeAndAfter) {
  for (const bool copied : {false, true}) {
    MessengerOptions options;
    options.read_memory = !copied;
    make(2, options);
    for (const std::size_t bytes :
         std::initializer_list<std::size_t>{0, 1, 8, 15, 16, 17, 64, 65, 1023, 1024, 4095, 4097, 16384, 16385, 65536,
                                            65537, 1U << 20U, 3000001, 64U << 20U}) {
      for (const bool posted_first : {true, false}) {
        if (bytes > (16U << 20U) && posted_first) continue;
        const auto data = pattern(bytes, 1);
        std::vector<std::uint8_t> got(bytes);
        couplet_message message{};
        Request* receiving = posted_first ? receive(to(), got, 0, 5) : nullptr;
        Request* sending = send(0, to(), data, 5);
        if (!posted_first) {
          catch_up(0, to());
          receiving = receive(to(), got, 0, 5);
        }
        expect_ok(to(), receiving, &message);
        expect_ok(0, sending);
        ASSERT_TRUE(got == data) << bytes;
        EXPECT_EQ(message.bytes, bytes);
        EXPECT_EQ(message.source, 0);
      }
    }
    EXPECT_EQ(at(0).pending() + at(to()).pending(), 0U);
  }
}

TEST_P(MessageConformance, OrderPerSourceAndTag) {
  make(2);
  std::vector<std::vector<std::uint8_t>> data;
  std::vector<Request*> sends;
  for (std::size_t index = 0; index < 60; ++index)
    data.push_back(pattern(index % 3 == 0 ? 8 : index % 3 == 1 ? 3000 : 100000, index));
  for (std::size_t index = 0; index < 60; ++index)
    sends.push_back(send(0, to(), data[index], static_cast<int>(index % 4)));
  std::vector<std::uint8_t> got(100000);
  for (const std::int32_t tag : {3, 1, COUPLET_ANY_TAG, 0}) {
    std::size_t taken = 0;
    for (std::size_t index = 0; index < 60; ++index) {
      const auto own = static_cast<std::int32_t>(index % 4);
      if (tag == COUPLET_ANY_TAG ? own == 3 || own == 1 || index > 30 : own != tag || (tag == 0 && index <= 30))
        continue;
      couplet_message message{};
      expect_ok(to(), receive(to(), got, taken % 2 == 0 ? COUPLET_ANY_SOURCE : 0, tag), &message);
      EXPECT_EQ(message.tag, own);
      ASSERT_EQ(message.bytes, data[index].size());
      EXPECT_TRUE(std::equal(data[index].begin(), data[index].end(), got.begin())) << index;
      ++taken;
    }
  }
  for (int rest = 0; rest < 7; ++rest) expect_ok(to(), receive(to(), got, 0, 2));
  for (Request* request : sends) expect_ok(0, request);
}

TEST_P(MessageConformance, Truncation) {
  make(2);
  for (const std::size_t bytes : std::initializer_list<std::size_t>{100, 5000, 500000}) {
    for (const bool posted_first : {true, false}) {
      std::vector<std::uint8_t> small(50);
      std::vector<std::uint8_t> good(bytes);
      const auto data = pattern(bytes, 3);
      Request* receiving = posted_first ? receive(to(), small, 0, 1) : nullptr;
      Request* first = send(0, to(), data, 1);
      Request* second = send(0, to(), data, 1);
      if (!posted_first) {
        catch_up(0, to());
        receiving = receive(to(), small, 0, 1);
      }
      EXPECT_EQ(world().finish(to(), &receiving).code(), Code::truncated);
      expect_ok(to(), receive(to(), good, 0, 1));
      EXPECT_TRUE(good == data);
      expect_ok(0, first);
      expect_ok(0, second);
    }
  }
}

TEST_P(MessageConformance, AFloodOfOneTagAndAReceiveOfAnother) {
  make(2);
  const auto data = pattern(9000, 1);
  const auto wanted = pattern(9000, 2);
  std::vector<Request*> flood;
  for (int index = 0; index < 1500; ++index) flood.push_back(send(0, to(), data, 7));
  Request* last = send(0, to(), wanted, 8);
  std::vector<std::uint8_t> got(9000);
  expect_ok(to(), receive(to(), got, 0, 8));
  EXPECT_TRUE(got == wanted);
  expect_ok(0, last);
  EXPECT_LE(at(to()).stored_bytes(), 2 * largest_payload_credit);
  for (Request* request : flood) {
    got.assign(got.size(), 0);
    expect_ok(to(), receive(to(), got, COUPLET_ANY_SOURCE, 7));
    ASSERT_TRUE(got == data);
    expect_ok(0, request);
  }
  EXPECT_EQ(at(to()).stored_bytes(), 0U);
}

TEST_P(MessageConformance, StormsOfUnexpectedMessagesBothWays) {
  make(2);
  std::vector<Request*> sends[2];
  std::vector<std::uint64_t> numbers(3000);
  std::iota(numbers.begin(), numbers.end(), 0U);
  for (std::size_t index = 0; index < numbers.size(); ++index) {
    for (const int from : {0, 1}) {
      if (from == 1 && to() == 0) continue;
      Request* request = nullptr;
      ASSERT_TRUE(at(from)
                      .isend(at(from).groups().universe(), &numbers[index], 1, COUPLET_UINT64, to() - from,
                             static_cast<int>(index % 10), &request)
                      .ok());
      sends[from].push_back(request);
    }
  }
  for (int from = 0; from < (to() == 0 ? 1 : 2); ++from) {
    for (int tag = 9; tag >= 0; --tag) {
      for (std::uint64_t expected = static_cast<std::uint64_t>(tag); expected < numbers.size(); expected += 10) {
        std::uint64_t got = 0;
        Request* request = nullptr;
        ASSERT_TRUE(at(to() - from)
                        .irecv(at(to() - from).groups().universe(), &got, 1, COUPLET_UINT64, from, tag, &request)
                        .ok());
        expect_ok(to() - from, request);
        ASSERT_EQ(got, expected);
      }
    }
    for (Request* request : sends[from]) expect_ok(from, request);
  }
}

TEST_P(MessageConformance, ManyToOneAndOneToMany) {
  if (!GetParam().several) GTEST_SKIP() << "one rank only";
  make(5);
  std::vector<std::vector<std::uint8_t>> data;
  std::vector<std::pair<int, Request*>> sends;
  for (std::size_t index = 0; index < 100; ++index) data.push_back(pattern(index * 700, index));
  for (std::size_t index = 0; index < 100; ++index) {
    const int from = 1 + static_cast<int>(index % 4);
    sends.emplace_back(from, send(from, 0, data[index], static_cast<int>(index)));
    sends.emplace_back(0, send(0, from, data[index], static_cast<int>(index)));
  }
  std::vector<std::uint8_t> got(70000);
  std::vector<int> next(5, 0);
  for (int index = 0; index < 100; ++index) {
    couplet_message message{};
    expect_ok(0, receive(0, got, COUPLET_ANY_SOURCE, COUPLET_ANY_TAG), &message);
    EXPECT_EQ(message.tag, message.source - 1 + 4 * next[static_cast<std::size_t>(message.source)]++);
    const auto& expected = data[static_cast<std::size_t>(message.tag)];
    ASSERT_EQ(message.bytes, expected.size());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), got.begin()));
    const int member = 1 + index % 4;
    expect_ok(member, receive(member, got, 0, index));
    EXPECT_TRUE(std::equal(data[static_cast<std::size_t>(index)].begin(), data[static_cast<std::size_t>(index)].end(),
                           got.begin()));
  }
  for (auto& [rank, request] : sends) expect_ok(rank, request);
}

TEST_P(MessageConformance, NumbersOfTheOtherByteOrder) {
  MessengerOptions options;
  options.foreign_byte_order = true;
  for (const bool read_memory : {true, false}) {
    options.read_memory = read_memory;
    make(2, options);
    for (const std::size_t count : std::initializer_list<std::size_t>{1, 2, 1000, 700001}) {
      std::vector<std::uint16_t> sent(count);
      for (std::size_t index = 0; index < count; ++index) sent[index] = static_cast<std::uint16_t>(index * 77 + 1);
      auto turned = sent;
      for (auto& number : turned) number = __builtin_bswap16(number);
      std::vector<std::uint16_t> got(count);
      Request* sending = nullptr;
      Request* receiving = nullptr;
      ASSERT_TRUE(at(0).isend(at(0).groups().universe(), turned.data(), count, COUPLET_UINT16, to(), 1, &sending).ok());
      ASSERT_TRUE(
          at(to()).irecv(at(to()).groups().universe(), got.data(), count, COUPLET_INT16, 0, 1, &receiving).ok());
      expect_ok(to(), receiving);
      expect_ok(0, sending);
      EXPECT_TRUE(got == sent) << count;
    }
  }
}

TEST_P(MessageConformance, ALostPeerIsNamed) {
  if (!GetParam().several) GTEST_SKIP() << "a rank does not lose itself";
  for (const std::size_t bytes : std::initializer_list<std::size_t>{8, 3000, 3000000}) {
    make(3);
    const auto data = pattern(bytes, 1);
    std::vector<std::uint8_t> got(bytes);
    Request* receiving = receive(1, got, 0, 1);
    const auto unwanted = pattern(2000000, 2);
    Request* sending = send(1, 0, unwanted, 2);
    catch_up(2, 1);
    world().kill(0);
    const Status received = world().finish(1, &receiving);
    EXPECT_EQ(received.code(), Code::peer_lost) << received.text();
    EXPECT_NE(received.text().find(" 0"), std::string::npos) << received.text();
    EXPECT_EQ(world().finish(1, &sending).code(), Code::peer_lost);
    Request* later = send(1, 0, data, 1);
    EXPECT_EQ(world().finish(1, &later).code(), Code::peer_lost);
    later = receive(1, got, 0, 1);
    EXPECT_EQ(world().finish(1, &later).code(), Code::peer_lost);
    Request* third = send(2, 1, data, 1);  // the others go on
    expect_ok(1, receive(1, got, COUPLET_ANY_SOURCE, COUPLET_ANY_TAG));
    expect_ok(2, third);
    EXPECT_TRUE(got == data);
  }
}

TEST_P(MessageConformance, LargeMessagesAreReadFromMemoryWhereThatIsProven) {
  make(2);
  const auto data = pattern(1000000, 1);
  std::vector<std::uint8_t> got(data.size());
  Request* sending = send(0, to(), data, 1);
  expect_ok(to(), receive(to(), got, 0, 1));
  expect_ok(0, sending);
  const auto reports = at(to()).report();
  ASSERT_FALSE(reports.empty());
  EXPECT_FALSE(reports.front().why.empty());
  const bool shares = GetParam().name == "shm" || GetParam().name == "self";
  if (shares && reports.front().why.find("could not be read") != std::string::npos) {
    GTEST_SKIP() << "not allowed here: " << reports.front().why;
  }
  const std::string read = "read from the sender's memory";
  const std::string both = GetParam().name == "shm" ? ", by both sides from 256 KiB on" : "";
  EXPECT_EQ(reports.front().large_messages, shares ? read + both : "copied in pieces") << reports.front().why;
}

// Every third number of a list is sent, and every second one of another list receives them. The receive may be posted
// before or after the message has come, and there may be too much or too little room.
TEST_P(MessageConformance, ItemsWithGapsArriveAtTheirPlaces) {
  const layout::Datatype number(*find_type(COUPLET_INT32));
  for (const std::size_t count : std::initializer_list<std::size_t>{1, 100, 3000, 1000000}) {
    const auto third = layout::keep_datatype(layout::Datatype::vector(count, 1, 3, number).value());
    const auto second = layout::keep_datatype(layout::Datatype::vector(count / 2, 1, 2, number).value());
    ASSERT_TRUE(third.ok() && second.ok());
    std::vector<std::int32_t> data(3 * count);
    std::iota(data.begin(), data.end(), 7);
    for (const bool is_posted_first : {true, false}) {
      for (const std::uint64_t room : std::initializer_list<std::uint64_t>{2, 3, 1}) {  // in items of count / 2
        SCOPED_TRACE(fmt::format("{} numbers, posted first: {}, room for {} halves", count, is_posted_first, room));
        make(2);
        std::vector<std::int32_t> got(2 * count * 2, -1);
        Request* sending = nullptr;
        Request* receiving = nullptr;
        const auto receive_items = [&] {
          Group& group = at(to()).groups().universe();
          ASSERT_TRUE(at(to()).irecv(group, got.data(), room, *second, 0, 4, &receiving).ok());
        };
        if (is_posted_first) receive_items();
        ASSERT_TRUE(at(0).isend(at(0).groups().universe(), data.data(), 1, *third, to(), 4, &sending).ok());
        if (!is_posted_first) {
          catch_up(0, to());
          receive_items();
        }
        couplet_message message{};
        const Status status = world().finish(to(), &receiving, &message);
        expect_ok(0, sending);
        const std::uint64_t extent = count < 2 ? 0 : (count / 2 - 1) * 2 + 1;
        if (room * (count / 2) < count) {
          EXPECT_EQ(status.code(), Code::truncated) << status.text();
          continue;
        }
        ASSERT_TRUE(status.ok()) << status.text();
        EXPECT_EQ(message.bytes, count * 4);
        EXPECT_EQ(message.count, 2U);
        std::vector<std::int32_t> wanted(got.size(), -1);
        for (std::size_t index = 0; index < count; ++index) {
          const std::size_t half = count / 2;
          wanted[index / half * extent + index % half * 2] = data[3 * index];
        }
        EXPECT_TRUE(got == wanted);
      }
    }
    EXPECT_TRUE(layout::free_datatype(*third) && layout::free_datatype(*second));
  }
}

std::unique_ptr<MessageWorld> over_sim(std::uint64_t seed, int size, const MessengerOptions& options) {
  return std::make_unique<SimMessengers>(seed, size, options);
}
std::unique_ptr<MessageWorld> over_shm(std::uint64_t /*seed*/, int size, const MessengerOptions& options) {
  return std::make_unique<LaneMessengers>(LaneKind::shm, size, options);
}
std::unique_ptr<MessageWorld> over_tcp(std::uint64_t /*seed*/, int size, const MessengerOptions& options) {
  return std::make_unique<LaneMessengers>(LaneKind::tcp, size, options);
}

INSTANTIATE_TEST_SUITE_P(Links, MessageConformance,
                         ::testing::Values(WorldMaker{"self", false, over_shm}, WorldMaker{"sim", true, over_sim},
                                           WorldMaker{"shm", true, over_shm}, WorldMaker{"tcp", true, over_tcp}),
                         [](const auto& world) { return world.param.name; });

}  // namespace
}  // namespace couplet::message
