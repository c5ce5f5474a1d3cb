// The hub of a place whose processes prove to each other which ones they are.
#pragma once

#include <optional>

#include "link/transport.hpp"
#include "support/tickets.hpp"

namespace couplet::conformance {

struct HubOfPlace {
  channel::HubKey key{test::seed_of(1)};
  std::optional<link::Party> shown;  // the process whose ticket all show; nothing: each shows its own

  [[nodiscard]] channel::SharedCredentials credentials_of(const link::Party& self) const {
    const link::Party party = shown.value_or(self);
    return test::shared(test::ticket_of(key, party.id, party.incarnation));
  }
};

}  // namespace couplet::conformance
