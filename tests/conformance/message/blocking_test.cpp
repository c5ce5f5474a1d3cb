// Blocking calls, with a thread for each rank: send, recv, wait, waitall, waitany, time limits, interrupts; and the
// cost of a short message.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "support/parties.hpp"

namespace couplet::message {
namespace {

using test::LaneKind;
using test::Parties;
using test::Party;

class Blocking : public ::testing::TestWithParam<LaneKind> {};

TEST_P(Blocking, PingPongOfAllSizes) {
  Parties parties(GetParam(), 2);
  parties.run([](Party& party) {
    for (const std::size_t count : std::initializer_list<std::size_t>{0, 1, 2, 100, 5000, 300000, 2000000}) {
      std::vector<std::uint64_t> data(count);
      std::iota(data.begin(), data.end(), static_cast<std::uint64_t>(party.rank()) << 32U);
      std::vector<std::uint64_t> got(count);
      for (int round = 0; round < 5; ++round) {
        for (const int sender : {0, 1}) {
          if (party.rank() == sender) {
            const Status sent =
                party.messenger->send(party.group(), data.data(), count, COUPLET_UINT64, 1 - sender, round);
            ASSERT_TRUE(sent.ok()) << sent.text();
          } else {
            couplet_message message{};
            const Status received =
                party.messenger->recv(party.group(), got.data(), count, COUPLET_UINT64, sender, round, &message);
            ASSERT_TRUE(received.ok()) << received.text();
            EXPECT_EQ(message.count, count);
            for (std::size_t index = 0; index < count; ++index)
              ASSERT_EQ(got[index], (std::uint64_t(sender) << 32U) + index);
          }
        }
      }
    }
  });
}

TEST_P(Blocking,
       BothSendFirst) {  // in MPI unsafe; here the flood is bounded by credit, and large ones need both to receive
  Parties parties(GetParam(), 2);
  parties.run([](Party& party) {
    std::uint64_t got = 0;
    for (std::uint64_t number = 0; number < 20000; ++number) {
      ASSERT_TRUE(party.messenger->send(party.group(), &number, 1, COUPLET_UINT64, 1 - party.rank(), 0).ok());
    }
    for (std::uint64_t number = 0; number < 20000; ++number) {
      ASSERT_TRUE(party.messenger->recv(party.group(), &got, 1, COUPLET_UINT64, 1 - party.rank(), 0, nullptr).ok());
      ASSERT_EQ(got, number);
    }
  });
}

TEST_P(Blocking, ExchangeOfLargeMessages) {
  Parties parties(GetParam(), 3);
  parties.run([](Party& party) {
    const std::size_t count = 500000;
    std::vector<std::vector<double>> in(3, std::vector<double>(count));
    std::vector<std::vector<double>> out(3, std::vector<double>(count));
    std::vector<Request*> requests;
    for (int peer = 0; peer < 3; ++peer) {  // also to itself
      const auto index = static_cast<std::size_t>(peer);
      std::fill(out[index].begin(), out[index].end(), party.rank() * 10 + peer);
      requests.push_back(nullptr);
      ASSERT_TRUE(
          party.messenger->isend(party.group(), out[index].data(), count, COUPLET_DOUBLE, peer, 1, &requests.back())
              .ok());
      requests.push_back(nullptr);
      ASSERT_TRUE(
          party.messenger->irecv(party.group(), in[index].data(), count, COUPLET_DOUBLE, peer, 1, &requests.back())
              .ok());
    }
    std::vector<couplet_status> statuses(6, -1);
    std::vector<couplet_message> messages(6);
    const Status status = party.messenger->waitall(requests, os::deadline_after(30), statuses.data(), messages.data());
    ASSERT_TRUE(status.ok()) << status.text();
    EXPECT_EQ(statuses, std::vector<couplet_status>(6, COUPLET_OK));
    for (int peer = 0; peer < 3; ++peer) {
      const auto index = static_cast<std::size_t>(peer);
      EXPECT_EQ(messages[2 * index + 1].source, peer);
      EXPECT_EQ(messages[2 * index + 1].count, count);
      EXPECT_EQ(in[index], std::vector<double>(count, peer * 10 + party.rank()));
      EXPECT_EQ(requests[index], nullptr);
    }
  });
}

TEST_P(Blocking, WaitanyGivesEachOnce) {
  Parties parties(GetParam(), 2);
  parties.run([](Party& party) {
    std::vector<std::uint64_t> numbers(10);
    if (party.rank() == 0) {
      for (int tag = 9; tag >= 0; --tag) {
        numbers[0] = static_cast<std::uint64_t>(tag);
        ASSERT_TRUE(party.messenger->send(party.group(), numbers.data(), 1, COUPLET_UINT64, 1, tag).ok());
      }
      return;
    }
    std::vector<Request*> requests(10);
    for (int tag = 0; tag < 10; ++tag) {
      const auto index = static_cast<std::size_t>(tag);
      ASSERT_TRUE(
          party.messenger->irecv(party.group(), &numbers[index], 1, COUPLET_UINT64, 0, tag, &requests[index]).ok());
    }
    std::vector<bool> seen(10);
    for (int count = 0; count < 10; ++count) {
      std::int32_t index = -1;
      couplet_message message{};
      ASSERT_TRUE(party.messenger->waitany(requests, os::deadline_after(20), &index, &message).ok());
      ASSERT_GE(index, 0);
      EXPECT_FALSE(seen[static_cast<std::size_t>(index)]);
      seen[static_cast<std::size_t>(index)] = true;
      EXPECT_EQ(message.tag, index);
      EXPECT_EQ(numbers[static_cast<std::size_t>(index)], static_cast<std::uint64_t>(index));
    }
    std::int32_t index = 0;
    EXPECT_TRUE(party.messenger->waitany(requests, os::deadline_after(20), &index, nullptr).ok());
    EXPECT_EQ(index, -1);
  });
}

TEST_P(Blocking, ATimeLimitLeavesTheRequestPending) {
  Parties parties(GetParam(), 2);
  std::atomic<bool> timed_out = false;
  parties.run([&timed_out](Party& party) {
    std::uint64_t number = 7;
    if (party.rank() == 0) {
      while (!timed_out.load()) std::this_thread::yield();
      ASSERT_TRUE(party.messenger->send(party.group(), &number, 1, COUPLET_UINT64, 1, 3).ok());
      return;
    }
    std::vector<Request*> requests(2);
    std::uint64_t got = 0;
    ASSERT_TRUE(party.messenger->irecv(party.group(), &got, 1, COUPLET_UINT64, 0, 3, &requests[0]).ok());
    const Status status = party.messenger->wait(&requests[0], os::deadline_after(0.01), nullptr);
    EXPECT_EQ(status.code(), Code::timeout);
    EXPECT_NE(status.text().find("a message from party 0 with tag 3 in group 'universe'"), std::string::npos)
        << status.text();
    EXPECT_NE(requests[0], nullptr);
    EXPECT_EQ(party.messenger->test(&requests[0], nullptr).code(), Code::not_yet);
    couplet_status statuses[2] = {-1, -1};
    EXPECT_EQ(party.messenger->waitall(requests, os::deadline_after(0), statuses, nullptr).code(), Code::timeout);
    EXPECT_EQ(statuses[0], COUPLET_ERROR_TIMEOUT);
    EXPECT_EQ(statuses[1], COUPLET_OK);
    std::int32_t index = 0;
    EXPECT_EQ(party.messenger->waitany(requests, os::deadline_after(0), &index, nullptr).code(), Code::timeout);
    timed_out = true;
    ASSERT_TRUE(party.messenger->wait(&requests[0], os::deadline_after(20), nullptr).ok());
    EXPECT_EQ(got, 7U);
  });
}

TEST_P(Blocking, AnInterruptEndsAReceiveThatNothingMatches) {
  Parties parties(GetParam(), 2);
  parties.run([](Party& party) {
    std::uint64_t number = 5;
    if (party.rank() == 1) {
      bool once = true;
      party.engine->set_interrupt([&once] { return std::exchange(once, false); });
      EXPECT_EQ(party.messenger->recv(party.group(), &number, 1, COUPLET_UINT64, 0, 3, nullptr).code(),
                Code::interrupted);
      EXPECT_EQ(party.messenger->pending(), 0U);
      party.engine->set_interrupt({});
      ASSERT_TRUE(party.messenger->send(party.group(), &number, 1, COUPLET_UINT64, 0, 1).ok());
      ASSERT_TRUE(party.messenger->recv(party.group(), &number, 1, COUPLET_UINT64, 0, 3, nullptr).ok());
      EXPECT_EQ(number, 6U);
    } else {
      ASSERT_TRUE(party.messenger->recv(party.group(), &number, 1, COUPLET_UINT64, 1, 1, nullptr).ok());
      ++number;
      ASSERT_TRUE(party.messenger->send(party.group(), &number, 1, COUPLET_UINT64, 1, 3).ok());
    }
  });
}

// More than 2^31 bytes. It runs only if there is enough memory, and if it is wanted (COUPLET_TEST_LARGE=1; ctest label
// "large").
TEST_P(Blocking, MoreThanTwoToTheThirtyOneBytes) {
  const bool enough = ::sysconf(_SC_AVPHYS_PAGES) > (std::int64_t{8} << 30U) / ::sysconf(_SC_PAGESIZE);
  if (std::getenv("COUPLET_TEST_LARGE") == nullptr || !enough) {
    GTEST_SKIP() << "set COUPLET_TEST_LARGE=1; takes 4.6 GB of memory";
  }
  const std::uint64_t count = 290'000'000;  // numbers of 8 bytes: 2.32e9 bytes
  for (const bool read_memory : {true, false}) {
    MessengerOptions options;
    options.read_memory = read_memory;
    Parties parties(GetParam(), 2, options);
    parties.run([count](Party& party) {
      void* memory = ::mmap(nullptr, count * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      ASSERT_NE(memory, MAP_FAILED);
      auto* numbers = static_cast<std::uint64_t*>(memory);
      if (party.rank() == 0) {
        for (std::uint64_t index = 0; index < count; ++index) numbers[index] = index * 3;
        ASSERT_TRUE(party.messenger->send(party.group(), numbers, count, COUPLET_UINT64, 1, 0).ok());
      } else {
        couplet_message message{};
        const Status status = party.messenger->recv(party.group(), numbers, count, COUPLET_UINT64, 0, 0, &message);
        ASSERT_TRUE(status.ok()) << status.text();
        EXPECT_EQ(message.bytes, count * 8);
        for (std::uint64_t index = 0; index < count; ++index) ASSERT_EQ(numbers[index], index * 3);
      }
      ::munmap(memory, count * 8);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Links, Blocking, ::testing::Values(LaneKind::shm, LaneKind::tcp),
                         [](const auto& kind) { return std::string(test::lane_name(kind.param)); });

}  // namespace
}  // namespace couplet::message
