! Provokes errors in Fortran and prints "case<TAB>code<TAB>sentence"; see test_errors.py.
! Usage: errors_fortran provoke WRONG_SECRET | errors_fortran join PROGRAM... | errors_fortran meet CASE |
! errors_fortran stop
module errors
  use, intrinsic :: iso_c_binding, only: c_int, c_int32_t, c_long, c_ptr, c_funptr, c_null_ptr, c_funloc, c_associated
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
    integer(c_int) function c_getrlimit(what, limits) bind(c, name="getrlimit")
      import :: c_int, c_long
      integer(c_int), value :: what
      integer(c_long), intent(out) :: limits(2)
    end function
    integer(c_int) function c_setrlimit(what, limits) bind(c, name="setrlimit")
      import :: c_int, c_long
      integer(c_int), value :: what
      integer(c_long), intent(in) :: limits(2)
    end function
    integer(c_int) function c_getpagesize() bind(c, name="getpagesize")
      import :: c_int
    end function
    integer(c_int) function c_pthread_create(thread, attributes, start, argument) bind(c, name="pthread_create")
      import :: c_int, c_long, c_ptr, c_funptr
      integer(c_long), intent(out) :: thread
      type(c_ptr), value :: attributes, argument
      type(c_funptr), value :: start
    end function
    subroutine c_set_interrupt_check(check, context) bind(c, name="couplet_set_interrupt_check")
      import :: c_ptr, c_funptr
      type(c_funptr), value :: check
      type(c_ptr), value :: context
    end subroutine
    integer(c_int) function c_pthread_join(thread, answer) bind(c, name="pthread_join")
      import :: c_int, c_long, c_ptr
      integer(c_long), value :: thread
      type(c_ptr), value :: answer
    end function
    subroutine c_exit(status) bind(c, name="_exit")
      import :: c_int
      integer(c_int), value :: status
    end subroutine
  end interface
  integer(c_int), parameter :: address_space = 9  ! RLIMIT_AS of Linux
  type(couplet_universe) :: universe
  type(couplet_request) :: pending
  integer(c_int32_t), volatile :: is_waiting = 0, is_enough = 0

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
    integer :: ierr, attempt
    integer, parameter :: extents(2) = [3, 4]
    integer(int64), parameter :: enormous(2) = [1000000_int64, 1000000000_int64]
    type(couplet_series) :: writer, reader, other
    type(couplet_series_batch) :: batch
    real(real64) :: eta(3, 4)
    eta = 0
    call universe%create_series("eta", extents, writer, slots=2, wait_timeout=0.0_real64)
    call universe%create_series("eta", extents, other, slots=2, ierr=ierr)
    call show("exists", ierr)
    call universe%create_series("ocean", enormous, other, slots=2, ierr=ierr)
    call show("no_space", ierr)
    call writer%publish(ierr)
    call show("state", ierr)
    call universe%open_series("eta", other, type=couplet_int32, ierr=ierr)
    call show("type", ierr)
    call writer%put(real(eta, real32), 10, ierr=ierr)
    call show("type", ierr)
    call universe%open_series("eta", other, box=couplet_box([1, 1], [3, 5]), ierr=ierr)
    call show("shape", ierr)
    call writer%put(eta(:2, :), 10, ierr=ierr)
    call show("shape", ierr)
    call universe%open_series("eta", other, box=couplet_box([1, 1], [3]), ierr=ierr)
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
    call writer%put(eta, 10, ierr=ierr)
    call show("step", ierr)
    call writer%put(eta, 20)
    call writer%put(eta, 30, ierr=ierr)
    call show("full", ierr)
    call writer%close()
    call reader%read(batch, timeout=0.0_real64)
    if (batch%count /= 2) error stop "the steps that were put are not there"
    call reader%read(batch, timeout=0.0_real64, ierr=ierr)
    call show("end", ierr)
    call universe%create_series("eta", extents, writer, slots=2)
    do attempt = 1, 100  ! each look for the new series lasts for at most 0.2 s
      call reader%read(batch, timeout=20.0_real64, ierr=ierr)
      if (ierr /= couplet_end) exit
    end do
    call show("restarted", ierr)
    call reader%close()
    call writer%close()
  end subroutine

  subroutine provoke_eviction()
    integer :: ierr, step
    type(couplet_series) :: writer, reader
    type(couplet_series_batch) :: batch
    real(real64) :: eta(3, 4)
    eta = 0
    call universe%create_series("tides", [3, 4], writer, box=couplet_box([1, 1], [3, 4]), slots=2, &
      evict_after_held=0.05_real64)
    call universe%open_series("tides", reader)
    do step = 1, 3
      call writer%put(eta, step)
    end do
    call reader%read(batch, timeout=0.0_real64, ierr=ierr)
    call show("evicted", ierr)
    call reader%close()
    call writer%close()
  end subroutine

  ! Limits the memory to what the process has now, and 16 MiB.
  subroutine provoke_memory()
    integer :: ierr, unit
    integer(c_int) :: done
    integer(c_long) :: before(2), pages
    type(couplet_series) :: writer
    open (newunit=unit, file="/proc/self/statm", action="read")
    read (unit, *) pages
    close (unit)
    done = c_getrlimit(address_space, before)
    done = c_setrlimit(address_space, [pages * c_getpagesize() + 16_c_long * 1024 * 1024, before(2)])
    call universe%create_series("ocean", [1024, 2048], writer, slots=2, ierr=ierr)
    done = c_setrlimit(address_space, before)
    call show("memory", ierr)
  end subroutine

  function tell(context) bind(c) result(answer)
    type(c_ptr), value :: context
    integer(c_int32_t) :: answer
    is_waiting = merge(2, 1, c_associated(context))
    answer = is_enough
  end function

  function receive_what_never_comes(argument) bind(c) result(nothing)
    type(c_ptr), value :: argument
    type(c_ptr) :: nothing
    integer :: ierr
    nothing = argument
    call c_set_interrupt_check(c_funloc(tell), argument)
    call pending%wait(ierr=ierr)
  end function

  subroutine provoke_thread()
    integer :: ierr
    integer(c_int) :: done
    integer(c_long) :: thread
    type(couplet_group) :: group
    real(real64), target, save :: never(1)
    call universe%group(group)
    call group%irecv(never, 0, 99, pending)
    done = c_pthread_create(thread, c_null_ptr, c_funloc(receive_what_never_comes), c_null_ptr)
    do while (is_waiting == 0)
    end do
    call universe%progress(ierr)
    call show("thread", ierr)
    is_enough = 1
    done = c_pthread_join(thread, c_null_ptr)
  end subroutine

  ! Exchanges messages with a program that is lost, or that cannot be reached.
  subroutine meet(name)
    character(len=*), intent(in) :: name
    integer :: ierr
    type(couplet_group) :: group
    real(real64) :: word(1)
    word = 1
    call couplet_join("solo", universe)
    call universe%group(group)
    call group%send(word, 1, 1, ierr)
    if (ierr == couplet_ok) call group%recv(word, 1, 1, ierr=ierr)
    call show(name, ierr)
    call universe%leave()
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
  if (mode == "join") then
    do i = 2, command_argument_count()
      call get_command_argument(i, argument)
      call couplet_join(trim(argument), universe, ierr=ierr)
      call show(trim(argument), ierr)
    end do
    stop
  else if (mode == "meet") then
    call meet(trim(argument))
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
  call provoke_eviction()
  call provoke_memory()
  call provoke_message()
  call provoke_thread()
  call provoke_fork()
  call universe%leave()
end program
