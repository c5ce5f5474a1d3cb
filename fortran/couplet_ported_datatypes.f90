! Datatypes of converted programs: MPI's names, arguments and their order. What couplet_ported_type_vector makes is sent
! and received by the calls of couplet_ported_messages, and is a handle of a datatype of Couplet
! (couplet_datatypes_module). Arguments have the names that mpi_f08 gives them, so that keywords stay what they are.
! It is built on couplet_ported_base; module couplet_ported, which programs use, is built on it. Tests: tests/convert.
module couplet_ported_datatypes
  use, intrinsic :: iso_c_binding
  use couplet
  use couplet_binding_module, only: c_type_create_contiguous, c_type_create_vector, c_type_create_indexed, &
    c_type_create_subarray, c_type_create_struct, c_type_create_resized, c_type_extent, c_type_free
  use couplet_errors_module, only: refuse
  use couplet_ported_base
  implicit none
  private
  public :: couplet_ported_type_contiguous, couplet_ported_type_vector, couplet_ported_type_create_hvector, &
    couplet_ported_type_indexed, couplet_ported_type_create_indexed_block, couplet_ported_type_create_hindexed, &
    couplet_ported_type_create_hindexed_block, couplet_ported_type_create_struct, &
    couplet_ported_type_create_subarray, couplet_ported_type_create_resized, couplet_ported_type_dup, &
    couplet_ported_type_commit, couplet_ported_type_free, couplet_ported_type_size, couplet_ported_type_get_extent, &
    couplet_ported_get_address, couplet_ported_aint_add, couplet_ported_aint_diff

  integer, parameter, public :: couplet_address_kind = c_intptr_t
  integer, parameter, public :: couplet_null_type = -1
  integer, parameter, public :: couplet_order_c = 0, couplet_order_fortran = 1

contains

  subroutine couplet_ported_type_contiguous(count, oldtype, newtype, ierror)
    integer, intent(in) :: count, oldtype
    integer, intent(out) :: newtype
    integer, intent(out), optional :: ierror
    integer(c_int32_t) :: made
    call need(c_type_create_contiguous(items(count), int(oldtype, c_int32_t), made))
    newtype = made
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_type_vector(count, blocklength, stride, oldtype, newtype, ierror)
    integer, intent(in) :: count, blocklength, stride, oldtype
    integer, intent(out) :: newtype
    integer, intent(out), optional :: ierror
    integer(c_int32_t) :: made
    call need(c_type_create_vector(items(count), items(blocklength), int(stride, c_int64_t), &
                                   int(oldtype, c_int32_t), made))
    newtype = made
    call finish(couplet_ok, ierror)
  end subroutine

  ! The stride is in bytes.
  subroutine couplet_ported_type_create_hvector(count, blocklength, stride, oldtype, newtype, ierror)
    integer, intent(in) :: count, blocklength, oldtype
    integer(couplet_address_kind), intent(in) :: stride
    integer, intent(out) :: newtype
    integer, intent(out), optional :: ierror
    integer(c_int64_t) :: i
    call make_blocks([(items(blocklength), i = 1, count)], [((i - 1) * stride, i = 1, count)], oldtype, newtype)
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_type_indexed(count, array_of_blocklengths, array_of_displacements, oldtype, newtype, ierror)
    integer, intent(in) :: count, array_of_blocklengths(*), array_of_displacements(*), oldtype
    integer, intent(out) :: newtype
    integer, intent(out), optional :: ierror
    integer(c_int32_t) :: made
    call need(c_type_create_indexed(items(count), items(array_of_blocklengths(1:count)), &
                                    int(array_of_displacements(1:count), c_int64_t), int(oldtype, c_int32_t), made))
    newtype = made
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_type_create_indexed_block(count, blocklength, array_of_displacements, oldtype, newtype, &
      ierror)
    integer, intent(in) :: count, blocklength, array_of_displacements(*), oldtype
    integer, intent(out) :: newtype
    integer, intent(out), optional :: ierror
    integer :: i
    call couplet_ported_type_indexed(count, [(blocklength, i = 1, count)], array_of_displacements, oldtype, newtype, &
      ierror)
  end subroutine

  ! The displacements are in bytes, as in the next two.
  subroutine couplet_ported_type_create_hindexed(count, array_of_blocklengths, array_of_displacements, oldtype, &
      newtype, ierror)
    integer, intent(in) :: count, array_of_blocklengths(*), oldtype
    integer(couplet_address_kind), intent(in) :: array_of_displacements(*)
    integer, intent(out) :: newtype
    integer, intent(out), optional :: ierror
    call make_blocks(items(array_of_blocklengths(1:count)), int(array_of_displacements(1:count), c_int64_t), oldtype, &
      newtype)
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_type_create_hindexed_block(count, blocklength, array_of_displacements, oldtype, newtype, &
      ierror)
    integer, intent(in) :: count, blocklength, oldtype
    integer(couplet_address_kind), intent(in) :: array_of_displacements(*)
    integer, intent(out) :: newtype
    integer, intent(out), optional :: ierror
    integer :: i
    call make_blocks([(items(blocklength), i = 1, count)], int(array_of_displacements(1:count), c_int64_t), oldtype, &
      newtype)
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_type_create_struct(count, array_of_blocklengths, array_of_displacements, array_of_types, &
      newtype, ierror)
    integer, intent(in) :: count, array_of_blocklengths(*), array_of_types(*)
    integer(couplet_address_kind), intent(in) :: array_of_displacements(*)
    integer, intent(out) :: newtype
    integer, intent(out), optional :: ierror
    integer(c_int32_t) :: made
    call need(c_type_create_struct(items(count), items(array_of_blocklengths(1:count)), &
                                   int(array_of_displacements(1:count), c_int64_t), &
                                   int(array_of_types(1:count), c_int32_t), made))
    newtype = made
    call finish(couplet_ok, ierror)
  end subroutine

  ! The starts count from 0, as MPI's do.
  subroutine couplet_ported_type_create_subarray(ndims, array_of_sizes, array_of_subsizes, array_of_starts, order, &
      oldtype, newtype, ierror)
    integer, intent(in) :: ndims, array_of_sizes(*), array_of_subsizes(*), array_of_starts(*), order, oldtype
    integer, intent(out) :: newtype
    integer, intent(out), optional :: ierror
    integer :: dimensions(ndims), i
    integer(c_int32_t) :: made
    dimensions = [(i, i = 1, ndims)]
    if (order == couplet_order_fortran) dimensions = dimensions(ndims:1:-1)
    call need(c_type_create_subarray(int(ndims, c_int32_t), items(array_of_sizes(dimensions)), &
                                     items(array_of_subsizes(dimensions)), items(array_of_starts(dimensions)), &
                                     int(oldtype, c_int32_t), made))
    newtype = made
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_type_create_resized(oldtype, lb, extent, newtype, ierror)
    integer, intent(in) :: oldtype
    integer(couplet_address_kind), intent(in) :: lb, extent
    integer, intent(out) :: newtype
    integer, intent(out), optional :: ierror
    integer(c_int32_t) :: made
    if (extent < 0) call refuse(couplet_error_argument, "type_create_resized: the extent is negative")
    call need(c_type_create_resized(int(oldtype, c_int32_t), int(lb, c_int64_t), int(extent, c_int64_t), made))
    newtype = made
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_type_dup(oldtype, newtype, ierror)
    integer, intent(in) :: oldtype
    integer, intent(out) :: newtype
    integer, intent(out), optional :: ierror
    call couplet_ported_type_contiguous(1, oldtype, newtype, ierror)
  end subroutine

  ! Checks that it is a type. A type of Couplet needs no preparation.
  subroutine couplet_ported_type_commit(datatype, ierror)
    integer, intent(in) :: datatype
    integer, intent(out), optional :: ierror
    integer(c_int64_t) :: lower, extent
    call need(c_type_extent(int(datatype, c_int32_t), lower, extent))
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_type_free(datatype, ierror)
    integer, intent(inout) :: datatype
    integer, intent(out), optional :: ierror
    integer(c_int32_t) :: freed
    freed = int(datatype, c_int32_t)
    call need(c_type_free(freed))
    datatype = freed
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_type_size(datatype, size, ierror)
    integer, intent(in) :: datatype
    integer, intent(out) :: size
    integer, intent(out), optional :: ierror
    integer(c_int64_t) :: lower, extent
    call need(c_type_extent(element_type(datatype), lower, extent))
    size = couplet_undefined
    if (bytes_of(1, datatype) <= huge(size)) size = int(bytes_of(1, datatype))
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_type_get_extent(datatype, lb, extent, ierror)
    integer, intent(in) :: datatype
    integer(couplet_address_kind), intent(out) :: lb, extent
    integer, intent(out), optional :: ierror
    integer(c_int64_t) :: lower, bytes
    call need(c_type_extent(element_type(datatype), lower, bytes))
    lb = lower
    extent = elements(1, datatype) * bytes
    call finish(couplet_ok, ierror)
  end subroutine

  ! These take the place of MPI_Get_address, MPI_Aint_add and MPI_Aint_diff in a program without MPI.
  subroutine couplet_ported_get_address(location, address, ierror)
    type(*), dimension(..), intent(in), asynchronous, target :: location
    integer(couplet_address_kind), intent(out) :: address
    integer, intent(out), optional :: ierror
    address = transfer(c_loc(location), address)
    call finish(couplet_ok, ierror)
  end subroutine

  integer(couplet_address_kind) function couplet_ported_aint_add(base, disp) result(address)
    integer(couplet_address_kind), intent(in) :: base, disp
    address = base + disp
  end function

  integer(couplet_address_kind) function couplet_ported_aint_diff(addr1, addr2) result(bytes)
    integer(couplet_address_kind), intent(in) :: addr1, addr2
    bytes = addr1 - addr2
  end function

  ! Makes the type of blocks that begin places(i) bytes after the start.
  subroutine make_blocks(blocks, places, oldtype, newtype)
    integer(c_int64_t), intent(in) :: blocks(:), places(:)
    integer, intent(in) :: oldtype
    integer, intent(out) :: newtype
    integer(c_int64_t) :: lower, extent
    integer(c_int32_t) :: types(size(blocks)), made
    types = int(oldtype, c_int32_t)
    call need(c_type_extent(int(oldtype, c_int32_t), lower, extent))
    call need(c_type_create_struct(size(blocks, kind=c_int64_t), blocks, places, types, made))
    newtype = made
  end subroutine

  ! Returns a number of items as a 64-bit number. Ends the run if it is negative.
  impure elemental integer(c_int64_t) function items(number)
    integer, intent(in) :: number
    if (number < 0) call refuse(couplet_error_argument, "type: a number of items, or a start in an array, is negative")
    items = int(number, c_int64_t)
  end function
end module
