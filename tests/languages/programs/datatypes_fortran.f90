! Items with gaps in Fortran; see test_datatypes.py. Usage: datatypes_fortran sender|receiver
! field(5, 6) here is field[6][5] in C: field(j, i) is field[i-1][j-1]. A column there is a row here.
module datatypes
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64, error_unit
  use couplet
  implicit none

  integer, parameter :: rows = 6, columns = 5, length = 1000, width = 300
  type, bind(c) :: particle
    real(real64) :: x
    integer(int32) :: kind
  end type
  type(couplet_group) :: group

contains

  subroutine require(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    write (error_unit, "(2a)") "not true: ", what
    error stop 1
  end subroutine

  subroutine send_all()
    real(real64), target :: field(columns, rows)
    real(real64), allocatable, target, asynchronous :: large(:, :)
    type(couplet_datatype) :: column, part, side_by_side, list, whole, block
    type(couplet_request) :: request
    type(particle) :: particles(3)
    integer :: i, j
    field = reshape([((real(10*i + j, real64), j=0, columns - 1), i=0, rows - 1)], shape(field))
    call column%create_vector(rows, 1, columns, couplet_real64)
    call group%send_items(field(3, 1), 1, column, 1, 1)
    call part%create_subarray([columns, rows], [2, 3], [2, 3], couplet_real64)
    call group%send_items(field, 1, part, 1, 2)
    call side_by_side%create_resized(column%handle, 0_int64, 8_int64)
    call require(side_by_side%bytes() == 48 .and. side_by_side%extent() == 8, "the sizes of a column")
    call group%send_items(field, 2, side_by_side, 1, 3)
    call list%create_indexed([2, 1], [3, 0], couplet_real64)
    call group%send_items(field, 1, list, 1, 4)
    do i = 1, 3
      particles(i) = particle(i - 0.5_real64, i - 1)
    end do
    call whole%create_struct([1, 1], [0_int64, 8_int64], [couplet_real64, couplet_int32])
    call group%send_items(particles, 3, whole, 1, 5)
    allocate (large(width, length))
    do i = 1, length
      do j = 1, width
        large(j, i) = 1000.0_real64*(i - 1) + (j - 1)
      end do
    end do
    call block%create_vector(length, 100, width, couplet_real64)
    call group%isend_items(large(51, 1), 1, block, 1, 6, request)
    call request%wait()
    call group%send_items(field, 2, side_by_side, 1, 7)
    call group%send_items(field, 3, side_by_side, 1, 8)
    call block%free()
    call require(block%handle == -1, "it is freed")
  end subroutine

  subroutine receive_all()
    real(real64), target :: field(columns, rows)
    real(real64) :: dense(12)
    real(real64), allocatable, target, asynchronous :: large(:, :)
    type(couplet_datatype) :: column, side_by_side, whole, block, wrong
    type(couplet_message) :: message
    type(couplet_request) :: request
    type(particle) :: particles(4)
    integer :: i, j, ierr
    field = 0
    call column%create_vector(rows, 1, columns, couplet_real64)
    call group%recv_items(field(2, 1), 1, column, 0, 1, message)
    call require(message%count == 1 .and. message%bytes == 48, "a column")
    do i = 1, rows
      call require(field(2, i) == 10*(i - 1) + 2, "the column")
    end do
    call require(count(field /= 0) == rows, "nothing beside the column")
    call group%recv(dense, 0, 2, message)
    call require(message%count == 6, "a part")
    call require(all(dense(:6) == [((real(10*i + j, real64), j=1, 2), i=2, 4)]), "the part")
    call group%recv(dense, 0, 3)
    call require(all(dense == [((real(10*i + j, real64), i=0, 5), j=0, 1)]), "two columns")
    call group%recv(dense, 0, 4, message)
    call require(message%count == 3 .and. all(dense(:3) == [3, 4, 0]), "a list")
    call whole%create_struct([1, 1], [0_int64, 8_int64], [couplet_real64, couplet_int32])
    call group%recv_items(particles, 4, whole, 0, 5, message)
    call require(message%count == 3, "particles")
    do i = 1, 3
      call require(particles(i)%x == i - 0.5_real64 .and. particles(i)%kind == i - 1, "the particles")
    end do
    allocate (large(width, length))
    large = -1
    call block%create_vector(length, 100, width, couplet_real64)
    call group%irecv_items(large(151, 1), 1, block, 0, 6, request)
    call request%wait()
    do i = 1, length
      call require(all(large(151:250, i) == [(1000.0_real64*(i - 1) + j, j=50, 149)]), "the large block")
    end do
    call require(count(large == -1) == length*(width - 100), "nothing beside the block")
    call side_by_side%create_resized(column%handle, 0_int64, 8_int64)
    call group%recv_items(field, 3, side_by_side, 0, 7, message)
    call require(message%count == 2, "two columns of three")
    call group%recv_items(field, 2, side_by_side, 0, 8, ierr=ierr)
    call require(ierr == couplet_error_truncated, "three columns do not fit")
    call wrong%create_indexed([1], [1, 2], couplet_real64, ierr)
    call require(ierr == couplet_error_argument, "lists of unlike size")
    call wrong%create_vector(-1, 1, 1, couplet_real64, ierr)
    call require(ierr == couplet_error_argument, "a negative count")
    call wrong%create_subarray([4], [2], [4], couplet_real64, ierr)
    call require(ierr == couplet_error_argument, "a part outside")
    call wrong%create_subarray([4, 5], [2, 3], [1, 4], couplet_real64, ierr)
    call require(index(couplet_error_message(), "dimension 2 of the array has 5 items, and the part has 3 from the &
      &index 4") > 0, "the dimension as Fortran counts it")
    call group%send_items(field(1:3, :), 1, column, 0, 9, ierr)
    call require(ierr == couplet_error_argument, "a section with gaps")
    call group%send_items(field, 1, wrong, 0, 9, ierr)
    call require(ierr == couplet_error_type, "a datatype that was not made")
  end subroutine
end module

program datatypes_fortran
  use datatypes
  implicit none
  type(couplet_universe) :: universe
  character(len=16) :: name
  call get_command_argument(1, name)
  call couplet_join(trim(name), universe)
  call universe%group(group)
  if (name == "sender") call send_all()
  if (name == "receiver") call receive_all()
  call universe%leave()
  print "(3a)", "fortran ", trim(name), ": all items"
end program
