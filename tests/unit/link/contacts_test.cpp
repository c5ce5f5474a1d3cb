#include "link/contacts.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace couplet::link {
namespace {

Contact contact(std::string_view bytes) {
  return Contact(std::as_bytes(std::span(bytes)));
}

std::string text_of(const Contact& contact) {
  return {reinterpret_cast<const char*>(contact.bytes().data()), contact.bytes().size()};
}

TEST(ContactList, KeepsOneContactForEachTransport) {
  ContactList list;
  EXPECT_TRUE(list.empty());
  list.add("tcp", contact("host:1"));
  list.add("a new one", contact("x"));
  list.add("none", {});
  EXPECT_EQ(text_of(list.find("tcp")), "host:1");
  EXPECT_EQ(text_of(list.find("a new one")), "x");
  EXPECT_TRUE(list.find("none").empty());
  EXPECT_TRUE(list.find("tc").empty());
  EXPECT_EQ(list.bytes(), std::string_view("\x03tcp\x06host:1\x09"
                                           "a new one\x01x"));
}

TEST(ContactList, CopiesAndMoves) {
  ContactList list;
  list.add("tcp", contact("host:1"));
  ContactList copy = list;
  copy.add("shm", contact("n"));
  EXPECT_TRUE(list.find("shm").empty());
  EXPECT_FALSE(copy == list);
  list = std::move(copy);
  EXPECT_EQ(text_of(list.find("shm")), "n");
  list = {};
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(sizeof(ContactList), sizeof(void*)) << "there is one for each rank";
}

TEST(ContactList, IsTakenAsItIsSent) {
  ContactList list;
  list.add("tcp", contact(std::string(max_contact_bytes, '\xFF')));
  list.add(std::string(ContactList::max_name_bytes, 'n'), contact("1"));
  const auto taken = ContactList::decode(list.bytes());
  ASSERT_TRUE(taken.ok()) << taken.status().text();
  EXPECT_TRUE(*taken == list);
  EXPECT_TRUE(ContactList::decode("").ok());
}

TEST(ContactList, WhatNoListIsIsRefused) {
  const std::string longest(max_contact_bytes + 1, 'c');
  const std::pair<std::string, const char*> lists[] = {
      {"\x03tc", "ends inside of an entry"},
      {"\x03tcp", "ends inside of an entry"},
      {"\x03tcp\x02x", "ends inside of an entry"},
      {std::string("\x00\x01x", 3), "name has 0 bytes, expected 1 to 15"},
      {"\x10" + std::string(16, 'n') + "\x01x", "name has 16 bytes, expected 1 to 15"},
      {std::string("\x03tcp\x00", 5), "a contact of 0 bytes, expected 1 to 64"},
      {"\x03tcp\x41" + longest, "a contact of 65 bytes, expected 1 to 64"},
      {"\x03tcp\x01x\x03tcp\x01y", "two contacts of the same transport"},
      {std::string(256, 'x'), "256 bytes, at most 255"},
  };
  for (const auto& [bytes, why] : lists) {
    const auto taken = ContactList::decode(bytes);
    EXPECT_EQ(taken.code(), Code::protocol) << why;
    EXPECT_NE(taken.status().text().find(why), std::string::npos) << taken.status().text();
  }
}

}  // namespace
}  // namespace couplet::link
