// rdma_flag and rdma_barrier: an exchange by one-sided puts of UCX, between processes whatever programs they belong to.
// Each member has memory with two halves for the message of each port; its neighbours put into it.
// rdma_flag: put, ucp_worker_fence, put of the flag of that half, which is the number of the message and only grows.
// rdma_barrier: put, ucp_ep_flush, then a barrier with the neighbours: each puts the number of the round to each
// neighbour, and waits for theirs. With two halves, one barrier in a round is enough.
// Both need the link ucx (setting `links`), and are not in the list without it. Page: docs/guide/exchange.md. Tests:
// tests/conformance/exchange/rdma.cpp, tests/universe/test_rdma.py.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "exchange/method.hpp"
#include "link/puts.hpp"

namespace couplet::exchange {

class RdmaFlagMaker final : public Maker {
 public:
  explicit RdmaFlagMaker(std::shared_ptr<link::Puts> puts) : puts_(std::move(puts)), substrate_(puts_->describe()) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "rdma_flag"; }
  [[nodiscard]] std::string_view substrate() const noexcept override { return substrate_; }
  Result<std::unique_ptr<Method>> make(const Setting& setting, Talk& talk) override;

 private:
  std::shared_ptr<link::Puts> puts_;
  std::string substrate_;
};

class RdmaBarrierMaker final : public Maker {
 public:
  explicit RdmaBarrierMaker(std::shared_ptr<link::Puts> puts) : puts_(std::move(puts)), substrate_(puts_->describe()) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "rdma_barrier"; }
  [[nodiscard]] std::string_view substrate() const noexcept override { return substrate_; }
  Result<std::unique_ptr<Method>> make(const Setting& setting, Talk& talk) override;

 private:
  std::shared_ptr<link::Puts> puts_;
  std::string substrate_;
};

}  // namespace couplet::exchange
