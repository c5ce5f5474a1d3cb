! The collective calls of tests/languages in Fortran; see test_collectives.py. Usage: collectives_fortran PROGRAM
module collectives_checks  ! what the program below calls
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64, error_unit
  use, intrinsic :: iso_c_binding, only: c_associated
  use couplet
  implicit none

contains

  ! What one member refuses fails at both, and the next calls match.
  subroutine refuse_alone(group, rank)
    type(couplet_group), intent(in) :: group
    integer, intent(in) :: rank
    type(couplet_request) :: request
    integer(int64) :: counts(2) = [1_int64, 2_int64]
    integer(int32) :: data(2) = [1, 2], result(4), three(3) = [1, 2, 3]
    integer :: ierr
    integer(int32), target :: spread(8)
    integer :: room
    room = merge(1, 2, rank == 1)
    call group%allreduce(data, result(1:room), couplet_operation_sum, ierr=ierr)
    call expect_refused(group, ierr, "result has 1 element, and 2 are needed")
    call group%alltoall(three(1:1 + room), result, ierr=ierr)
    call expect_refused(group, ierr, "which cannot be divided among 2 members")
    call group%allgatherv(data, result, counts(1:room), ierr=ierr)
    call expect_refused(group, ierr, "have 1 entry")
    spread = 1
    if (rank == 1) then
      call group%iallreduce(spread(1:8:4), result, couplet_operation_sum, request, ierr=ierr)
    else
      call group%allreduce(spread(1:2), result, couplet_operation_sum, ierr=ierr)
    end if
    call expect_refused(group, ierr, "not contiguous")
    if (rank == 1) then
      call group%refuse_collective("barrier", "the mesh is not there")
    else
      call group%barrier(ierr=ierr)
      call expect(index(couplet_error_message(), "the mesh is not there") > 0, couplet_error_message())
    end if
    call group%allreduce(three(1:1), result, couplet_operation_sum)
    call expect(result(1) == 2, "a call after one that was refused")
  end subroutine

  subroutine make_groups(universe, group, rank)
    type(couplet_universe), intent(in) :: universe
    type(couplet_group), intent(in) :: group
    integer, intent(in) :: rank
    type(couplet_group) :: heads, left, last, backwards, first
    integer :: own, count
    call universe%heads_group(heads)
    call heads%rank(own, count)
    call expect(own == rank .and. count == 2, "heads")
    call heads%barrier()
    call universe%program_group_of("left", left)
    call left%rank(own, count)
    call expect(own == merge(0, -1, rank == 0) .and. count == 1, "the group of a program")
    call universe%filter_group("last", is_last, last)
    call last%rank(own, count)
    call expect(own == merge(0, -1, rank == 1) .and. count == 1, "filter")
    call group%split("backwards", 0, backwards, key=-rank)
    call backwards%rank(own, count)
    call expect(own == 1 - rank .and. count == 2, "split")
    call backwards%barrier()
    call group%split("first", merge(3, -1, rank == 0), first)
    call expect(c_associated(first%handle) .eqv. rank == 0, "split without color")
  end subroutine

  logical function is_last(rank, program)
    integer, intent(in) :: rank, program
    is_last = rank + program == 2
  end function

  subroutine expect_refused(group, ierr, words)
    type(couplet_group), intent(in) :: group
    integer, intent(in) :: ierr
    character(len=*), intent(in) :: words
    integer(int32) :: one(1) = [1], result(1)
    call expect(ierr == couplet_error_argument, words)
    call expect(index(couplet_error_message(), words) > 0, couplet_error_message())
    call group%allreduce(one, result, couplet_operation_sum)
    call expect(result(1) == 2, "the call after one that was refused")
  end subroutine

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    write (error_unit, "(2a)") "not so: ", what
    error stop
  end subroutine
end module

program collectives_fortran
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64, error_unit
  use couplet
  use collectives_checks
  implicit none
  type(couplet_universe) :: universe
  type(couplet_group) :: group
  type(couplet_request) :: request
  character(len=64) :: name
  integer :: rank, members, ierr
  integer(int64) :: counts(2) = [1_int64, 2_int64]
  integer(int32) :: data(2), result(4), three(3) = [1, 2, 3]
  real(real64) :: field(2, 3), sums(2, 3)

  call get_command_argument(1, name)
  call couplet_join(trim(name), universe)
  call universe%group(group)
  call group%rank(rank, members)
  call expect(members == 2, "two members")
  call group%barrier()

  data = [rank + 1, 10 * (rank + 1)]
  call group%allreduce(data, result, couplet_operation_sum)
  call expect(result(1) == 3 .and. result(2) == 30, "allreduce")
  call group%reduce(data, result, couplet_operation_max, 1)
  call expect(rank /= 1 .or. result(2) == 20, "reduce")
  call group%scan(data, result, couplet_operation_product)
  call expect(result(1) == merge(1, 2, rank == 0), "scan")
  call group%allgather(data, result)
  call expect(result(1) == 1 .and. result(4) == 20, "allgather")
  call group%gather(data, result, 0)
  call group%scatter(result, data, 0)
  call expect(data(1) == rank + 1, "scatter")
  call group%alltoall(data, result)
  call expect(result(1) == merge(1, 10, rank == 0) .and. result(2) == merge(2, 20, rank == 0), "alltoall")
  call group%allgatherv([100 * (rank + 1), 100 * (rank + 1) + 1], result, counts)
  call expect(result(1) == 100 .and. result(2) == 200 .and. result(3) == 201, "allgatherv")
  call group%reduce_scatter(three, result, counts, couplet_operation_sum)
  call expect(result(1) == merge(2, 4, rank == 0), "reduce_scatter")

  field = rank + 0.5_real64
  call group%iallreduce(field, sums, couplet_operation_sum, request)
  call request%wait()
  call expect(all(sums == 2), "iallreduce of two dimensions")
  call group%broadcast(field, 1)
  call expect(all(field == 1.5_real64), "broadcast")

  call group%allreduce(three(1:2 + rank), result, couplet_operation_sum, ierr=ierr)
  call expect(ierr == couplet_error_mismatch, "mismatch")
  call group%allreduce(data, result, couplet_operation_sum, method=couplet_collective_linear, ierr=ierr)
  call expect(ierr == couplet_error_argument, "a method that is not possible")
  call expect(index(couplet_error_message(), "the method linear is not possible") > 0, couplet_error_message())
  call refuse_alone(group, rank)
  call make_groups(universe, group, rank)
  call group%barrier(timeout=60.0_real64)
  call universe%leave()
  print "(a)", "fortran: all collective calls are right"
end program
