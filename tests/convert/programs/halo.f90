! Neighbours exchange the edges of a field, with no neighbour at the ends. It is converted by tests/convert.
program halo
  use mpi
  implicit none
  integer, parameter :: n = 4000
  integer :: ierr, rank, ranks, left, right, step
  integer :: requests(4), statuses(MPI_STATUS_SIZE, 4), status(MPI_STATUS_SIZE)
  real(8) :: u(n, 0:5), total, whole
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  left = rank - 1
  right = rank + 1
  if (left < 0) left = MPI_PROC_NULL
  if (right == ranks) right = MPI_PROC_NULL
  u = rank + 1
  do step = 1, 20
    requests = MPI_REQUEST_NULL
    call MPI_Irecv(u(1, 0), n, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Irecv(u(1, 5), n, MPI_REAL8, right, 2, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Isend(u(1, 4), n, MPI_DOUBLE_PRECISION, right, 1, &  ! to the right
      & MPI_COMM_WORLD, requests(3), ierr)
    call MPI_Isend(u(1, 1), n, MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, requests(4), ierr)
    call MPI_Waitall(4, requests, statuses, ierr)
    if (left /= MPI_PROC_NULL .and. statuses(MPI_SOURCE, 1) /= left) print *, "wrong source"
    u(:, 1:4) = (u(:, 0:3) + u(:, 2:5)) / 2
  end do
  if (rank > 0) call MPI_Send(u(2, 1), 1, MPI_DOUBLE_PRECISION, 0, 5, MPI_COMM_WORLD, ierr)
  if (rank == 0) then
    whole = u(2, 1)
    do step = 2, ranks
      call MPI_Recv(total, 1, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierr)
      whole = whole + total * status(MPI_SOURCE) + status(MPI_TAG)
    end do
    print "(a, f24.14)", "whole", whole
  end if
  call MPI_Reduce(sum(u(:, 1:4)), total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
  if (rank == 0) print "(a, f24.12)", "total", total
  call MPI_Finalize(ierr)
end program
