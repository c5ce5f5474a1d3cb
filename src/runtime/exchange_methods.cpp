#include "runtime/exchange_methods.hpp"

namespace couplet::runtime {

std::vector<exchange::Maker*> ExchangeMethods::all(const std::vector<std::unique_ptr<exchange::Maker>>& from_mpi) {
  std::vector<exchange::Maker*> elsewhere;
  elsewhere.reserve(from_mpi.size() + 1);
  for (const auto& maker : from_mpi) elsewhere.push_back(maker.get());
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

}  // namespace couplet::runtime
