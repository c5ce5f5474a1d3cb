! Unsteady heat conduction, one implicit step at a time: conjugate gradients with the diagonal as preconditioner, again
! and again with new conductivities until these no longer change. It is built on elements and material.
module conduction
  use elements
  use material
  use slab
  implicit none
  private
  public :: advance

  real(dp), parameter :: tolerance = 1.0e-11_dp, law_tolerance = 1.0e-9_dp

contains

  ! Computes the temperatures after a time step. heat: the power of the source in the node in the middle of the cube.
  ! top: the temperatures that the top face is forced to have. The other faces are insulated. iterations: of the
  ! conjugate gradients, in all solutions of the step.
  subroutine advance(it, time_step, heat, top, u, iterations, solutions)
    type(planes), intent(in) :: it
    real(dp), intent(in) :: time_step, heat, top(0:it%cells, 0:it%cells)
    real(dp), intent(inout) :: u(0:it%cells, 0:it%cells, it%first - 1:it%last + 1)
    integer, intent(out) :: iterations, solutions
    real(dp), allocatable :: load(:, :, :), conductivity(:, :, :), before(:, :, :)
    real(dp) :: capacity
    integer :: middle
    capacity = 1 / time_step
    middle = it%cells / 2
    allocate (conductivity(it%cells, it%cells, it%first:it%last + 1), source=0.0_dp)
    allocate (load, mold=u)
    call fill_planes(it, u)
    call apply(it, capacity, conductivity, u, load)
    if (it%first <= middle .and. middle <= it%last) load(middle, middle, middle) = load(middle, middle, middle) + heat
    if (it%last == it%cells) u(:, :, it%cells) = top
    iterations = 0
    do solutions = 0, 99
      before = conductivity
      call fill_planes(it, u)
      call conduct(it, u, conductivity)
      if (largest_of_all(it, maxval(abs(conductivity - before) / conductivity)) < law_tolerance) exit
      call solve(it, capacity, conductivity, load, u, iterations)
    end do
  end subroutine

  ! The conductivity of each element at its mean temperature. The rank above knows that of the layer above.
  subroutine conduct(it, u, conductivity)
    type(planes), intent(in) :: it
    real(dp), intent(in) :: u(0:it%cells, 0:it%cells, it%first - 1:it%last + 1)
    real(dp), intent(inout) :: conductivity(it%cells, it%cells, it%first:it%last + 1)
    integer :: i, j, k
    conductivity = 1  ! outside of the cube
    do k = max(it%first, 1), it%last
      do j = 1, it%cells
        do i = 1, it%cells
          conductivity(i, j, k) = conductivity_at(sum(u(i - 1:i, j - 1:j, k - 1:k)) / 8)
        end do
      end do
    end do
    call fill_layer(it, conductivity)
  end subroutine

  ! Solves the system of equations for the nodes below the top face, and adds its iterations.
  subroutine solve(it, capacity, conductivity, load, u, iterations)
    type(planes), intent(in) :: it
    real(dp), intent(in) :: capacity
    real(dp), intent(in) :: conductivity(it%cells, it%cells, it%first:it%last + 1)
    real(dp), intent(in) :: load(0:it%cells, 0:it%cells, it%first - 1:it%last + 1)
    real(dp), intent(inout) :: u(0:it%cells, 0:it%cells, it%first - 1:it%last + 1)
    integer, intent(inout) :: iterations
    real(dp), allocatable, dimension(:, :, :) :: r, z, p, q, diagonal
    real(dp) :: rho, old_rho, alpha, target_norm
    allocate (r, z, p, q, diagonal, mold=u)
    call diagonal_of(it, capacity, conductivity, diagonal)
    call apply(it, capacity, conductivity, u, q)
    r = load - q
    call clear_top(it, r)
    target_norm = tolerance * sqrt(dot(it, load, load))
    p = 0
    old_rho = 1
    do
      if (sqrt(dot(it, r, r)) <= target_norm) exit
      iterations = iterations + 1
      z = r / diagonal
      rho = dot(it, r, z)
      p = z + rho / old_rho * p
      call fill_planes(it, p)
      call apply(it, capacity, conductivity, p, q)
      call clear_top(it, q)
      alpha = rho / dot(it, p, q)
      u = u + alpha * p
      r = r - alpha * q
      old_rho = rho
    end do
  end subroutine

  ! The temperatures of the top face are given: they have no equation.
  subroutine clear_top(it, r)
    type(planes), intent(in) :: it
    real(dp), intent(inout) :: r(0:it%cells, 0:it%cells, it%first - 1:it%last + 1)
    if (it%last == it%cells) r(:, :, it%cells) = 0
  end subroutine

  real(dp) function dot(it, a, b)
    type(planes), intent(in) :: it
    real(dp), intent(in), dimension(0:it%cells, 0:it%cells, it%first - 1:it%last + 1) :: a, b
    dot = sum_of_all(it, sum(a(:, :, it%first:it%last) * b(:, :, it%first:it%last)))
  end function
end module
