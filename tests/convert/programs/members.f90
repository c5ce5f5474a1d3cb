! Handles that are members of a type, and begin with a value. It is converted by tests/convert.
module halos
  use mpi
  implicit none
  type :: halo
    integer :: row = MPI_DATATYPE_NULL
    integer :: count = 1
  end type
end module
program members
  use halos
  implicit none
  type(halo) :: used, unused
  integer :: ierr, rank, ranks, left, right, a(4), b(4)
  integer :: status(MPI_STATUS_SIZE)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)
  a = rank + 1
  b = -1
  if (used%row == MPI_DATATYPE_NULL) then
    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, used%row, ierr)
    call MPI_Type_commit(used%row, ierr)
  end if
  call MPI_Sendrecv(a, used%count, used%row, right, 1, b, used%count, used%row, left, 1, MPI_COMM_WORLD, status, ierr)
  print "(a, i2, a, 4i3, l2)", "rank", rank, ":", b, unused%row == MPI_DATATYPE_NULL
  call MPI_Finalize(ierr)
end program
