#include "link/tcp_contact.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace couplet::link {
namespace {

std::vector<unsigned> bytes_of(const Contact& contact) {
  std::vector<unsigned> bytes;
  std::ranges::transform(contact.bytes(), std::back_inserter(bytes),
                         [](std::byte byte) { return std::to_integer<unsigned>(byte); });
  return bytes;
}

TEST(TcpContact, AnAddressOfIpv4IsFourBytes) {
  const auto endpoint = os::resolve("192.0.2.7:4660").value();
  const Contact contact = tcp_contact(endpoint);
  EXPECT_EQ(bytes_of(contact), (std::vector<unsigned>{192, 0, 2, 7, 0x34, 0x12}));
  EXPECT_EQ(tcp_endpoint(contact).value(), endpoint);
}

TEST(TcpContact, AnAddressOfIpv6IsSixteenBytes) {
  const auto endpoint = os::resolve("[2001:db8::7]:4660").value();
  const Contact contact = tcp_contact(endpoint);
  const std::vector<unsigned> bytes = {0x20, 1, 0xD, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0x34, 0x12};
  EXPECT_EQ(bytes_of(contact), bytes);
  EXPECT_EQ(tcp_endpoint(contact).value(), endpoint);
}

TEST(TcpContact, AProcessThatDoesNotListenHasNone) {
  EXPECT_TRUE(tcp_contact({}).empty());
  EXPECT_EQ(tcp_endpoint({}).code(), Code::unsupported);
  const std::array<std::byte, 6> port_zero{};
  EXPECT_EQ(tcp_endpoint(Contact(port_zero)).status().text(), "the peer does not listen for connections");
  EXPECT_EQ(tcp_listener({}).port, 0);
}

TEST(TcpContact, WhatIsNoAddressIsRefused) {
  const std::array<std::byte, 7> seven{};
  const auto endpoint = tcp_endpoint(Contact(seven));
  EXPECT_EQ(endpoint.code(), Code::unsupported);
  EXPECT_EQ(endpoint.status().text(), "the peer's contact has 7 bytes, which no address has");
  ContactList list;
  list.add(tcp_transport_name, Contact(seven));
  EXPECT_EQ(tcp_listener(list).port, 0);
}

}  // namespace
}  // namespace couplet::link
