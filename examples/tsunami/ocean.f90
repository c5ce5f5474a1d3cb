! The ocean: computes the waves, and shares the height of the surface after each step as the series "eta".
! What coupling adds to the solver (solve.f90) is marked with !c; the rest is for the demonstration's own proof.
program ocean
  use, intrinsic :: iso_fortran_env, only: int64, real32, real64
  use mpi_f08
  use couplet_mpi                                                                                          !c
  use checksums, only: checksum_of_part, checksum_modulus
  use scenario, only: settings, set_up
  use shallow_water, only: sea, advance, get_surface
  implicit none
  integer, parameter :: watched_box(2,2) = reshape([151, 750, 151, 750], [2, 2]) ! first, last column; row
  type(couplet_universe) :: universe                                                                       !c
  type(couplet_series) :: series                                                                           !c
  real(real32), pointer :: eta(:,:)                                                                        !c
  type(settings) :: run
  type(sea) :: s
  integer(int64), allocatable :: sums(:)
  real(real64) :: started, coupling, computing
  integer :: step

  call MPI_Init()
  call set_up("ocean.nml", MPI_COMM_WORLD, run, s)
  call couplet_join("ocean", MPI_COMM_WORLD, universe)                                                     !c
  call announce()
  call universe%create_series("eta", shape=[run%columns, run%rows], type=couplet_real32, series=series, &  !c
      box=reshape([1, s%columns, s%first_row, s%first_row + s%rows - 1], [2, 2]))                          !c

  allocate (sums(run%steps))
  coupling = 0
  computing = 0
  do step = 1, run%steps
    started = MPI_Wtime()
    call advance(s, run%interval)
    computing = computing + elapsed(started)
    call series%claim(step, eta)                                                                           !c
    coupling = coupling + elapsed(started)
    call get_surface(s, eta)
    computing = computing + elapsed(started)
    call series%publish()                                                                                  !c
    coupling = coupling + elapsed(started)
    sums(step) = checksum_of_part(eta, s%first_row, watched_box)
  end do

  call report()
  call series%close()                                                                                      !c
  call universe%leave()                                                                                    !c
  call MPI_Finalize()

contains

  ! A message to whom it concerns: seconds between two steps, and metres between two columns and two rows.
  subroutine announce()
    type(couplet_group) :: everybody
    integer :: nowcast, rank
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    if (rank > 0) return
    call universe%group(everybody)
    call universe%find_rank("nowcast", 0, nowcast)
    call everybody%send([run%interval, s%dx, s%dy], nowcast, tag=1)
  end subroutine announce

  ! Seconds since `mark`, which is moved to now.
  real(real64) function elapsed(mark)
    real(real64), intent(inout) :: mark
    real(real64) :: now
    now = MPI_Wtime()
    elapsed = now - mark
    mark = now
  end function elapsed

  ! For summarise.py: the check sums, and where the time went. Of all ranks the one with the most time in
  ! couplet, or the least in the computation, counts.
  subroutine report()
    type(couplet_statistics) :: counts
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
    real(real64) :: most(2)
    integer(int64) :: bytes
    integer :: rank, ranks, length, unit
    call series%statistics(counts)
    most = [coupling - counts%held_ns * 1e-9_real64, counts%held_ns * 1e-9_real64]
    bytes = counts%published * s%columns * s%rows * (storage_size(eta) / 8)
    call MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
    call MPI_Allreduce(MPI_IN_PLACE, computing, 1, MPI_DOUBLE_PRECISION, MPI_MIN, MPI_COMM_WORLD)
    call MPI_Allreduce(MPI_IN_PLACE, bytes, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Allreduce(MPI_IN_PLACE, sums, run%steps, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    if (rank > 0) return
    open (newunit=unit, file=trim(run%output) // 'checksums_ocean.bin', access='stream', form='unformatted', &
        status='replace')
    write (unit) modulo(sums, checksum_modulus)
    close (unit)
    call MPI_Get_library_version(version, length)
    open (newunit=unit, file=trim(run%output) // 'ocean.json', status='replace')
    write (unit, '(3a)') '{"name": "ocean", "mpi": "', first_line(version(:length)), '",'
    write (unit, '(3(a, i0), a)') ' "ranks": ', ranks, ', "steps": ', counts%published, ', "bytes": ', bytes, ','
    write (unit, '(3(a, es13.6), a)') ' "seconds_couplet": ', most(1), ', "seconds_held": ', most(2), &
        ', "seconds_computation": ', computing, '}'
    close (unit)
  end subroutine report

  pure function first_line(text)
    character(len=*), intent(in) :: text
    character(len=:), allocatable :: first_line
    integer :: length
    length = scan(text, char(9) // char(10) // char(0) // '"\') - 1
    if (length < 0) length = len(text)
    first_line = text(:length)
  end function first_line

end program ocean
