! Starts collective calls whose arguments are MPI's: addresses, counts that are default integers, blocks at offsets, and
! a buffer in place. The counts and offsets are copied, since Couplet's are 64-bit. Built on couplet_ported_base;
! couplet_ported_collectives is built on it. Tests: tests/convert.
module couplet_ported_starts
  use, intrinsic :: iso_c_binding
  use couplet
  use couplet_binding_module
  use couplet_ported_base
  implicit none
  private
  public :: start_gather, start_gatherv, start_allgather, start_allgatherv, start_scatter, start_scatterv, &
    start_alltoall, start_alltoallv, start_reduce_scatter, is_in_place, source_of

contains

  logical function is_in_place(buffer)
    type(c_ptr), intent(in) :: buffer
    is_in_place = c_associated(buffer, c_loc(couplet_in_place))
  end function

  ! The data of a reduction: they are in the result if the call is in place.
  type(c_ptr) function source_of(data, result) result(source)
    type(c_ptr), intent(in) :: data, result
    source = data
    if (is_in_place(data)) source = result
  end function

  function widened(counts, number) result(wide)
    integer, intent(in) :: counts(*)
    integer, intent(in) :: number
    integer(c_int64_t) :: wide(number)
    wide = counts(1:number)
  end function

  subroutine refuse_in_place(buffer, name)
    type(c_ptr), intent(in) :: buffer
    character(len=*), intent(in) :: name
    if (.not. is_in_place(buffer)) return
    print "(3a)", "couplet_ported_", name, ": couplet_in_place is not possible for this call"
    error stop 1
  end subroutine

  ! Couplet has one type and one size for both sides of a block.
  subroutine refuse_unlike(bytes, other_bytes, name)
    integer(c_int64_t), intent(in) :: bytes, other_bytes
    character(len=*), intent(in) :: name
    if (bytes == other_bytes) return
    print "(3a)", "couplet_ported_", name, ": a block that is sent and one that is received differ in size"
    error stop 1
  end subroutine

  subroutine start_gather(data, count, type, result, result_count, result_type, root, comm, request)
    type(c_ptr), intent(in) :: data, result
    integer, intent(in) :: count, type, result_count, result_type, root
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    integer :: rank
    if (is_in_place(data)) then
      call comm%rank(rank)
      call need(c_igather(comm%handle, block_at(result, rank * bytes_of(result_count, result_type)), &
        elements(result_count, result_type), result, element_type(result_type), root, default_options(), &
        request%handle))
    else
      call need(c_igather(comm%handle, data, elements(count, type), result, element_type(type), root, &
        default_options(), request%handle))
    end if
  end subroutine

  subroutine start_gatherv(data, count, type, result, counts, offsets, result_type, root, comm, request)
    type(c_ptr), intent(in) :: data, result
    integer, intent(in) :: count, type, counts(*), offsets(*), result_type, root
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    integer(c_int64_t), allocatable, target :: wide_counts(:), wide_offsets(:)
    integer :: rank, members
    call comm%rank(rank, members)
    if (rank /= root) then
      call need(c_igatherv(comm%handle, data, elements(count, type), c_null_ptr, c_null_ptr, c_null_ptr, &
        element_type(type), root, default_options(), request%handle))
      return
    end if
    wide_counts = widened(counts, members)
    wide_offsets = widened(offsets, members)
    if (is_in_place(data)) then
      call need(c_igatherv(comm%handle, block_at(result, wide_offsets(rank + 1) * bytes_of(1, result_type)), &
        wide_counts(rank + 1), result, c_loc(wide_counts), c_loc(wide_offsets), element_type(result_type), root, &
        default_options(), request%handle))
    else
      call need(c_igatherv(comm%handle, data, elements(count, type), result, c_loc(wide_counts), &
        c_loc(wide_offsets), element_type(type), root, default_options(), request%handle))
    end if
  end subroutine

  subroutine start_allgather(data, count, type, result, result_count, result_type, comm, request)
    type(c_ptr), intent(in) :: data, result
    integer, intent(in) :: count, type, result_count, result_type
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    integer :: rank
    if (is_in_place(data)) then
      call comm%rank(rank)
      call need(c_iallgather(comm%handle, block_at(result, rank * bytes_of(result_count, result_type)), &
        elements(result_count, result_type), result, element_type(result_type), default_options(), request%handle))
    else
      call need(c_iallgather(comm%handle, data, elements(count, type), result, element_type(type), &
        default_options(), request%handle))
    end if
  end subroutine

  subroutine start_allgatherv(data, count, type, result, counts, offsets, result_type, comm, request)
    type(c_ptr), intent(in) :: data, result
    integer, intent(in) :: count, type, counts(*), offsets(*), result_type
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    integer(c_int64_t), allocatable, target :: wide_counts(:), wide_offsets(:)
    type(c_ptr) :: own
    integer :: rank, members
    call comm%rank(rank, members)
    wide_counts = widened(counts, members)
    wide_offsets = widened(offsets, members)
    own = data
    if (is_in_place(data)) then
      own = block_at(result, wide_offsets(rank + 1) * bytes_of(1, result_type))
    else
      call refuse_unlike(bytes_of(count, type), bytes_of(counts(rank + 1), result_type), "allgatherv")
    end if
    call need(c_iallgatherv(comm%handle, own, result, c_loc(wide_counts), c_loc(wide_offsets), &
      element_type(result_type), default_options(), request%handle))
  end subroutine

  subroutine start_scatter(data, count, type, result, result_count, result_type, root, comm, request)
    type(c_ptr), intent(in) :: data, result
    integer, intent(in) :: count, type, result_count, result_type, root
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    integer :: rank
    if (is_in_place(result)) then
      call comm%rank(rank)
      call need(c_iscatter(comm%handle, data, block_at(data, rank * bytes_of(count, type)), elements(count, type), &
        element_type(type), root, default_options(), request%handle))
    else
      call need(c_iscatter(comm%handle, data, result, elements(result_count, result_type), &
        element_type(result_type), root, default_options(), request%handle))
    end if
  end subroutine

  subroutine start_scatterv(data, counts, offsets, type, result, result_count, result_type, root, comm, request)
    type(c_ptr), intent(in) :: data, result
    integer, intent(in) :: counts(*), offsets(*), type, result_count, result_type, root
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    integer(c_int64_t), allocatable, target :: wide_counts(:), wide_offsets(:)
    integer :: rank, members
    call comm%rank(rank, members)
    if (rank /= root) then
      call need(c_iscatterv(comm%handle, c_null_ptr, c_null_ptr, c_null_ptr, result, elements(result_count, &
        result_type), element_type(result_type), root, default_options(), request%handle))
      return
    end if
    wide_counts = widened(counts, members)
    wide_offsets = widened(offsets, members)
    if (is_in_place(result)) then
      call need(c_iscatterv(comm%handle, data, c_loc(wide_counts), c_loc(wide_offsets), &
        block_at(data, wide_offsets(rank + 1) * bytes_of(1, type)), wide_counts(rank + 1), element_type(type), root, &
        default_options(), request%handle))
    else
      call need(c_iscatterv(comm%handle, data, c_loc(wide_counts), c_loc(wide_offsets), result, &
        elements(result_count, result_type), element_type(result_type), root, default_options(), request%handle))
    end if
  end subroutine

  subroutine start_alltoall(data, count, type, result, result_count, result_type, comm, request)
    type(c_ptr), intent(in) :: data, result
    integer, intent(in) :: count, type, result_count, result_type
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    call refuse_in_place(data, "alltoall")
    call refuse_unlike(bytes_of(count, type), bytes_of(result_count, result_type), "alltoall")
    call need(c_ialltoall(comm%handle, data, result, elements(count, type), element_type(type), default_options(), &
      request%handle))
  end subroutine

  subroutine start_alltoallv(data, counts, offsets, type, result, result_counts, result_offsets, result_type, comm, &
      request)
    type(c_ptr), intent(in) :: data, result
    integer, intent(in) :: counts(*), offsets(*), type, result_counts(*), result_offsets(*), result_type
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    integer(c_int64_t), allocatable, target :: wide(:, :)
    integer :: members
    call refuse_in_place(data, "alltoallv")
    call refuse_unlike(bytes_of(1, type), bytes_of(1, result_type), "alltoallv")
    call comm%rank(size=members)
    allocate (wide(members, 4))
    wide(:, 1) = widened(counts, members)
    wide(:, 2) = widened(offsets, members)
    wide(:, 3) = widened(result_counts, members)
    wide(:, 4) = widened(result_offsets, members)
    call need(c_ialltoallv(comm%handle, data, c_loc(wide(1, 1)), c_loc(wide(1, 2)), result, c_loc(wide(1, 3)), &
      c_loc(wide(1, 4)), element_type(type), default_options(), request%handle))
  end subroutine

  ! In place, the data are in `result`, and the own block of the combination comes to its beginning.
  subroutine start_reduce_scatter(data, result, counts, type, operation, comm, request)
    type(c_ptr), intent(in) :: data, result
    integer, intent(in) :: counts(*), type, operation
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    integer(c_int64_t), allocatable, target :: wide(:)
    integer :: members
    call refuse_in_place(data, "reduce_scatter")
    call comm%rank(size=members)
    wide = widened(counts, members)
    if (type >= couplet_pairs) wide = 2 * wide
    call need(c_ireduce_scatter(comm%handle, data, result, c_loc(wide), element_type(type), int(operation, &
      c_int32_t), default_options(), request%handle))
  end subroutine
end module
