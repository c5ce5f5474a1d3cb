! The fields of tests/languages in Fortran; see test_fields.py. Usage: fields_fortran writer|reader
! Density is (6,4) here, and (4,6) in C order: density(i,j) is density[j-1][i-1] in the other languages.
module fields
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64, error_unit
  use couplet
  implicit none

  integer, parameter :: steps = 6, rows = 4, columns = 6, levels = 5
  type(couplet_universe) :: universe

contains

  subroutine require(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    write (error_unit, "(4a)") "not true: ", what, " ", couplet_error_message()
    error stop 1
  end subroutine

  subroutine refused(ierr, status, words)
    integer, intent(in) :: ierr
    integer, intent(in) :: status
    character(len=*), intent(in) :: words
    call require(ierr == status, "another status than for "//words)
    call require(index(couplet_error_message(), words) > 0, "words "//words)
  end subroutine

  real(real64) elemental function density_of(step, column, row)
    integer(int64), intent(in) :: step
    integer, intent(in) :: column, row
    density_of = real(100*step + 10*(row - 1) + (column - 1), real64)
  end function

  subroutine fill(density, step, first_column)
    real(real64), intent(inout) :: density(:, :)
    integer(int64), intent(in) :: step
    integer, intent(in) :: first_column
    integer :: i, j
    do j = 1, size(density, 2)
      do i = 1, size(density, 1)
        density(i, j) = density_of(step, first_column + i - 1, j)
      end do
    end do
  end subroutine

  subroutine mistakes_of_writing(series, with_ghosts, level)
    type(couplet_series), intent(in) :: series
    real(real64), intent(in), target :: with_ghosts(:, :)
    integer(int32), intent(in), target :: level(:)
    type(couplet_arrays) :: arrays
    integer :: ierr
    call arrays%add(with_ghosts, first=[2, 2], last=[3, 5])
    call series%put(arrays, 70, ierr=ierr)
    call refused(ierr, couplet_error_argument, "3 boxes in 2 fields")
    call arrays%add(level)
    call series%put(arrays, 70, ierr=ierr)
    call refused(ierr, couplet_error_type, "density")
    call arrays%clear()
    call arrays%add(with_ghosts)
    call series%put(arrays, 70, ierr=ierr)
    call refused(ierr, couplet_error_shape, "(8, 6)")
    call arrays%add(with_ghosts, first=[0, 1], last=[2, 2], ierr=ierr)
    call refused(ierr, couplet_error_shape, "first and last")
    call arrays%add(with_ghosts(::2, :), ierr=ierr)
    call refused(ierr, couplet_error_argument, "not contiguous")
    call series%set_time(29.5_real64, ierr)
    call refused(ierr, couplet_error_step, "29.5")
  end subroutine

  subroutine write_series()
    type(couplet_series) :: series
    type(couplet_arrays) :: arrays
    type(couplet_series_slot) :: slot
    type(couplet_series_waits) :: waits
    type(couplet_series_info) :: info
    real(real64), target :: with_ghosts(columns + 2, rows + 2)
    integer(int32), target :: level(levels)
    real(real64), pointer :: left(:, :), right(:, :)
    integer(int32), pointer :: claimed(:)
    integer :: step, k, ierr
    call universe%create_series("sky", [couplet_series_field("density", couplet_real64, [columns, rows], &
      [couplet_box([1, 1], [2, 4]), couplet_box([3, 1], [6, 4])]), &
      couplet_series_field("level", couplet_int32, [levels])], series, &
      slots=4, required_readers="reader")
    do step = 10, 10*steps, 10
      level = [(step + k, k = 0, levels - 1)]
      if (mod(step, 20) == 0) then
        call fill(with_ghosts(2:columns + 1, 2:rows + 1), int(step, int64), 1)
        call arrays%clear()
        call arrays%add(with_ghosts, first=[2, 2], last=[3, rows + 1])
        call arrays%add(with_ghosts, first=[4, 2], last=[columns + 1, rows + 1])
        call arrays%add(level)
        call series%put(arrays, step, time=0.5_real64*step)
      else
        call series%set_time(0.5_real64*step)
        call series%claim_slot(step, slot)
        call slot%get("density", left, box=1)
        call slot%get("density", right, box=2)
        call slot%get("level", claimed)
        call fill(left, int(step, int64), 1)
        call fill(right, int(step, int64), 3)
        claimed = level
        call slot%get("level", left, ierr=ierr)
        call refused(ierr, couplet_error_type, "level")
        call slot%get("density", left, box=3, ierr=ierr)
        call refused(ierr, couplet_error_shape, "no box 3")
        call slot%get("vapour", left, ierr=ierr)
        call refused(ierr, couplet_error_not_found, "vapour")
        call series%publish()
      end if
    end do
    call mistakes_of_writing(series, with_ghosts, level)
    call series%describe(info)
    call require(size(info%fields) == 2, "two fields")
    call require(all(info%fields(1)%boxes(:, 1, 2) == [3, 6]), "the second box")
    call series%waits(waits)
    call require(merge(index(waits%longest_for, "'reader'") > 0, waits%longest_for == "", waits%count > 0), &
      "waited for")
    call series%close()
  end subroutine

  subroutine check_step(density, level, step)
    real(real64), intent(in) :: density(:, :)
    integer(int32), intent(in) :: level(:)
    integer(int64), intent(in) :: step
    integer :: i, j
    do j = 1, 2
      do i = 1, 4
        call require(density(i, j) == density_of(step, i + 1, j + 1), "density")
      end do
    end do
    call require(all(level == [int(step) + 1, int(step) + 2, int(step) + 3]), "level")
  end subroutine

  subroutine read_series()
    type(couplet_series) :: series
    type(couplet_series_batch) :: batch
    type(couplet_arrays) :: outs
    real(real64), target :: larger(6, 3, 2)
    integer(int32), target :: own(3, 2)
    real(real64), pointer :: density(:, :, :)
    integer(int32), pointer :: level(:, :)
    real(real32), pointer :: wrong(:, :, :)
    integer :: got, turn, i, ierr
    call universe%open_series("sky", series, fields=[couplet_series_choice("vapour")], ierr=ierr)
    call refused(ierr, couplet_error_not_found, "it has 'density', 'level'")
    call universe%open_series("sky", series, fields=[couplet_series_choice("level", couplet_box(2, 4)), &
      couplet_series_choice("density", couplet_box([2, 2], [5, 3]))])
    call outs%add(own)
    call series%read_into(outs, batch, ierr=ierr)
    call refused(ierr, couplet_error_argument, "1 array to read into is")
    call outs%add(larger, first=[2, 1, 1], last=[5, 2, 2])
    got = 0
    turn = 0
    do
      turn = turn + 1
      if (mod(turn, 2) == 1) then
        call series%read_into(outs, batch)
      else
        call series%read(batch, up_to=2)
      end if
      if (batch%status == couplet_end) exit
      if (mod(turn, 2) == 0) then
        call batch%data(density, field="density")
        call batch%data(level, field="level")
        call batch%data(wrong, ierr=ierr, field="density")
        call refused(ierr, couplet_error_type, "real64")
        call batch%data(wrong, ierr=ierr, field="vapour")
        call refused(ierr, couplet_error_not_found, "vapour")
      end if
      do i = 1, int(batch%count)
        got = got + 1
        call require(batch%steps(i) == 10*got .and. batch%times(i) == 5*got, "steps and times")
        if (mod(turn, 2) == 1) then
          call check_step(larger(2:5, 1:2, i), own(:, i), batch%steps(i))
        else
          call check_step(density(:, :, i), level(:, i), batch%steps(i))
        end if
      end do
    end do
    call require(got == steps, "all steps")
    call series%close()
    call universe%open_series("sky", series, mode=couplet_series_follow, interval=20.0_real64)
    call series%read(batch, up_to=8)
    call require(all(batch%steps == [30, 40]), "by time")
    call series%close()
  end subroutine

  ! Puts a part of an array of one field.
  subroutine one_field()
    type(couplet_series) :: writer, reader
    type(couplet_series_batch) :: batch
    real(real64) :: larger(5, 4)
    real(real64), pointer :: part(:, :, :)
    integer :: i, j, ierr
    do j = 1, 4
      larger(:, j) = [(real(10*j + i, real64), i = 1, 5)]
    end do
    call universe%create_series("part", [3, 2], writer, box=couplet_box([1, 1], [3, 2]), slots=2)
    call universe%open_series("part", reader, local=.true.)
    call writer%put(larger, 1, first=[2, 2], last=[4, 3], time=2.5_real64)
    call writer%put(larger, 2, ierr=ierr, first=[2, 2], last=[4, 4])
    call refused(ierr, couplet_error_shape, "(3, 3)")
    call reader%read(batch)
    call batch%data(part)
    call require(all(part(:, :, 1) == larger(2:4, 2:3)) .and. batch%times(1) == 2.5, "the part")
    call reader%close()
    call writer%close()
  end subroutine
end module

program fields_fortran
  use fields
  implicit none
  type(couplet_group) :: group
  character(len=16) :: role
  integer :: rank
  integer(int32) :: done(1)
  call get_command_argument(1, role)
  call couplet_join(trim(role), universe)
  if (role == "writer") then
    call write_series()
    call one_field()
  else
    call read_series()
  end if
  call universe%rank(rank)
  call universe%group(group)
  done = 1
  call group%send(done, 1 - rank, 1)
  call group%recv(done, 1 - rank, 1)
  call universe%leave()
  print "(3a,i0,a)", "fortran ", trim(role), ": ", steps, " steps"
end program
