! Shallow water on a staggered grid: the sea is described by water depths in cells, and by velocities on the faces
! between them. `advance` turns depth and velocities into those one interval later.
!
! Scheme: Stelling and Duinmeijer (2003), Int. J. Numer. Meth. Fluids 43, 1329-1354: finite volumes, forward
! in the depth, then backward in the velocities, momentum conserved by upwind advection. Depth on a face:
! the hydrostatic reconstruction of Audusse et al. (2004), SIAM J. Sci. Comput. 25, 2050-2065.
! Invariants: the depth is never negative; water is only moved, never made, behind closed boundaries; a lake
! at rest stays at rest; the result does not depend on the number of ranks.
! Each rank of a communicator has some rows of cells. Tests: tests/examples/test_tsunami_solver.py
module shallow_water
  use, intrinsic :: iso_fortran_env, only: real32, real64
  use mpi_f08
  implicit none
  private
  public :: sea, advance, get_surface, open_sea, share_of_rows

  real(real64), parameter :: gravity = 9.81_real64       ! m s-2
  real(real64), parameter :: film = 1.0e-3_real64        ! m; a face with less water above it is closed

  type :: sea
    ! Cell (i,j) lies between the faces u(i-1,j) and u(i,j), and between v(i,j-1) and v(i,j).
    ! There is a frame of one cell: a copy of the neighbouring rank's row, or the edge of the sea.
    real(real64), allocatable :: depth(:,:)              ! m
    real(real64), allocatable :: bottom(:,:)             ! m, upwards, 0 at mean sea level
    real(real64), allocatable :: u(:,:), v(:,:)          ! m s-1, eastwards and northwards
    real(real64), allocatable :: flow_u(:,:), flow_v(:,:) ! m2 s-1, depth times velocity
    real(real64), allocatable :: next_u(:,:), next_v(:,:) ! the velocities that are being computed
    real(real64) :: dx = 1, dy = 1                       ! m
    real(real64) :: drag = 0                             ! quadratic bottom friction, no unit
    real(real64) :: coriolis = 0                         ! s-1
    real(real64) :: courant = 0.9_real64                 ! share of the largest stable step that is taken
    logical :: radiating = .false.                       ! waves leave through the edge; else it is a wall
    integer :: columns = 0, rows = 0, first_row = 1      ! rows of this rank; its first row in the whole sea
    integer :: south = MPI_PROC_NULL, north = MPI_PROC_NULL
    type(MPI_Comm) :: comm = MPI_COMM_NULL
  end type sea

contains

  ! Gives the rows of one rank. The ranks have as equal numbers of rows as possible.
  pure subroutine share_of_rows(all_rows, rank, ranks, first_row, rows)
    integer, intent(in) :: all_rows, rank, ranks
    integer, intent(out) :: first_row, rows
    first_row = rank * (all_rows / ranks) + min(rank, mod(all_rows, ranks)) + 1
    rows = all_rows / ranks + merge(1, 0, rank < mod(all_rows, ranks))
  end subroutine share_of_rows

  ! Makes a sea at rest. `bottom` and `surface` are this rank's rows (m). If the bottom is higher, the land is dry.
  subroutine open_sea(s, comm, bottom, surface, dx, dy)
    type(sea), intent(out) :: s
    type(MPI_Comm), intent(in) :: comm
    real(real64), intent(in) :: bottom(:,:), surface(:,:), dx, dy
    integer :: rank, ranks
    call MPI_Comm_rank(comm, rank)
    call MPI_Comm_size(comm, ranks)
    s%comm = comm
    if (rank > 0) s%south = rank - 1
    if (rank < ranks - 1) s%north = rank + 1
    s%columns = size(bottom, 1)
    s%rows = size(bottom, 2)
    s%dx = dx
    s%dy = dy
    associate (columns => s%columns, rows => s%rows)
      allocate (s%depth(0:columns+1, 0:rows+1), s%bottom(0:columns+1, 0:rows+1), source=0.0_real64)
      allocate (s%u, s%v, s%flow_u, s%flow_v, s%next_u, s%next_v, source=s%depth)
      s%bottom(1:columns, 1:rows) = bottom
      s%depth(1:columns, 1:rows) = max(0.0_real64, surface - bottom)
    end associate
    call extend(s, s%bottom)
    call extend(s, s%depth)
  end subroutine open_sea

  ! Advances the sea by `interval` seconds, in as many steps as stability requires at each time.
  subroutine advance(s, interval)
    type(sea), intent(inout) :: s
    real(real64), intent(in) :: interval
    real(real64) :: left, dt
    integer :: steps
    left = interval
    do
      steps = max(1, ceiling(left / largest_step(s)))
      dt = left / steps
      call make_step(s, dt)
      if (steps == 1) exit
      left = left - dt
    end do
  end subroutine advance

  subroutine make_step(s, dt)
    type(sea), intent(inout) :: s
    real(real64), intent(in) :: dt
    call compute_flow(s%columns, s%rows, s%bottom, s%depth, s%u, s%v, s%flow_u, s%flow_v)
    call move_water(s%columns, s%rows, dt / s%dx, dt / s%dy, s%flow_u, s%flow_v, s%depth)
    call extend(s, s%depth)
    call exchange_rows(s, s%flow_u)
    call exchange_rows(s, s%flow_v)
    call accelerate_u(s%columns, s%rows, dt, s%dx, s%dy, s%drag, s%coriolis, &
        s%bottom, s%depth, s%u, s%v, s%flow_u, s%flow_v, s%next_u)
    call accelerate_v(s%columns, s%rows, dt, s%dx, s%dy, s%drag, s%coriolis, &
        s%bottom, s%depth, s%u, s%v, s%flow_u, s%flow_v, s%next_v)
    call swap(s%u, s%next_u)
    call swap(s%v, s%next_v)
    call set_edge(s)
    call exchange_rows(s, s%u)
    call exchange_rows(s, s%v)
  end subroutine make_step

  ! Gives the height of the surface in this rank's cells, m. On dry land it is the height of the ground.
  pure subroutine get_surface(s, height)
    type(sea), intent(in) :: s
    real(real32), contiguous, intent(out) :: height(:,:)
    integer :: j
    do j = 1, s%rows
      height(:, j) = real(s%bottom(1:s%columns, j) + s%depth(1:s%columns, j), real32)
    end do
  end subroutine get_surface

  ! Returns the CFL limit: gravity waves in both directions, and no cell gives away more water than it has.
  real(real64) function largest_step(s)
    type(sea), intent(in) :: s
    real(real64) :: fastest(3)
    fastest = [maxval(s%depth), maxval(abs(s%u)), maxval(abs(s%v))]
    call MPI_Allreduce(MPI_IN_PLACE, fastest, 3, MPI_DOUBLE_PRECISION, MPI_MAX, s%comm)
    largest_step = s%courant / (sqrt(gravity * fastest(1) * (1 / s%dx**2 + 1 / s%dy**2)) &
        + 2 * fastest(2) / s%dx + 2 * fastest(3) / s%dy + tiny(1.0_real64))
  end function largest_step

  ! Returns the depth of the water above a face, on the side from which the flow through the face comes.
  elemental real(real64) function water_above(bottom_1, depth_1, bottom_2, depth_2, velocity)
    real(real64), intent(in) :: bottom_1, depth_1, bottom_2, depth_2, velocity
    water_above = max(0.0_real64, merge(bottom_1 + depth_1, bottom_2 + depth_2, velocity > 0) &
        - max(bottom_1, bottom_2))
  end function water_above

  ! Returns the momentum that the flows carry to a face. Each flow is the sum over its two faces, hence the half.
  elemental real(real64) function carried(before, here, after, flow_before, flow_after)
    real(real64), intent(in) :: before, here, after, flow_before, flow_after
    carried = 0.5_real64 * (max(0.0_real64, flow_before) * (here - before) &
        + min(0.0_real64, flow_after) * (after - here))
  end function carried

  pure subroutine compute_flow(columns, rows, b, h, u, v, p, q)
    integer, intent(in) :: columns, rows
    real(real64), intent(in), dimension(0:columns+1, 0:rows+1) :: b, h, u, v
    real(real64), intent(inout), dimension(0:columns+1, 0:rows+1) :: p, q
    integer :: i, j
    do j = 0, rows
      do i = 0, columns
        p(i,j) = u(i,j) * water_above(b(i,j), h(i,j), b(i+1,j), h(i+1,j), u(i,j))
        q(i,j) = v(i,j) * water_above(b(i,j), h(i,j), b(i,j+1), h(i,j+1), v(i,j))
      end do
    end do
  end subroutine compute_flow

  pure subroutine move_water(columns, rows, dt_dx, dt_dy, p, q, h)
    integer, intent(in) :: columns, rows
    real(real64), intent(in) :: dt_dx, dt_dy
    real(real64), intent(in), dimension(0:columns+1, 0:rows+1) :: p, q
    real(real64), intent(inout), dimension(0:columns+1, 0:rows+1) :: h
    integer :: i, j
    do j = 1, rows
      do i = 1, columns
        h(i,j) = h(i,j) - (dt_dx * (p(i,j) - p(i-1,j)) + dt_dy * (q(i,j) - q(i,j-1)))
      end do
    end do
  end subroutine move_water

  pure subroutine accelerate_u(columns, rows, dt, dx, dy, drag, coriolis, b, h, u, v, p, q, next)
    integer, intent(in) :: columns, rows
    real(real64), intent(in) :: dt, dx, dy, drag, coriolis
    real(real64), intent(in), dimension(0:columns+1, 0:rows+1) :: b, h, u, v, p, q
    real(real64), intent(inout), dimension(0:columns+1, 0:rows+1) :: next
    real(real64) :: across, depth, advection, slope, velocity
    integer :: i, j
    do j = 1, rows
      do i = 1, columns - 1
        across = 0.25_real64 * ((v(i,j) + v(i+1,j-1)) + (v(i+1,j) + v(i,j-1)))
        depth = max(film, 0.5_real64 * (h(i,j) + h(i+1,j)))
        advection = carried(u(i-1,j), u(i,j), u(i+1,j), p(i-1,j) + p(i,j), p(i,j) + p(i+1,j)) / dx &
            + carried(u(i,j-1), u(i,j), u(i,j+1), q(i,j-1) + q(i+1,j-1), q(i,j) + q(i+1,j)) / dy
        slope = ((b(i+1,j) + h(i+1,j)) - (b(i,j) + h(i,j))) / dx
        velocity = (u(i,j) + dt * (coriolis * across - advection / depth - gravity * slope)) &
            / (1 + dt * drag * sqrt(u(i,j)**2 + across**2) / depth)
        next(i,j) = merge(velocity, 0.0_real64, &
            water_above(b(i,j), h(i,j), b(i+1,j), h(i+1,j), velocity) > film)
      end do
    end do
  end subroutine accelerate_u

  pure subroutine accelerate_v(columns, rows, dt, dx, dy, drag, coriolis, b, h, u, v, p, q, next)
    integer, intent(in) :: columns, rows
    real(real64), intent(in) :: dt, dx, dy, drag, coriolis
    real(real64), intent(in), dimension(0:columns+1, 0:rows+1) :: b, h, u, v, p, q
    real(real64), intent(inout), dimension(0:columns+1, 0:rows+1) :: next
    real(real64) :: across, depth, advection, slope, velocity
    integer :: i, j
    do j = 1, rows
      do i = 1, columns
        across = 0.25_real64 * ((u(i,j) + u(i-1,j+1)) + (u(i,j+1) + u(i-1,j)))
        depth = max(film, 0.5_real64 * (h(i,j) + h(i,j+1)))
        advection = carried(v(i,j-1), v(i,j), v(i,j+1), q(i,j-1) + q(i,j), q(i,j) + q(i,j+1)) / dy &
            + carried(v(i-1,j), v(i,j), v(i+1,j), p(i-1,j) + p(i-1,j+1), p(i,j) + p(i,j+1)) / dx
        slope = ((b(i,j+1) + h(i,j+1)) - (b(i,j) + h(i,j))) / dy
        velocity = (v(i,j) - dt * (coriolis * across + advection / depth + gravity * slope)) &
            / (1 + dt * drag * sqrt(v(i,j)**2 + across**2) / depth)
        next(i,j) = merge(velocity, 0.0_real64, &
            water_above(b(i,j), h(i,j), b(i,j+1), h(i,j+1), velocity) > film)
      end do
    end do
  end subroutine accelerate_v

  ! Sets the velocities through the edge: none through a wall, else those of a wave that runs outwards.
  subroutine set_edge(s)
    type(sea), intent(inout) :: s
    associate (h => s%depth, b => s%bottom, columns => s%columns, rows => s%rows)
      s%u(0,:) = -outwards(b(1,:), h(1,:), s%radiating)
      s%u(columns,:) = outwards(b(columns,:), h(columns,:), s%radiating)
      if (s%south == MPI_PROC_NULL) s%v(:,0) = -outwards(b(:,1), h(:,1), s%radiating)
      if (s%north == MPI_PROC_NULL) s%v(:,rows) = outwards(b(:,rows), h(:,rows), s%radiating)
    end associate
  end subroutine set_edge

  elemental real(real64) function outwards(bottom, depth, radiating)
    real(real64), intent(in) :: bottom, depth
    logical, intent(in) :: radiating
    outwards = merge((bottom + depth) * sqrt(gravity / max(depth, film)), 0.0_real64, &
        radiating .and. depth > film .and. bottom < 0)
  end function outwards

  ! Fills the frame of a field of cells: from the neighbouring ranks, and beyond the edge as inside it.
  subroutine extend(s, a)
    type(sea), intent(in) :: s
    real(real64), contiguous, intent(inout) :: a(0:, 0:)
    a(0, :) = a(1, :)
    a(s%columns+1, :) = a(s%columns, :)
    if (s%south == MPI_PROC_NULL) a(:, 0) = a(:, 1)
    if (s%north == MPI_PROC_NULL) a(:, s%rows+1) = a(:, s%rows)
    call exchange_rows(s, a)
  end subroutine extend

  ! Gets the rows next to this rank's from its neighbours.
  subroutine exchange_rows(s, a)
    type(sea), intent(in) :: s
    real(real64), contiguous, intent(inout) :: a(0:, 0:)
    associate (n => s%columns + 2, rows => s%rows)
      call MPI_Sendrecv(a(:, rows), n, MPI_DOUBLE_PRECISION, s%north, 1, &
          a(:, 0), n, MPI_DOUBLE_PRECISION, s%south, 1, s%comm, MPI_STATUS_IGNORE)
      call MPI_Sendrecv(a(:, 1), n, MPI_DOUBLE_PRECISION, s%south, 2, &
          a(:, rows+1), n, MPI_DOUBLE_PRECISION, s%north, 2, s%comm, MPI_STATUS_IGNORE)
    end associate
  end subroutine exchange_rows

  subroutine swap(a, b)
    real(real64), allocatable, intent(inout) :: a(:,:), b(:,:)
    real(real64), allocatable :: c(:,:)
    call move_alloc(a, c)
    call move_alloc(b, a)
    call move_alloc(c, b)
  end subroutine swap

end module shallow_water
