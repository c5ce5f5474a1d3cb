// The methods of exchanges, in the order in which ties are decided: memory of the node, then what an MPI has brought,
// then UCX, then messages; and memory of the node mixed with each of these.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "exchange/mapped.hpp"
#include "exchange/method.hpp"
#include "exchange/mixed.hpp"
#include "exchange/two_sided.hpp"
#include "link/ucx/ucx_worker.hpp"

namespace couplet::runtime {

class ExchangeMethods {
 public:
  // messenger outlives the object. worker: of UCX; nullptr: the methods over UCX are left out.
  explicit ExchangeMethods(message::Messenger& messenger, std::shared_ptr<link::UcxWorker> worker = nullptr);
  ExchangeMethods(const ExchangeMethods&) = delete;
  ExchangeMethods& operator=(const ExchangeMethods&) = delete;

  // from_mpi outlives the object.
  [[nodiscard]] std::vector<exchange::Maker*> all(const std::vector<std::unique_ptr<exchange::Maker>>& from_mpi);

 private:
  exchange::MappedMaker mapped_;
  exchange::TwoSidedMaker two_sided_;
  std::vector<std::unique_ptr<exchange::Maker>> over_ucx_;
  std::map<exchange::Maker*, std::unique_ptr<exchange::MixedMaker>> mixed_;
};

}  // namespace couplet::runtime
