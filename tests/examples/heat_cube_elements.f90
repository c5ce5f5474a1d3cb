! Checks the elements of examples/heat-cube against what is known: volumes, a linear field, and a body that takes the
! temperature of its top face.
program heat_cube_elements
  use conduction
  use elements
  use slab
  use mpi
  implicit none
  integer, parameter :: cells = 6
  type(planes) :: it
  real(dp), allocatable, dimension(:, :, :) :: u, q, conductivity
  real(dp) :: volume, inside, flow, distance, top(0:cells, 0:cells)
  integer :: ierr, k, step, iterations, solutions
  call MPI_Init(ierr)
  call share_planes(MPI_COMM_WORLD, cells, 1.0_dp, it)
  allocate (u(0:cells, 0:cells, it%first - 1:it%last + 1), source=1.0_dp)
  allocate (conductivity(cells, cells, it%first:it%last + 1), source=0.0_dp)
  allocate (q, mold=u)
  call apply(it, 1.0_dp, conductivity, u, q)
  volume = sum_of_all(it, sum(q(:, :, it%first:it%last)))
  do k = it%first - 1, it%last + 1
    u(:, :, k) = real(k, dp) / cells
  end do
  conductivity = 3
  call apply(it, 0.0_dp, conductivity, u, q)
  inside = largest_of_all(it, maxval(abs(q(:, :, max(it%first, 1):min(it%last, cells - 1)))))
  flow = 0
  if (it%last == cells) flow = sum(q(:, :, cells))
  flow = sum_of_all(it, flow)
  u = 0
  top = 1
  do step = 1, 3
    call advance(it, 1.0e4_dp, 0.0_dp, top, u, iterations, solutions)
  end do
  distance = largest_of_all(it, maxval(abs(u(:, :, it%first:it%last) - 1)))
  if (it%rank == 0) print "(4es12.4)", volume - 1, inside, flow - 3, distance
  call MPI_Finalize(ierr)
end program
