! Lists of the caller's arrays, for put and read of several fields or boxes. An entry says where an array is, and which
! kind and extents it has. It is built on couplet_binding and couplet_errors, and couplet_series_module is built on it.
! The arrays must be targets until the call that uses the list.
! Invariant: an array is contiguous; a part of it is given by its first and last index in each dimension.
! Tests: tests/languages.
module couplet_arrays_module
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use couplet_binding_module
  use couplet_errors_module
  implicit none
  private
  public :: couplet_arrays, array_entry, c_list

  type :: array_entry
    type(c_ptr) :: address = c_null_ptr                ! the first element of the part
    integer(c_int32_t) :: type = -1
    integer(int64), allocatable :: extents(:)           ! extents of the part, in Fortran's order
    integer(int64), allocatable :: strides(:)           ! in bytes, slowest dimension first
  end type

  type :: couplet_arrays
    type(array_entry), allocatable :: entries(:)
  contains
    procedure :: clear => arrays_clear
    ! call arrays%add(array [, first, last, ierr]): the whole array, or array(first(1):last(1), first(2):last(2), ...)
#define TEMPLATE "arrays_bindings.inc"
#include "for_each_kind.inc"
  end type

contains

#define TEMPLATE "arrays_of_kind.inc"
#include "for_each_kind.inc"

  subroutine arrays_clear(arrays)
    class(couplet_arrays), intent(inout) :: arrays
    if (allocated(arrays%entries)) deallocate (arrays%entries)
  end subroutine

  subroutine add_entry(arrays, address, code, extents, contiguous, first, last, ierr)
    class(couplet_arrays), intent(inout) :: arrays
    type(c_ptr), intent(in) :: address
    integer(c_int32_t), intent(in) :: code
    integer(int64), intent(in) :: extents(:)
    logical, intent(in) :: contiguous
    integer, intent(in), optional :: first(:), last(:)
    integer, intent(out), optional :: ierr
    type(array_entry) :: entry
    integer(int64) :: begin(size(extents)), end(size(extents)), stride, offset
    integer :: i, n
    n = size(extents)
    begin = 1
    end = extents
    if (present(first)) then
      if (size(first) == n) begin = first
    end if
    if (present(last)) then
      if (size(last) == n) end = last
    end if
    if (.not. contiguous) then
      call refuse(couplet_error_argument, &
                  "add: the array is not contiguous; give the whole, and its part by first and last", ierr)
      return
    else if (wrong_size(first, n) .or. wrong_size(last, n) .or. any(begin < 1) .or. any(end > extents) &
             .or. any(end < begin - 1)) then
      call refuse(couplet_error_shape, "add: first and last are no part of the array", ierr)
      return
    end if
    allocate (entry%extents(n), entry%strides(n))
    stride = int(c_type_bytes(code), int64)
    offset = 0
    do i = 1, n
      entry%extents(i) = end(i) - begin(i) + 1
      entry%strides(n + 1 - i) = stride
      offset = offset + (begin(i) - 1) * stride
      stride = stride * extents(i)
    end do
    entry%type = code
    entry%address = transfer(transfer(address, 0_c_intptr_t) + int(offset, c_intptr_t), c_null_ptr)
    if (.not. allocated(arrays%entries)) allocate (arrays%entries(0))
    arrays%entries = [arrays%entries, entry]
    if (present(ierr)) ierr = couplet_ok
  end subroutine

  pure logical function wrong_size(corner, dimensions) result(wrong)
    integer, intent(in), optional :: corner(:)
    integer, intent(in) :: dimensions
    wrong = .false.
    if (present(corner)) wrong = size(corner) /= dimensions
  end function

  ! Returns the entries as the C interface takes them. Their pointers point into `strides`.
  function c_list(entries, strides) result(list)
    type(array_entry), intent(in) :: entries(:)
    integer(c_int64_t), allocatable, target, intent(inout) :: strides(:, :)
    type(c_series_array), allocatable :: list(:)
    integer :: i
    allocate (list(size(entries)), strides(couplet_max_dimensions + 1, size(entries)))
    do i = 1, size(entries)
      strides(:size(entries(i)%strides), i) = entries(i)%strides
      ! There is no bound to pass: the extents of the caller's array were checked before.
      list(i) = c_series_array(entries(i)%address, c_loc(strides(1, i)), 0_int64)
    end do
  end function
end module
