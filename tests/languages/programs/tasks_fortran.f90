! Tasks and areas in Fortran; see test_tasks.py and tasks_c.c. Usage: tasks_fortran requester|coupler|worker
! The area is field(12,3) here, and (3,12) in C order.
module tasks_story
  use, intrinsic :: iso_fortran_env, only: int64, real64, error_unit
  use couplet
  implicit none

  integer, parameter :: requests = 12
  type(couplet_universe) :: universe

contains

  subroutine require(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    write (error_unit, "(4a)") "not true: ", what, ": ", couplet_error_message()
    error stop 1
  end subroutine

  subroutine request()
    real(real64), target :: field(12, 3)
    real(real64), pointer :: same(:, :) => null()
    type(couplet_area) :: area, other
    type(couplet_tasks) :: tasks, others
    type(couplet_task) :: handles(0:requests - 1)
    real(real64) :: payload(3)
    integer(int64) :: parameters(3)
    integer :: n, ierr, index
    field = reshape([(real(n, real64), n = 0, 35)], [12, 3])
    field(:, 3) = field(:, 3) - 6
    call universe%expose_area("field", field, area, stamped=.true.)
    call area%memory(same)
    call require(associated(same, field), "the area is the array")
    call universe%create_area("field", [12, 3], other, ierr=ierr)
    call require(ierr == couplet_error_exists, "exists")
    call universe%open_tasks("analysis", couplet_tasks_requester, tasks)
    call universe%open_tasks("other", couplet_tasks_requester, others, couplers="nobody", ierr=ierr)
    call require(ierr == couplet_error_not_found, "not found")
    do n = 0, requests - 1
      parameters = [n, 2*n, 0]
      payload = [n, n + 1, n + 2]
      call tasks%submit(40, parameters(:merge(3, 2, n == 11)), payload, handles(n), timeout=30.0_real64)
    end do
    do n = 1, requests
      call couplet_task_waitany(handles, index, 30.0_real64, ierr)
      call require(index > 0, "one is done")
      select case (index - 1)
      case (3)
        call require(ierr == couplet_error_unsupported .and. said("three is too much"), "three")
      case (5)
        call require(ierr == couplet_error_limit .and. said("five is refused"), "five")
      case (11)
        call require(ierr == couplet_error_argument .and. said("3 parameters"), "eleven")
      case default
        call require(ierr == couplet_ok, "the others")
      end select
      call require(.not. handles(index - 1)%is_pending(), "done")
    end do
    call area%begin(30.0_real64)
    do n = 0, requests - 1
      select case (n)
      case (3, 5, 9, 11)
        call require(field(n + 1, 1) == n, "untouched")
      case default
        call require(field(n + 1, 1) == n + 70, "what the workers have written")
      end select
    end do
    call area%end()
    call tasks%close()
    call area%close()
  end subroutine

  logical function said(words)
    character(len=*), intent(in) :: words
    said = index(couplet_error_message(), words) > 0
  end function

  subroutine couple()
    type(couplet_tasks) :: tasks
    type(couplet_work) :: work
    integer :: taken
    call universe%open_tasks("analysis", couplet_tasks_coupler, tasks, workers="worker")
    taken = 0
    do
      call tasks%next(work, timeout=30.0_real64)
      if (work%status == couplet_end) exit
      call require(work%status == couplet_ok .and. work%source == 0 .and. work%worker == 40, "whom")
      call require(work%parameters(1) == taken .and. work%payload_count == 3, "content")
      select case (taken)
      case (5)
        call tasks%complete(work, couplet_error_limit, "five is refused")
      case (7)
        call tasks%dispatch(work, 40, [7_int64, 14_int64], [7.0_real64, 8.0_real64, 9.0_real64])
      case (9)
        call tasks%complete(work)
      case default
        call tasks%dispatch(work, work%worker)
      end select
      taken = taken + 1
    end do
    call require(taken == requests, "all requests")
    call tasks%close()
  end subroutine

  subroutine do_tasks()
    type(couplet_tasks) :: tasks
    type(couplet_work) :: work
    type(couplet_area) :: area
    type(couplet_area_info) :: info
    real(real64), pointer :: payload(:) => null()
    real(real64) :: box(2, 2), total(1)
    integer(int64) :: stamp
    integer :: n, done, refused, ierr
    call universe%open_tasks("analysis", couplet_tasks_worker, tasks, worker_id=40)
    call universe%open_area("fields", 0, area, 0.2_real64, ierr)
    call require(ierr == couplet_error_not_found .and. said("'field'"), "no such area")
    call universe%open_area("field", 0, area)
    call area%describe(info)
    call require(all(info%shape == [12, 3]) .and. info%owner == 0 .and. info%stamped, "describe")
    call area%read(total, 0_int64, ierr=ierr)
    call require(ierr == couplet_error_shape .and. said("first is 0; positions begin with 1"), "no position 0")
    call area%read(total, 37_int64, ierr=ierr)
    call require(ierr == couplet_error_shape .and. &
                 said("first is 37, the size of the array 1, and that of the area 36"), "outside")
    done = 0
    refused = 0
    do
      call tasks%next(work, parameters=2, count=3_int64, type=couplet_real64, timeout=30.0_real64, ierr=ierr)
      if (work%status == couplet_end) exit
      if (ierr == couplet_error_argument) then
        refused = refused + 1
        cycle
      end if
      call require(ierr == couplet_ok, "next")
      done = done + 1
      n = int(work%parameters(1))
      if (n == 3) then
        call tasks%complete(work, couplet_error_unsupported, "three is too much")
        cycle
      end if
      call work%payload(payload)
      call require(work%parameters(2) == 2*n .and. all(payload == [n, n + 1, n + 2]), "content")
      call area%read_box(box, couplet_box([3, 2], [4, 3]))
      total = sum(box) + n
      call area%write(total, n + 1_int64, stamp)
      call require(stamp >= 1, "stamp")
      call tasks%complete(work)
    end do
    call require(done == requests - 3 .and. refused == 1, "all tasks")
    call area%close()
    call tasks%close()
  end subroutine
end module

program tasks_fortran
  use couplet
  use tasks_story
  implicit none
  character(len=9) :: role

  call get_command_argument(1, role)
  call couplet_join(role, universe)
  select case (role)
  case ("requester")
    call request()
  case ("coupler")
    call couple()
  case default
    call do_tasks()
  end select
  call universe%leave()
  print "(3a)", "fortran ", trim(role), ": done"
end program
