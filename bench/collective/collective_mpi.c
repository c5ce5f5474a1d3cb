/* MPI's side of bench/run collective: two ranks of one job.   usage: collective_mpi PIPES */
#include <mpi.h>

#include "../common/control.h"

static double* result;

static void allreduce(void* data, size_t bytes) {
  MPI_Allreduce(data, result, (int)(bytes / sizeof(double)), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void send_bytes(const void* data, size_t bytes) {
  MPI_Allreduce(data, result, (int)(bytes / sizeof(double)), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  int role = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &role);
  result = malloc(bench_most_bytes);
  if (result == NULL) bench_die("malloc");
  const bench_transport transport = {send_bytes, allreduce};
  bench_serve(arguments[1], role, &transport);
  free(result);
  MPI_Finalize();
  return 0;
}
