! Joins with a communicator before MPI is initialized, and prints the error; see test_mpi.py.
program early_fortran
  use mpi_f08
  use couplet_mpi
  implicit none
  type(couplet_universe) :: universe
  integer :: ierr
  call couplet_join("team", MPI_COMM_WORLD, universe, ierr=ierr)
  print "(i0,2a)", ierr, " ", couplet_error_message()
end program
