! Halos, in Fortran without MPI. Usage: halos_in_fortran PROGRAM
include "halos_in_fortran.inc"

program halos_in_fortran
  use couplet
  use halo_rounds
  implicit none
  type(couplet_universe) :: universe
  character(len=32) :: name
  call get_command_argument(1, name)
  call couplet_join(trim(name), universe)
  call run_rounds(universe)
  call universe%leave()
end program
