! Halos, in Fortran with MPI. Usage: halos_in_fortran PROGRAM
include "../halos_in_fortran.inc"

program halos_in_fortran
  use mpi_f08
  use couplet_mpi
  use halo_rounds
  implicit none
  type(couplet_universe) :: universe
  character(len=32) :: name
  call get_command_argument(1, name)
  call MPI_Init()
  call couplet_join(trim(name), MPI_COMM_WORLD, universe)
  call run_rounds(universe)
  call universe%leave()
  call MPI_Finalize()
end program
