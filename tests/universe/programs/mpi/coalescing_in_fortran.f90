! Coalesced rounds, in Fortran with MPI. Usage: coalescing_in_fortran PROGRAM [WHAT]
include "../coalescing_in_fortran.inc"

program coalescing_in_fortran
  use mpi_f08
  use couplet_mpi
  use coalescing_clients
  implicit none
  type(couplet_universe) :: universe
  character(len=32) :: name, what
  call get_command_argument(1, name)
  call get_command_argument(2, what)
  call MPI_Init()
  call couplet_join(trim(name), MPI_COMM_WORLD, universe)
  call run_all(universe, trim(what))
  call universe%leave()
  call MPI_Finalize()
end program
