// A hub in a thread of the test's process, and members of it, on real sockets.
#pragma once

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>

#include "os/clock.hpp"
#include "os/directory.hpp"
#include "runtime/control_lanes.hpp"
#include "support/child.hpp"
#include "universe/hub/hub_server.hpp"
#include "universe/join.hpp"

namespace couplet::universe {

inline channel::Secret secret_of(std::uint8_t byte) {
  channel::Secret secret;
  secret.bytes().fill(byte);
  return secret;
}

// A hub in a thread; ends with its universe, or when it is told.
class Hub {
 public:
  Hub(const std::string& programs, const std::string& base, channel::Protection protection = channel::Protection::none,
      HubServerOptions options = {})
      : stop_(::eventfd(0, EFD_CLOEXEC)) {
    options.hub.programs = *parse_programs(programs);
    options.secret = secret_of(7);
    options.make_lane = runtime::tcp_control_lanes();
    options.protection = protection;
    options.run_directory = base;
    auto server = HubServer::open(std::move(options));
    EXPECT_TRUE(server.ok()) << server.status().text();
    server_ = std::move(*server);
    address_ = os::endpoint_text(server_->endpoint());
    thread_ = std::thread([this] { static_cast<void>(!server_->run(stop_).ok()); });
  }
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;
  ~Hub() {
    stop();
    ::close(stop_);
  }
  void stop() {
    if (thread_.joinable()) {
      static_cast<void>(::eventfd_write(stop_, 1));
      thread_.join();
    }
  }
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] std::uint64_t times_behind() const { return server_->times_behind(); }

 private:
  int stop_;
  std::unique_ptr<HubServer> server_;
  std::string address_;
  std::thread thread_;
};

class HubServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/couplet-hub-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
  }
  void TearDown() override {
    EXPECT_TRUE(os::list_directory(base_)->empty()) << "left behind in " << base_;
    EXPECT_TRUE(os::remove_directory(base_).ok());
  }
  [[nodiscard]] JoinOptions options(const Hub& hub, const std::string& program, int rank = 0, int size = 1) const {
    return options(hub.address(), program, rank, size);
  }
  [[nodiscard]] JoinOptions options(const std::string& hub, const std::string& program, int rank = 0,
                                    int size = 1) const {
    JoinOptions result;
    result.hub = hub;
    result.secret = secret_of(7);
    result.make_lane = runtime::tcp_control_lanes();
    result.identity = {program, rank, size};
    result.timeout_s = 20;
    result.run_directory = base_;
    return result;
  }
  static void leave(Membership& member) {
    const auto status = member.leave(os::deadline_after(20));
    EXPECT_TRUE(status.ok()) << status.text();
  }
  std::string base_;
};

}  // namespace couplet::universe
