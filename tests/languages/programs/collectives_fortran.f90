! The collective calls of tests/languages in Fortran; see test_collectives.py. Usage: collectives_fortran PROGRAM
program collectives_fortran
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64, error_unit
  use couplet
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
  call group%allreduce(data, result, couplet_operation_sum, method=couplet_method_linear, ierr=ierr)
  call expect(ierr == couplet_error_argument, "a method that is not possible")
  call expect(index(couplet_error_message(), "the method linear is not possible") > 0, couplet_error_message())
  call group%barrier(timeout=60.0_real64)
  call universe%leave()
  print "(a)", "fortran: all collective calls are right"

contains

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    write (error_unit, "(2a)") "not so: ", what
    error stop
  end subroutine
end program
