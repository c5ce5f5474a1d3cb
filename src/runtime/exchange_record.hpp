// exchange_record: writes down what each exchange has moved, so that `couplet predict` and `couplet place` can say what
// it would cost on other nodes. It is on if the setting exchange.record (COUPLET_EXCHANGE_RECORD) names a folder. Each
// rank appends a line of JSON to a file of its own when an exchange, a halo or coalesced rounds are closed; the page is
// docs/formats/cost.md. Nothing is measured or sent for it. Tests: tests/universe/test_exchange_record.py.
#pragma once

#include <functional>
#include <string>

#include "base/status.hpp"
#include "exchange/exchange.hpp"
#include "universe/membership.hpp"

namespace couplet::runtime {

using ExchangeRecorder = std::function<void(const exchange::Record&)>;

// Reads the setting and makes the folder, whose parent has to exist. Returns an empty function if the setting is not
// set; config, with its value, if it is not an absolute path or the folder cannot be made. The membership outlives the
// function. note: is told in a sentence why a line could not be written, which is no error of the exchange.
[[nodiscard]] Result<ExchangeRecorder> exchange_recorder(const universe::Membership& membership,
                                                         std::function<void(const std::string&)> note);

}  // namespace couplet::runtime
