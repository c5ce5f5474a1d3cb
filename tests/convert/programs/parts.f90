! This module has the communicator, and a derived type with requests. split.f90 uses it; tests/convert converts both.
module parts
  use mpi
  implicit none
  integer :: everyone = MPI_COMM_NULL
  integer, parameter :: real_type = MPI_DOUBLE_PRECISION
  type :: exchange
    integer :: comm
    integer :: pending(2)
    integer, allocatable :: states(:, :)
  end type
contains
  subroutine begin_exchange(it, comm, data, from, rank, ranks)
    type(exchange), intent(inout) :: it
    integer, intent(in) :: comm, rank, ranks
    real(8), intent(inout) :: data, from
    integer :: ierr
    it%comm = comm
    allocate (it%states(MPI_STATUS_SIZE, 2))
    call MPI_Irecv(from, 1, real_type, modulo(rank - 1, ranks), 4, it%comm, it%pending(1), ierr)
    call MPI_Isend(data, 1, real_type, modulo(rank + 1, ranks), 4, it%comm, it%pending(2), ierr)
  end subroutine

  integer function end_exchange(it) result(source)
    type(exchange), intent(inout) :: it
    integer :: ierr
    call MPI_Waitall(2, it%pending, it%states, ierr)
    source = it%states(MPI_SOURCE, 1)
    if (any(it%pending /= MPI_REQUEST_NULL)) print *, "still pending"
    deallocate (it%states)
  end function
end module
