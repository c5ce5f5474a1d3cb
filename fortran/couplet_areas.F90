! Areas: an array in the memory of its owner, which other processes read and write (docs/guide/tasks.md). It is built on
! couplet_binding and couplet_errors; couplet_universes creates and opens areas. Arrays are in Fortran's order:
! area(i,j) is area[j,i] in Python. Boxes and positions in an area are 1-based.
! Invariant: the kind and the extents of every array are checked here, since the C interface sees only addresses.
! Tests: tests/languages.
module couplet_areas_module
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use couplet_binding_module
  use couplet_boxes_module
  use couplet_errors_module
  implicit none
  private
  public :: couplet_area, couplet_area_info

  type :: couplet_area_info
    character(len=:), allocatable :: name
    character(len=:), allocatable :: route        ! "own", "mapped", "memory" or "served"
    integer :: type = -1
    integer(int64), allocatable :: shape(:)       ! in Fortran's order
    integer :: owner = -1                         ! universe rank
    logical :: stamped = .false.
    type(c_ptr), private :: address = c_null_ptr
  end type

  type :: couplet_area
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: describe => area_describe
    procedure :: begin => area_begin
    procedure :: end => area_end
    procedure :: close => area_close
    ! call area%read(array, first [, stamp, timeout, ierr]): size(array) elements from position `first` on, an
    ! integer(int64) that counts from 1, in Fortran's order
    ! call area%write(array, first [, stamp, timeout, ierr])
    ! call area%read_box(array, box [, stamp, timeout, ierr])
    ! call area%write_box(array, box [, stamp, timeout, ierr])
    ! call area%memory(pointer [, ierr]): the elements in this process, as pointer(i, j, ...) with 1 to 4 dimensions
#define TEMPLATE "areas_bindings.inc"
#include "for_each_kind.inc"
  end type

contains

#define TEMPLATE "areas_of_kind.inc"
#include "for_each_kind.inc"

  subroutine area_describe(area, info, ierr)
    class(couplet_area), intent(in) :: area
    type(couplet_area_info), intent(out) :: info
    integer, intent(out), optional :: ierr
    type(c_area_info) :: got
    integer(c_int32_t) :: status
    got%struct_bytes = c_sizeof(got)
    status = c_area_describe(area%handle, got)
    if (status == couplet_ok) then
      info%name = from_c(got%name)
      info%route = from_c(got%route)
      info%type = got%type
      info%shape = got%shape(got%dimensions:1:-1)
      info%owner = got%owner
      info%stamped = got%stamped /= 0
      info%address = got%memory
    end if
    call conclude(status, ierr)
  end subroutine

  ! Begins a change of a stamped area by its owner, in its own memory. Others cannot read or write until area%end.
  subroutine area_begin(area, timeout, ierr)
    class(couplet_area), intent(in) :: area
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    call conclude(c_area_begin(area%handle, timeout_of(timeout)), ierr)
  end subroutine

  subroutine area_end(area, ierr)
    class(couplet_area), intent(in) :: area
    integer, intent(out), optional :: ierr
    call conclude(c_area_end(area%handle), ierr)
  end subroutine

  subroutine area_close(area, ierr)
    class(couplet_area), intent(inout) :: area
    integer, intent(out), optional :: ierr
    integer(c_int32_t) :: status
    status = c_area_close(area%handle)
    area%handle = c_null_ptr
    call conclude(status, ierr)
  end subroutine

  ! Checks that the array has the kind of the area's elements. Unsigned integers appear as integers of the same size.
  subroutine check_area(area, verb, code, info, status, text)
    class(couplet_area), intent(in) :: area
    character(len=*), intent(in) :: verb
    integer(c_int32_t), intent(in) :: code
    type(couplet_area_info), intent(out) :: info
    integer, intent(out) :: status
    character(len=:), allocatable, intent(out) :: text
    call area%describe(info, status)
    text = ""
    if (status /= couplet_ok) then
      text = couplet_error_message()
    else if (info%type /= code .and. .not. (info%type >= couplet_uint8 .and. info%type <= couplet_uint64 .and. &
                                            info%type - 4 == code)) then
      status = couplet_error_type
      text = verb//": area '"//info%name//"' has elements of another kind than the array"
    end if
  end subroutine

  ! Checks that `count` elements from the position `first` on are in the area.
  subroutine check_positions(info, verb, first, count, status, text)
    type(couplet_area_info), intent(in) :: info
    character(len=*), intent(in) :: verb
    integer(int64), intent(in) :: first, count
    integer, intent(out) :: status
    character(len=:), allocatable, intent(out) :: text
    integer(int64) :: elements
    elements = product(info%shape)
    status = couplet_ok
    text = ""
    if (first >= 1 .and. count <= elements .and. first - 1 <= elements - count) return
    status = couplet_error_shape
    text = verb//": area '"//info%name//"': first is "//number_text(first)
    if (first < 1) then
      text = text//"; positions begin with 1"
    else
      text = text//", the size of the array "//number_text(count)//", and that of the area "//number_text(elements)
    end if
  end subroutine

  function number_text(number) result(text)
    integer(int64), intent(in) :: number
    character(len=:), allocatable :: text
    character(len=20) :: letters
    write (letters, "(i0)") number
    text = trim(letters)
  end function

  ! Turns the box, and checks that the array has its extents.
  subroutine fit_box(info, verb, box, extents, corners, status, text)
    type(couplet_area_info), intent(in) :: info
    character(len=*), intent(in) :: verb
    type(couplet_box), intent(in) :: box
    integer(int64), intent(in) :: extents(:)
    type(c_corners), intent(out) :: corners
    integer, intent(out) :: status
    character(len=:), allocatable, intent(out) :: text
    character(len=:), allocatable :: mistake
    status = couplet_error_shape
    call turn_box(size(info%shape), corners, mistake, box)
    if (.not. allocated(mistake)) then
      if (size(extents) /= size(info%shape)) then
        mistake = "the array has "//number_text(size(extents, kind=int64))//" dimensions, the area "// &
                  number_text(size(info%shape, kind=int64))
      else if (any(extents /= max(0_int64, box%last - box%first + 1))) then
        mistake = "the array has not the extents of the box"
      else
        status = couplet_ok
        mistake = ""
      end if
    end if
    text = verb//": area '"//info%name//"': "//mistake
  end subroutine

  subroutine give_stamp(status, got, stamp)
    integer(c_int32_t), intent(in) :: status
    integer(c_int64_t), intent(in) :: got
    integer(int64), intent(out), optional :: stamp
    if (.not. present(stamp)) return
    stamp = 0
    if (status == couplet_ok) stamp = got
  end subroutine

  real(c_double) function timeout_of(timeout) result(timeout_s)
    real(real64), intent(in), optional :: timeout
    timeout_s = -1
    if (present(timeout)) timeout_s = timeout
  end function
end module
