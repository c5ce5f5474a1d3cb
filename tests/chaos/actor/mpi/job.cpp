// An actor that is a rank of an MPI job. Its arguments say which program it belongs to, and its rank there.
#include "../job.hpp"

#include <couplet/couplet_mpi.h>
#include <mpi.h>

#include <limits>

#include "../contents.hpp"

namespace chaos {
namespace {

MPI_Comm ranks_of_program = MPI_COMM_NULL;

}  // namespace

void begin_job(const std::string& program, std::int32_t rank) {
  MPI_Init(nullptr, nullptr);
  const auto color = static_cast<int>(hash_of(program.c_str()) % std::numeric_limits<int>::max());
  MPI_Comm_split(MPI_COMM_WORLD, color, rank, &ranks_of_program);
}

void end_job() {
  MPI_Comm_free(&ranks_of_program);
  MPI_Finalize();
}

couplet_status join_universe(const std::string& program, const couplet_join_options& options,
                             couplet_universe** universe) {
  return couplet_join_mpi(program.c_str(), ranks_of_program, &options, universe);
}

}  // namespace chaos
