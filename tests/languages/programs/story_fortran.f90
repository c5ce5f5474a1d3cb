! The story of tests/languages in Fortran; see test_story.py. Usage: story_fortran writer|reader
! The array is eta(5,3,4) here, and (4,3,5) in C order: eta(i,j,k) is eta[k-1][j-1][i-1] in the other languages.
module story
  use, intrinsic :: iso_fortran_env, only: int64, real32, real64, error_unit
  use couplet
  implicit none

  integer, parameter :: steps = 20, rounds = 5, large = 100000
  integer, parameter :: shape_of_eta(3) = [5, 3, 4]
  type(couplet_universe) :: universe
  type(couplet_group) :: group

contains

  subroutine require(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    write (error_unit, "(2a)") "not true: ", what
    error stop 1
  end subroutine

  real(real64) elemental function value(step, i, j, k)
    integer(int64), intent(in) :: step
    integer, intent(in) :: i, j, k
    value = real(1000*step + 100*(k - 1) + 10*(j - 1) + (i - 1), real64)
  end function

  subroutine fill(eta, step)
    real(real64), intent(out) :: eta(:, :, :)
    integer, intent(in) :: step
    integer :: i, j, k
    do k = 1, 4
      do j = 1, 3
        do i = 1, 5
          eta(i, j, k) = value(int(step, int64), i, j, k)
        end do
      end do
    end do
  end subroutine

  subroutine write_series()
    type(couplet_series) :: series
    real(real64) :: eta(5, 3, 4)
    real(real64), pointer :: slot(:, :, :) => null()
    integer(int64) :: newest
    integer :: step
    call universe%create_series("eta", shape_of_eta, series, box=couplet_box([1, 1, 1], [5, 3, 4]), slots=6, &
                                required_readers="reader", holders=3, collective=.true.)
    do step = 10, 10*steps, 10
      if (mod(step, 20) == 0) then
        call fill(eta, step)
        call series%put(eta, step)
      else
        call series%claim(step - 1, slot)
        call fill(slot, step - 1)
        call series%abandon()
        call series%claim(step, slot)
        call fill(slot, step)
        call series%publish()
      end if
    end do
    call series%newest(newest)
    call require(newest == 10*steps, "newest")
    call series%close()
  end subroutine

  ! Reads the box [1,4) x [0,2) x [2,5) of the other languages, which is 3:5, 1:2, 2:4 here. Alternates between the
  ! library's memory and an own array.
  subroutine read_series()
    type(couplet_series) :: series
    type(couplet_series_batch) :: batch
    type(couplet_series_statistics) :: counts
    real(real64), pointer :: eta(:, :, :, :) => null()
    real(real64), target :: own(3, 2, 3, 4)
    integer :: got, calls
    call universe%open_series("eta", series, box=couplet_box([3, 1, 2], [5, 2, 4]), type=couplet_real64)
    got = 0
    calls = 0
    do
      calls = calls + 1
      if (mod(calls, 2) == 0) then
        call series%read_into(own, batch)
        if (batch%status == couplet_end) exit
        call check_batch(batch, own, got)
      else
        call series%read(batch, up_to=4)
        if (batch%status == couplet_end) exit
        call batch%data(eta)
        call check_batch(batch, eta, got)
      end if
    end do
    call require(got == steps, "all steps")
    call series%statistics(counts)
    call require(counts%delivered == steps .and. counts%lost == 0, "counts")
    call require(counts%published - counts%first == counts%delivered + counts%lost + counts%skipped + counts%pending, &
                 "equation")
    call series%close()
  end subroutine

  subroutine check_batch(batch, eta, got)
    type(couplet_series_batch), intent(in) :: batch
    real(real64), intent(in) :: eta(:, :, :, :)
    integer, intent(inout) :: got
    integer :: s, i, j, k
    call require(batch%status == couplet_ok .and. batch%lost == 0, "whole batch")
    do s = 1, int(batch%count)
      call require(batch%ordinals(s) == got, "ordinal")
      got = got + 1
      call require(batch%steps(s) == 10*got, "step")
      do k = 2, 4
        do j = 1, 2
          do i = 3, 5
            call require(eta(i - 2, j, k - 1, s) == value(batch%steps(s), i, j, k), "value")
          end do
        end do
      end do
    end do
  end subroutine

  subroutine answer()
    integer(int64), allocatable, target :: numbers(:)
    real(real32), target :: first(3)
    complex(real64), target :: second
    type(couplet_message) :: message
    type(couplet_request) :: requests(2)
    integer :: round
    allocate (numbers(large))
    do round = 0, rounds - 1
      call group%recv(numbers, couplet_any_source, couplet_any_tag, message)
      call require(message%source == 1 .and. message%tag == 100 + round, "envelope")
      numbers(:message%count) = 2*numbers(:message%count)
      call group%send(numbers(:message%count), message%source, 200 + round)
    end do
    first = [1.5_real32, 2.5_real32, 3.5_real32]
    second = (1, 2)
    call group%isend(first, 1, 21, requests(1))
    call group%isend(second, 1, 22, requests(2))
    call couplet_waitall(requests, timeout=60.0_real64)
  end subroutine

  subroutine ask()
    integer(int64), allocatable, target :: numbers(:)
    integer, parameter :: counts(0:rounds - 1) = [0, 1, 7, 4000, large]
    real(real32), target :: first(3)
    complex(real64), target :: second
    type(couplet_message) :: message
    type(couplet_request) :: requests(2)
    integer :: round, index, n
    logical :: done
    allocate (numbers(large))
    do round = 0, rounds - 1
      numbers(:counts(round)) = [(int(n + round, int64), n = 0, counts(round) - 1)]
      call group%send(numbers(:counts(round)), 0, 100 + round)
      call group%recv(numbers, 0, 200 + round, message)
      call require(message%source == 0 .and. message%count == counts(round), "envelope")
      call require(message%bytes == 8*counts(round), "bytes")
      call require(all(numbers(:counts(round)) == [(2*int(n + round, int64), n = 0, counts(round) - 1)]), "numbers")
    end do
    call group%irecv(second, 0, 22, requests(1))
    call group%irecv(first, couplet_any_source, 21, requests(2))
    call couplet_waitany(requests, index, message, timeout=60.0_real64)
    call require(index >= 1 .and. message%tag == merge(22, 21, index == 1), "any")
    call requests(3 - index)%wait(message, timeout=60.0_real64)
    call requests(1)%test(done)
    call require(done .and. .not. requests(1)%is_pending(), "done")
    call require(second == (1, 2) .and. all(first == [1.5_real32, 2.5_real32, 3.5_real32]), "values")
  end subroutine
end module

program story_fortran
  use couplet
  use story
  implicit none
  character(len=8) :: role
  integer :: rank, size_of_universe, peer
  logical :: writer

  call get_command_argument(1, role)
  writer = role == "writer"
  call couplet_join(role, universe)
  call universe%rank(rank, size_of_universe)
  call require(size_of_universe == 2 .and. rank == merge(0, 1, writer), "rank")
  if (writer) then
    call universe%find_rank("reader", 0, peer)
  else
    call universe%find_rank("writer", 0, peer)
  end if
  call require(peer == 1 - rank, "peer")
  call universe%group(group)
  if (writer) then
    call write_series()
    call answer()
  else
    call read_series()
    call ask()
  end if
  call universe%leave()
  print "(3a)", "fortran ", trim(role), ": the story is told"
end program
