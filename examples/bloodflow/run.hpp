// One run of the solver: puts the clients together, and runs the rounds.
#ifndef BLOODFLOW_RUN_HPP
#define BLOODFLOW_RUN_HPP

#include <mpi.h>

#include <couplet/couplet.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "clients.hpp"
#include "flow.hpp"
#include "options.hpp"
#include "picture.hpp"

namespace bloodflow {

// The ranks that take part.
struct Cast {
  couplet::Universe& universe;
  MPI_Comm solvers;  // the ranks of this program
  std::int32_t rank, rank_count;
  std::int32_t viewer;  // its rank in the universe; -1: there is none
};

// Seconds are the mean of all ranks.
struct Times {
  double total = 0, communication = 0, pictures = 0;
};

struct Outcome {
  std::uint64_t first_round = 0;
  std::uint64_t digest = 0;           // the values' at the end
  std::vector<std::uint64_t> rounds;  // the frames'; rank 0 has them
  std::vector<std::uint64_t> frames;  // digests of the frames
  std::vector<Check> checks;
  Times times;
  std::string report;  // rank 0's, as JSON
};

class Run {
 public:
  // observe: gets each check at all ranks.
  Run(const Cast& cast, const Vessel& vessel, const Options& options, const std::string& name,
      std::function<void(const Check&)> observe);
  Outcome go();
  // Writes profile.txt, by rank 0: y, z and the velocity along x of the sites in the middle of the vessel's length.
  void write_profile(const std::filesystem::path& folder) const;

 private:
  void begin();
  void greet_viewer() const;
  void register_clients();
  void run_round();
  void repartition();
  void add_kernel(const Owners& owners);
  void die_if_told() const;
  [[nodiscard]] Outcome finish();
  [[nodiscard]] std::uint64_t now() const { return state_.round + manager_->round_number(); }

  Cast cast_;
  const Vessel& vessel_;
  Options options_;
  std::function<void(const Check&)> observe_;
  Flow flow_;
  Values values_;
  State state_;
  Owners holders_;
  struct Watches {
    Stopwatch total, kernel, pictures, checks;
  } watches_;
  struct Clients {
    std::vector<std::unique_ptr<Kernel>> kernels;
    std::unique_ptr<Picture> picture;
    std::unique_ptr<FrameSender> sender;
    std::unique_ptr<Monitor> monitor;
    std::unique_ptr<Steering> steering;
    std::unique_ptr<Keeper> keeper;
  } clients_;
  Outcome outcome_;
  std::unique_ptr<couplet::StepManager> manager_;  // before what its clients use is destroyed
};

}  // namespace bloodflow

#endif
