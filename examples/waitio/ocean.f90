program ocean  ! PB 0: rank 0 sends the surface to the air, all ranks add up the energy
  implicit none
  include 'mpif.h'
  include 'waitio_mpif.h'
  integer :: universe, heads, rank, head, step, error
  integer(4) :: req(WAITIO_MPI_REQUEST_SIZE, 2), sta(WAITIO_MPI_STATUS_SIZE, 2)
  real(8) :: surface(10), wind(10), own, energy
  call MPI_INIT(error)
  call WAITIO_CREATE_UNIVERSE(universe, error)
  if (error /= 0) call MPI_ABORT(MPI_COMM_WORLD, 1, error)
  call WAITIO_CREATE_UNIVERSE_PBHEAD(heads, error)
  call WAITIO_GROUP_RANK(universe, rank, error)
  call WAITIO_GROUP_RANK(heads, head, error)
  wind = 0
  do step = 1, 3
    if (head >= 0) then
      surface = step + wind/2
      call WAITIO_MPI_ISEND(surface, 10, WAITIO_MPI_DOUBLE_PRECISION, 1, step, heads, req(1, 1), error)
      call WAITIO_MPI_IRECV(wind, 10, WAITIO_MPI_DOUBLE_PRECISION, 1, step, heads, req(1, 2), error)
      call WAITIO_MPI_WAITALL(2, req, sta, error)
    end if
    own = rank + sum(wind)
    call WAITIO_MPI_ALLREDUCE(own, energy, 1, WAITIO_MPI_DOUBLE_PRECISION, WAITIO_MPI_SUM, universe, error)
  end do
  if (head >= 0) print '(a, f8.3)', 'ocean: energy', energy
  call WAITIO_FINALIZE(error)
  call MPI_FINALIZE(error)
end program
