! Coalesced rounds, in Fortran without MPI. Usage: coalescing_in_fortran PROGRAM [WHAT]
include "coalescing_in_fortran.inc"

program coalescing_in_fortran
  use couplet
  use coalescing_clients
  implicit none
  type(couplet_universe) :: universe
  character(len=32) :: name, what
  call get_command_argument(1, name)
  call get_command_argument(2, what)
  call couplet_join(trim(name), universe)
  call run_all(universe, trim(what))
  call universe%leave()
end program
