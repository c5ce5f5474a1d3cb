// The methods of the library, with one port for each bundle. What is packed and unpacked is what class Exchange does.
#include "exchange/mpi/methods.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "contenders.hpp"
#include "os/clock.hpp"
#include "talk.hpp"

namespace couplet::bench {
namespace {

constexpr double patience_s = 60;

void require(const Status& status) {
  if (!status.ok()) {
    give_up(status.text());
  }
}

class MethodContender final : public ExchangeContender {
 public:
  MethodContender(std::unique_ptr<exchange::Method> method, Halo& halo)
      : method_(std::move(method)), halo_(halo), ports_(halo.bundles.size()), yields_(must_yield()) {
    std::iota(ports_.begin(), ports_.end(), 0U);
  }
  [[nodiscard]] std::string name() const override { return std::string(method_->name()); }
  void close() override {
    for (bool closed = false; !closed;) {
      auto result = method_->close();
      require(result.status());
      closed = *result;
      sched_yield();
    }
  }
  void round() override {
    require(method_->begin(ports_, ports_));
    for (const std::uint32_t port : ports_) {
      std::byte* memory = method_->outgoing(port);
      while (memory == nullptr) {
        wait();
        memory = method_->outgoing(port);
      }
      pack(halo_, halo_.bundles[port], reinterpret_cast<double*>(memory));
      require(method_->send(port, halo_.bundles[port].out_count * sizeof(double)));
    }
    require(method_->all_sent());
    halo_.copy_own();
    while (!std::all_of(ports_.begin(), ports_.end(), [this](std::uint32_t port) {
      return method_->has_arrived(port);
    }) || !method_->is_complete()) {
      wait();
    }
    for (const std::uint32_t port : ports_) {
      unpack(halo_, halo_.bundles[port], reinterpret_cast<const double*>(method_->incoming(port).data()));
    }
    require(method_->end());
  }

 private:
  void wait() {
    require(method_->poll());
    if (yields_ && ++polls_ % 8 == 0) {
      sched_yield();
    }
  }
  std::unique_ptr<exchange::Method> method_;
  Halo& halo_;
  std::vector<std::uint32_t> ports_;
  bool yields_;
  std::uint32_t polls_ = 0;
};

}  // namespace

void add_methods(Contenders& all, Halo& halo, const std::shared_ptr<exchange::Job>& job) {
  std::vector<exchange::Port> ports;
  std::vector<std::int32_t> peers;
  for (const Bundle& bundle : halo.bundles) {
    ports.push_back(
        {bundle.peer, bundle.out_count * sizeof(double), bundle.in_count * sizeof(double), true, true, true});
    peers.push_back(bundle.peer);
  }
  exchange::testing::MpiTalk talk(MPI_COMM_WORLD, peers);
  exchange::Setting setting;
  MPI_Comm_rank(MPI_COMM_WORLD, &setting.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &setting.size);
  setting.ports = ports;
  setting.name = "bench";
  setting.deadline_ns = os::deadline_after(patience_s);
  for (const auto& maker : exchange::mpi_methods(job)) {
    auto method = maker->make(setting, talk);
    if (!method) {
      std::fprintf(stderr, "bench: left out: %s\n", method.status().text().c_str());
      continue;
    }
    all.push_back(std::make_unique<MethodContender>(std::move(method).value(), halo));
  }
}

}  // namespace couplet::bench
