! Every collective call with blocks of different sizes, pairs, and other types. It is converted by tests/convert.
program collectives
  use mpi
  implicit none
  integer :: rank, ranks, ierr, i, request
  integer, allocatable :: counts(:), places(:), numbers(:), many(:)
  real(8) :: pair(2), best(2)
  real :: part(2)
  logical :: flag, every
  character(len=8) :: name
  complex(8) :: z
  double precision :: begin
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  begin = MPI_Wtime()
  counts = [(i, i = 1, ranks)]
  places = [(i * (i - 1) / 2, i = 1, ranks)]
  numbers = [(100 * rank + i, i = 1, rank + 1)]
  allocate (many(ranks * (ranks + 1) / 2))
  many = 0
  call MPI_Gatherv(numbers, rank + 1, MPI_INTEGER, many, counts, places, MPI_INTEGER, 1, MPI_COMM_WORLD, ierr)
  if (rank == 1) print "(a, 20i5)", "gatherv", many
  call MPI_Bcast(many, size(many), MPI_INTEGER, 1, MPI_COMM_WORLD, ierr)
  numbers = 0
  call MPI_Scatterv(many, counts, places, MPI_INTEGER, numbers, rank + 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  print "(a, 20i5)", "scatterv", rank, numbers
  call MPI_Allgatherv(numbers, rank + 1, MPI_INTEGER, many, counts, places, MPI_INTEGER, MPI_COMM_WORLD, ierr)
  print "(a, 20i5)", "allgatherv", rank, many
  pair = [real(mod(rank * 2, 3), 8), real(rank, 8)]
  call MPI_Allreduce(pair, best, 1, MPI_2DOUBLE_PRECISION, MPI_MAXLOC, MPI_COMM_WORLD, ierr)
  print "(a, i2, 2f6.1)", "maxloc", rank, best
  part = [1.0 * rank, 2.0]
  call MPI_Scan(MPI_IN_PLACE, part, 2, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, ierr)
  print "(a, i2, 2f6.1)", "scan", rank, part
  flag = rank /= 1
  call MPI_Reduce(flag, every, 1, MPI_LOGICAL, MPI_LAND, 0, MPI_COMM_WORLD, ierr)
  if (rank == 0) print "(a, l2)", "every", every
  name = "nobody"
  if (rank == 0) name = "ringmaster"
  call MPI_Bcast(name, len(name), MPI_CHARACTER, 0, MPI_COMM_WORLD, ierr)
  z = cmplx(rank, 1, 8)
  call MPI_Allreduce(MPI_IN_PLACE, z, 1, MPI_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierr)
  print "(a, i2, 1x, a, 2f6.1)", "name", rank, name, z
  numbers = [(10 * rank + i, i = 0, ranks - 1)]
  deallocate (many)
  allocate (many(ranks))
  call MPI_Alltoall(numbers, 1, MPI_INTEGER, many, 1, MPI_INTEGER, MPI_COMM_WORLD, ierr)
  print "(a, 20i5)", "alltoall", rank, many
  counts = 1
  places = [(i, i = 0, ranks - 1)]
  call MPI_Alltoallv(numbers, counts, places, MPI_INTEGER, many, counts, places, MPI_INTEGER, MPI_COMM_WORLD, ierr)
  call MPI_Reduce_scatter(numbers, i, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  print "(a, 20i5)", "reduce_scatter", rank, i, many
  many(rank + 1) = rank
  call MPI_Allgather(MPI_IN_PLACE, 1, MPI_INTEGER, many, 1, MPI_INTEGER, MPI_COMM_WORLD, ierr)
  call MPI_Ibarrier(MPI_COMM_WORLD, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  print "(a, 20i5)", "allgather", rank, many
  if (MPI_Wtime() < begin) print *, "time goes back"
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  if (ierr /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  call MPI_Finalize(ierr)
end program
