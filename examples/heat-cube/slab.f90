! The nodes of a cube lie in planes, and each rank has a slab: some consecutive planes, and copies of the plane below
! and the plane above them. Everything that a solver sends to its own ranks is here. elements and conduction are built
! on it.
module slab
  use mpi
  implicit none
  private
  public :: planes, share_planes, fill_planes, fill_layer, sum_of_all, largest_of_all, gather_cut

  integer, parameter, public :: dp = kind(1d0)
  integer, parameter, public :: real_type = MPI_DOUBLE_PRECISION

  type :: planes
    integer :: comm          ! the ranks of the solver
    integer :: rank, ranks
    integer :: cells         ! elements along an edge of the cube: there are nodes 0 to cells in each dimension
    integer :: first, last   ! the planes of this rank
    integer :: below, above  ! the neighbours, or MPI_PROC_NULL
  end type

contains

  ! Shares the planes out. A rank of twice the weight gets twice as many.
  subroutine share_planes(comm, cells, weight, it)
    integer, intent(in) :: comm, cells
    real(dp), intent(in) :: weight
    type(planes), intent(out) :: it
    real(dp), allocatable :: weights(:)
    integer, allocatable :: begins(:)
    integer :: ierr, i
    it%comm = comm
    it%cells = cells
    call MPI_Comm_rank(comm, it%rank, ierr)
    call MPI_Comm_size(comm, it%ranks, ierr)
    allocate (weights(it%ranks))
    call MPI_Allgather(weight, 1, real_type, weights, 1, real_type, comm, ierr)
    begins = [(nint((cells + 1) * sum(weights(:i)) / sum(weights)), i = 0, it%ranks)]
    if (any(begins(2:) <= begins(:it%ranks))) error stop "slab: a rank gets no plane; use more cells, or fewer ranks"
    it%first = begins(it%rank + 1)
    it%last = begins(it%rank + 2) - 1
    it%below = merge(MPI_PROC_NULL, it%rank - 1, it%rank == 0)
    it%above = merge(MPI_PROC_NULL, it%rank + 1, it%rank == it%ranks - 1)
  end subroutine

  ! Fills the copies of the planes below and above.
  subroutine fill_planes(it, u)
    type(planes), intent(in) :: it
    real(dp), intent(inout) :: u(0:it%cells, 0:it%cells, it%first - 1:it%last + 1)
    integer :: requests(4), count, ierr
    count = (it%cells + 1)**2
    call MPI_Irecv(u(0, 0, it%first - 1), count, real_type, it%below, 1, it%comm, requests(1), ierr)
    call MPI_Irecv(u(0, 0, it%last + 1), count, real_type, it%above, 2, it%comm, requests(2), ierr)
    call MPI_Isend(u(0, 0, it%last), count, real_type, it%above, 1, it%comm, requests(3), ierr)
    call MPI_Isend(u(0, 0, it%first), count, real_type, it%below, 2, it%comm, requests(4), ierr)
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierr)
  end subroutine

  ! Gets the values of the layer of elements above the last plane from the rank that has the plane above it.
  subroutine fill_layer(it, values)
    type(planes), intent(in) :: it
    real(dp), intent(inout) :: values(it%cells, it%cells, it%first:it%last + 1)
    integer :: requests(2), count, ierr
    count = it%cells**2
    call MPI_Irecv(values(1, 1, it%last + 1), count, real_type, it%above, 3, it%comm, requests(1), ierr)
    call MPI_Isend(values(1, 1, it%first), count, real_type, it%below, 3, it%comm, requests(2), ierr)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
  end subroutine

  real(dp) function sum_of_all(it, own) result(total)
    type(planes), intent(in) :: it
    real(dp), intent(in) :: own
    integer :: ierr
    call MPI_Allreduce(own, total, 1, real_type, MPI_SUM, it%comm, ierr)
  end function

  real(dp) function largest_of_all(it, own) result(largest)
    type(planes), intent(in) :: it
    real(dp), intent(in) :: own
    integer :: ierr
    call MPI_Allreduce(own, largest, 1, real_type, MPI_MAX, it%comm, ierr)
  end function

  ! Gives rank 0 the cut through the middle of the cube, with the height as the second dimension.
  subroutine gather_cut(it, u, cut)
    type(planes), intent(in) :: it
    real(dp), intent(in) :: u(0:it%cells, 0:it%cells, it%first - 1:it%last + 1)
    real(dp), intent(out) :: cut(0:it%cells, 0:it%cells)
    real(dp), allocatable :: own(:, :)
    integer, allocatable :: counts(:), places(:)
    integer :: ierr, i
    allocate (counts(it%ranks), places(it%ranks))
    own = u(:, it%cells / 2, it%first:it%last)
    call MPI_Gather(size(own), 1, MPI_INTEGER, counts, 1, MPI_INTEGER, 0, it%comm, ierr)
    if (it%rank == 0) places = [(sum(counts(:i - 1)), i = 1, it%ranks)]
    call MPI_Gatherv(own, size(own), real_type, cut, counts, places, real_type, 0, it%comm, ierr)
  end subroutine
end module
