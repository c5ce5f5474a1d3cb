// The methods of exchange that one MPI brings.
#pragma once

#include <memory>
#include <vector>

#include "exchange/mpi/job.hpp"
#include "exchange/mpi/mpi_method.hpp"

namespace couplet::exchange {

// One method: its name, what it cannot do, and how it is made.
struct MpiKind {
  std::string_view name;
  // Returns unsupported, with the reason, if it cannot move such messages; nullptr: it can always. Calls no MPI.
  Status (*check)(std::span<const Port> ports);
  std::unique_ptr<MpiMethod> (*make)(std::string_view name, std::shared_ptr<Team> team);
};

// Returns a maker for each method, in the order in which they are tried: first those that are more often fast.
[[nodiscard]] std::vector<std::unique_ptr<Maker>> mpi_methods(const std::shared_ptr<Job>& job);

// Each is defined in the file of its name.
extern const MpiKind isend_kind;
extern const MpiKind persistent_kind;
extern const MpiKind neighbor_kind;
extern const MpiKind put_fence_kind;
extern const MpiKind put_pscw_kind;
extern const MpiKind put_lock_kind;
extern const MpiKind put_flag_kind;

}  // namespace couplet::exchange
