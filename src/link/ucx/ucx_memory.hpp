// Puts over UCX (link/puts.hpp).
// Tests: tests/conformance/exchange/rdma.cpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "link/puts.hpp"
#include "link/ucx/ucx_worker.hpp"

namespace couplet::link {

class UcxPuts final : public Puts {
 public:
  explicit UcxPuts(std::shared_ptr<UcxWorker> worker) : worker_(std::move(worker)) {}
  [[nodiscard]] std::string describe() const override { return worker_->describe(); }
  Result<std::unique_ptr<OwnMemory>> own(std::size_t bytes) override;
  Result<std::unique_ptr<PutTarget>> target(std::string_view invitation) override;
  Status fence() override;
  void progress() noexcept override { worker_->progress(); }
  void keep(std::shared_ptr<void> used) override { worker_->keep(std::move(used)); }

 private:
  std::shared_ptr<UcxWorker> worker_;
};

}  // namespace couplet::link
