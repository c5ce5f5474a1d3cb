! The communicator is split and duplicated; parts.f90 exchanges in each. It is converted by tests/convert.
program split
  use parts
  implicit none
  integer :: rank, ranks, ierr, row, row_rank, row_ranks, copy, source
  real(8) :: mine, other
  type(exchange) :: it
  call MPI_Init(ierr)
  everyone = MPI_COMM_WORLD
  call MPI_Comm_rank(everyone, rank, ierr)
  call MPI_Comm_size(everyone, ranks, ierr)
  call MPI_Comm_split(everyone, mod(rank, 2), -rank, row, ierr)
  call MPI_Comm_rank(row, row_rank, ierr)
  call MPI_Comm_size(row, row_ranks, ierr)
  mine = rank
  call begin_exchange(it, row, mine, other, row_rank, row_ranks)
  source = end_exchange(it)
  print "(a, 4i3, f6.1)", "row", rank, row_rank, row_ranks, source, other
  call MPI_Comm_dup(row, copy, ierr)
  call MPI_Allreduce(mine, other, 1, MPI_REAL8, MPI_SUM, copy, ierr)
  print "(a, i3, f6.1)", "sum", rank, other
  call MPI_Comm_free(copy, ierr)
  call MPI_Comm_free(row, ierr)
  if (row /= MPI_COMM_NULL) print *, "not freed"
  call MPI_Finalize(ierr)
end program
