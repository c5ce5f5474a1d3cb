! A client in free source form, whose constants are in a module under `implicit none`: the externals with _f, and a
! communicator in a default INTEGER whose neighbours in memory must stay as they are.
module constants
  implicit none
  include 'waitio_mpf.h'
end module

program second
  use mpi
  use constants
  implicit none
  integer :: comms(3) = [-11, 0, -22]
  integer :: error, rank, size, pb, pbs, i, wrong = 0, whole(2), sums(2), requests(WAITIO_MPI_REQUEST_SIZE, 2)
  integer :: statuses(WAITIO_MPI_STATUS_SIZE, 2), group
  real(8) :: mine, other
  real(8), allocatable :: gathered(:), parts(:)
  integer, allocatable :: counts(:), offsets(:)
  call MPI_Init(error)
  call waitio_init(1000, error)
  if (error /= 0) stop 1
  call waitio_create_universe(comms(2), error)
  call expect(error == 0 .and. comms(1) == -11 .and. comms(3) == -22)
  call waitio_group_rank_f(comms(2), rank, error)
  call waitio_group_size_f(comms(2), size, error)
  call waitio_pb_rank_f(pb, error)
  call waitio_pb_size_f(pbs, error)
  call expect(pb >= 0 .and. pb < pbs)

  mine = rank + 0.5d0
  call waitio_mpi_irecv_f(other, 1, WAITIO_MPI_DOUBLE, mod(rank + size - 1, size), 3, comms(2), requests(1, 1), error)
  call waitio_mpi_isend_f(mine, 1, WAITIO_MPI_DOUBLE, mod(rank + 1, size), 3, comms(2), requests(1, 2), error)
  call waitio_wait_f(requests(1, 2), error)
  call waitio_mpi_waitall_f(1, requests, statuses, error)
  call expect(error == 0 .and. abs(other - (mod(rank + size - 1, size) + 0.5d0)) < 1d-12)
  call expect(statuses(1, 1) == mod(rank + size - 1, size) .and. statuses(4, 1) == 8)

  whole = [rank, 1]
  call waitio_mpi_allreduce_f(whole, sums, 2, WAITIO_MPI_INTEGER, WAITIO_MPI_SUM, comms(2), error)
  call expect(sums(1) == size*(size - 1)/2 .and. sums(2) == size)
  sums = -1
  call waitio_mpi_reduce_f(whole, sums, 2, WAITIO_MPI_INT, WAITIO_MPI_MAX, 0, comms(2), error)
  call expect(sums(1) == merge(size - 1, -1, rank == 0))
  if (rank == 0) whole = [41, 42]
  call waitio_mpi_bcast_f(whole, 2, WAITIO_MPI_INTEGER, 0, comms(2), error)
  call expect(whole(1) == 41 .and. whole(2) == 42)

  allocate (gathered(size), parts(2*size), counts(size), offsets(size))
  gathered = 0
  call waitio_mpi_gather_f(mine, gathered, 1, WAITIO_MPI_DOUBLE, 0, comms(2), error)
  call expect(rank /= 0 .or. abs(sum(gathered) - size*size/2d0) < 1d-12)
  call waitio_mpi_allgather_f(mine, gathered, 1, WAITIO_MPI_DOUBLE, comms(2), error)
  call expect(abs(sum(gathered) - size*size/2d0) < 1d-12)
  call waitio_mpi_scatter_f(gathered, 1, WAITIO_MPI_DOUBLE, other, 1, WAITIO_MPI_DOUBLE, 0, comms(2), error)
  call expect(abs(other - mine) < 1d-12)
  counts = 1
  offsets = [(2*i, i = 0, size - 1)]
  parts = -1
  call waitio_mpi_gatherv_f(mine, 1, WAITIO_MPI_DOUBLE, parts, counts, offsets, WAITIO_MPI_DOUBLE, 0, comms(2), error)
  call expect(rank /= 0 .or. abs(sum(parts) - (size*size/2d0 - size)) < 1d-12)
  call waitio_barrier_f(comms(2), error)
  call expect(error == 0)
  call waitio_create_pbgroup_f(group, pb, error)
  call waitio_mpi_allreduce_f([1], sums, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, group, error)
  call waitio_group_size_f(group, i, error)
  call expect(sums(1) == i)
  call waitio_finalize_f(1000)
  print '(a, i0, a, i0, a, i0, a)', 'second: rank ', rank, ' of ', size, ': ', wrong, ' wrong'
  call MPI_Finalize(error)
  if (wrong /= 0) stop 1

contains

  subroutine expect(right)
    logical, intent(in) :: right
    if (.not. right) wrong = wrong + 1
  end subroutine
end program
