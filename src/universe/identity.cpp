// Finds out rank and size of this process in its program, from the environment of its launcher.
#include <array>
#include <charconv>

#include "universe/membership.hpp"
#include "universe/settings.hpp"

namespace couplet::universe {
namespace {

struct Launcher {
  const char* name;
  const char* rank;
  const char* size;
};

// The first one that is set is used: the user's own variables; then those of an MPI before those of Slurm, since an
// MPI's launcher may run inside a Slurm step.
constexpr std::array launchers = {
    Launcher{"COUPLET_RANK", "COUPLET_RANK", "COUPLET_SIZE"},
    Launcher{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    Launcher{"Hydra", "PMI_RANK", "PMI_SIZE"},
    Launcher{"Slurm", "SLURM_PROCID", "SLURM_NTASKS"},
};

Result<std::int32_t> number(const char* name, std::int32_t least) {
  const auto text = environment(name);
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least) {
    return fail(Code::config, "environment variable {} is '{}', expected a number not less than {}", name, text, least);
  }
  return value;
}

}  // namespace

Result<Identity> identity_from_launcher() {
  for (const auto& launcher : launchers) {
    if (environment(launcher.rank).empty() && environment(launcher.size).empty()) {
      continue;
    }
    if (environment(launcher.rank).empty() || environment(launcher.size).empty()) {
      if (&launcher != launchers.data()) {
        continue;
      }  // for example, a batch script has SLURM_NTASKS but is not a task
      return fail(Code::config, "COUPLET_RANK and COUPLET_SIZE belong together; only one of them is set");
    }
    Identity identity;
    COUPLET_TRY_VALUE(identity.rank, number(launcher.rank, 0));
    COUPLET_TRY_VALUE(identity.size, number(launcher.size, 1));
    if (identity.rank >= identity.size) {
      return fail(Code::config, "{}={} must be less than {}={}", launcher.rank, identity.rank, launcher.size,
                  identity.size);
    }
    return identity;
  }
  return fail(Code::not_found, "no launcher has given rank and size (COUPLET_RANK, Open MPI, Hydra, Slurm)");
}

}  // namespace couplet::universe
