// The contact of the transport tcp: where the process listens. The transports tcp and ucx read it,
// and the hub does when it finds out whether a member that has not come back still listens. Pure.
// Tests: tests/unit/link/tcp_contact_test.cpp; the bytes are in docs/formats/tcp.md.
#pragma once

#include <string_view>

#include "link/contacts.hpp"
#include "os/socket.hpp"

namespace couplet::link {

inline constexpr std::string_view tcp_transport_name = "tcp";

// Returns an empty contact if the port is 0: the process does not listen.
[[nodiscard]] Contact tcp_contact(const os::Endpoint& endpoint);
// Returns unsupported, with a text, if the contact is empty or is no address and port.
Result<os::Endpoint> tcp_endpoint(const Contact& contact);
// Returns where a process with these contacts listens; port 0: it does not listen, or that is not known.
[[nodiscard]] os::Endpoint tcp_listener(const ContactList& contacts);

}  // namespace couplet::link
