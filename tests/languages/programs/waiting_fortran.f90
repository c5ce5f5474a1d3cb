! The waiting of tests/languages in Fortran; see test_waiting.py. Usage: waiting_fortran source|waiter|loop
module waiting
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64, error_unit
  use couplet
  implicit none

  integer, parameter :: steps = 20, numbers_tag = 3, last_tag = 4
  type(couplet_universe) :: universe
  type(couplet_group) :: group

  type, bind(c) :: pollfd
    integer(c_int) :: fd
    integer(c_short) :: events = 1, revents = 0
  end type

  interface
    function poll(descriptors, count, timeout_ms) bind(c, name="poll") result(ready)
      import :: c_int, c_long, pollfd
      type(pollfd), intent(inout) :: descriptors(*)
      integer(c_long), value :: count
      integer(c_int), value :: timeout_ms
      integer(c_int) :: ready
    end function
  end interface

contains

  subroutine require(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    write (error_unit, "(4a)") "not true: ", what, ": ", couplet_error_message()
    error stop 1
  end subroutine

  subroutine refused(ierr, words)
    integer, intent(in) :: ierr
    character(len=*), intent(in) :: words
    call require(ierr == couplet_error_argument .and. index(couplet_error_message(), words) > 0, "refused: "//words)
  end subroutine

  subroutine create(name, series)
    character(len=*), intent(in) :: name
    type(couplet_series), intent(out) :: series
    call universe%create_series(name, [4], series, box=couplet_box(1, 4), type=couplet_int32, slots=8, &
                                required_readers="waiter")
  end subroutine

  subroutine be_source()
    type(couplet_series) :: fast, slow
    integer(int32) :: values(4)
    integer(int64) :: number(1)
    integer :: step, place, ierr
    call create("fast", fast)
    call create("slow", slow)
    call couplet_wait_any([couplet_awaited(fast)], place, timeout=0.0_real64, ierr=ierr)
    call refused(ierr, "series 'fast' is written by this rank")
    do step = 1, steps
      values = step
      number = step
      call fast%put(values, step)
      if (mod(step, 4) == 0) call slow%put(values, step)
      if (mod(step, 2) == 0) call group%send(number, 1, numbers_tag)
    end do
    number = 99
    call group%send(number, 1, last_tag)
    call fast%close()
    call slow%close()
  end subroutine

  integer function look(awaited, descriptor, message) result(place)
    type(couplet_awaited), intent(in) :: awaited(:)
    integer, intent(in) :: descriptor
    type(couplet_message), intent(out) :: message
    type(pollfd) :: polled(1)
    integer :: ierr
    if (descriptor < 0) then
      call couplet_wait_any(awaited, place, message, 60.0_real64)
      return
    end if
    do
      call couplet_arm_any(awaited, place, message, ierr)
      if (ierr /= couplet_not_yet) exit
      polled(1)%fd = descriptor
      call require(poll(polled, 1_c_long, 60000_c_int) == 1, "the descriptor can be read")
    end do
    call require(ierr == couplet_ok, "arm_any")
  end function

  subroutine make_mistakes(fast)
    type(couplet_series), intent(in) :: fast
    type(couplet_awaited) :: none(0)
    integer :: place, ierr
    call couplet_wait_any(none, place, ierr=ierr)
    call refused(ierr, "at least one thing")
    call couplet_wait_any([couplet_awaited(fast), couplet_awaited(fast, at_least=2)], place, ierr=ierr)
    call refused(ierr, "entry 1 of 2 is the same as entry 0")
    call couplet_wait_any([couplet_awaited(group, source=7)], place, ierr=ierr)
    call refused(ierr, "source 7 is outside group")
    call couplet_wait_any([couplet_awaited(couplet_request())], place, ierr=ierr)
    call refused(ierr, "0 handles are set")
  end subroutine

  subroutine be_waiter(loop)
    logical, intent(in) :: loop
    type(couplet_series) :: series(2)
    type(couplet_awaited) :: awaited(4)
    type(couplet_series_batch) :: batch
    type(couplet_message) :: message
    type(couplet_request) :: request
    integer(int64), target :: last(1)
    integer(int64) :: number(1)
    logical :: open(2), done
    integer :: counts(2), numbers, descriptor, what(4), count, i, place
    call universe%open_series("fast", series(1))
    call universe%open_series("slow", series(2))
    call make_mistakes(series(1))
    call group%irecv(last, 0, last_tag, request)
    descriptor = -1
    if (loop) call universe%descriptor(descriptor)
    open = .true.
    counts = 0
    numbers = 0
    do while (any(open) .or. numbers < steps/2 .or. request%is_pending())
      count = 0
      do i = 1, 2
        if (open(i)) call add(couplet_awaited(series(i)), i)
      end do
      if (numbers < steps/2) call add(couplet_awaited(group, tag=numbers_tag), 3)
      if (request%is_pending()) call add(couplet_awaited(request), 4)
      place = what(look(awaited(1:count), descriptor, message))
      select case (place)
      case (1, 2)
        call series(place)%read(batch, up_to=3, timeout=0.0_real64)
        call require(batch%status == couplet_ok .or. batch%status == couplet_end, "a ready series can be read")
        counts(place) = counts(place) + int(batch%count)
        open(place) = batch%status /= couplet_end
        if (.not. open(place)) call series(place)%close()
      case (3)
        call require(message%source == 0 .and. message%bytes == 8, "the message is described")
        call group%recv(number, message%source, message%tag)
        numbers = numbers + 1
        call require(number(1) == 2*numbers, "numbers come in order")
      case (4)
        call request%test(done)
        call require(done .and. last(1) == 99, "the request is complete")
      end select
    end do
    print "(a,i0,a,i0,a,i0,a)", "fortran: ", counts(1), " fast, ", counts(2), " slow, ", numbers, " numbers"

  contains

    subroutine add(one, which)
      type(couplet_awaited), intent(in) :: one
      integer, intent(in) :: which
      count = count + 1
      awaited(count) = one
      what(count) = which
    end subroutine
  end subroutine
end module

program waiting_fortran
  use waiting
  implicit none
  character(len=16) :: role
  call get_command_argument(1, role)
  if (role == "source") then
    call couplet_join("source", universe)
  else
    call couplet_join("waiter", universe)
  end if
  call universe%group(group)
  if (role == "source") then
    call be_source()
  else
    call be_waiter(role == "loop")
  end if
  call universe%leave()
end program
