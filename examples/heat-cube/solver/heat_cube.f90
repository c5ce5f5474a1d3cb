! Heat conduction in a cube: one face is hot, the others are cold, and a sphere in the middle gives heat. Each step is
! implicit: a system of equations that conjugate_gradients solves. tests/convert converts these files and runs them.
!   heat_cube [cells along an edge [steps]]
program heat_cube
  use conjugate_gradients
  use cube
  use decomposition
  use halo
  use mpi
  implicit none
  real(dp), parameter :: diffusivity = 1.0_dp, step_length = 2.0e-3_dp, tolerance = 1.0e-11_dp
  type(box) :: mine
  type(exchange) :: faces
  real(dp), allocatable :: u(:, :, :), source(:, :, :)
  real(dp) :: residual, heat, warmest, c, began
  integer :: ierr, rank, sizes(2), step, iterations, total
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  began = MPI_Wtime()
  if (rank == 0) sizes = arguments()
  call MPI_Bcast(sizes, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  call make_box(MPI_COMM_WORLD, [sizes(1), sizes(1), sizes(1)], mine)
  call make_exchange(mine, faces)
  call begin(mine, u, source)
  c = diffusivity * step_length * real(sizes(1), dp)**2
  total = 0
  do step = 1, sizes(2)
    associate (n => mine%cells)
      call solve(mine, faces, c, u(1:n(1), 1:n(2), 1:n(3)) + step_length * source, u, tolerance, iterations, residual)
      heat = sum(u(1:n(1), 1:n(2), 1:n(3))) / real(sizes(1), dp)**3
      warmest = maxval(u(1:n(1), 1:n(2), 1:n(3)))
    end associate
    total = total + iterations
    call MPI_Allreduce(MPI_IN_PLACE, heat, 1, real_type, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (rank == 0) then
      call MPI_Reduce(MPI_IN_PLACE, warmest, 1, real_type, MPI_MAX, 0, MPI_COMM_WORLD, ierr)
      print "(a, i3, a, i4, a, f17.13, a, f17.13)", "step", step, ": iterations", iterations, ", heat", heat, &
        ", warmest", warmest
    else
      call MPI_Reduce(warmest, warmest, 1, real_type, MPI_MAX, 0, MPI_COMM_WORLD, ierr)
    end if
  end do
  call print_profile(mine, u)
  if (rank == 0) print "(a, i5)", "iterations", total
  if (rank == 0 .and. MPI_Wtime() < began) print "(a)", "the clock goes back"
  call free_box(mine)
  call MPI_Finalize(ierr)
end program
