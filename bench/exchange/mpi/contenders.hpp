// The contenders of bench/run exchange: the library's methods, and what an expert writes by hand.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "exchange/mpi/job.hpp"
#include "halo.hpp"

namespace couplet::bench {

class ExchangeContender {
 public:
  ExchangeContender() = default;
  ExchangeContender(const ExchangeContender&) = delete;
  ExchangeContender& operator=(const ExchangeContender&) = delete;
  virtual ~ExchangeContender() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  // Moves all edges of the halo once.
  virtual void round() = 0;
  // Collective.
  virtual void close() = 0;
};
using Contenders = std::vector<std::unique_ptr<ExchangeContender>>;

// Ends the job with this text.
[[noreturn]] void give_up(const std::string& text);

// Says whether a rank that waits should let others run: more ranks than cores.
[[nodiscard]] bool must_yield();

// Collective. What cannot be made is left out, with its reason on standard error.
void add_methods(Contenders& all, Halo& halo, const std::shared_ptr<exchange::Job>& job);
void add_baselines(Contenders& all, Halo& halo);

}  // namespace couplet::bench
