// Included before each source that is compiled for SimGrid. It fills three gaps: SimGrid calls only the thread of rank
// 0 the main one of its rank; it does not say that its windows are unified, although all ranks share one memory; and it
// lacks MPI_Win_test, which is MPI_Win_wait here, so that put_pscw waits where it would poll.
#pragma once

#include <mpi.h>

namespace simgrid_gaps {

inline int is_thread_main(int* flag) {
  *flag = 1;
  return MPI_SUCCESS;
}
inline int win_get_attr(MPI_Win window, int key, void* value, int* known) {
  static int unified = MPI_WIN_UNIFIED;
  if (key != MPI_WIN_MODEL) {
    return MPI_Win_get_attr(window, key, value, known);
  }
  *static_cast<int**>(value) = &unified;
  *known = 1;
  return MPI_SUCCESS;
}
inline int win_test(MPI_Win window, int* flag) {
  *flag = 1;
  return MPI_Win_wait(window);
}

}  // namespace simgrid_gaps

#define MPI_Is_thread_main simgrid_gaps::is_thread_main
#define MPI_Win_get_attr simgrid_gaps::win_get_attr
#define MPI_Win_test simgrid_gaps::win_test
