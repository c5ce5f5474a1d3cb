! The ocean: computes the waves, and publishes the height of the surface after each step as the series "eta". The lines
! that coupling adds to the solver (solve.f90) are marked with !c. The other additions collect what summarise.py checks
! after the run: check sums and times.
program ocean
  use, intrinsic :: iso_fortran_env, only: int64, real32, real64
  use mpi_f08
  use couplet_mpi                                                                                          !c
  use checksums, only: checksum_of_part
  use proof, only: elapsed, write_proof
  use scenario, only: settings, set_up
  use shallow_water, only: sea, advance, get_surface
  implicit none
  ! First and last column, first and last row.
  integer, parameter :: watched_box(2,2) = reshape([151, 750, 151, 750], [2, 2])
  type(couplet_universe) :: universe                                                                       !c
  type(couplet_series) :: series                                                                           !c
  real(real32), pointer :: eta(:,:)                                                                        !c
  type(settings) :: run
  type(sea) :: s
  real(real32), allocatable :: own(:,:)
  integer(int64), allocatable :: sums(:)
  real(real64), allocatable :: coupling(:)
  real(real64) :: started, computing
  integer :: step

  call MPI_Init()
  call set_up("ocean.nml", MPI_COMM_WORLD, run, s)
  call couplet_join("ocean", MPI_COMM_WORLD, universe)                                                     !c
  call announce()
  call universe%create_series("eta", shape=[run%columns, run%rows], type=couplet_real32, series=series, &  !c
      box=couplet_box([1, s%first_row], [s%columns, s%first_row + s%rows - 1]))                            !c

  allocate (own(s%columns, s%rows), sums(run%steps), coupling(run%steps))
  computing = 0
  do step = 1, run%steps
    started = MPI_Wtime()
    call advance(s, run%interval)
    computing = computing + elapsed(started)
    call series%claim(step, eta)                                                                           !c
    coupling(step) = elapsed(started)
    call get_surface(s, eta)
    computing = computing + elapsed(started)
    call series%publish()                                                                                  !c
    coupling(step) = coupling(step) + elapsed(started)
    call get_surface(s, own)
    sums(step) = checksum_of_part(own, s%first_row, watched_box)
  end do

  call write_proof(MPI_COMM_WORLD, run%output, series, sums, coupling, computing)
  call series%close()                                                                                      !c
  call universe%leave()                                                                                    !c
  call MPI_Finalize()

contains

  ! Sends the nowcast a message: seconds between two steps, and metres between two columns and between two rows.
  subroutine announce()
    type(couplet_group) :: everybody
    integer :: nowcast, rank
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    if (rank > 0) return
    call universe%group(everybody)
    call universe%find_rank("nowcast", 0, nowcast)
    call everybody%send([run%interval, s%dx, s%dy], nowcast, tag=1)
  end subroutine announce

end program ocean
