! The cube is cut into boxes, one for each rank, and the ranks form a grid of three dimensions. Each box has one layer
! of cells around it, for what the neighbours own. tests/convert converts these files with `couplet convert`.
module decomposition
  use mpi
  implicit none
  private
  public :: box, make_box, free_box

  integer, parameter, public :: dp = kind(1d0)
  integer, parameter, public :: real_type = MPI_DOUBLE_PRECISION

  ! What one rank owns of the cube.
  type :: box
    integer :: comm                ! all ranks of the solver
    integer :: line                ! the ranks that lie on the same line along the first dimension
    integer :: rank, ranks
    integer :: grid(3), place(3)   ! how many ranks in each dimension, and where this one is (from 0)
    integer :: neighbour(2, 3)     ! ranks below and above in each dimension
    integer :: whole(3)            ! cells of the cube
    integer :: first(3), cells(3)  ! the first cell (from 1) and the number of cells of this rank
  end type

contains

  subroutine make_box(comm, whole, it)
    integer, intent(in) :: comm, whole(3)
    type(box), intent(out) :: it
    integer :: dimension, ierr, share, rest
    it%comm = comm
    it%whole = whole
    call MPI_Comm_rank(comm, it%rank, ierr)
    call MPI_Comm_size(comm, it%ranks, ierr)
    it%grid = grid_of(it%ranks)
    it%place = [mod(it%rank, it%grid(1)), mod(it%rank / it%grid(1), it%grid(2)), it%rank / (it%grid(1) * it%grid(2))]
    do dimension = 1, 3
      share = whole(dimension) / it%grid(dimension)
      rest = mod(whole(dimension), it%grid(dimension))
      it%cells(dimension) = share + merge(1, 0, it%place(dimension) < rest)
      it%first(dimension) = it%place(dimension) * share + min(it%place(dimension), rest) + 1
      it%neighbour(1, dimension) = rank_beside(it, dimension, -1)
      it%neighbour(2, dimension) = rank_beside(it, dimension, 1)
    end do
    call MPI_Comm_split(comm, it%place(2) + it%grid(2) * it%place(3), it%place(1), it%line, ierr)
  end subroutine

  subroutine free_box(it)
    type(box), intent(inout) :: it
    integer :: ierr
    call MPI_Comm_free(it%line, ierr)
  end subroutine

  ! The rank at the next place in a dimension; MPI_PROC_NULL outside of the cube.
  integer function rank_beside(it, dimension, step) result(rank)
    type(box), intent(in) :: it
    integer, intent(in) :: dimension, step
    integer :: place(3)
    place = it%place
    place(dimension) = place(dimension) + step
    if (place(dimension) < 0 .or. place(dimension) >= it%grid(dimension)) then
      rank = MPI_PROC_NULL
    else
      rank = place(1) + it%grid(1) * (place(2) + it%grid(2) * place(3))
    end if
  end function

  ! Three factors of the number of ranks, as equal as can be.
  pure function grid_of(ranks) result(grid)
    integer, intent(in) :: ranks
    integer :: grid(3), i, j, best
    grid = [ranks, 1, 1]
    best = ranks
    do i = 1, ranks
      if (mod(ranks, i) /= 0) cycle
      do j = 1, ranks / i
        if (mod(ranks / i, j) /= 0) cycle
        if (max(i, j, ranks / (i * j)) >= best) cycle
        best = max(i, j, ranks / (i * j))
        grid = [i, j, ranks / (i * j)]
      end do
    end do
  end function
end module
