! A client of the module waitio_mpif90: derived types, arrays of any type and rank, and ierr where it is wanted.
program with_module
  use mpi
  use waitio_mpif90
  implicit none
  type(WAITIO_MPI_Comm) :: universe, heads, block
  type(WAITIO_MPI_Request) :: requests(2), alone
  integer :: error, rank, size, pb, pbs, head_rank, wrong = 0, statuses(WAITIO_MPI_STATUS_SIZE, 2), bytes, total
  integer :: nprocs(16)
  real(8) :: plane(3, 4), received(3, 4), dot, sum_of_all
  real :: single
  call MPI_Init(error)
  call WMPI_Init()
  call WMPI_Create_universe(universe, error)
  if (error /= 0) stop 1
  call WMPI_Create_universe_pbhead(heads)
  call WAITIO_MPI_Comm_rank(universe, rank)
  call WAITIO_Group_size(universe, size)
  call WAITIO_PB_rank(pb)
  call WAITIO_PB_size(pbs, error)
  call WAITIO_Get_nprocs(nprocs)
  call expect(sum(nprocs(1:pbs)) == size)
  call WAITIO_Group_rank(heads, head_rank)
  call WAITIO_Create_pbgroup(block, pb)
  call WAITIO_MPI_Comm_size(block, total)
  call expect(total == nprocs(pb + 1) .and. (head_rank == pb .or. head_rank == -1))

  plane = rank
  call WAITIO_MPI_Irecv(received, 12, WAITIO_MPI_DOUBLE_PRECISION, mod(rank + size - 1, size), 4, universe, requests(1))
  call WAITIO_MPI_Isend(plane, 12, WAITIO_MPI_DOUBLE_PRECISION, mod(rank + 1, size), 4, universe, requests(2), error)
  call WAITIO_MPI_Waitall(2, requests, statuses, error)
  call expect(error == 0 .and. all(received == mod(rank + size - 1, size)))
  call expect(statuses(1, 1) == mod(rank + size - 1, size) .and. statuses(4, 1) == 96)
  call WAITIO_MPI_Isend(pb, 1, WAITIO_MPI_INTEGER, rank, 5, universe, alone)
  call WAITIO_MPI_Recv(total, 1, WAITIO_MPI_INTEGER, rank, 5, universe)
  call WAITIO_Wait(alone, error)
  call expect(error == 0 .and. total == pb)

  dot = 2
  call WAITIO_MPI_Allreduce(dot, sum_of_all, 1, WAITIO_MPI_DOUBLE, WAITIO_MPI_SUM, universe, error)
  call expect(sum_of_all == 2d0*size)
  single = real(rank)
  if (rank == 0) single = 0.25
  call WAITIO_MPI_Bcast(single, 1, WAITIO_MPI_FLOAT, 0, universe)
  call expect(single == 0.25)
  call WAITIO_MPI_Type_size(WAITIO_MPI_FLOAT, bytes)
  call expect(bytes == 4)
  call WAITIO_MPI_Send(dot, 1, WAITIO_MPI_DOUBLE, size, 1, universe, error)  ! there is no such rank
  call expect(error == 1)
  call WAITIO_Barrier(universe)
  call WAITIO_Finalize(error)
  call expect(error == 0)
  print '(a, i0, a, i0, a, i0, a)', 'module: rank ', rank, ' of ', size, ': ', wrong, ' wrong'
  call MPI_Finalize(error)
  if (wrong /= 0) stop 1

contains

  subroutine expect(right)
    logical, intent(in) :: right
    if (.not. right) wrong = wrong + 1
  end subroutine
end program
