#include "link/file/file_bridge.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "os/directory.hpp"
#include "support/child.hpp"
#include "support/temporary_directory.hpp"

namespace couplet::link {
namespace {

using test::eventually;

constexpr FileOrigin origin{.run_id = 0x4711, .incarnation = 0};

struct Sockets {
  os::Descriptor outer;
  os::Descriptor inner;
};

Sockets pair_of_sockets() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  return {os::Descriptor(ends[0]), os::Descriptor(ends[1])};
}

// Two sockets with a bridge behind each, and files between the bridges.
struct Bridged {
  Bridged() {
    auto dialer = FileConnection::dial(directory.path(), origin, {}).value();
    auto acceptor = FileConnection::accept(dialer->path(), origin, {}).value();
    Sockets first = pair_of_sockets();
    Sockets second = pair_of_sockets();
    left = std::move(first.outer);
    right = std::move(second.outer);
    bridges[0] = FileBridge::join(std::move(dialer), std::move(first.inner), nullptr).value();
    bridges[1] = FileBridge::join(std::move(acceptor), std::move(second.inner), nullptr).value();
  }
  // Returns what arrives at the socket until its end, or until so many bytes are there.
  static std::string receive(const os::Descriptor& socket, std::size_t count) {
    std::string text;
    std::vector<char> bytes(1U << 16U);
    EXPECT_TRUE(eventually([&] {
      const auto received = os::receive_some(socket, bytes.data(), std::min(bytes.size(), count - text.size()));
      if (received.ok()) {
        text.append(bytes.data(), *received);
      }
      return text.size() == count || (!received.ok() && received.code() != Code::not_yet);
    }));
    return text;
  }

  test::TemporaryDirectory directory;
  os::Descriptor left;
  os::Descriptor right;
  std::unique_ptr<FileBridge> bridges[2];
};

TEST(FileBridge, PassesOnBytesInBothDirections) {
  Bridged bridged;
  std::string large(3U << 20U, '\0');
  for (std::size_t index = 0; index < large.size(); ++index) {
    large[index] = static_cast<char>(index * 131 + (index >> 12U));
  }
  std::string arrived;
  std::size_t sent = 0;
  std::vector<char> bytes(1U << 16U);
  EXPECT_TRUE(eventually([&] {
    if (sent < large.size()) {
      const auto pushed = os::send_some(bridged.left, large.data() + sent, large.size() - sent);
      sent += pushed.ok() ? *pushed : 0;
    }
    const auto received = os::receive_some(bridged.right, bytes.data(), bytes.size());
    arrived.append(bytes.data(), received.ok() ? *received : 0);
    return arrived.size() == large.size();
  }));
  EXPECT_TRUE(arrived == large);
  ASSERT_TRUE(os::send_some(bridged.right, "back", 4).ok());
  EXPECT_EQ(Bridged::receive(bridged.left, 4), "back");
}

TEST(FileBridge, AnEndComesAfterWhatWasSentBefore) {
  Bridged bridged;
  ASSERT_TRUE(os::send_some(bridged.left, "last words", 10).ok());
  bridged.left.close();
  EXPECT_EQ(Bridged::receive(bridged.right, 11), "last words");
}

// For the hub, an end would mean that the member has ended, and the member would be lost.
TEST(FileBridge, AFailureOfTheFilesIsABreakAndNotAnEnd) {
  test::TemporaryDirectory directory;
  auto connection = FileConnection::dial(directory.path(), origin, {.max_damaged_ns = 20'000'000}).value();
  const std::string path = connection->path();
  auto listener = os::listen_tcp(os::resolve("127.0.0.1:0").value()).value();
  const os::Endpoint target = os::local_endpoint(listener).value();
  auto inner = os::connect_tcp(target).value();
  os::Descriptor outer;
  ASSERT_TRUE(eventually([&] {
    auto accepted = os::accept_tcp(listener);
    if (accepted.ok()) {
      outer = std::move(*accepted);
    }
    return accepted.ok() && os::connect_result(inner, target).ok();
  }));
  const auto bridge = FileBridge::join(std::move(connection), std::move(inner), nullptr).value();
  ASSERT_TRUE(os::remove_directory(path).ok());
  char byte = 0;
  Code code = Code::not_yet;
  EXPECT_TRUE(eventually([&] {
    code = os::receive_some(outer, &byte, 1).code();
    return code != Code::not_yet;
  }));
  EXPECT_EQ(code, Code::peer_lost);
}

TEST(FileBridge, WhatWasSentBeforeItEndsIsPassedOnAndNothingIsLeft) {
  Bridged bridged;
  ASSERT_TRUE(os::send_some(bridged.left, "last words", 10).ok());
  bridged.bridges[0].reset();
  EXPECT_EQ(Bridged::receive(bridged.right, 11), "last words");
  bridged.right.close();
  bridged.bridges[1].reset();
  EXPECT_EQ(os::list_directory(bridged.directory.path()).code(), Code::not_found) << "the empty inbox goes, too";
}

}  // namespace
}  // namespace couplet::link
