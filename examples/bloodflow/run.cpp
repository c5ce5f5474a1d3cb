#include "run.hpp"

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace bloodflow {
namespace {

constexpr std::int32_t greeting_tag = 12;

}  // namespace

Run::Run(const Cast& cast, const Vessel& vessel, const Options& options, const std::string& name,
         std::function<void(const Check&)> observe)
    : cast_(cast),
      vessel_(vessel),
      options_(options),
      observe_(std::move(observe)),
      flow_{.vessel = vessel, .rates = Relaxation(options.viscosity), .wanted_inflow = options.inflow},
      holders_(cut_grid(vessel, cast.rank_count)),
      manager_(
          std::make_unique<couplet::StepManager>(cast.universe.group(), name,
                                                 couplet::CoalesceOptions{.method = options.method,
                                                                          .merge_waits = options.merge_waits,
                                                                          .merge_messages = options.merge_messages})) {}

Outcome Run::go() {
  begin();
  if (cast_.viewer >= 0 && cast_.rank == 0) greet_viewer();
  register_clients();
  manager_->freeze();
  while (now() < options_.rounds) {
    die_if_told();
    if (options_.repartition_at != 0 && now() == options_.repartition_at) repartition();
    run_round();
  }
  return finish();
}

// At rest, or as it was saved. In a closed vessel the density is not the same everywhere, so that something happens.
void Run::begin() {
  for (std::int32_t site = 0; site < vessel_.size(); ++site) {
    if (holders_[site] != cast_.rank) continue;
    values_.sites.push_back(site);
    const bool is_dense = vessel_.is_closed() && 3 * vessel_.sites()[site].x < vessel_.extent().x;
    for (int i = 0; i < directions; ++i) values_.f.push_back((is_dense ? 1.02 : 1.0) * weight(i));
  }
  if (options_.restart) {
    auto state = load(std::filesystem::path(options_.output) / "states", values_);
    std::uint64_t round = state ? state->round : 0;
    std::array<std::uint64_t, 2> bounds = {round, ~round};
    MPI_Allreduce(MPI_IN_PLACE, bounds.data(), 2, MPI_UINT64_T, MPI_MIN, cast_.solvers);
    if (bounds[0] != ~bounds[1]) throw std::runtime_error("the ranks have found states of different rounds");
    if (state) state_ = std::move(*state);
  }
  if (state_.round > 0) {
    flow_.inflow = state_.inflow;
    flow_.wanted_inflow = state_.wanted_inflow;
    flow_.angle = state_.angle;
  }
  outcome_.first_round = state_.round;
  clients_.picture = std::make_unique<Picture>(flow_, values_, options_.pixels, state_.round, watches_.pictures);
}

// The viewer learns what it has to register, and with which round this life of the solver begins.
void Run::greet_viewer() const {
  const std::array<std::int64_t, 9> words = {static_cast<std::int64_t>(state_.round),
                                             static_cast<std::int64_t>(options_.rounds),
                                             static_cast<std::int64_t>(options_.repartition_at),
                                             clients_.picture->width(),
                                             clients_.picture->height(),
                                             static_cast<std::int64_t>(options_.frame_every),
                                             static_cast<std::int64_t>(options_.check_every),
                                             options_.merge_waits ? 1 : 0,
                                             options_.merge_messages ? 1 : 0};
  cast_.universe.group().send(std::span<const std::int64_t>(words), cast_.viewer, greeting_tag);
}

void Run::register_clients() {
  add_kernel(holders_);
  Picture& picture = *clients_.picture;
  if (cast_.viewer >= 0 && cast_.rank == 0) {
    clients_.sender = std::make_unique<FrameSender>(static_cast<std::size_t>(picture.width() * picture.height()));
  }
  picture.register_with(*manager_, options_.frame_every, [this](const Frame& frame) {
    outcome_.rounds.push_back(frame.round);
    outcome_.frames.push_back(digest_of(frame));
    if (clients_.sender) clients_.sender->put(frame);
  });
  if (clients_.sender) clients_.sender->register_with(*manager_, cast_.viewer);
  clients_.monitor = std::make_unique<Monitor>(flow_, values_, state_.round, watches_.checks);
  clients_.monitor->register_with(*manager_, options_.check_every, [this](const Check& check) {
    outcome_.checks.push_back(check);
    observe_(check);
  });
  clients_.steering = std::make_unique<Steering>(flow_, state_.pending, read_commands(options_.commands), state_.round);
  clients_.steering->register_with(*manager_, cast_.viewer >= 0 ? cast_.viewer : 0);
  if (options_.save_every > 0) {
    clients_.keeper =
        std::make_unique<Keeper>(flow_, values_, *clients_.steering, std::filesystem::path(options_.output) / "states",
                                 options_.save_every, state_.round, cast_.rank, cast_.rank_count);
    manager_->add("states", *clients_.keeper);
  }
}

void Run::run_round() {
  const Stopwatch::Lap lap(watches_.total);
  manager_->round();
}

// Adds a kernel for the sites that the ranks own from now on, in place of the one before.
void Run::add_kernel(const Owners& owners) {
  const std::string name = "kernel " + std::to_string(clients_.kernels.size());
  if (!clients_.kernels.empty()) manager_->remove(clients_.kernels.back()->client());
  clients_.kernels.push_back(
      std::make_unique<Kernel>(flow_, values_, plan_transfer(vessel_, holders_, owners, cast_.rank), watches_.kernel));
  clients_.kernels.back()->register_with(*manager_, name);
}

// In this round, the values go to the new owners of the sites; from the next one on, these have them. The other clients
// go on as they were.
void Run::repartition() {
  const Owners owners = bisect_sites(vessel_, cast_.rank_count);
  add_kernel(owners);
  manager_->amend(manager_->round_number());
  run_round();
  holders_ = owners;
  add_kernel(owners);
  manager_->amend(manager_->round_number());
}

void Run::die_if_told() const {
  const bool is_first_life = state_.round == 0;
  if (options_.die_at == 0 || !is_first_life || now() != options_.die_at) return;
  if (cast_.rank == cast_.rank_count - 1) static_cast<void>(std::raise(SIGKILL));
}

Outcome Run::finish() {
  outcome_.report = manager_->report(COUPLET_COALESCE_JSON);
  manager_->close();
  outcome_.digest = digest_of(values_);
  MPI_Allreduce(MPI_IN_PLACE, &outcome_.digest, 1, MPI_UINT64_T, MPI_SUM, cast_.solvers);
  const double callbacks = watches_.kernel.seconds() + watches_.pictures.seconds() + watches_.checks.seconds();
  std::array<double, 3> seconds = {watches_.total.seconds(), watches_.total.seconds() - callbacks,
                                   watches_.pictures.seconds()};
  MPI_Allreduce(MPI_IN_PLACE, seconds.data(), 3, MPI_DOUBLE, MPI_SUM, cast_.solvers);
  const double share = 1.0 / cast_.rank_count;
  outcome_.times = {seconds[0] * share, seconds[1] * share, seconds[2] * share};
  return std::move(outcome_);
}

void Run::write_profile(const std::filesystem::path& folder) const {
  std::vector<double> own;
  for (std::size_t number = 0; number < values_.sites.size(); ++number) {
    const Site& site = vessel_.sites()[values_.sites[number]];
    if (site.x != vessel_.extent().x / 2) continue;
    own.insert(own.end(),
               {site.y - vessel_.axis().y, site.z - vessel_.axis().z, moments(values_.of(number)).velocity.x});
  }
  int count = static_cast<int>(own.size());
  std::vector<int> counts(cast_.rank_count), starts(cast_.rank_count);
  MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, cast_.solvers);
  std::exclusive_scan(counts.begin(), counts.end(), starts.begin(), 0);
  std::vector<double> all(std::reduce(counts.begin(), counts.end()));
  MPI_Gatherv(own.data(), count, MPI_DOUBLE, all.data(), counts.data(), starts.data(), MPI_DOUBLE, 0, cast_.solvers);
  if (cast_.rank != 0) return;
  std::filesystem::create_directories(folder);
  std::ofstream file(folder / "profile.txt");
  file << std::setprecision(17);
  for (std::size_t n = 0; n + 2 < all.size(); n += 3) file << all[n] << " " << all[n + 1] << " " << all[n + 2] << "\n";
}

}  // namespace bloodflow
