! The requester: computes the field, publishes every step as the series "potential", and observes the place of a
! spacecraft.
program magnetosphere
  use mpi_f08
  use couplet_mpi
  use draping
  use observation
  implicit none
  type(couplet_universe) :: universe
  type(couplet_series) :: series
  type(plane) :: p
  integer :: step
  call MPI_Init()
  call set_up(p, MPI_COMM_WORLD)
  call couplet_join("magnetosphere", MPI_COMM_WORLD, universe)
  call universe%create_series("potential", [columns, rows], series, slots=slots, &
                              box=couplet_box([1, p%first_row], [columns, p%last_row]))
  call begin_observation(universe, p)
  do step = 1, steps
    call advance(p)
    call make_room(step)
    call series%put(p%a(1:columns, p%first_row:p%last_row), step)
    call look(p, step)
  end do
  call end_observation()
  call series%close()
  call universe%leave()
  call MPI_Finalize()
end program
