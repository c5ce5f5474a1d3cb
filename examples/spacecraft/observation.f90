! The requester's observations at the place of a spacecraft. If the field turns over there, or piles up, it asks for an
! analysis of the past steps, and goes on. The answers are written into its areas.
module observation
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use couplet_mpi
  use draping, only: plane, columns, rows, spacing
  implicit none
  private
  public :: begin_observation, make_room, look, end_observation, slots, steps

  integer, parameter :: steps = 1500, slots = 128      ! slots: how many of them are retained
  integer, parameter :: past = 40, most_events = 16
  integer, parameter :: place(2) = [50, 53]            ! column and row of the spacecraft
  integer, parameter :: turned = 1, piled_up = 2       ! the kinds of requests
  type(couplet_tasks) :: tasks
  type(couplet_area) :: turns_area, sheets_area
  type(couplet_task) :: asked(most_events)
  integer :: asked_at(most_events), kinds(most_events), events = 0, waited = 0
  real(real64), target :: turns(3, most_events) = 0    ! for each event: normal x, normal y, ratio of the variances
  ! For each event: the largest current at the spacecraft, its step, and the largest in the box.
  real(real64), target :: sheets(3, most_events) = 0
  real(real64) :: bx(steps), by(steps), current(steps)
  real(real64) :: side = 1
  logical :: high = .true., observer = .false.

contains

  subroutine begin_observation(universe, p)
    type(couplet_universe), intent(in) :: universe
    type(plane), intent(in) :: p
    observer = place(2) >= p%first_row .and. place(2) <= p%last_row
    call universe%expose_area("turns", turns, turns_area)
    call universe%expose_area("sheets", sheets, sheets_area)
    call universe%open_tasks("spacecraft", couplet_tasks_requester, tasks)
  end subroutine

  ! Records the field at the spacecraft, and submits a request if the field is worth one.
  subroutine look(p, step)
    type(plane), intent(in) :: p
    integer, intent(in) :: step
    integer :: i, j
    real(real64) :: strength
    if (.not. observer) return
    i = place(1)
    j = place(2)
    bx(step) = (p%a(i, j + 1) - p%a(i, j - 1))/(2*spacing)
    by(step) = -(p%a(i + 1, j) - p%a(i - 1, j))/(2*spacing)
    current(step) = -(p%a(i - 1, j) + p%a(i + 1, j) + p%a(i, j - 1) + p%a(i, j + 1) - 4*p%a(i, j))/spacing**2
    strength = hypot(bx(step), by(step))
    if (side*by(step) < -0.3_real64) then
      side = -side
      call ask(turned, step)
    end if
    if (strength > 1.2_real64 .and. .not. high) call ask(piled_up, step)
    high = strength > 1.2_real64 .or. (high .and. strength > 1._real64)
  end subroutine

  subroutine ask(kind, step)
    integer, intent(in) :: kind, step
    events = events + 1
    if (events > most_events) error stop "more events than expected"
    asked_at(events) = step
    kinds(events) = kind
    call tasks%submit(couplet_tasks_any_worker, int([kind, events - 1, step - past + 1, past, place - 1], int64), &
      asked(events))
  end subroutine

  ! The steps of a request must be retained until it is done. Before they would be overwritten, this rank waits for the
  ! request. Its neighbours need its rows for every step, so they wait too.
  subroutine make_room(step)
    integer, intent(in) :: step
    integer, parameter :: ahead = 8  ! number of steps that another rank may be ahead
    do while (waited < events)
      if (step < asked_at(waited + 1) - past + slots - ahead) exit
      waited = waited + 1
      call asked(waited)%wait()
    end do
  end subroutine

  subroutine end_observation()
    integer :: unit, each
    do each = waited + 1, events
      call asked(each)%wait()
    end do
    call tasks%close()
    if (.not. observer) return
    open (newunit=unit, file="output/spacecraft.txt", action="write", status="replace")
    write (unit, "(i6, 3es24.16)") (each, bx(each), by(each), current(each), each = 1, steps)
    close (unit)
    open (newunit=unit, file="output/events.txt", action="write", status="replace")
    do each = 1, events
      write (unit, "(2i6, 3es24.16)") asked_at(each), kinds(each), &
        merge(turns(:, each), sheets(:, each), kinds(each) == turned)
    end do
    close (unit)
    print "(i0, ' requests in ', i0, ' steps')", events, steps
  end subroutine
end module
