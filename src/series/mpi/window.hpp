// The window over all ranks of an MPI job, made once for each MPI (libcouplet_mpi_*).
#pragma once

#include <mpi.h>

#include <memory>

#include "series/window.hpp"

namespace couplet::series {

// Opens the window. Collective over `job`, all ranks of MPI_COMM_WORLD. `self` is this member of the universe. Gives
// each rank `bytes` of memory, which the other ranks of its node map if all ranks ask for it (`direct`) and MPI can do
// it. Returns mpi, with MPI's text, if a call of MPI fails, and timeout if some rank of the job does not take part.
Result<std::unique_ptr<Window>> open_mpi_window(MPI_Comm job, channel::PeerId self, std::uint64_t bytes, bool direct,
                                                std::uint64_t deadline_ns);

}  // namespace couplet::series
