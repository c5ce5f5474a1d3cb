! Provokes errors in Fortran and prints "case<TAB>code<TAB>sentence"; see test_errors.py.
! Usage: errors_fortran provoke WRONG_SECRET | errors_fortran mapping CODE... | errors_fortran stop
module errors
  use, intrinsic :: iso_c_binding, only: c_int, c_ptr, c_null_ptr
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64, error_unit, output_unit
  use couplet
  implicit none
  interface
    integer(c_int) function c_fork() bind(c, name="fork")
      import :: c_int
    end function
    integer(c_int) function c_waitpid(child, status, options) bind(c, name="waitpid")
      import :: c_int, c_ptr
      integer(c_int), value :: child, options
      type(c_ptr), value :: status
    end function
    subroutine c_exit(status) bind(c, name="_exit")
      import :: c_int
      integer(c_int), value :: status
    end subroutine
  end interface
  type(couplet_universe) :: universe

contains

  subroutine show(name, code)
    character(len=*), intent(in) :: name
    integer, intent(in) :: code
    if (code < 0) then
      write (output_unit, "(3a,i0,2a)") name, achar(9), "", code, achar(9), couplet_error_message()
    else
      write (output_unit, "(2a,i0,a)") name, achar(9), code, achar(9)
    end if
    flush (output_unit)
  end subroutine

  subroutine provoke_series()
    integer :: ierr
    integer, parameter :: extents(2) = [3, 4], whole(2, 2) = reshape([1, 3, 1, 4], [2, 2])
    integer(int64), parameter :: enormous(2) = [1000000_int64, 1000000000_int64]
    integer(int64) :: enormous_box(2, 2)
    type(couplet_series) :: writer, reader, other
    type(couplet_batch) :: batch
    real(real64) :: eta(3, 4)
    eta = 0
    enormous_box(1, :) = 1
    enormous_box(2, :) = enormous
    call universe%create_series("eta", extents, whole, writer, slots=2, wait_timeout=0.0_real64)
    call universe%create_series("eta", extents, whole, other, slots=2, ierr=ierr)
    call show("exists", ierr)
    call universe%create_series("ocean", enormous, enormous_box, other, slots=2, ierr=ierr)
    call show("no_space", ierr)
    call writer%publish(ierr)
    call show("state", ierr)
    call universe%open_series("eta", other, type=couplet_int32, ierr=ierr)
    call show("type", ierr)
    call writer%put(real(eta, real32), 10, ierr)
    call show("type", ierr)
    call universe%open_series("eta", reshape([1, 3, 1, 5], [2, 2]), other, ierr=ierr)
    call show("shape", ierr)
    call writer%put(eta(:2, :), 10, ierr)
    call show("shape", ierr)
    call universe%open_series("eta", reshape([1, 3, 1], [1, 3]), other, ierr=ierr)
    call show("shape", ierr)
    call universe%open_series("never", other, timeout=0.2_real64, ierr=ierr)
    call show("timeout", ierr)
    call universe%open_series("eta", reader)
    call reader%read(batch, at_least=5, up_to=2, timeout=0.0_real64, ierr=ierr)
    call show("argument", ierr)
    call reader%read(batch, at_least=3, up_to=3, timeout=0.0_real64, ierr=ierr)
    call show("limit", ierr)
    call reader%read(batch, timeout=0.0_real64)
    call show("not_yet", batch%status)
    call writer%put(eta, 10)
    call writer%put(eta, 10, ierr)
    call show("step", ierr)
    call writer%put(eta, 20)
    call writer%put(eta, 30, ierr)
    call show("full", ierr)
    call writer%close()
    call reader%read(batch, timeout=0.0_real64)
    if (batch%count /= 2) error stop "the steps that were put are not there"
    call reader%read(batch, timeout=0.0_real64, ierr=ierr)
    call show("end", ierr)
    call reader%close()
  end subroutine

  subroutine provoke_message()
    integer :: ierr
    type(couplet_group) :: group
    type(couplet_request) :: request
    real(real64), target :: data(12), room(5)
    data = 1
    call universe%group(group)
    call group%isend(data, 0, 7, request)
    call group%recv(room, 0, 7, ierr=ierr)
    call show("truncated", ierr)
    call request%wait(timeout=10.0_real64)
    call group%isend(data(1:12:2), 0, 7, request, ierr)
    call show("argument", ierr)
  end subroutine

  subroutine provoke_fork()
    integer :: rank, ierr
    integer(c_int) :: child
    child = c_fork()
    if (child == 0) then
      call universe%rank(rank, ierr=ierr)
      call show("forked", ierr)
      call c_exit(0_c_int)
    end if
    child = c_waitpid(child, c_null_ptr, 0_c_int)
  end subroutine
end module

program errors_fortran
  use, intrinsic :: iso_fortran_env, only: real64
  use couplet
  use errors
  implicit none
  character(len=200) :: mode, argument
  integer :: ierr, i

  call get_command_argument(1, mode)
  call get_command_argument(2, argument)
  if (mode == "mapping") then
    do i = 2, command_argument_count()
      call get_command_argument(i, argument)
      call couplet_join(trim(argument), universe, ierr=ierr)
      call show(trim(argument), ierr)
    end do
    stop
  else if (mode == "stop") then
    call couplet_join("solo", universe, hub="127.0.0.1:1", timeout=2.0_real64)
    print "(a)", "went on"
    stop
  end if
  call couplet_join("nobody", universe, timeout=2.0_real64, ierr=ierr)
  call show("not_found", ierr)
  call couplet_join("solo", universe, secret_file=trim(argument), timeout=2.0_real64, ierr=ierr)
  call show("authentication", ierr)
  call couplet_join("solo", universe, hub="127.0.0.1:1", timeout=2.0_real64, ierr=ierr)
  call show("hub_lost", ierr)
  call couplet_join("solo", universe, hub="nonsense", timeout=2.0_real64, ierr=ierr)
  call show("config", ierr)
  call couplet_join("solo", universe)
  call provoke_series()
  call provoke_message()
  call provoke_fork()
  call universe%leave()
end program
