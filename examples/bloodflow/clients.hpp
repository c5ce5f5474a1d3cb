// The other clients of the rounds: a monitor of stability and convergence, steering, a sender of frames to the viewer's
// program, and a keeper of states from which the run can be started again.
#ifndef BLOODFLOW_CLIENTS_HPP
#define BLOODFLOW_CLIENTS_HPP

#include <couplet/couplet.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "flow.hpp"
#include "picture.hpp"

namespace bloodflow {

// What the monitor knows of the whole flow.
struct Check {
  std::uint64_t round = 0;
  double mass_excess = 0;  // the sum of density - 1
  double inward = 0;       // flux through the first plane of sites
  double outward = 0;      // and through the last one
  double max_speed = 0;
  double max_change = 0;  // largest change of a site's speed since the last check
  bool has_change = false;
};

// Two reductions, of integers, so that the result has the same bits on any number of ranks. All ranks throw in the same
// round if the flow is not stable.
class Monitor {
 public:
  Monitor(const Flow& flow, const Values& values, std::uint64_t first_round, Stopwatch& watch);
  // take: gets each check at all ranks.
  void register_with(couplet::StepManager& manager, std::uint64_t every, std::function<void(const Check&)> take);

 private:
  void sum(std::span<std::int64_t> sums) const;
  void find_largest(std::span<std::int64_t> largest);

  const Flow& flow_;
  const Values& values_;
  std::uint64_t first_round_;
  Stopwatch& watch_;
  std::vector<std::int32_t> sites_;  // those of `speeds_`
  std::vector<double> speeds_;       // in the last check
  Check check_;
};

// A change of the inflow and of the viewpoint, from a round on.
struct Command {
  std::uint64_t round = 0;
  double inflow = 0;
  double angle = 0;
};

// Takes "round:inflow:angle" and more of them, with commas between them. Throws std::invalid_argument.
std::vector<Command> read_commands(const std::string& text);

// Commands come by a phased broadcast. They say from which round on they hold, so that this does not depend on the
// number of ranks.
class Steering final : public couplet::Client {
 public:
  static constexpr std::uint64_t delay = 16;  // rounds between a command and its effect; the broadcast takes fewer

  // own_commands: given by this rank, if it is the root.
  Steering(Flow& flow, std::vector<Command> pending, std::vector<Command> own_commands, std::uint64_t first_round);
  void register_with(couplet::StepManager& manager, std::int32_t root);
  // Commands that have no effect yet.
  [[nodiscard]] const std::vector<Command>& pending() const noexcept { return pending_; }

  void end_round(const couplet::Moment& moment) override;

 private:
  [[nodiscard]] std::optional<Command> next(std::uint64_t round);

  Flow& flow_;
  std::vector<Command> pending_, own_commands_;
  std::uint64_t first_round_;
};

// Sends the frames of rank 0 to the viewer, if there is one: an optional message in the round after each.
class FrameSender final : public couplet::Client {
 public:
  explicit FrameSender(std::size_t pixel_count) : image_(head + 2 * pixel_count) {}
  void register_with(couplet::StepManager& manager, std::int32_t viewer);
  void put(const Frame& frame);

  void fill(const couplet::Moment& moment) override;

 private:
  static constexpr std::size_t head = 2;  // the round, and 1000 x the angle
  couplet::StepManager* manager_ = nullptr;
  std::vector<std::int64_t> image_;
  std::uint32_t request_ = 0;
  bool has_frame_ = false;
};

// What is needed to go on from a round.
struct State {
  std::uint64_t round = 0;
  double inflow = 0, wanted_inflow = 0, angle = 0;
  std::vector<Command> pending;
};

// Saves the values of this rank every n rounds, at the same round on all ranks. The last two states are kept.
class Keeper final : public couplet::Client {
 public:
  Keeper(const Flow& flow, const Values& values, const Steering& steering, std::filesystem::path folder,
         std::uint64_t every, std::uint64_t first_round, std::int32_t rank, std::int32_t rank_count);
  void end_round(const couplet::Moment& moment) override;

 private:
  const Flow& flow_;
  const Values& values_;
  const Steering& steering_;
  std::filesystem::path folder_;
  std::uint64_t every_, first_round_;
  std::int32_t rank_, rank_count_;
};

// Returns the newest state that all ranks have saved, and takes the values of values.sites from it. The number of ranks
// may have been another one. Returns nothing if there is none.
std::optional<State> load(const std::filesystem::path& folder, Values& values);

}  // namespace bloodflow

#endif
