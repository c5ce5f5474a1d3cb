// Where a process listens for the others.
#include "runtime/listening.hpp"

#include <gmock/gmock.h>

namespace couplet::runtime {
namespace {

using testing::HasSubstr;

os::Endpoint loopback(const char* text) {
  return os::interface_endpoint(text).value();
}

TEST(Ports, are_one_or_a_range) {
  EXPECT_EQ(parse_ports("")->first, 0);
  EXPECT_EQ(parse_ports("40000")->first, 40000);
  EXPECT_EQ(parse_ports("40000")->last, 40000);
  EXPECT_EQ(parse_ports("40000-40099")->last, 40099);
}

TEST(Ports, that_are_wrong_are_named) {
  for (const char* text : {"0", "x", "40000-", "-40000", "40000-39999", "40000-70000", "40000 - 40001", "1-2-3"}) {
    const auto ports = parse_ports(text);
    EXPECT_EQ(ports.code(), Code::config) << text;
    EXPECT_THAT(ports.status().text(), HasSubstr(fmt::format("COUPLET_PORTS is '{}'", text)));
    EXPECT_THAT(ports.status().text(), HasSubstr("40000-40099"));
  }
}

// The range begins at a port that was free a moment ago. Another process of this machine may have taken the next one.
TEST(Ports, of_a_range_are_taken_one_by_one_until_none_is_left) {
  for (const char* address : {"127.0.0.1", "::1"}) {
    const std::uint16_t free_port = link::TcpListener::open(loopback(address)).value()->endpoint().port;
    const PortRange range{.first = free_port, .last = free_port};
    auto first = listen_in_range(loopback(address), range, 7);
    ASSERT_TRUE(first.ok()) << first.status().text();
    EXPECT_EQ((*first)->endpoint().port, free_port);
    const auto second = listen_in_range(loopback(address), range, 7);
    EXPECT_EQ(second.code(), Code::exists);
    EXPECT_THAT(second.status().text(), HasSubstr(fmt::format("COUPLET_PORTS={0}-{0}", free_port)));
  }
}

TEST(Ports, of_a_range_are_tried_from_any_start) {
  const auto first = listen_in_range(loopback("127.0.0.1"), {.first = 42000, .last = 42199}, 150);
  const auto second = listen_in_range(loopback("127.0.0.1"), {.first = 42000, .last = 42199}, 150);
  ASSERT_TRUE(first.ok() && second.ok());
  for (const auto* listener : {&first, &second}) {
    EXPECT_GE((**listener)->endpoint().port, 42000);
    EXPECT_LE((**listener)->endpoint().port, 42199);
  }
  EXPECT_NE((*first)->endpoint().port, (*second)->endpoint().port);
}

}  // namespace
}  // namespace couplet::runtime
