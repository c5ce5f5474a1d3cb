! The second and the third program: unsteady heat conduction in a cube with a source in its middle. The second one keeps
! its top face at 0; the third one gets the temperatures of its top face from the bottom face of the second one.
!   conductor s2        conductor s3        the data are in s2.dat, the listing is s2.out
program conductor
  use conduction
  use coupling
  use listing
  use slab
  use mpi
  implicit none
  type(planes) :: it
  character(len=2) :: name
  integer :: cells, steps, number, comm, step, iterations, solutions, total, ierr
  real(dp) :: drive(2), before, began
  real(dp) :: spent(4)  ! seconds: taking, which includes waiting; computing; writing the listing; giving
  real(dp), allocatable :: u(:, :, :), top(:, :), cut(:, :)
  namelist /data/ cells, steps
  call get_command_argument(1, name)
  read (name(2:2), *) number
  open (10, file=name//".dat", status="old", action="read")
  read (10, nml=data)
  close (10)
  call begin_coupling(number, comm)
  call share_planes(comm, cells, 1.0_dp, it)
  allocate (u(0:cells, 0:cells, it%first - 1:it%last + 1), top(0:cells, 0:cells), source=0.0_dp)
  if (it%rank == 0) call begin_listing(name//".out")
  before = 0
  total = 0
  spent = 0
  do step = 1, steps
    began = MPI_Wtime()
    if (it%rank == 0) call take_source(step, drive)
    call MPI_Bcast(drive, 2, real_type, 0, comm, ierr)
    if (number == 3) then
      if (it%rank == 0) call take_face(step, top)
      call MPI_Bcast(top, size(top), real_type, 0, comm, ierr)
    end if
    call clock(1)
    call advance(it, drive(1) - before, drive(2), top, u, iterations, solutions)
    before = drive(1)
    total = total + iterations
    call clock(2)
    if (it%rank == 0) call write_listing(drive, u(:, :, 0))
    call clock(3)
    if (it%rank == 0 .and. number == 2) call give_face(u(:, :, 0))
    call clock(4)
  end do
  allocate (cut(0:cells, 0:cells))
  call gather_cut(it, u, cut)
  if (it%rank == 0) call report()
  call end_coupling()

contains

  subroutine clock(part)
    integer, intent(in) :: part
    real(dp) :: now
    now = MPI_Wtime()
    spent(part) = spent(part) + now - began
    began = now
  end subroutine

  ! The cut through the middle for the picture, and the times, which differ from run to run.
  subroutine report()
    open (10, file=name//".cut", status="replace", action="write")
    write (10, "(es25.16e3)") cut
    close (10)
    open (10, file=name//".times", status="replace", action="write")
    write (10, "(i0, 4(1x, f0.6))") total, spent
    close (10)
  end subroutine
end program
