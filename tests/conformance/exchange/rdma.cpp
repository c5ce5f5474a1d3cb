#include "exchange/rdma.hpp"

#include "exchange_case.hpp"
#include "link/ucx/ucx_memory.hpp"
#include "support/ucx.hpp"

namespace couplet::conformance {
namespace {

template <typename Maker>
std::function<Makers(Party&)> makers_over(const char* transports) {
  return [transports](Party& /*party*/) {
    Makers makers;
    makers.push_back(std::make_unique<Maker>(
        std::make_shared<link::UcxPuts>(link::UcxWorker::open(test::ucx_over(transports)).value())));
    return makers;
  };
}

// There are none on a machine without UCX, which UcxLink.IsThere says.
std::vector<ExchangeCase> cases() {
  if (!test::ucx_is_there().ok()) {
    return {};
  }
  std::vector<ExchangeCase> all;
  for (const char* const transports : {test::ucx_memory, test::ucx_network}) {
    const std::string end = transports == test::ucx_memory ? "_memory" : "_tcp";
    all.push_back({"rdma_flag" + end, makers_over<exchange::RdmaFlagMaker>(transports)});
    all.push_back({"rdma_barrier" + end, makers_over<exchange::RdmaBarrierMaker>(transports)});
  }
  return all;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(rdma, ExchangeMethod, testing::ValuesIn(cases()), name_of_method);

}  // namespace couplet::conformance
