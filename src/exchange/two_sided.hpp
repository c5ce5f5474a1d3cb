// two_sided: an exchange over Couplet's own messages. It works between all members of a universe, whatever programs
// they belong to and wherever they run. The receives of the next messages are posted before their senders begin, so
// that a message goes straight to its place. Tests: tests/conformance/exchange.
#pragma once

#include <memory>
#include <string_view>

#include "exchange/method.hpp"
#include "message/courier.hpp"

namespace couplet::exchange {

class TwoSidedMaker final : public Maker {
 public:
  // messenger outlives the maker and its methods.
  explicit TwoSidedMaker(message::Messenger& messenger) : messenger_(messenger) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "two_sided"; }
  Result<std::unique_ptr<Method>> make(const Setting& setting, Talk& talk) override;

 private:
  message::Messenger& messenger_;
};

}  // namespace couplet::exchange
