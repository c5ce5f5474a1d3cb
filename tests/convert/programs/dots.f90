! Dot products with mpi_f08: in place, without waiting, and of one row of a matrix. It is converted by tests/convert.
module dots_of_vectors
  use mpi_f08
  implicit none
contains
  function dot(a, b, comm) result(sum)
    real(8), intent(in) :: a(:), b(:)
    type(MPI_Comm), intent(in) :: comm
    real(8) :: sum
    sum = dot_product(a, b)
    call MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_DOUBLE_PRECISION, MPI_SUM, comm)
  end function

  subroutine start(own, all, comm, request)
    real(8), asynchronous :: own(3)
    real(8), asynchronous :: all(3)
    type(MPI_Comm), intent(in) :: comm
    type(MPI_Request) :: request
    call MPI_Iallreduce(own, all, size(own), MPI_DOUBLE_PRECISION, op=MPI_MAX, comm=comm, request=request)
  end subroutine
end module

program dots
  use mpi_f08
  use dots_of_vectors
  implicit none
  integer :: rank, ranks, ierr, i
  real(8) :: a(100), b(100), matrix(5, 7), row(7)
  real(8), asynchronous :: own(3), all(3)
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  type(MPI_Comm) :: world
  call MPI_Init()
  world = MPI_COMM_WORLD
  call MPI_Comm_rank(world, rank)
  call MPI_Comm_size(world, ranks, ierror=ierr)
  a = [(1d0 / (i + rank), i = 1, 100)]
  b = [(1d0 * i, i = 1, 100)]
  own = [1d0 * rank, -1d0 * rank, 2.5d0]
  call start(own, all, world, request)
  print "(a, i2, f24.16)", "dot", rank, dot(a, b, MPI_COMM_WORLD)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  print "(a, i2, 3f8.2)", "max", rank, all
  matrix = rank
  matrix(2, :) = [(10d0 * rank + i, i = 1, 7)]
  row = 0
  call MPI_Sendrecv(matrix(2, :), 7, MPI_DOUBLE_PRECISION, modulo(rank + 1, ranks), 3, row, 7, &
    MPI_DOUBLE_PRECISION, modulo(rank - 1, ranks), 3, world, status)
  print "(a, i2, i2, 7f6.1)", "row", rank, status%MPI_SOURCE, row
  call MPI_Finalize()
end program
