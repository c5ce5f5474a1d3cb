#include "exchange/inbox.hpp"

#include <gtest/gtest.h>

#include "support/temporary_directory.hpp"

namespace couplet::exchange {
namespace {

struct Made {
  test::TemporaryDirectory directory;
  std::vector<Port> ports;
  std::vector<InboxPlace> places;
  std::unique_ptr<Inbox> inbox;

  explicit Made(std::vector<Port> given) : ports(std::move(given)) {
    Setting setting;
    setting.ports = ports;
    setting.run_directory = directory.path();
    auto made = Inbox::create(setting, places);
    EXPECT_TRUE(made.ok()) << made.status().text();
    inbox = std::move(*made);
  }
  [[nodiscard]] Invitation invitation(std::size_t port) const { return inbox->invitation(ports[port], places[port]); }
};

// The port of the neighbour that writes what `port` receives.
Port other_side(const Port& port) {
  Port other = port;
  std::swap(other.in_bytes, other.out_bytes);
  std::swap(other.sends, other.receives);
  return other;
}

const std::vector<Port> some_ports{
    {.peer = 1, .out_bytes = 8, .in_bytes = 48, .sends = true, .receives = true, .is_paired = true},
    {.peer = 2, .in_bytes = 49, .receives = true},
    {.peer = 3, .out_bytes = 100, .sends = true}};

TEST(Inbox, WhatANeighborWritesIsReadInItsOwnPlace) {
  const Made own(some_ports);
  for (std::size_t port = 0; port < 2; ++port) {
    const auto invitation = decode_invitation(encode_invitation(own.invitation(port)));
    ASSERT_TRUE(invitation.ok()) << invitation.status().text();
    EXPECT_TRUE(invitation->fits(other_side(some_ports[port])).ok());
    const auto there = Inbox::open(own.directory.path(), *invitation);
    ASSERT_TRUE(there.ok()) << there.status().text();
    const auto written = (*there)->halves(invitation->place);
    const auto read = own.inbox->halves(own.places[port]);
    for (std::size_t half = 0; half < 2; ++half) {
      written[half].data[0] = static_cast<std::byte>(10 * port + half + 1);
      written[half].line->number.store(port + half + 1);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(written[half].data) % cache_line_bytes, 0U);
    }
    for (std::size_t half = 0; half < 2; ++half) {
      EXPECT_EQ(read[half].data[0], static_cast<std::byte>(10 * port + half + 1));
      EXPECT_EQ(read[half].line->number.load(), port + half + 1);
    }
  }
}

TEST(Inbox, ShortMessagesAreInTheLineOfTheirNumber) {
  const Made own(some_ports);
  EXPECT_EQ(own.inbox->halves(own.places[0])[1].data, own.inbox->halves(own.places[0])[1].line->data);
  EXPECT_NE(own.inbox->halves(own.places[1])[1].data, own.inbox->halves(own.places[1])[1].line->data);
}

TEST(Inbox, AnotherFileIsNotReached) {
  const Made own(some_ports);
  Invitation invitation = own.invitation(0);
  invitation.nonce[1] ^= 1;
  EXPECT_EQ(Inbox::open(own.directory.path(), invitation).code(), Code::unsupported);
  invitation = own.invitation(0);
  invitation.file += "x";
  EXPECT_EQ(Inbox::open(own.directory.path(), invitation).code(), Code::unsupported);
  invitation = own.invitation(0);
  const test::TemporaryDirectory elsewhere;
  EXPECT_EQ(Inbox::open(elsewhere.path(), invitation).code(), Code::unsupported);
  invitation.file = "../" + invitation.file;
  EXPECT_EQ(Inbox::open(own.directory.path() + "/x", invitation).code(), Code::unsupported);
  invitation = own.invitation(0);
  EXPECT_TRUE(own.inbox->remove_name().ok());
  EXPECT_EQ(Inbox::open(own.directory.path(), invitation).code(), Code::unsupported);
}

TEST(Invitation, PlacesOutsideTheFileAreRefused) {
  const Made own(some_ports);
  const Port port = other_side(some_ports[0]);
  const auto changed = [&](const auto& change) {
    Invitation invitation = own.invitation(0);
    change(invitation);
    return invitation.fits(port).code();
  };
  EXPECT_EQ(changed([](Invitation&) {}), Code::ok);
  EXPECT_EQ(changed([](Invitation& one) { one.build = "another"; }), Code::version);
  EXPECT_EQ(changed([](Invitation& one) { one.place.message_bytes = 47; }), Code::mismatch);
  EXPECT_EQ(changed([](Invitation& one) { one.place.half_bytes += 64; }), Code::mismatch);
  EXPECT_EQ(changed([](Invitation& one) { one.place.halves_offset = one.file_bytes; }), Code::mismatch);
  EXPECT_EQ(changed([](Invitation& one) { one.place.halves_offset += 1; }), Code::mismatch);
  EXPECT_EQ(changed([](Invitation& one) { one.place.consumed_offset = one.file_bytes; }), Code::mismatch);
  EXPECT_EQ(changed([](Invitation& one) { one.place.consumed_offset = UINT64_MAX / 128 * 128; }), Code::mismatch);
}

TEST(Invitation, EachCutIsRefused) {
  const Made own(some_ports);
  const std::string text = encode_invitation(own.invitation(0));
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(decode_invitation(text.substr(0, length)).ok()) << length;
  }
}

}  // namespace
}  // namespace couplet::exchange
