! A reader in Fortran whose writer comes back with other fields. usage: returning_fortran PROGRAM SERIES READS
! It prints one line for each read: the answer, and the number of elements of the fields a and b, and their first ones.
program returning
  use, intrinsic :: iso_fortran_env, only: output_unit, real64
  use couplet
  implicit none
  type(couplet_universe) :: universe
  type(couplet_series) :: series
  type(couplet_series_batch) :: batch
  real(real64), pointer :: a(:, :), b(:, :)
  character(len=64) :: words(3)
  integer :: i, left, ierr
  do i = 1, 3
    call get_command_argument(i, words(i))
  end do
  read (words(3), *) left
  call couplet_join(trim(words(1)), universe)
  call universe%open_series(trim(words(2)), series)
  print "(a)", "ready"
  flush (output_unit)
  do while (left > 0)
    call series%read(batch, up_to=1, timeout=20.0_real64, ierr=ierr)
    if (ierr == couplet_not_yet .or. ierr == couplet_error_peer_lost) cycle  ! until the writer is back
    left = left - 1
    if (ierr == couplet_ok) then
      call batch%data(a, field="a")
      call batch%data(b, field="b")
      print "(a,2(1x,i0,1x,f0.1))", "COUPLET_OK", size(a), a(1, 1), size(b), b(1, 1)
    else if (ierr < 0) then
      print "(i0,1x,a)", ierr, couplet_error_message()
    else
      print "(i0)", ierr
    end if
    flush (output_unit)
  end do
  call series%close(ierr)
  call universe%leave()
end program
