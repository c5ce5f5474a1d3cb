#include "exchange/mapped.hpp"

#include "exchange_case.hpp"

namespace couplet::conformance {

Makers mapped_makers(Party& /*party*/) {
  Makers makers;
  makers.push_back(std::make_unique<exchange::MappedMaker>());
  return makers;
}

COUPLET_METHOD_CONFORMS(mapped, mapped_makers);

}  // namespace couplet::conformance
