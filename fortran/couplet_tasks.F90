! Tasks: requests with parameters and a payload, that groups of worker ranks do (docs/guide/tasks.md). Below:
! couplet_binding, couplet_errors; above: couplet_universes (which opens tasks). Ranks and ids are 0-based, as in C.
! Invariants: the payload of what next() gives is the library's until the task is completed or dispatched.
! Tests: tests/languages.
module couplet_tasks_module
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use couplet_binding
  use couplet_errors
  implicit none
  private
  public :: couplet_tasks, couplet_task, couplet_work, couplet_task_waitany

  ! One request, for its requester.
  type :: couplet_task
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: wait => task_wait
    procedure :: test => task_test
    procedure :: is_pending => task_is_pending
  end type

  ! A task in the hands of a worker or coupler.
  type :: couplet_work
    integer :: status = couplet_not_yet           ! couplet_ok, couplet_not_yet, couplet_end
    integer(int64) :: id = -1                     ! the coupler's number of it
    integer :: source = -1                        ! universe rank of its requester
    integer :: worker = -1                        ! worker id that it is for
    integer(int64), allocatable :: parameters(:)
    integer :: type = couplet_byte                ! of the payload's elements
    integer(int64) :: payload_count = 0
    type(c_ptr), private :: address = c_null_ptr
  contains
    ! call work%payload(pointer [, ierr]): the payload's elements, pointer(:)
#define TEMPLATE "work_bindings.inc"
#include "for_each_kind.inc"
  end type

  ! One process's part in tasks: requester, worker or coupler.
  type :: couplet_tasks
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: next => tasks_next
    procedure :: complete => tasks_complete
    procedure :: run => tasks_run
    procedure :: close => tasks_close
    procedure, private :: submit_bare, dispatch_same
    ! call tasks%submit(worker, parameters [, payload] [, task, timeout, ierr])
    generic :: submit => submit_bare
    ! call tasks%dispatch(work, worker [, ierr]): with its own content; or (work, worker, parameters, payload [, ierr])
    generic :: dispatch => dispatch_same
    ! call tasks%dispatch_parameters(work, worker, parameters [, ierr]): these, and no payload
    procedure :: dispatch_parameters => dispatch_bare
#define TEMPLATE "tasks_bindings.inc"
#include "for_each_kind.inc"
  end type

contains

#define TEMPLATE "tasks_of_kind.inc"
#include "for_each_kind.inc"
#define TEMPLATE "work_of_kind.inc"
#include "for_each_kind.inc"

  ! Returns when a coupler has taken the request. worker: an id, or couplet_any_worker. Without `task`, close tells the first
  ! error. ierr is couplet_full where the coupler's queue is, and stays so within the timeout (seconds; absent: for ever).
  subroutine submit_bare(tasks, worker, parameters, task, timeout, ierr)
    class(couplet_tasks), intent(in) :: tasks
    integer, intent(in) :: worker
    integer(int64), intent(in) :: parameters(:)
    type(couplet_task), intent(inout), target, optional :: task
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    call submit_content(tasks, worker, parameters, c_null_ptr, 0_int64, couplet_byte, task, timeout, ierr)
  end subroutine

  subroutine submit_content(tasks, worker, parameters, payload, count, code, task, timeout, ierr)
    class(couplet_tasks), intent(in) :: tasks
    integer, intent(in) :: worker
    integer(int64), intent(in) :: parameters(:)
    type(c_ptr), intent(in) :: payload
    integer(int64), intent(in) :: count
    integer(c_int32_t), intent(in) :: code
    type(couplet_task), intent(inout), target, optional :: task
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    type(c_ptr) :: handle
    handle = c_null_ptr
    if (present(task)) handle = c_loc(task%handle)
    call conclude(c_task_submit(tasks%handle, int(worker, c_int32_t), parameters, size(parameters, kind=c_int32_t), payload, &
                                count, code, timeout_of(timeout), handle), ierr)
  end subroutine

  ! timeout in seconds; absent or negative: for ever. ierr: how the task ended; couplet_error_timeout leaves it pending.
  subroutine task_wait(task, timeout, ierr)
    class(couplet_task), intent(inout) :: task
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    call conclude(c_task_wait(task%handle, timeout_of(timeout)), ierr)
  end subroutine

  subroutine task_test(task, done, ierr)
    class(couplet_task), intent(inout) :: task
    logical, intent(out) :: done
    integer, intent(out), optional :: ierr
    integer(c_int32_t) :: flag, status
    flag = 0
    status = c_task_test(task%handle, flag)
    done = flag /= 0
    call conclude(status, ierr)
  end subroutine

  logical function task_is_pending(task) result(pending)
    class(couplet_task), intent(in) :: task
    pending = c_associated(task%handle)
  end function

  ! index: 1-based, of a task that is done (ierr is how it ended); 0 where none is pending.
  subroutine couplet_task_waitany(tasks, index, timeout, ierr)
    type(couplet_task), intent(inout) :: tasks(:)
    integer, intent(out) :: index
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    type(c_ptr) :: handles(size(tasks))
    integer(c_int32_t) :: status, which
    integer :: i
    handles = tasks%handle
    which = -1
    status = c_task_waitany(int(size(tasks), c_int32_t), handles, timeout_of(timeout), which)
    do i = 1, size(tasks)
      tasks(i)%handle = handles(i)
    end do
    index = which + 1
    call conclude(status, ierr)
  end subroutine

  ! Worker: collective over its group, the next task; parameters, count, type: what is expected (absent: anything). A task
  ! that is not so goes back to its requester with the error that this call gives. Coupler: the next request. Answers are in
  ! work%status and ierr, and stop nothing: couplet_end, all requesters have closed; couplet_not_yet, none within the timeout.
  subroutine tasks_next(tasks, work, parameters, count, type, timeout, ierr)
    class(couplet_tasks), intent(in) :: tasks
    type(couplet_work), intent(out) :: work
    integer, intent(in), optional :: parameters
    integer(int64), intent(in), optional :: count
    integer(c_int32_t), intent(in), optional :: type
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    type(c_task_expectation) :: expected
    type(c_task_info) :: info
    integer(int64), pointer :: numbers(:)
    integer(c_int32_t) :: status
    call c_task_expectation_init(expected)
    if (present(parameters)) expected%parameter_count = parameters
    if (present(count)) expected%payload_count = count
    if (present(type)) expected%type = type
    info%struct_bytes = c_sizeof(info)
    status = c_task_next(tasks%handle, expected, timeout_of(timeout), info)
    work%status = int(status)
    allocate (work%parameters(0))
    if (status == couplet_ok) then
      work%id = info%id
      work%source = info%source
      work%worker = info%worker
      work%type = info%type
      work%payload_count = info%payload_count
      work%address = info%payload
      call c_f_pointer(info%parameters, numbers, [info%parameter_count])
      work%parameters = numbers
    end if
    call conclude_answer(status, ierr)
  end subroutine

  ! Worker, collective over its group: the task in hand is done; outcome: couplet_ok (default) or an error code, with its
  ! sentence, for the requester. Coupler: `work` ends without a worker.
  subroutine tasks_complete(tasks, work, outcome, text, ierr)
    class(couplet_tasks), intent(in) :: tasks
    type(couplet_work), intent(in) :: work
    integer, intent(in), optional :: outcome
    character(len=*), intent(in), optional :: text
    integer, intent(out), optional :: ierr
    character(kind=c_char), allocatable, target :: letters(:)
    integer(c_int32_t) :: how
    how = couplet_ok
    if (present(outcome)) how = int(outcome, c_int32_t)
    call conclude(c_task_complete(tasks%handle, work%id, how, to_c(letters, text)), ierr)
  end subroutine

  ! With its own content.
  subroutine dispatch_same(tasks, work, worker, ierr)
    class(couplet_tasks), intent(in) :: tasks
    type(couplet_work), intent(in) :: work
    integer, intent(in) :: worker
    integer, intent(out), optional :: ierr
    call dispatch_content(tasks, work, worker, work%parameters, work%address, work%payload_count, &
                          int(work%type, c_int32_t), ierr)
  end subroutine

  ! With these parameters and no payload.
  subroutine dispatch_bare(tasks, work, worker, parameters, ierr)
    class(couplet_tasks), intent(in) :: tasks
    type(couplet_work), intent(in) :: work
    integer, intent(in) :: worker
    integer(int64), intent(in) :: parameters(:)
    integer, intent(out), optional :: ierr
    call dispatch_content(tasks, work, worker, parameters, c_null_ptr, 0_int64, couplet_byte, ierr)
  end subroutine

  subroutine dispatch_content(tasks, work, worker, parameters, payload, count, code, ierr)
    class(couplet_tasks), intent(in) :: tasks
    type(couplet_work), intent(in) :: work
    integer, intent(in) :: worker
    integer(int64), intent(in) :: parameters(:)
    type(c_ptr), intent(in) :: payload
    integer(int64), intent(in) :: count
    integer(c_int32_t), intent(in) :: code
    integer, intent(out), optional :: ierr
    call conclude(c_task_dispatch(tasks%handle, work%id, int(worker, c_int32_t), parameters, size(parameters, kind=c_int32_t), &
                                  payload, count, code), ierr)
  end subroutine

  ! The built-in coupler: dispatches every request as it asks for, until all requesters have closed (couplet_ok), or the
  ! timeout (couplet_not_yet).
  subroutine tasks_run(tasks, timeout, ierr)
    class(couplet_tasks), intent(in) :: tasks
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    call conclude(c_task_run(tasks%handle, timeout_of(timeout)), ierr)
  end subroutine

  ! ierr: the first error of a task that was submitted without a handle.
  subroutine tasks_close(tasks, ierr)
    class(couplet_tasks), intent(inout) :: tasks
    integer, intent(out), optional :: ierr
    integer(c_int32_t) :: status
    status = c_task_close(tasks%handle)
    tasks%handle = c_null_ptr
    call conclude(status, ierr)
  end subroutine

  real(c_double) function timeout_of(timeout) result(timeout_s)
    real(real64), intent(in), optional :: timeout
    timeout_s = -1
    if (present(timeout)) timeout_s = timeout
  end function
end module
