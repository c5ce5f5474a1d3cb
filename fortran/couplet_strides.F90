! Where the elements of a user's array are: address, extents and distances. Exchanges and halos move parts of an array
! without a copy, so an array may be a section with gaps. The distances are differences of addresses, since no array
! descriptor of a compiler reaches C. It is built on couplet_binding.
! Invariant: the array is not copied on its way here, since its dummy argument is neither contiguous nor a value.
! Tests: tests/languages (exchange_fortran, halo_fortran).
module couplet_strides_module
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use couplet_binding_module
  implicit none
  private
  public :: array_layout, find_layout, part_of

  type :: array_layout
    type(c_ptr) :: address = c_null_ptr        ! the first element
    integer(c_int32_t) :: type = -1
    integer :: dimensions = 0                  ! a single number has none
    integer(int64) :: extents(couplet_max_dimensions) = 1
    integer(int64) :: strides(couplet_max_dimensions) = 0  ! in bytes, in Fortran's order
    logical :: is_empty = .false.
    logical :: has_layout = .true.             ! false: the array has more dimensions than find_layout knows
  end type

  interface find_layout
#define TEMPLATE "strides_interfaces.inc"
#include "for_each_kind.inc"
  end interface

contains

#define TEMPLATE "strides_of_kind.inc"
#include "for_each_kind.inc"

  subroutine start_layout(layout, code, extents)
    type(array_layout), intent(out) :: layout
    integer(c_int32_t), intent(in) :: code
    integer(int64), intent(in) :: extents(:)
    integer(int64) :: stride
    integer :: i
    layout%type = code
    layout%dimensions = size(extents)
    layout%has_layout = size(extents) <= couplet_max_dimensions
    if (.not. layout%has_layout) return
    layout%is_empty = any(extents == 0)
    stride = int(c_type_bytes(code), int64)
    do i = 1, size(extents)  ! what differs from a dense array is noted later
      layout%extents(i) = extents(i)
      layout%strides(i) = stride
      stride = stride * max(extents(i), 1_int64)
    end do
  end subroutine

  ! Notes the distance of two neighbouring elements. second: the second element of the dimension.
  subroutine note_stride(layout, dimension, second)
    type(array_layout), intent(inout) :: layout
    integer, intent(in) :: dimension
    type(c_ptr), intent(in) :: second
    layout%strides(dimension) = int(transfer(second, 0_c_intptr_t) - transfer(layout%address, 0_c_intptr_t), int64)
  end subroutine

  ! Turns 1-based inclusive bounds, which may be absent, into half-open 0-based ones, and both into the order of C.
  ! is_part is false if the bounds are no part of the array.
  subroutine part_of(layout, first, last, shape, strides, start, stop, is_part)
    type(array_layout), intent(in) :: layout
    integer, intent(in), optional :: first(:), last(:)
    integer(c_int64_t), allocatable, intent(out) :: shape(:), start(:), stop(:)
    integer(c_int64_t), allocatable, target, intent(out) :: strides(:)
    logical, intent(out) :: is_part
    integer :: n
    is_part = .true.
    n = max(layout%dimensions, 1)
    shape = layout%extents(n:1:-1)
    strides = layout%strides(n:1:-1)
    allocate (start(n))
    start = 0
    stop = shape
    if (present(first)) then
      is_part = size(first) == n
      if (is_part) start = int(first(n:1:-1), c_int64_t) - 1
    end if
    if (present(last) .and. is_part) then
      is_part = size(last) == n
      if (is_part) stop = int(last(n:1:-1), c_int64_t)
    end if
    if (is_part) is_part = all(start >= 0) .and. all(stop <= shape) .and. all(stop >= start)
  end subroutine
end module
