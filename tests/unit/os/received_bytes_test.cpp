#include "os/received_bytes.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "os/socket.hpp"
#include "support/child.hpp"

namespace couplet::os {
namespace {

TEST(ReceivedBytes, CountWhatHasComeWhetherOrNotItWasRead) {
  auto listener = listen_tcp(*resolve("127.0.0.1:0"));
  ASSERT_TRUE(listener.ok());
  auto client = connect_tcp(*local_endpoint(*listener));
  ASSERT_TRUE(client.ok());
  auto server = accept_tcp(*listener);
  ASSERT_TRUE(test::eventually([&] {
    server = server.ok() ? std::move(server) : accept_tcp(*listener);
    return server.ok();
  }));
  EXPECT_EQ(received_bytes(server->number()), 0U);
  std::array<char, 1000> bytes{};
  for (std::uint64_t sum = bytes.size(); sum <= 3 * bytes.size(); sum += bytes.size()) {
    ASSERT_EQ(::send(client->number(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    ASSERT_TRUE(test::eventually([&] { return received_bytes(server->number()) == sum; })) << sum;
  }
  std::array<char, 1500> read{};
  ASSERT_EQ(::recv(server->number(), read.data(), read.size(), 0), static_cast<ssize_t>(read.size()));
  EXPECT_EQ(received_bytes(server->number()), 3 * bytes.size());
}

TEST(ReceivedBytes, AreNoneForWhatIsNoTcpSocket) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  ASSERT_EQ(::send(ends[0], "x", 1, MSG_NOSIGNAL), 1);
  EXPECT_EQ(received_bytes(ends[1]), 0U);
  EXPECT_EQ(received_bytes(-1), 0U);
  for (const int end : ends) ::close(end);
}

}  // namespace
}  // namespace couplet::os
