#include "series/pace.hpp"

#include <algorithm>
#include <cmath>

namespace couplet::series {
namespace {

// Below this number of claims per copy, a reader loses less if it is overtaken now and then than if it always jumps
// ahead.
constexpr double least_that_matters = 0.5;
constexpr double growth_when_overtaken = 1.25;
constexpr double decay = 0.25;  // share of the distance to a smaller measurement that each batch takes
constexpr double max_claims_per_copy = 1e6;

}  // namespace

void Pace::note(const Copied& copied) noexcept {
  if (copied.copies == 0) {
    return;
  }
  together_ = copied.together;
  double measured = static_cast<double>(copied.claimed) / static_cast<double>(copied.copies);
  if (copied.overtaken) {  // the copy was stopped, and would have taken longer
    measured = std::max(measured, claims_per_copy_ * growth_when_overtaken);
  }
  measured = std::min(measured, max_claims_per_copy);
  claims_per_copy_ = measured > claims_per_copy_ ? measured : claims_per_copy_ + (measured - claims_per_copy_) * decay;
}

Pace::Advice Pace::advise(std::uint64_t slack, std::uint64_t steps, std::uint64_t every) const noexcept {
  if (claims_per_copy_ <= least_that_matters) {
    return {slack, UINT64_MAX};
  }
  const auto together = static_cast<double>(together_);
  const double gain = static_cast<double>(every) * together;  // ordinals that a copy moves the reader ahead
  const auto needed_for = [&](double copies) { return claims_per_copy_ * copies - gain * (copies - 1); };
  double ahead = static_cast<double>(slack);
  if (ahead < claims_per_copy_) {
    const double copies = std::ceil(static_cast<double>(steps) / together);
    const double needed = std::max(claims_per_copy_, needed_for(copies));
    ahead = std::ceil(needed) + (claims_per_copy_ > 1 ? 1 : 0);
  }
  Advice advice{static_cast<std::uint64_t>(ahead), UINT64_MAX};
  if (claims_per_copy_ > gain) {
    const double most = (ahead - gain) / (claims_per_copy_ - gain);
    advice.max_steps = static_cast<std::uint64_t>(std::clamp(most, 1.0, 1e9)) * together_;
  }
  return advice;
}

bool Pace::needs_fresh_step(std::uint64_t slots) const noexcept {
  return claims_per_copy_ > 1 && std::ceil(claims_per_copy_) + 1 >= static_cast<double>(slots);
}

}  // namespace couplet::series
