// The window over all ranks of an MPI job, made once for each MPI (libcouplet_mpi_*).
#pragma once

#include <mpi.h>

#include <memory>

#include "series/window.hpp"

namespace couplet::series {

// Collective over `job` (all ranks of MPI_COMM_WORLD): gives each rank `bytes` of its own, which the ranks of its node
// map where all ranks ask for that (`direct`) and can. mpi: what MPI says; timeout: some rank of the job does not take
// part.
Result<std::unique_ptr<Window>> open_mpi_window(MPI_Comm job, std::uint64_t bytes, bool direct,
                                                std::uint64_t deadline_ns);

}  // namespace couplet::series
