! Program "reader_fortran": built by find_package, without MPI; reads columns 3 to 5 (1-based, in Fortran's first
! dimension).
program reader
  use, intrinsic :: iso_fortran_env, only: int64, real64, error_unit
  use couplet
  implicit none
  integer, parameter :: first_column = 3, last_column = 5, rows = 4
  type(couplet_universe) :: universe
  type(couplet_series) :: eta
  type(couplet_series_batch) :: batch
  real(real64), pointer :: data(:, :, :)
  integer :: answer, steps, index, row, column

  call couplet_join("reader_fortran", universe)
  call universe%open_series("eta", eta, box=couplet_box([first_column, 1], [last_column, rows]))
  steps = 0
  do
    call eta%read(batch, up_to=8, timeout=30.0_real64, ierr=answer)
    if (answer == couplet_end) exit
    if (answer /= couplet_ok) error stop "reader_fortran: read failed"
    call batch%data(data)
    do index = 1, int(batch%count)
      do row = 1, rows
        do column = first_column, last_column
          if (abs(data(column - first_column + 1, row, index) - expected(batch%steps(index), row, column)) > 0) then
            write (error_unit, *) "reader_fortran: wrong content in step", batch%steps(index)
            error stop 1
          end if
        end do
      end do
    end do
    steps = steps + int(batch%count)
  end do
  call eta%close()
  call universe%leave()
  print "(a, i0, a)", "reader_fortran: ", steps, " steps"
  if (steps /= 20) error stop 1

contains

  real(real64) function expected(step, row, column)
    integer(int64), intent(in) :: step
    integer, intent(in) :: row, column
    expected = real(100 * step + 10 * (row - 1) + column - 1, real64)
  end function
end program
