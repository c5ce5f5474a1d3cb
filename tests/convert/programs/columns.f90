! Datatypes in Fortran: rows of a matrix, blocks of it, and a derived type. It is converted by tests/convert.
module cells
  use mpi
  implicit none
  type :: cell
    sequence
    real(kind(1d0)) :: heat
    integer :: material
    integer :: neighbours(3)
  end type
contains
  subroutine make_cell_type(example, cell_type)
    type(cell), intent(in) :: example
    integer, intent(out) :: cell_type
    integer :: ierr, types(3), lengths(3)
    integer(kind=MPI_ADDRESS_KIND) :: places(3), base
    call MPI_Get_address(example%heat, base, ierr)
    call MPI_Get_address(example%material, places(2), ierr)
    call MPI_Get_address(example%neighbours(1), places(3), ierr)
    places(1) = 0
    places(2:3) = places(2:3) - base
    types = (/ MPI_DOUBLE_PRECISION, MPI_INTEGER, MPI_INTEGER /)
    lengths = (/ 1, 1, 3 /)
    call MPI_Type_create_struct(3, lengths, places, types, cell_type, ierr)
    call MPI_Type_commit(cell_type, ierr)
  end subroutine
end module

program columns
  use mpi
  use cells
  implicit none
  integer, parameter :: n = 5, m = 4
  integer :: rank, ranks, left, right, ierr, i, j, row, block, wide, cell_type, count, bytes, request
  integer :: status(MPI_STATUS_SIZE)
  integer(kind=MPI_ADDRESS_KIND) :: lower, extent
  real(kind(1d0)) :: a(n, m), b(n, m)
  type(cell) :: mine(2), others(2)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)
  do j = 1, m
    do i = 1, n
      a(i, j) = 100 * rank + 10 * i + j
    end do
  end do

  call MPI_Type_vector(m, 1, n, MPI_DOUBLE_PRECISION, row, ierr)
  call MPI_Type_commit(row, ierr)
  b = 0
  call MPI_Irecv(b(n, 1), 1, row, left, 1, MPI_COMM_WORLD, request, ierr)
  call MPI_Send(a(2, 1), 1, row, right, 1, MPI_COMM_WORLD, ierr)
  call MPI_Wait(request, status, ierr)
  call MPI_Get_count(status, row, count, ierr)
  print "(a, i2, a, i2, 20f6.0)", "rank", rank, " row", count, b

  call MPI_Type_create_subarray(2, (/ n, m /), (/ 2, 3 /), (/ 1, 0 /), MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, &
    block, ierr)
  call MPI_Type_commit(block, ierr)
  b = 0
  call MPI_Sendrecv(a, 1, block, right, 2, b, 1, block, left, 2, MPI_COMM_WORLD, status, ierr)
  print "(a, i2, a, 20f6.0)", "rank", rank, " block", b

  call MPI_Type_create_resized(row, 0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND, wide, ierr)
  call MPI_Type_commit(datatype=wide, ierror=ierr)
  b = 0
  call MPI_Sendrecv(a(1, 1), 2, wide, right, 3, b(3, 1), 2, wide, left, 3, MPI_COMM_WORLD, status, ierr)
  call MPI_Type_size(wide, bytes, ierr)
  call MPI_Type_get_extent(wide, lower, extent, ierr)
  print "(a, i2, a, 3i4, 20f6.0)", "rank", rank, " two rows", bytes, lower, extent, b

  mine(1) = cell(0.5d0 * rank, rank, (/ 1, 2, rank /))
  mine(2) = cell(0.25d0 * rank, rank + 7, (/ rank, 3, 4 /))
  call make_cell_type(mine(1), cell_type)
  call MPI_Sendrecv(mine, 2, cell_type, right, 4, others, 2, cell_type, left, 4, MPI_COMM_WORLD, status, ierr)
  print "(a, i2, a, 2(f6.2, 4i3))", "rank", rank, " cells", others
  call MPI_Type_free(cell_type, ierr)
  call MPI_Type_free(wide, ierr)
  if (wide /= MPI_DATATYPE_NULL) error stop "freed"
  call MPI_Finalize(ierr)
end program
