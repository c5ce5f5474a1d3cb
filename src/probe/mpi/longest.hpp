// Where all ranks meet: at the end of each repetition, those that measured and those that only waited for them; and at
// the end of the program.
#pragma once

namespace couplet::probe {

// Whether SimGrid simulates this program: it links SimGrid's MPI, which calls itself SMPI.
bool is_simulated();

// Collective. Returns the largest of the seconds that the ranks give.
//
// Ranks that come early sleep between two looks. If there are more ranks than cores, and they waited as MPI does, those
// that measure would wait for a core (under MPICH 8 ms for a message of 8 bytes).
double longest_of(double own_s);

// Collective, and the last thing before MPI_Finalize. All ranks meet, and then make no call of MPI for a while.
//
// In MPI_Finalize, MPICH over UCX's tcp asks each peer for an answer, and then waits at a barrier of the launcher,
// where it answers nobody (pmodels/mpich, pull request 6596). A rank that is already there never answers one that comes
// later. It is there early if the later one, still in another call, has answered it. If that one is in no call, it
// answers in its own MPI_Finalize, after its own question has been sent.
void settle();

}  // namespace couplet::probe
