// mapped: an exchange over memory that neighbours on one node share. Each member has a file in the run directory of the
// node, its inbox: its neighbours write their messages straight into it, double buffered, and then a 64-bit number that
// grows. Page: docs/formats/exchange.md. Tests: tests/conformance/exchange.
// Invariants: that two members share memory is proven by a number that each has read from the other's file, and not
// taken from the names of hosts; the files have no name any more when a method has been made; what neighbours write is
// checked.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/method.hpp"

namespace couplet::exchange {

// The method, and the neighbours that it reaches.
struct MappedPart {
  std::unique_ptr<Method> method;
  std::vector<bool> reached;     // for each port
  std::vector<std::string> why;  // why it is not
};

class MappedMaker final : public Maker {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "mapped"; }
  Result<std::unique_ptr<Method>> make(const Setting& setting, Talk& talk) override;
  // Makes a method for the neighbours that can be reached; its ports have the same numbers. Collective, as make().
  Result<MappedPart> make_part(const Setting& setting, Talk& talk);
};

}  // namespace couplet::exchange
