! An exchange in a ring, in Fortran with MPI. Usage: exchanging_in_fortran PROGRAM
include "../exchanging_in_fortran.inc"

program exchanging_in_fortran
  use mpi_f08
  use couplet_mpi
  use exchange_ring
  implicit none
  type(couplet_universe) :: universe
  character(len=32) :: name
  call get_command_argument(1, name)
  call MPI_Init()
  call couplet_join(trim(name), MPI_COMM_WORLD, universe)
  call run_ring(universe)
  call universe%leave()
  call MPI_Finalize()
end program
