// How an actor joins: alone (alone/job.cpp), or as a rank of an MPI job (mpi/job.cpp, once for each MPI).
#pragma once

#include <couplet/couplet.h>

#include <string>

namespace chaos {

// Both are called once, before and after the script. In an MPI job, all ranks must call them.
void begin_job(const std::string& program, std::int32_t rank);
void end_job();

couplet_status join_universe(const std::string& program, const couplet_join_options& options,
                             couplet_universe** universe);

}  // namespace chaos
