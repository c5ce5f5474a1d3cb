// LogGP-like parameters of one way between two ranks: the times from which couplet.cost (loggp.py) computes latency,
// overhead and gap. The page is docs/formats/cost.md.
#pragma once

#include <cstddef>

#include "probe/design.hpp"

namespace couplet::probe {

// Collective over all ranks. Measures half a round trip, the sender's and the receiver's overhead, and bursts of short
// and of long messages between the ranks `first` and `second`. Rank 0 prints a line of each with its repetitions.
void measure_loggp(int rank, const Options& options, const char* name, int first, int second);

}  // namespace couplet::probe
