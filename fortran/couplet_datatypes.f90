! Datatypes: types of items that do not lie in memory one element after the other, as MPI's derived types. `of` is an
! element type (couplet_real64) or the handle of another datatype (column%handle).
! A datatype lives until it is freed. couplet_messages_module sends and receives items of it. Tests: tests/languages.
module couplet_datatypes_module
  use, intrinsic :: iso_fortran_env, only: int32, int64
  use couplet_binding_module
  use couplet_errors_module
  implicit none
  private
  public :: couplet_datatype

  type :: couplet_datatype
    integer(c_int32_t) :: handle = -1
  contains
    procedure :: create_contiguous => datatype_contiguous
    procedure :: create_vector => datatype_vector
    procedure :: create_indexed => datatype_indexed
    procedure :: create_subarray => datatype_subarray
    procedure :: create_struct => datatype_struct
    procedure :: create_resized => datatype_resized
    procedure :: bytes => datatype_bytes
    procedure :: extent => datatype_extent
    procedure :: free => datatype_free
  end type

contains

  ! `count` items, one after the other.
  subroutine datatype_contiguous(datatype, count, of, ierr)
    class(couplet_datatype), intent(inout) :: datatype
    integer, intent(in) :: count
    integer(int32), intent(in) :: of
    integer, intent(out), optional :: ierr
    if (is_negative(count, "create_contiguous", ierr)) return
    call conclude(c_type_create_contiguous(int(count, c_int64_t), of, datatype%handle), ierr)
  end subroutine

  ! `count` blocks of `block` items. The first items of two blocks are `stride` items apart: a row of a(n, m) is m
  ! blocks of one element with the stride n.
  subroutine datatype_vector(datatype, count, block, stride, of, ierr)
    class(couplet_datatype), intent(inout) :: datatype
    integer, intent(in) :: count, block, stride
    integer(int32), intent(in) :: of
    integer, intent(out), optional :: ierr
    if (is_negative(min(count, block), "create_vector", ierr)) return
    call conclude(c_type_create_vector(int(count, c_int64_t), int(block, c_int64_t), int(stride, c_int64_t), of, &
                                       datatype%handle), ierr)
  end subroutine

  ! Blocks of blocks(i) items that begin displacements(i) items after the start, which count from 0.
  subroutine datatype_indexed(datatype, blocks, displacements, of, ierr)
    class(couplet_datatype), intent(inout) :: datatype
    integer, intent(in) :: blocks(:), displacements(:)
    integer(int32), intent(in) :: of
    integer, intent(out), optional :: ierr
    integer(c_int64_t) :: lengths(size(blocks)), places(size(displacements))
    if (are_unlike(size(blocks), size(displacements), "create_indexed", ierr)) return
    if (is_negative(minval([blocks, 0]), "create_indexed", ierr)) return
    lengths = int(blocks, c_int64_t)
    places = int(displacements, c_int64_t)
    call conclude(c_type_create_indexed(size(blocks, kind=c_int64_t), lengths, places, of, &
                                        datatype%handle), ierr)
  end subroutine

  ! The part with subsizes(d) items from the index first(d) on, which counts from 1, of an array with sizes(d) items in
  ! each dimension d.
  subroutine datatype_subarray(datatype, sizes, subsizes, first, of, ierr)
    class(couplet_datatype), intent(inout) :: datatype
    integer, intent(in) :: sizes(:), subsizes(:), first(:)
    integer(int32), intent(in) :: of
    integer, intent(out), optional :: ierr
    integer(c_int64_t) :: extents(size(sizes)), lengths(size(subsizes)), starts(size(first))
    character(len=160) :: text
    integer :: d
    if (are_unlike(size(sizes), size(subsizes), "create_subarray", ierr)) return
    if (are_unlike(size(sizes), size(first), "create_subarray", ierr)) return
    if (is_negative(minval([sizes, subsizes, first - 1, 0]), "create_subarray", ierr)) return
    do d = 1, size(sizes)
      if (int(first(d), int64) + subsizes(d) - 1 <= sizes(d)) cycle
      write (text, "(4(a, i0))") "create_subarray: dimension ", d, " of the array has ", sizes(d), &
        " items, and the part has ", subsizes(d), " from the index ", first(d)
      call refuse(couplet_error_argument, trim(text), ierr)
      return
    end do
    extents = int(sizes(size(sizes):1:-1), c_int64_t)
    lengths = int(subsizes(size(subsizes):1:-1), c_int64_t)
    starts = int(first(size(first):1:-1), c_int64_t) - 1
    call conclude(c_type_create_subarray(int(size(sizes), c_int32_t), extents, lengths, starts, &
                                         of, datatype%handle), ierr)
  end subroutine

  ! Blocks of blocks(i) items of the type types(i) that begin displacements(i) bytes after the start.
  subroutine datatype_struct(datatype, blocks, displacements, types, ierr)
    class(couplet_datatype), intent(inout) :: datatype
    integer, intent(in) :: blocks(:)
    integer(int64), intent(in) :: displacements(:)
    integer(int32), intent(in) :: types(:)
    integer, intent(out), optional :: ierr
    integer(c_int64_t) :: lengths(size(blocks)), places(size(displacements))
    integer(c_int32_t) :: kinds(size(types))
    if (are_unlike(size(blocks), size(displacements), "create_struct", ierr)) return
    if (are_unlike(size(blocks), size(types), "create_struct", ierr)) return
    if (is_negative(minval([blocks, 0]), "create_struct", ierr)) return
    lengths = int(blocks, c_int64_t)
    places = displacements
    kinds = types
    call conclude(c_type_create_struct(size(blocks, kind=c_int64_t), lengths, places, kinds, &
                                       datatype%handle), ierr)
  end subroutine

  ! The same elements; in an array, items are `extent` bytes apart.
  subroutine datatype_resized(datatype, of, lower_bound, extent, ierr)
    class(couplet_datatype), intent(inout) :: datatype
    integer(int32), intent(in) :: of
    integer(int64), intent(in) :: lower_bound, extent
    integer, intent(out), optional :: ierr
    if (extent < 0) then
      call refuse(couplet_error_argument, "create_resized: the extent is negative", ierr)
      return
    end if
    call conclude(c_type_create_resized(of, lower_bound, extent, datatype%handle), ierr)
  end subroutine

  ! Returns the bytes of the elements of one item; 0: there is no type.
  integer(int64) function datatype_bytes(datatype)
    class(couplet_datatype), intent(in) :: datatype
    datatype_bytes = int(c_type_bytes(datatype%handle), int64)
  end function

  ! Returns the bytes from one item of an array to the next.
  integer(int64) function datatype_extent(datatype)
    class(couplet_datatype), intent(in) :: datatype
    integer(c_int64_t) :: lower_bound, extent
    extent = 0
    call conclude(c_type_extent(datatype%handle, lower_bound, extent))
    datatype_extent = extent
  end function

  ! Frees the type. Messages that are under way, and types that were made of it, are not concerned.
  subroutine datatype_free(datatype, ierr)
    class(couplet_datatype), intent(inout) :: datatype
    integer, intent(out), optional :: ierr
    call conclude(c_type_free(datatype%handle), ierr)
  end subroutine

  ! Returns .true. after it has refused a negative number.
  logical function is_negative(number, verb, ierr)
    integer, intent(in) :: number
    character(len=*), intent(in) :: verb
    integer, intent(out), optional :: ierr
    is_negative = number < 0
    if (is_negative) call refuse(couplet_error_argument, verb//": a number of items is negative, or an index below 1", &
                                 ierr)
  end function

  ! Returns .true. after it has refused lists of unlike length.
  logical function are_unlike(one, other, verb, ierr)
    integer, intent(in) :: one, other
    character(len=*), intent(in) :: verb
    integer, intent(out), optional :: ierr
    are_unlike = one /= other
    if (are_unlike) call refuse(couplet_error_argument, verb//": the lists have not the same size", ierr)
  end function
end module
