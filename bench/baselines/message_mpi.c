/* MPI's side of bench/run message.
 * usage: message_mpi PIPES            two ranks of one job, or several pairs of ranks
 *        message_mpi PIPES ROLE NAME  one rank each of two jobs, by MPI_Comm_connect */
#include <mpi.h>

#include "../common/control.h"

static MPI_Comm communicator = MPI_COMM_WORLD;
static int peer;

static void send_bytes(const void* data, size_t bytes) {
  MPI_Send(data, (int)bytes, MPI_BYTE, peer, 0, communicator);
}
static void receive_bytes(void* data, size_t bytes) {
  MPI_Recv(data, (int)bytes, MPI_BYTE, peer, 0, communicator, MPI_STATUS_IGNORE);
}

static void meet(int role, const char* name) {
  char port[MPI_MAX_PORT_NAME];
  if (role == 0) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Publish_name(name, MPI_INFO_NULL, port);
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &communicator);
    MPI_Unpublish_name(name, MPI_INFO_NULL, port);
    return;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  while (MPI_Lookup_name(name, MPI_INFO_NULL, port) != MPI_SUCCESS) {
    const struct timespec pause = {0, 50000000};
    nanosleep(&pause, NULL);
  }
  if (MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &communicator) != MPI_SUCCESS) exit(1);
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  int role = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &role);
  peer = role ^ 1;
  if (count == 4) {
    role = atoi(arguments[2]);
    peer = 0;
    meet(role, arguments[3]);
  }
  const bench_transport transport = {send_bytes, receive_bytes};
  bench_serve(arguments[1], role, &transport);
  if (count == 4) MPI_Comm_disconnect(&communicator);
  MPI_Finalize();
  return 0;
}
