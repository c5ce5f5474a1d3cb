// Which rank owns which site. The same on all ranks, and known by all of them.
#ifndef BLOODFLOW_PARTITION_HPP
#define BLOODFLOW_PARTITION_HPP

#include <cstdint>
#include <vector>

#include "vessel.hpp"

namespace bloodflow {

using Owners = std::vector<std::int32_t>;  // by site

// Cuts the grid into slabs of the same thickness, along x. They have unequal numbers of sites.
Owners cut_grid(const Vessel& vessel, std::int32_t rank_count);

// Halves the sites again and again, along the dimension in which they reach farthest. All ranks get as many sites.
Owners bisect_sites(const Vessel& vessel, std::int32_t rank_count);

}  // namespace bloodflow

#endif
