#include "conversion.hpp"

#include <fmt/format.h>

#include <climits>

#include "report.hpp"
#include "waitio_mpi.h"

namespace waitio {

couplet_type type_of(int type) {
  static_assert(sizeof(int) == 4 && sizeof(long) == 8);
  switch (type) {
    case WAITIO_MPI_INT:
      return COUPLET_INT32;
    case WAITIO_MPI_LONG:
      return COUPLET_INT64;
    case WAITIO_MPI_CHAR:
      return CHAR_MIN < 0 ? COUPLET_INT8 : COUPLET_UINT8;
    case WAITIO_MPI_FLOAT:
      return COUPLET_FLOAT;
    case WAITIO_MPI_DOUBLE:
      return COUPLET_DOUBLE;
    default:
      throw Error(fmt::format("{} is no datatype; there are WAITIO_MPI_INT, _LONG, _CHAR, _FLOAT and _DOUBLE", type));
  }
}

std::uint64_t bytes_of(int count, int type) {
  if (count < 0) {
    throw Error(fmt::format("count is {}; it has to be at least 0", count));
  }
  return static_cast<std::uint64_t>(count) * couplet_type_bytes(type_of(type));
}

couplet_operation operation_of(int op) {
  switch (op) {
    case WAITIO_MPI_SUM:
      return COUPLET_OPERATION_SUM;
    case WAITIO_MPI_MAX:
      return COUPLET_OPERATION_MAX;
    case WAITIO_MPI_MIN:
      return COUPLET_OPERATION_MIN;
    default:
      throw Error(fmt::format("{} is no operation; there are WAITIO_MPI_SUM, _MAX and _MIN", op));
  }
}

}  // namespace waitio
