! Solves (1 - c Laplacian) u = b by conjugate gradients with the diagonal as preconditioner. It is built on halo; the
! program heat_cube is built on it.
module conjugate_gradients
  use decomposition
  use halo
  use mpi
  implicit none
  private
  public :: solve, dot

contains

  ! u: the first guess, and the solution. Its layer holds the temperatures of the cube's surface.
  subroutine solve(it, faces, c, b, u, tolerance, iterations, residual)
    type(box), intent(in) :: it
    type(exchange), intent(inout) :: faces
    real(dp), intent(in) :: c, tolerance
    real(dp), intent(in) :: b(:, :, :)
    real(dp), intent(inout) :: u(0:, 0:, 0:)
    integer, intent(out) :: iterations
    real(dp), intent(out) :: residual
    real(dp), allocatable :: r(:, :, :), p(:, :, :), q(:, :, :)
    real(dp) :: rho, old_rho, alpha, diagonal, scale
    integer :: n(3)
    n = it%cells
    allocate (r(n(1), n(2), n(3)), q(n(1), n(2), n(3)))
    allocate (p(0:n(1) + 1, 0:n(2) + 1, 0:n(3) + 1), source=0.0_dp)
    diagonal = 1 + 6 * c
    call update(it, faces, u)
    call apply(n, c, u, q)
    r = b - q
    p(1:n(1), 1:n(2), 1:n(3)) = r / diagonal
    rho = dot(it, r, r) / diagonal
    scale = sqrt(dot(it, b, b)) + tiny(scale)
    iterations = 0
    do
      residual = sqrt(rho * diagonal) / scale
      if (residual < tolerance .or. iterations >= 1000) exit
      iterations = iterations + 1
      call update(it, faces, p)
      call apply(n, c, p, q)
      alpha = rho / dot(it, p(1:n(1), 1:n(2), 1:n(3)), q)
      u(1:n(1), 1:n(2), 1:n(3)) = u(1:n(1), 1:n(2), 1:n(3)) + alpha * p(1:n(1), 1:n(2), 1:n(3))
      r = r - alpha * q
      old_rho = rho
      rho = dot(it, r, r) / diagonal
      p(1:n(1), 1:n(2), 1:n(3)) = r / diagonal + rho / old_rho * p(1:n(1), 1:n(2), 1:n(3))
    end do
  end subroutine

  ! q = (1 - c Laplacian) u, with the seven points around each cell.
  subroutine apply(n, c, u, q)
    integer, intent(in) :: n(3)
    real(dp), intent(in) :: c
    real(dp), intent(in) :: u(0:, 0:, 0:)
    real(dp), intent(out) :: q(:, :, :)
    integer :: i, j, k
    do k = 1, n(3)
      do j = 1, n(2)
        do i = 1, n(1)
          q(i, j, k) = (1 + 6 * c) * u(i, j, k) - c * (u(i - 1, j, k) + u(i + 1, j, k) + u(i, j - 1, k) &
            + u(i, j + 1, k) + u(i, j, k - 1) + u(i, j, k + 1))
        end do
      end do
    end do
  end subroutine

  real(dp) function dot(it, a, b) result(sum_of_all)
    type(box), intent(in) :: it
    real(dp), intent(in) :: a(:, :, :), b(:, :, :)
    integer :: ierr
    sum_of_all = sum(a * b)
    call MPI_Allreduce(MPI_IN_PLACE, sum_of_all, 1, real_type, MPI_SUM, it%comm, ierr)
  end function
end module
