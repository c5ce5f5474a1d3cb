#include "exchange/two_sided.hpp"

#include "exchange_case.hpp"

namespace couplet::conformance {

Makers two_sided_makers(Party& party) {
  Makers makers;
  makers.push_back(std::make_unique<exchange::TwoSidedMaker>(*party.messenger));
  return makers;
}

COUPLET_METHOD_CONFORMS(two_sided, two_sided_makers);

}  // namespace couplet::conformance
