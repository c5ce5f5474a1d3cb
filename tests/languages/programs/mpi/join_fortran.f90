! Joins with an integer communicator, or with one of mpi_f08; see test_mpi.py. Usage: join_fortran integer|f08|abort
program join_fortran
  use mpi_f08
  use couplet_mpi
  implicit none
  type(couplet_universe) :: universe
  type(couplet_series) :: series
  character(len=8) :: how
  integer :: rank, own, ranks, ierr

  call get_command_argument(1, how)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  if (how == "integer") then
    call couplet_join("team", MPI_COMM_WORLD%mpi_val, universe)
  else
    call couplet_join("team", MPI_COMM_WORLD, universe, ierr=ierr)
    if (ierr /= couplet_ok) error stop "join"
  end if
  call universe%program(rank=own, size=ranks)
  if (own /= rank .or. ranks /= 2) error stop "rank or size"
  if (index(couplet_mpi_version(), "MPI") == 0) error stop "version"
  if (how == "abort") then
    ! One rank makes a mistake without asking for ierr. The whole job must end, although the other rank waits for ever.
    if (rank == 1) call universe%open_series("never", series, timeout=0.1d0, local=.true.)
    call MPI_Barrier(MPI_COMM_WORLD)
    print "(a)", "went on"
  end if
  call universe%leave()
  call MPI_Finalize()
  if (rank == 0) print "(2a)", "joined: ", trim(how)
end program
