! Boxes: the elements from a first to a last index in each dimension, 1-based and inclusive, the first dimension
! fastest.
! Here they become start and stop of the C interface: 0-based, half open, the last dimension fastest.
! Neighbours: couplet_fields_module, couplet_areas_module and couplet_universes_module use it. Tests: tests/languages.
module couplet_boxes_module
  use, intrinsic :: iso_fortran_env, only: int32, int64
  use, intrinsic :: iso_c_binding, only: c_int64_t, c_loc, c_null_ptr, c_ptr
  implicit none
  private
  public :: couplet_box, c_corners, box_dimensions, turn_box, start_of, stop_of

  ! couplet_box(first, last): arrays with one index for each dimension, or two numbers for one dimension. If a last
  ! index is below the first one, the box is empty.
  type :: couplet_box
    integer(int64), allocatable :: first(:), last(:)
  end type
  interface couplet_box
    module procedure box_of_indices, box_of_numbers
  end interface

  ! A box as the C interface takes it. Not allocated: there is no box.
  type :: c_corners
    integer(c_int64_t), allocatable :: start(:), stop(:)
  end type

contains

  function box_of_indices(first, last) result(box)
    integer(int32), intent(in) :: first(:), last(:)
    type(couplet_box) :: box
    allocate (box%first(size(first)), source=int(first, int64))
    allocate (box%last(size(last)), source=int(last, int64))
  end function

  function box_of_numbers(first, last) result(box)
    integer(int32), intent(in) :: first, last
    type(couplet_box) :: box
    allocate (box%first(1), source=int(first, int64))
    allocate (box%last(1), source=int(last, int64))
  end function

  ! Returns the number of first indices: the number of dimensions, unless the box has a mistake.
  integer function box_dimensions(box)
    type(couplet_box), intent(in) :: box
    box_dimensions = 0
    if (allocated(box%first)) box_dimensions = size(box%first)
  end function

  ! Turns the box, which must have `dimensions` dimensions. If there is none, the corners are not allocated. Otherwise
  ! `mistake` is allocated if the box does not fit, and says why.
  subroutine turn_box(dimensions, corners, mistake, box)
    integer, intent(in) :: dimensions
    type(c_corners), intent(out) :: corners
    character(len=:), allocatable, intent(inout) :: mistake
    type(couplet_box), intent(in), optional :: box
    character(len=120) :: text
    if (.not. present(box)) return
    if (.not. (allocated(box%first) .and. allocated(box%last))) then
      mistake = "the box has no indices: give couplet_box(first, last)"
    else if (size(box%first) /= dimensions .or. size(box%last) /= dimensions) then
      write (text, "(a,i0,a,i0,a,i0)") "the box has ", size(box%first), " first and ", size(box%last), &
        " last indices, not ", dimensions
      mistake = trim(text)//" of each: give couplet_box(first, last)"
    else
      allocate (corners%start(dimensions), source=box%first(dimensions:1:-1) - 1)
      allocate (corners%stop(dimensions), source=box%last(dimensions:1:-1))
    end if
  end subroutine

  function start_of(corners) result(address)
    type(c_corners), intent(in), target :: corners
    type(c_ptr) :: address
    address = c_null_ptr
    if (allocated(corners%start)) address = c_loc(corners%start)
  end function

  function stop_of(corners) result(address)
    type(c_corners), intent(in), target :: corners
    type(c_ptr) :: address
    address = c_null_ptr
    if (allocated(corners%stop)) address = c_loc(corners%stop)
  end function
end module
