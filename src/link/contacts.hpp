// How a process is dialed: a contact says it for one transport, and a list of contacts, with the names of their
// transports, for all. The universe passes lists on and does not examine the contacts, so that a new transport changes
// no format. Pure. Invariants: a list is at most max_bytes long and names no transport twice. Tests:
// tests/unit/link/contacts_test.cpp; the bytes are in docs/formats/hub.md.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/assert.hpp"
#include "base/status.hpp"

namespace couplet::link {

inline constexpr std::size_t max_contact_bytes = 64;

// Says how one transport dials a process: bytes that only the transport of that name understands. The universe
// publishes them and does not examine them. Empty: the process cannot be dialed by this transport.
class Contact {
 public:
  Contact() = default;
  // REQUIRES: at most max_contact_bytes.
  explicit Contact(std::span<const std::byte> bytes) : size_(static_cast<std::uint8_t>(bytes.size())) {
    COUPLET_ASSERT(bytes.size() <= max_contact_bytes);
    std::copy(bytes.begin(), bytes.end(), bytes_.begin());
  }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {bytes_.data(), size_}; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

 private:
  std::array<std::byte, max_contact_bytes> bytes_{};
  std::uint8_t size_ = 0;
};

// The contacts that one process publishes. It has the size of a pointer, since there is one for each rank.
class ContactList {
 public:
  static constexpr std::size_t max_bytes = 255;
  static constexpr std::size_t max_name_bytes = 15;

  ContactList() = default;
  ContactList(const ContactList& other) : ContactList(other.bytes()) {}
  ContactList(ContactList&& other) noexcept = default;
  ContactList& operator=(const ContactList& other) { return *this = ContactList(other); }
  ContactList& operator=(ContactList&& other) noexcept = default;
  ~ContactList() = default;

  // Adds the contact of a transport. An empty contact is not added. REQUIRES: the name has 1 to max_name_bytes bytes
  // and is not in the list, and the list stays within max_bytes.
  void add(std::string_view transport, const Contact& contact);
  // Returns the contact of this transport, which is empty if the list has none.
  [[nodiscard]] Contact find(std::string_view transport) const;
  [[nodiscard]] bool empty() const noexcept { return bytes_ == nullptr; }
  // Returns the list as it is sent.
  [[nodiscard]] std::string_view bytes() const noexcept;
  // Takes a list that was received. Returns protocol, with a text that says what is wrong.
  static Result<ContactList> decode(std::string_view bytes);
  friend bool operator==(const ContactList& a, const ContactList& b) noexcept { return a.bytes() == b.bytes(); }

 private:
  explicit ContactList(std::string_view bytes);

  std::unique_ptr<char[]> bytes_;  // one byte with the size, then the list; nullptr: the list is empty
};

}  // namespace couplet::link
