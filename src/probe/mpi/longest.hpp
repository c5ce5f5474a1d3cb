// The end of one repetition: all ranks meet here, those that measured and those that only waited for them.
#pragma once

namespace couplet::probe {

// Whether SimGrid simulates this program: it links SimGrid's MPI, which calls itself SMPI.
bool is_simulated();

// Collective. Returns the largest of the seconds that the ranks give.
//
// Ranks that come early sleep between two looks. If there are more ranks than cores, and they waited as MPI does, those
// that measure would wait for a core (under MPICH 8 ms for a message of 8 bytes).
double longest_of(double own_s);

}  // namespace couplet::probe
