// A mixture of two methods: `mapped` for the neighbours on the node, and another one for the rest. Each has its own
// ports. Tests: tests/conformance/exchange.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "exchange/mapped.hpp"
#include "exchange/method.hpp"

namespace couplet::exchange {

class MixedMaker final : public Maker {
 public:
  // rest outlives the maker. Its name is "mapped+<that of rest>".
  explicit MixedMaker(Maker& rest) : rest_(rest), name_("mapped+" + std::string(rest.name())) {}
  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  // Returns unsupported also if one of the two has nothing to do in the whole group, unless the method is pinned: then
  // the other one is enough.
  Result<std::unique_ptr<Method>> make(const Setting& setting, Talk& talk) override;

 private:
  Maker& rest_;
  MappedMaker mapped_;
  std::string name_;
};

}  // namespace couplet::exchange
