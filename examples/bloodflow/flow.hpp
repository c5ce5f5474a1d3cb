// The flow on this rank, and the kernel: the client that takes it from one time step to the next.
#ifndef BLOODFLOW_FLOW_HPP
#define BLOODFLOW_FLOW_HPP

#include <couplet/couplet.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "stopwatch.hpp"
#include "transfer.hpp"

namespace bloodflow {

// What does not depend on the ranks.
struct Flow {
  const Vessel& vessel;
  Relaxation rates;
  double wanted_inflow = 0;  // mean speed at the inlet, as steered
  double inflow = 0;         // the one of this time step, which follows it
  double angle = 0;          // turn of the viewpoint, in degrees

  // Begins the next time step.
  void advance() { inflow += 0.01 * (wanted_inflow - inflow); }
};

// The values of this rank's sites after a collision.
struct Values {
  std::vector<std::int32_t> sites;  // in ascending order
  std::vector<double> f;            // 19 for each, and room for those that arrive

  [[nodiscard]] const double* of(std::size_t number) const { return f.data() + number * directions; }
};

// A sum that is the same on any number of ranks, and different if a bit of a value is.
std::uint64_t digest_of(const Values& values);

// One plan of the kernel's messages. When sites move to other ranks, kernels follow each other.
class Kernel final : public couplet::Client {
 public:
  // flow and values outlive it.
  Kernel(Flow& flow, Values& values, Transfer transfer, Stopwatch& compute);

  // Adds this client and its messages.
  void register_with(couplet::StepManager& manager, const std::string& name);
  [[nodiscard]] std::int32_t client() const noexcept { return client_; }
  [[nodiscard]] std::size_t peer_count() const noexcept { return transfer_.peers.size(); }

  void fill(const couplet::Moment& moment) override;
  void overlap(const couplet::Moment& moment) override;
  void use(const couplet::Moment& moment) override;

 private:
  struct Box {
    std::vector<double> sent, received;
  };
  void compute(const std::vector<std::int32_t>& numbers);
  void correct(std::size_t number, double* f) const;

  Flow& flow_;
  Values& values_;
  Transfer transfer_;
  Stopwatch& stopwatch_;
  std::vector<Box> boxes_;  // by peer
  std::vector<double> next_;
  std::int32_t client_ = -1;
};

}  // namespace bloodflow

#endif
