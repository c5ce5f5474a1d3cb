! The listings s1.out, s2.out and s3.out: for each step a line with the time and the source, and the temperatures of the
! bottom face, a line for each row. 17 digits are enough to read back the same bits. All steps have the same length in
! bytes, so that a reader sees from the length of the file which of them are complete.
module listing
  use, intrinsic :: iso_c_binding, only: c_int
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none
  private
  public :: begin_listing, write_listing, read_listing

  integer, parameter :: dp = kind(1d0), digits = 25
  integer(c_int), parameter :: nap_us = 200
  integer :: own_unit = 0

  interface
    integer(c_int) function usleep(microseconds) bind(c)
      import :: c_int
      integer(c_int), value :: microseconds
    end function
  end interface

contains

  subroutine begin_listing(name)
    character(len=*), intent(in) :: name
    open (newunit=own_unit, file=name, status="replace", action="write")
  end subroutine

  subroutine write_listing(drive, face)
    real(dp), intent(in) :: drive(2)  ! time and source
    real(dp), intent(in), optional :: face(:, :)
    integer :: j
    write (own_unit, "(2es25.16e3)") drive
    if (present(face)) then
      do j = 1, size(face, 2)
        write (own_unit, "(*(es25.16e3))") face(:, j)
      end do
    end if
    flush (own_unit)
  end subroutine

  ! Reads a step of the listing of another program as soon as it is complete. The file is open only meanwhile: while a
  ! program has it open, the compiler's library does not look again how long it is.
  subroutine read_listing(name, step, drive, face)
    character(len=*), intent(in) :: name
    integer, intent(in) :: step
    real(dp), intent(out) :: drive(2)
    real(dp), intent(out), optional :: face(:, :)
    integer(int64) :: bytes
    integer :: unit, j
    bytes = 2 * digits + 1
    if (present(face)) bytes = bytes + size(face, 2) * (digits * size(face, 1) + 1)
    call wait_for(name, step * bytes)
    open (newunit=unit, file=name, status="old", action="read", access="stream", form="formatted")
    read (unit, "(2es25.16e3)", pos=(step - 1) * bytes + 1) drive
    if (present(face)) then
      do j = 1, size(face, 2)
        read (unit, "(*(es25.16e3))") face(:, j)
      end do
    end if
    close (unit)
  end subroutine

  subroutine wait_for(name, bytes)
    character(len=*), intent(in) :: name
    integer(int64), intent(in) :: bytes
    integer(int64) :: found
    integer(c_int) :: answer
    do
      inquire (file=name, size=found)  ! -1: it is not there yet
      if (found >= bytes) exit
      answer = usleep(nap_us)
    end do
  end subroutine
end module
