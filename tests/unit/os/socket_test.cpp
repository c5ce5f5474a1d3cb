#include "os/socket.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "os/reset.hpp"
#include "support/child.hpp"

namespace couplet::os {
namespace {

using test::eventually;

struct Connection {
  Descriptor client;
  Descriptor server;
};

Connection connect_through(const Endpoint& where, const Endpoint* from = nullptr) {
  Connection connection;
  auto listener = listen_tcp(where);
  EXPECT_TRUE(listener.ok()) << listener.status().text();
  const Endpoint target = *local_endpoint(*listener);
  EXPECT_NE(target.port, 0);
  auto client = connect_tcp(target, from);
  EXPECT_TRUE(client.ok()) << client.status().text();
  EXPECT_TRUE(eventually([&] { return connect_result(*client, target).ok(); }));
  EXPECT_TRUE(eventually([&] {
    auto server = accept_tcp(*listener);
    if (server.ok()) {
      connection.server = std::move(*server);
    }
    return connection.server.number() >= 0;
  }));
  connection.client = std::move(*client);
  return connection;
}

TEST(Endpoint, TextAndBack) {
  for (const char* text : {"10.1.2.3:80", "127.0.0.1:0", "[::1]:4711"}) {
    auto endpoint = resolve(text);
    ASSERT_TRUE(endpoint.ok()) << endpoint.status().text();
    EXPECT_EQ(endpoint_text(*endpoint), text);
  }
  EXPECT_TRUE(is_ipv4(*resolve("10.1.2.3:80")));
  EXPECT_FALSE(is_ipv4(*resolve("[::1]:80")));
}

TEST(Endpoint, WhatIsNone) {
  for (const char* text : {"", ":", "host", "host:", ":80", "host:port", "host:70000", "host:-1", "host:123456"}) {
    EXPECT_EQ(resolve(text).code(), Code::config) << text;
  }
  EXPECT_EQ(resolve("no.such.host.invalid:80").code(), Code::not_found);
}

TEST(Endpoint, Interfaces) {
  auto loopback = interface_endpoint("lo");
  ASSERT_TRUE(loopback.ok()) << loopback.status().text();
  EXPECT_EQ(endpoint_text(*loopback), "127.0.0.1:0");
  EXPECT_EQ(*interface_endpoint("127.0.0.1"), *loopback);
  EXPECT_EQ(endpoint_text(*interface_endpoint("::1")), "[::1]:0");
  EXPECT_EQ(interface_endpoint("no-such-interface").code(), Code::not_found);
  EXPECT_EQ(*interface_endpoint("127.0.0.0/8"), *loopback);
  EXPECT_EQ(*interface_endpoint("127.0.0.1/32"), *loopback);
  EXPECT_EQ(interface_endpoint("127.0.0.2/32").code(), Code::not_found);
  EXPECT_EQ(interface_endpoint("203.0.113.0/24").code(), Code::not_found);
  for (const char* text : {"127.0.0.0/33", "127.0.0/8", "127.0.0.0/", "127.0.0.0/8x", "::1/129", "lo/8", "/8"}) {
    EXPECT_EQ(interface_endpoint(text).code(), Code::config) << text;
  }
  EXPECT_EQ(*source_towards(*resolve("127.0.0.1:9")), *loopback);
}

TEST(Socket, BytesGoBothWaysOverBothFamilies) {
  for (const char* where : {"127.0.0.1:0", "[::1]:0"}) {
    auto endpoint = resolve(where);
    if (!listen_tcp(*endpoint).ok()) {
      std::printf("  SKIPPED %s: this host has no such address\n", where);
      continue;
    }
    Connection connection = connect_through(*endpoint);
    char text[6] = {};
    EXPECT_EQ(receive_some(connection.server, text, sizeof text).code(), Code::not_yet);
    ASSERT_TRUE(send_some(connection.client, "hello", 5).ok());
    ASSERT_TRUE(eventually([&] { return receive_some(connection.server, text, sizeof text).ok(); }));
    EXPECT_STREQ(text, "hello");
    EXPECT_EQ(peer_endpoint(connection.client)->port, local_endpoint(connection.server)->port);
    connection.client.close();
    ASSERT_TRUE(eventually([&] { return receive_some(connection.server, text, sizeof text).code() == Code::end; }));
  }
}

TEST(Socket, IsTunedAndComesFromTheChosenAddress) {
  const Endpoint from = *resolve("127.0.0.2:0");
  Connection connection = connect_through(*resolve("127.0.0.1:0"), &from);
  EXPECT_EQ(endpoint_text(*peer_endpoint(connection.server)).find("127.0.0.2:"), 0U);
  for (const Descriptor* socket : {&connection.client, &connection.server}) {
    int value = 0;
    socklen_t bytes = sizeof value;
    ASSERT_EQ(::getsockopt(socket->number(), IPPROTO_TCP, TCP_NODELAY, &value, &bytes), 0);
    EXPECT_NE(value, 0);
    ASSERT_EQ(::getsockopt(socket->number(), IPPROTO_TCP, TCP_USER_TIMEOUT, &value, &bytes), 0);
    EXPECT_EQ(value, static_cast<int>(SocketOptions().user_timeout_ms));
    ASSERT_EQ(::getsockopt(socket->number(), SOL_SOCKET, SO_KEEPALIVE, &value, &bytes), 0);
    EXPECT_NE(value, 0);
  }
}

TEST(Socket, AResetIsALostPeer) {
  Connection connection = connect_through(*resolve("127.0.0.1:0"));
  abort_on_close(connection.client);
  connection.client.close();
  char byte = 0;
  EXPECT_TRUE(eventually([&] { return receive_some(connection.server, &byte, 1).code() == Code::peer_lost; }));
  EXPECT_EQ(send_some(connection.server, &byte, 1).code(), Code::peer_lost);
}

TEST(Socket, NobodyListensAndPortsAreTaken) {
  auto listener = listen_tcp(*resolve("127.0.0.1:0"));
  ASSERT_TRUE(listener.ok());
  const Endpoint endpoint = *local_endpoint(*listener);
  EXPECT_EQ(accept_tcp(*listener).code(), Code::not_yet);
  EXPECT_EQ(listen_tcp(endpoint).code(), Code::exists);
  listener->close();
  auto client = connect_tcp(endpoint);
  Status why = client.status();
  if (client.ok()) {
    ASSERT_TRUE(eventually([&] { return (why = connect_result(*client, endpoint)).code() != Code::not_yet; }));
  }
  EXPECT_TRUE(why.error());
  EXPECT_NE(why.text().find(endpoint_text(endpoint)), std::string::npos) << why.text();
}

// The system chooses the port of a caller among those that are free, so it may be the one that is called.
TEST(Socket, DoesNotConnectToItself) {
  const Endpoint free = [] { return *local_endpoint(*listen_tcp(*resolve("127.0.0.1:0"))); }();
  const auto client = connect_tcp(free, &free);
  EXPECT_TRUE(says_refused(client.status())) << client.status().text();
  const Endpoint this_host = *resolve(fmt::format("0.0.0.0:{}", free.port));
  EXPECT_TRUE(says_refused(connect_tcp(this_host, &free).status()));
  EXPECT_TRUE(listen_tcp(free).ok()) << "nothing is left of the connections";
}

TEST(Socket, AFullSocketSaysNotYet) {
  Connection connection = connect_through(*resolve("127.0.0.1:0"));
  const std::vector<char> much(1U << 20U);
  std::size_t sent = 0;
  Result<std::size_t> answer = send_some(connection.client, much.data(), much.size());
  for (; answer.ok(); answer = send_some(connection.client, much.data(), much.size())) {
    sent += *answer;
  }
  EXPECT_EQ(answer.code(), Code::not_yet);
  EXPECT_GT(sent, 0U);
}

TEST(SocketFailure, SaysWhetherItWasAResetASilenceOrARefusal) {
  EXPECT_TRUE(says_reset(socket_failure(ECONNRESET, "tcp: receiving failed").within("rank 3 over tcp")));
  EXPECT_TRUE(says_reset(socket_failure(ECONNABORTED, "receiving failed")));
  EXPECT_TRUE(says_reset(socket_failure(EPIPE, "sending failed")));
  for (const int error : {ETIMEDOUT, EHOSTUNREACH, ENETDOWN, ECONNREFUSED}) {
    EXPECT_FALSE(says_reset(socket_failure(error, "receiving failed"))) << error;
    EXPECT_EQ(says_refused(socket_failure(error, "cannot connect")), error == ECONNREFUSED);
    EXPECT_EQ(says_silent(socket_failure(error, "receiving failed")), error != ECONNREFUSED);
  }
  EXPECT_FALSE(says_silent(socket_failure(ECONNRESET, "receiving failed")));
  EXPECT_FALSE(says_silent({}));
  EXPECT_FALSE(says_reset(fail(Code::peer_lost, "tcp: the connection was closed without a goodbye")));
  EXPECT_FALSE(says_reset({}));
  auto listener = listen_tcp(resolve("127.0.0.1:0").value()).value();
  const Endpoint gone = local_endpoint(listener).value();
  listener.close();
  auto caller = connect_tcp(gone);
  Status status = caller.status();
  while (caller.ok() && (status = connect_result(*caller, gone)).code() == Code::not_yet) {
  }
  EXPECT_TRUE(says_refused(status)) << status.text();
}

}  // namespace
}  // namespace couplet::os
