! Finite elements: the cube consists of cells**3 small cubes with a node in each corner, and the temperature is
! trilinear in each of them. The matrices of a small cube are the same everywhere but for two factors, so that none of
! the whole cube is stored. Layer k of the elements is below plane k. conduction is built on it.
module elements
  use slab
  implicit none
  private
  public :: apply, diagonal_of

  ! The matrices of a line of length 1, of which those of a cube are products.
  real(dp), parameter :: mass_1d(2, 2) = reshape([2, 1, 1, 2], [2, 2]) / 6.0_dp
  real(dp), parameter :: stiffness_1d(2, 2) = reshape([1.0_dp, -1.0_dp, -1.0_dp, 1.0_dp], [2, 2])

contains

  ! q = (capacity * mass + conductivity * stiffness) u, in the planes of this rank. u needs the planes around them.
  subroutine apply(it, capacity, conductivity, u, q)
    type(planes), intent(in) :: it
    real(dp), intent(in) :: capacity
    real(dp), intent(in) :: conductivity(it%cells, it%cells, it%first:it%last + 1)
    real(dp), intent(in) :: u(0:it%cells, 0:it%cells, it%first - 1:it%last + 1)
    real(dp), intent(out) :: q(0:it%cells, 0:it%cells, it%first - 1:it%last + 1)
    real(dp) :: mass(8, 8), stiffness(8, 8), corners(8), flow(8)
    integer :: i, j, k, n
    call make_matrices(it%cells, mass, stiffness)
    q = 0
    do k = max(it%first, 1), min(it%last + 1, it%cells)
      do j = 1, it%cells
        do i = 1, it%cells
          corners = reshape(u(i - 1:i, j - 1:j, k - 1:k), [8])
          flow = 0
          do n = 1, 8
            flow = flow + (capacity * mass(:, n) + conductivity(i, j, k) * stiffness(:, n)) * corners(n)
          end do
          q(i - 1:i, j - 1:j, k - 1:k) = q(i - 1:i, j - 1:j, k - 1:k) + reshape(flow, [2, 2, 2])
        end do
      end do
    end do
  end subroutine

  ! The diagonal of the matrix of apply.
  subroutine diagonal_of(it, capacity, conductivity, diagonal)
    type(planes), intent(in) :: it
    real(dp), intent(in) :: capacity
    real(dp), intent(in) :: conductivity(it%cells, it%cells, it%first:it%last + 1)
    real(dp), intent(out) :: diagonal(0:it%cells, 0:it%cells, it%first - 1:it%last + 1)
    real(dp) :: mass(8, 8), stiffness(8, 8)
    integer :: i, j, k
    call make_matrices(it%cells, mass, stiffness)
    diagonal = 0
    do k = max(it%first, 1), min(it%last + 1, it%cells)
      do j = 1, it%cells
        do i = 1, it%cells
          diagonal(i - 1:i, j - 1:j, k - 1:k) = diagonal(i - 1:i, j - 1:j, k - 1:k) + capacity * mass(1, 1) &
            + conductivity(i, j, k) * stiffness(1, 1)
        end do
      end do
    end do
    where (diagonal == 0) diagonal = 1  ! a plane outside of the cube
  end subroutine

  ! The matrices of an element of a cube with edges of length 1. Corners are numbered with the first dimension fastest.
  pure subroutine make_matrices(cells, mass, stiffness)
    integer, intent(in) :: cells
    real(dp), intent(out) :: mass(8, 8), stiffness(8, 8)
    real(dp) :: length
    integer :: a, b, at(3), to(3)
    length = 1.0_dp / cells
    do b = 1, 8
      to = 1 + [mod(b - 1, 2), mod((b - 1) / 2, 2), (b - 1) / 4]
      do a = 1, 8
        at = 1 + [mod(a - 1, 2), mod((a - 1) / 2, 2), (a - 1) / 4]
        associate (m1 => mass_1d(at(1), to(1)), m2 => mass_1d(at(2), to(2)), m3 => mass_1d(at(3), to(3)), &
                   s1 => stiffness_1d(at(1), to(1)), s2 => stiffness_1d(at(2), to(2)), s3 => stiffness_1d(at(3), to(3)))
          mass(a, b) = length**3 * m1 * m2 * m3
          stiffness(a, b) = length * (s1 * m2 * m3 + m1 * s2 * m3 + m1 * m2 * s3)
        end associate
      end do
    end do
  end subroutine
end module
