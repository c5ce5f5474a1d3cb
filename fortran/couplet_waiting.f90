! Waiting for any of several series, messages, requests and tasks. It is built on the modules of those; module couplet,
! which programs use, is above it. Places in arrays are 1-based.
!   type(couplet_awaited) :: awaited(3)
!   awaited(1) = couplet_awaited(eta)                        ! a series that is read [, at_least]
!   awaited(2) = couplet_awaited(everyone, source=2, tag=7)  ! a message
!   awaited(3) = couplet_awaited(request)                    ! a send, a receive or a task
! Tests: tests/languages.
module couplet_waiting_module
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use couplet_binding_module
  use couplet_errors_module
  use couplet_messages_module
  use couplet_series_module
  use couplet_tasks_module
  implicit none
  private
  public :: couplet_awaited, couplet_wait_any, couplet_arm_any

  type :: couplet_awaited
    private
    type(c_ptr) :: series = c_null_ptr
    type(c_ptr) :: group = c_null_ptr
    type(c_ptr) :: request = c_null_ptr
    type(c_ptr) :: task = c_null_ptr
    integer(int64) :: at_least = 0
    integer :: source = 0
    integer :: tag = 0
  end type

  interface couplet_awaited
    module procedure steps_of_series, message_of_group, end_of_request, end_of_task
  end interface

contains

  ! A read of the series would give at_least steps (default: 1), an answer or an error.
  function steps_of_series(series, at_least) result(awaited)
    type(couplet_series), intent(in) :: series
    integer, intent(in), optional :: at_least
    type(couplet_awaited) :: awaited
    awaited%series = series%handle
    if (present(at_least)) awaited%at_least = at_least
  end function

  ! A message from rank `source` of the group (default: any) with the tag `tag` (default: any) can be received.
  function message_of_group(group, source, tag) result(awaited)
    type(couplet_group), intent(in) :: group
    integer, intent(in), optional :: source, tag
    type(couplet_awaited) :: awaited
    awaited%group = group%handle
    awaited%source = couplet_any_source
    awaited%tag = couplet_any_tag
    if (present(source)) awaited%source = source
    if (present(tag)) awaited%tag = tag
  end function

  ! The send or receive is complete.
  function end_of_request(request) result(awaited)
    type(couplet_request), intent(in) :: request
    type(couplet_awaited) :: awaited
    awaited%request = request%handle
  end function

  ! The task is done.
  function end_of_task(task) result(awaited)
    type(couplet_task), intent(in) :: task
    type(couplet_awaited) :: awaited
    awaited%task = task%handle
  end function

  ! Waits until one of these things is ready; it takes nothing away. index is its place in the array, or 0 if the
  ! timeout has passed; ierr is then couplet_not_yet. timeout is in seconds; absent or negative: for ever. message says
  ! source, tag and size of a message that can be received; its count is in bytes.
  subroutine couplet_wait_any(awaited, index, message, timeout, ierr)
    type(couplet_awaited), intent(in) :: awaited(:)
    integer, intent(out) :: index
    type(couplet_message), intent(out), optional :: message
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    type(c_message) :: answer
    integer(c_int32_t) :: status, which
    answer = no_message()
    which = -1
    status = c_wait_any(to_c_awaited(awaited), int(size(awaited), c_int32_t), timeout_of(timeout), which, answer)
    index = which + 1
    if (status == couplet_ok) call fill_message(message, answer)
    call conclude_answer(status, ierr)
  end subroutine

  ! Looks as couplet_wait_any with a timeout of 0. If nothing is ready, index is 0, ierr is couplet_not_yet, and the
  ! descriptor of the universe (universe%descriptor) is armed: call it again when the descriptor can be read.
  subroutine couplet_arm_any(awaited, index, message, ierr)
    type(couplet_awaited), intent(in) :: awaited(:)
    integer, intent(out) :: index
    type(couplet_message), intent(out), optional :: message
    integer, intent(out), optional :: ierr
    type(c_message) :: answer
    integer(c_int32_t) :: status, which
    answer = no_message()
    which = -1
    status = c_arm_any(to_c_awaited(awaited), int(size(awaited), c_int32_t), which, answer)
    index = which + 1
    if (status == couplet_ok) call fill_message(message, answer)
    call conclude_answer(status, ierr)
  end subroutine

  function to_c_awaited(awaited) result(list)
    type(couplet_awaited), intent(in) :: awaited(:)
    type(c_awaited) :: list(size(awaited))
    integer :: i
    do i = 1, size(awaited)
      list(i)%series = awaited(i)%series
      list(i)%group = awaited(i)%group
      list(i)%request = awaited(i)%request
      list(i)%task = awaited(i)%task
      list(i)%at_least = awaited(i)%at_least
      list(i)%source = int(awaited(i)%source, c_int32_t)
      list(i)%tag = int(awaited(i)%tag, c_int32_t)
      list(i)%reserved = 0
    end do
  end function
end module
