! The field of the solar wind that drapes around a magnetosphere, in a plane. The vector potential a of the field (bx =
! da/dy, by = -da/dx) is carried by the flow around a cylinder, and diffuses. The scheme is explicit, with upwind
! differences. Each rank has a band of rows.
module draping
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  implicit none
  private
  public :: plane, set_up, advance, wind_by, columns, rows, spacing, interval

  integer, parameter :: columns = 160, rows = 96
  ! Units: planet radii; planet radii over wind speed.
  real(real64), parameter :: spacing = 0.2_real64, interval = 0.05_real64
  real(real64), parameter :: radius = 3, diffusion = 0.02_real64, wind_bx = 0.3_real64
  real(real64), parameter :: turns_at(4) = [4, 20, 36, 52]

  type :: plane
    type(MPI_Comm) :: comm
    integer :: first_row = 1, last_row = rows, below = MPI_PROC_NULL, above = MPI_PROC_NULL
    real(real64) :: time = 0, inflow = 0  ! inflow: the potential that has come in
    real(real64), allocatable :: a(:, :), u(:, :), v(:, :)  ! (0:columns+1, first_row-1:last_row+1)
  end type

contains

  ! The field that the wind brings. It turns over at some times.
  real(real64) function wind_by(time)
    real(real64), intent(in) :: time
    wind_by = product(tanh((turns_at - time)/0.5_real64))
  end function

  pure real(real64) function x_of(column)
    integer, intent(in) :: column
    x_of = (column - 0.5_real64 - columns/2)*spacing
  end function

  pure real(real64) function y_of(row)
    integer, intent(in) :: row
    y_of = (row - 0.5_real64 - rows/2)*spacing
  end function

  subroutine set_up(p, comm)
    type(plane), intent(out) :: p
    type(MPI_Comm), intent(in) :: comm
    integer :: rank, size, column, row
    real(real64) :: x, y, squared
    p%comm = comm
    call MPI_Comm_rank(comm, rank)
    call MPI_Comm_size(comm, size)
    p%first_row = rank*rows/size + 1
    p%last_row = (rank + 1)*rows/size
    if (rank > 0) p%below = rank - 1
    if (rank < size - 1) p%above = rank + 1
    allocate (p%a(0:columns + 1, p%first_row - 1:p%last_row + 1))
    allocate (p%u, p%v, mold=p%a)
    do row = p%first_row - 1, p%last_row + 1
      do column = 0, columns + 1
        x = x_of(column)
        y = y_of(row)
        squared = x**2 + y**2
        p%a(column, row) = wind_bx*y - wind_by(0._real64)*x
        p%u(column, row) = 0
        p%v(column, row) = 0
        if (squared < radius**2) cycle
        p%u(column, row) = 1 - radius**2*(x**2 - y**2)/squared**2
        p%v(column, row) = -2*radius**2*x*y/squared**2
      end do
    end do
    p%inflow = -wind_by(0._real64)*x_of(0)
  end subroutine

  subroutine advance(p)
    type(plane), intent(inout) :: p
    real(real64) :: next(columns, p%first_row:p%last_row), along, across
    integer :: i, j
    call exchange_rows(p)
    p%a(0, :) = [(p%inflow + wind_bx*y_of(j), j = p%first_row - 1, p%last_row + 1)]
    p%a(columns + 1, :) = 2*p%a(columns, :) - p%a(columns - 1, :)
    do j = p%first_row, p%last_row
      do i = 1, columns
        along = merge(p%a(i, j) - p%a(i - 1, j), p%a(i + 1, j) - p%a(i, j), p%u(i, j) > 0)
        across = merge(p%a(i, j) - p%a(i, j - 1), p%a(i, j + 1) - p%a(i, j), p%v(i, j) > 0)
        next(i, j) = p%a(i, j) - interval/spacing*(p%u(i, j)*along + p%v(i, j)*across) + &
                     interval*diffusion/spacing**2* &
                     (p%a(i - 1, j) + p%a(i + 1, j) + p%a(i, j - 1) + p%a(i, j + 1) - 4*p%a(i, j))
      end do
    end do
    p%a(1:columns, p%first_row:p%last_row) = next
    p%time = p%time + interval
    p%inflow = p%inflow + interval*wind_by(p%time)
  end subroutine

  ! Gets one row from each neighbour. Beyond the outermost rows the field continues unchanged.
  subroutine exchange_rows(p)
    type(plane), intent(inout) :: p
    integer :: count
    count = columns + 2
    call MPI_Sendrecv(p%a(:, p%last_row), count, MPI_DOUBLE_PRECISION, p%above, 1, &
                      p%a(:, p%first_row - 1), count, MPI_DOUBLE_PRECISION, p%below, 1, p%comm, MPI_STATUS_IGNORE)
    call MPI_Sendrecv(p%a(:, p%first_row), count, MPI_DOUBLE_PRECISION, p%below, 2, &
                      p%a(:, p%last_row + 1), count, MPI_DOUBLE_PRECISION, p%above, 2, p%comm, MPI_STATUS_IGNORE)
    if (p%below == MPI_PROC_NULL) p%a(:, p%first_row - 1) = 2*p%a(:, p%first_row) - p%a(:, p%first_row + 1)
    if (p%above == MPI_PROC_NULL) p%a(:, p%last_row + 1) = 2*p%a(:, p%last_row) - p%a(:, p%last_row - 1)
  end subroutine
end module
