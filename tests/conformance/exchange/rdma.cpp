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
  // Not over UCX's own tcp, where UCX carries out puts in software and answers them. If a put comes from a neighbour
  // that has just ended, UCX 1.13 often ends the process, since it cannot send the answer (ucp_request.inl:346,
  // "unexpected error: Endpoint timeout", below ucp_put_handler).
  std::vector<ExchangeCase> all;
  all.push_back({"rdma_flag", makers_over<exchange::RdmaFlagMaker>(test::ucx_memory)});
  all.push_back({"rdma_barrier", makers_over<exchange::RdmaBarrierMaker>(test::ucx_memory)});
  return all;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(rdma, ExchangeMethod, testing::ValuesIn(cases()), name_of_method);

}  // namespace couplet::conformance
