! The solver alone, without coupling: the program that the tests of the solver run.
! At the end, each rank writes its rows of depth, u and v to OUTPUT.RANK (real64, faces of the edge included).
program solve
  use mpi_f08
  use scenario, only: settings, set_up
  use shallow_water, only: sea, advance
  implicit none
  type(settings) :: run
  type(sea) :: s
  character(len=256) :: file
  integer :: step, rank, unit

  call MPI_Init()
  call get_command_argument(1, file)
  call set_up(trim(file), MPI_COMM_WORLD, run, s)
  do step = 1, run%steps
    call advance(s, run%interval)
  end do
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  write (file, '(a, ".", i0)') trim(run%output), rank
  open (newunit=unit, file=trim(file), access='stream', form='unformatted', status='replace')
  write (unit) s%depth(1:s%columns, 1:s%rows), s%u(0:s%columns, 1:s%rows), s%v(1:s%columns, 0:s%rows)
  close (unit)
  call MPI_Finalize()
end program solve
