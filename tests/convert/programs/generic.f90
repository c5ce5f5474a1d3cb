! Communicators and requests that go through generic names, bound procedures and functions. By tests/convert.
module fields
  use mpi
  implicit none
  interface spread_field
    module procedure spread_2d, spread_3d
  end interface
  type :: exchanger
    integer :: comm, up
  contains
    procedure :: post => post_value
  end type
contains
  subroutine spread_2d(a, comm)
    real(8), intent(inout) :: a(:, :)
    integer, intent(in) :: comm
    integer :: ierr
    call MPI_Bcast(a, size(a), MPI_REAL8, 0, comm, ierr)
  end subroutine
  subroutine spread_3d(a, comm)
    real(8), intent(inout) :: a(:, :, :)
    integer, intent(in) :: comm
    integer :: ierr
    call MPI_Bcast(a, size(a), MPI_REAL8, 0, comm, ierr)
  end subroutine
  subroutine post_value(this, value, request)
    class(exchanger), intent(in) :: this
    integer, intent(in) :: value(1)
    integer, intent(out) :: request
    integer :: ierr
    call MPI_Isend(value, 1, MPI_INTEGER, this%up, 0, this%comm, request, ierr)
  end subroutine
  integer function above(rank, ranks)
    integer, intent(in) :: rank, ranks
    above = rank + 1
    if (above == ranks) above = MPI_PROC_NULL
  end function
end module
program generic
  use fields
  implicit none
  type(exchanger) :: it
  integer :: requests(2), copies(2), rank, ranks, ierr, got, value(1)
  real(8) :: a(2, 2), b(2, 1, 2)
  call MPI_Init(ierr); call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  it%comm = MPI_COMM_WORLD
  it%up = above(rank, ranks)
  value = 7 * rank
  requests = MPI_REQUEST_NULL
  call it%post(value, requests(1))
  copies(1) = requests(1)
  copies(2) = MPI_REQUEST_NULL
  got = -1
  if (rank > 0) call MPI_Recv(got, 1, MPI_INTEGER, rank - 1, 0, it%comm, MPI_STATUS_IGNORE, ierr)
  a = rank + 1
  b = -rank - 2
  call spread_field(a(:, :1), it%comm)
  call spread_field(b, MPI_COMM_WORLD)
  call MPI_Waitall(2, copies, MPI_STATUSES_IGNORE, ierr)
  print "(a, 2i4, 4f6.1, 4f6.1)", "rank", rank, got, a, b
  call MPI_Finalize(ierr)
end program
