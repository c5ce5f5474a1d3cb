! Check sums of a box of the surface: turn the bits of its elements into one number below 2**53.
!
! With p = 0, 1, 2, ... along the rows of the box, western end and southern row first:
!     sum over p of (p + 1) * (the 32 bits of element p as an unsigned number), modulo 2**53 - 111, a prime.
! The weights detect exchanged elements and a wrong order of the dimensions. The parts of several ranks add up.
! The same in Python is checksums.py, and in C follower.c. Tests: tests/examples/test_tsunami_checksums.py.
module checksums
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32
  implicit none
  private
  public :: checksum_of_part, checksum_modulus

  integer(int64), parameter :: checksum_modulus = 2_int64**53 - 111

contains

  ! `part(:, 1)` is row `first_row` of the whole array. box(1,:) and box(2,:) are the first and last column and row
  ! (1-based) that count. No row has more than 2**30 / size of the box elements, so nothing overflows.
  pure integer(int64) function checksum_of_part(part, first_row, box) result(total)
    real(real32), intent(in) :: part(:,:)
    integer, intent(in) :: first_row, box(2,2)
    integer(int64) :: row_sum, weight
    integer :: i, j
    total = 0
    do j = max(box(1,2), first_row), min(box(2,2), first_row + size(part, 2) - 1)
      weight = int(j - box(1,2), int64) * (box(2,1) - box(1,1) + 1)
      row_sum = 0
      do i = box(1,1), box(2,1)
        weight = weight + 1
        row_sum = row_sum + weight * bits(part(i, j - first_row + 1))
      end do
      total = modulo(total + row_sum, checksum_modulus)
    end do
  end function checksum_of_part

  elemental integer(int64) function bits(value)
    real(real32), intent(in) :: value
    bits = iand(int(transfer(value, 0_int32), int64), int(z'FFFFFFFF', int64))
  end function bits

end module checksums
