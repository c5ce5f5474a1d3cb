! The solver's communicator stays MPI; the one to the other half of the ranks is converted. By tests/convert.
program two_communicators
  use mpi
  implicit none
  integer :: rank, ranks, ierr, solver, between, solver_rank
  integer :: request, inner(2), status(MPI_STATUS_SIZE)
  real(8) :: a, b, total
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, solver, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, between, ierr)
  call MPI_Comm_rank(solver, solver_rank, ierr)
  a = rank + 1
  call MPI_Allreduce(a, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, solver, ierr)
  inner = MPI_REQUEST_NULL
  call MPI_Irecv(b, 1, MPI_DOUBLE_PRECISION, modulo(rank - 1, ranks), 1, between, request, ierr)
  call MPI_Send(total, 1, MPI_DOUBLE_PRECISION, modulo(rank + 1, ranks), 1, between, ierr)
  call MPI_Wait(request, status, ierr)
  call MPI_Isend(b, 1, MPI_DOUBLE_PRECISION, solver_rank, 9, solver, inner(1), ierr)
  call MPI_Recv(a, 1, MPI_DOUBLE_PRECISION, solver_rank, 9, solver, status, ierr)
  call MPI_Waitall(2, inner, MPI_STATUSES_IGNORE, ierr)
  print "(a, i3, 3f7.1)", "rank", rank, total, b, a
  call MPI_Finalize(ierr)
end program
