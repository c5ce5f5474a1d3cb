#include "link/contacts.hpp"

#include <optional>
#include <string>

namespace couplet::link {
namespace {

struct Entry {
  std::string_view transport;
  std::string_view contact;
};

// Takes bytes that follow one byte with their number.
std::optional<std::string_view> take_counted(std::string_view& rest) {
  if (rest.empty()) {
    return std::nullopt;
  }
  const std::size_t count = static_cast<unsigned char>(rest.front());
  if (count > rest.size() - 1) {
    return std::nullopt;
  }
  const auto taken = rest.substr(1, count);
  rest.remove_prefix(1 + count);
  return taken;
}

std::optional<Entry> take_entry(std::string_view& rest) {
  const auto transport = take_counted(rest);
  const auto contact = transport ? take_counted(rest) : std::nullopt;
  return contact ? std::optional<Entry>({*transport, *contact}) : std::nullopt;
}

std::optional<std::string_view> contact_in(std::string_view rest, std::string_view transport) {
  while (const auto entry = take_entry(rest)) {
    if (entry->transport == transport) {
      return entry->contact;
    }
  }
  return std::nullopt;
}

}  // namespace

ContactList::ContactList(std::string_view bytes) {
  if (!bytes.empty()) {
    COUPLET_ASSERT(bytes.size() <= max_bytes);
    bytes_ = std::make_unique<char[]>(1 + bytes.size());
    bytes_[0] = static_cast<char>(bytes.size());
    bytes.copy(bytes_.get() + 1, bytes.size());
  }
}

std::string_view ContactList::bytes() const noexcept {
  return bytes_ == nullptr ? std::string_view()
                           : std::string_view(bytes_.get() + 1, static_cast<unsigned char>(bytes_[0]));
}

void ContactList::add(std::string_view transport, const Contact& contact) {
  COUPLET_ASSERT(!transport.empty() && transport.size() <= max_name_bytes && !contact_in(bytes(), transport));
  if (contact.empty()) {
    return;
  }
  std::string all(bytes());
  all += static_cast<char>(transport.size());
  all += transport;
  all += static_cast<char>(contact.bytes().size());
  all.append(reinterpret_cast<const char*>(contact.bytes().data()), contact.bytes().size());
  *this = ContactList(all);
}

Contact ContactList::find(std::string_view transport) const {
  const auto found = contact_in(bytes(), transport);
  return found ? Contact(std::as_bytes(std::span(*found))) : Contact();
}

Result<ContactList> ContactList::decode(std::string_view bytes) {
  if (bytes.size() > max_bytes) {
    return fail(Code::protocol, "a list of contacts of {} bytes, at most {} are allowed", bytes.size(), max_bytes);
  }
  for (std::string_view rest = bytes; !rest.empty();) {
    const auto before = bytes.substr(0, bytes.size() - rest.size());
    const auto entry = take_entry(rest);
    if (!entry) {
      return fail(Code::protocol, "a list of contacts that ends inside of an entry");
    }
    if (entry->transport.empty() || entry->transport.size() > max_name_bytes) {
      return fail(Code::protocol, "a contact whose transport's name has {} bytes, expected 1 to {}",
                  entry->transport.size(), max_name_bytes);
    }
    if (entry->contact.empty() || entry->contact.size() > max_contact_bytes) {
      return fail(Code::protocol, "a contact of {} bytes, expected 1 to {}", entry->contact.size(), max_contact_bytes);
    }
    if (contact_in(before, entry->transport)) {
      return fail(Code::protocol, "two contacts of the same transport");
    }
  }
  return ContactList(bytes);
}

}  // namespace couplet::link
