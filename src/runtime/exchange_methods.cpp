#include "runtime/exchange_methods.hpp"

#include <utility>

#include "exchange/rdma.hpp"
#include "link/ucx/ucx_memory.hpp"
#include "runtime/universe.hpp"

namespace couplet::runtime {

ExchangeMethods::ExchangeMethods(message::Messenger& messenger, std::shared_ptr<link::UcxWorker> worker)
    : two_sided_(messenger) {
  if (worker != nullptr) {
    const auto puts = std::make_shared<link::UcxPuts>(std::move(worker));
    over_ucx_.push_back(std::make_unique<exchange::RdmaFlagMaker>(puts));
    over_ucx_.push_back(std::make_unique<exchange::RdmaBarrierMaker>(puts));
  }
}

std::vector<exchange::Maker*> ExchangeMethods::all(const std::vector<std::unique_ptr<exchange::Maker>>& from_mpi) {
  std::vector<exchange::Maker*> elsewhere;
  elsewhere.reserve(from_mpi.size() + over_ucx_.size() + 1);
  for (const auto& maker : from_mpi) elsewhere.push_back(maker.get());
  for (const auto& maker : over_ucx_) elsewhere.push_back(maker.get());
  elsewhere.push_back(&two_sided_);
  std::vector<exchange::Maker*> makers{&mapped_};
  makers.insert(makers.end(), elsewhere.begin(), elsewhere.end());
  for (exchange::Maker* const maker : elsewhere) {
    auto& mixed = mixed_[maker];
    if (!mixed) mixed = std::make_unique<exchange::MixedMaker>(*maker);
    makers.push_back(mixed.get());
  }
  return makers;
}

std::unique_ptr<ExchangeMethods> make_exchange_methods(Universe& universe) {
  return std::make_unique<ExchangeMethods>(universe.messenger(), ucx_worker_of(*universe.connections_));
}

}  // namespace couplet::runtime
