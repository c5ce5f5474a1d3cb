// An actor that is no MPI program.
#include "../job.hpp"

namespace chaos {

void begin_job(const std::string& /*program*/, std::int32_t /*rank*/) {}
void end_job() {}

couplet_status join_universe(const std::string& program, const couplet_join_options& options,
                             couplet_universe** universe) {
  return couplet_join(program.c_str(), &options, universe);
}

}  // namespace chaos
