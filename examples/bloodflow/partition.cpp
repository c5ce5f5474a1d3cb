#include "partition.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <span>

namespace bloodflow {
namespace {

int coordinate(const Site& site, int dimension) {
  return std::array<int, 3>{site.x, site.y, site.z}[dimension];
}

int longest_dimension(const Vessel& vessel, std::span<const std::int32_t> sites) {
  int longest = 0;
  int most = -1;
  for (int dimension = 0; dimension < 3; ++dimension) {
    int low = std::numeric_limits<int>::max();
    int high = std::numeric_limits<int>::min();
    for (const std::int32_t site : sites) {
      low = std::min(low, coordinate(vessel.sites()[site], dimension));
      high = std::max(high, coordinate(vessel.sites()[site], dimension));
    }
    if (high - low > most) {
      most = high - low;
      longest = dimension;
    }
  }
  return longest;
}

// Gives the sites to the ranks first to first + count - 1.
void bisect(const Vessel& vessel, std::span<std::int32_t> sites, std::int32_t first, std::int32_t count,
            Owners& owners) {
  if (count == 1) {
    for (const std::int32_t site : sites) owners[site] = first;
    return;
  }
  const int dimension = longest_dimension(vessel, sites);
  std::sort(sites.begin(), sites.end(), [&](std::int32_t a, std::int32_t b) {
    const int at_a = coordinate(vessel.sites()[a], dimension);
    const int at_b = coordinate(vessel.sites()[b], dimension);
    return at_a != at_b ? at_a < at_b : a < b;
  });
  const std::int32_t lower = count / 2;
  const std::size_t middle = sites.size() * lower / count;
  bisect(vessel, sites.subspan(0, middle), first, lower, owners);
  bisect(vessel, sites.subspan(middle), first + lower, count - lower, owners);
}

}  // namespace

Owners cut_grid(const Vessel& vessel, std::int32_t rank_count) {
  Owners owners;
  owners.reserve(vessel.sites().size());
  for (const Site& site : vessel.sites()) owners.push_back(site.x * rank_count / vessel.extent().x);
  return owners;
}

Owners bisect_sites(const Vessel& vessel, std::int32_t rank_count) {
  Owners owners(vessel.sites().size(), 0);
  std::vector<std::int32_t> sites(owners.size());
  std::iota(sites.begin(), sites.end(), 0);
  bisect(vessel, sites, 0, rank_count, owners);
  return owners;
}

}  // namespace bloodflow
