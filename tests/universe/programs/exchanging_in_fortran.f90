! An exchange in a ring, in Fortran without MPI. Usage: exchanging_in_fortran PROGRAM
include "exchanging_in_fortran.inc"

program exchanging_in_fortran
  use couplet
  use exchange_ring
  implicit none
  type(couplet_universe) :: universe
  character(len=32) :: name
  call get_command_argument(1, name)
  call couplet_join(trim(name), universe)
  call run_ring(universe)
  call universe%leave()
end program
