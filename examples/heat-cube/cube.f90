! One cube that several ranks solve together, which may be those of one MPI job, or, after `couplet convert`, those of
! two programs.
!   cube WEIGHT        the data are in cube.dat, the listing is cube.out
program cube
  use conduction
  use slab
  use mpi
  implicit none
  type(planes) :: it
  integer :: cells, steps, step, iterations, solutions, ierr
  real(dp) :: Interval, Val, weight, time, warmest, began
  real(dp), allocatable :: u(:, :, :), top(:, :), cut(:, :)
  character(len=12) :: word
  namelist /data/ cells, steps, Interval, Val
  call MPI_Init(ierr)
  began = MPI_Wtime()
  call get_command_argument(1, word)
  read (word, *) weight
  open (10, file="cube.dat", status="old", action="read")
  read (10, nml=data)
  close (10)
  call share_planes(MPI_COMM_WORLD, cells, weight, it)
  allocate (u(0:cells, 0:cells, it%first - 1:it%last + 1), top(0:cells, 0:cells), source=0.0_dp)
  if (it%rank == 0) open (20, file="cube.out", status="replace", action="write")
  if (it%rank == 0) write (20, "(a, i0)") "# the last plane of the first rank is ", it%last
  do step = 1, steps
    time = step * Interval
    call advance(it, Interval, Val * sin(time * acos(-1.0_dp) / 180), top, u, iterations, solutions)
    warmest = largest_of_all(it, maxval(abs(u(:, :, it%first:it%last))))
    if (it%rank == 0) write (20, "(f10.3, 2i6, es25.16e3)") time, solutions, iterations, warmest
  end do
  allocate (cut(0:cells, 0:cells))
  call gather_cut(it, u, cut)
  if (it%rank == 0) then
    close (20)
    open (10, file="cube.cut", status="replace", action="write")
    write (10, "(es25.16e3)") cut
    close (10)
    open (10, file="cube.times", status="replace", action="write")
    write (10, "(f0.6)") MPI_Wtime() - began
    close (10)
  end if
  call MPI_Finalize(ierr)
end program
