! Tasks: requests with parameters and a payload, done by groups of worker ranks (docs/guide/tasks.md). It is built on
! couplet_binding and couplet_errors; couplet_universes opens tasks. Ranks and ids are 0-based, as in C.
! Invariant: the payload that next() gives belongs to the library until the task is completed or dispatched.
! Tests: tests/languages.
module couplet_tasks_module
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use couplet_binding_module
  use couplet_errors_module
  implicit none
  private
  public :: couplet_tasks, couplet_task, couplet_work, couplet_task_waitany

  ! One task, as its requester sees it.
  type :: couplet_task
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: wait => task_wait
    procedure :: test => task_test
    procedure :: is_pending => task_is_pending
  end type

  ! A task that a worker or a coupler has taken.
  type :: couplet_work
    integer :: status = couplet_not_yet           ! couplet_ok, couplet_not_yet or couplet_end
    integer(int64) :: id = -1                     ! the coupler's number of the task
    integer :: source = -1                        ! universe rank of the requester
    integer :: worker = -1                        ! the worker id that the task is for
    integer(int64), allocatable :: parameters(:)
    integer :: type = couplet_byte                ! type of the payload's elements
    integer(int64) :: payload_count = 0
    type(c_ptr), private :: address = c_null_ptr
  contains
    ! call work%payload(pointer [, ierr]): the elements of the payload, as pointer(:)
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
    ! call tasks%dispatch(work, worker [, ierr]): unchanged; or (work, worker, parameters, payload [, ierr])
    generic :: dispatch => dispatch_same
    ! call tasks%dispatch_parameters(work, worker, parameters [, ierr]): with these parameters and no payload
    procedure :: dispatch_parameters => dispatch_bare
#define TEMPLATE "tasks_bindings.inc"
#include "for_each_kind.inc"
  end type

contains

#define TEMPLATE "tasks_of_kind.inc"
#include "for_each_kind.inc"
#define TEMPLATE "work_of_kind.inc"
#include "for_each_kind.inc"

  ! Submits a task to the workers with the id `worker`, or to couplet_tasks_any_worker. Blocking: until a coupler has
  ! taken it, at most `timeout` seconds; absent: for ever. ierr is couplet_full if the coupler's queue is full and
  ! stays full.
  ! Without `task`, close gives the first error.
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
    call conclude(c_tasks_submit(tasks%handle, int(worker, c_int32_t), parameters, size(parameters, kind=c_int32_t), &
                                payload, count, code, timeout_of(timeout), handle), ierr)
  end subroutine

  ! Waits until the task is done; ierr says how it ended. timeout is in seconds; absent or negative: for ever. After
  ! couplet_error_timeout the task is still pending.
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

  ! Waits until one task is done; ierr says how it ended. index is its 1-based place in the array, or 0 if none is
  ! pending.
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

  ! Takes the next task (worker; collective over its group) or the next request (coupler). parameters, count and type
  ! say what a worker expects; absent: anything. A task that is not as expected is handed back to its requester, with
  ! the error that this call gives. Answers are in work%status and ierr, and stop nothing: couplet_end (all requesters
  ! have closed) and couplet_not_yet (none within `timeout` seconds). If requesters come again after couplet_end, a
  ! later call of a worker gets their tasks; until then it gives couplet_end at once.
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
    status = c_tasks_next(tasks%handle, expected, timeout_of(timeout), info)
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

  ! Completes a task. Worker (collective over its group): the task in hand is done; outcome is couplet_ok (default), or
  ! an error code with its sentence `text`, which the requester gets. Coupler: `work` ends without a worker.
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
    call conclude(c_tasks_complete(tasks%handle, work%id, how, to_c(letters, text)), ierr)
  end subroutine

  ! Dispatches the task unchanged.
  subroutine dispatch_same(tasks, work, worker, ierr)
    class(couplet_tasks), intent(in) :: tasks
    type(couplet_work), intent(in) :: work
    integer, intent(in) :: worker
    integer, intent(out), optional :: ierr
    call dispatch_content(tasks, work, worker, work%parameters, work%address, work%payload_count, &
                          int(work%type, c_int32_t), ierr)
  end subroutine

  ! Dispatches the task with these parameters and no payload.
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
    call conclude(c_tasks_dispatch(tasks%handle, work%id, int(worker, c_int32_t), parameters, &
                                  size(parameters, kind=c_int32_t), payload, count, code), ierr)
  end subroutine

  ! Runs the built-in coupler, which dispatches every request as it asks for. ierr is couplet_ok when all requesters
  ! have closed, and couplet_not_yet if the timeout has passed before that. couplet_error_peer_lost: everything is
  ! done, and the last requesters were lost before they had closed.
  subroutine tasks_run(tasks, timeout, ierr)
    class(couplet_tasks), intent(in) :: tasks
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    call conclude(c_tasks_run(tasks%handle, timeout_of(timeout)), ierr)
  end subroutine

  ! Closes this process's part. For a requester, ierr is the error if a coupler cannot be told of it, else the first
  ! error of a task that was submitted without a handle.
  subroutine tasks_close(tasks, ierr)
    class(couplet_tasks), intent(inout) :: tasks
    integer, intent(out), optional :: ierr
    integer(c_int32_t) :: status
    status = c_tasks_close(tasks%handle)
    tasks%handle = c_null_ptr
    call conclude(status, ierr)
  end subroutine

  real(c_double) function timeout_of(timeout) result(timeout_s)
    real(real64), intent(in), optional :: timeout
    timeout_s = -1
    if (present(timeout)) timeout_s = timeout
  end function
end module
