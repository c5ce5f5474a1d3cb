! Heat conduction in a cube: one face is hot, the others are cold, and a sphere in the middle gives heat. Implicit steps,
! each a system of equations that conjugate_gradients solves.
!   heat_cube [cells along an edge [steps]]
program heat_cube
  use conjugate_gradients
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

contains

  function arguments() result(sizes)
    integer :: sizes(2)
    character(len=12) :: word
    sizes = [24, 5]
    if (command_argument_count() > 0) then
      call get_command_argument(1, word)
      read (word, *) sizes(1)
    end if
    if (command_argument_count() > 1) then
      call get_command_argument(2, word)
      read (word, *) sizes(2)
    end if
  end function

  ! Sets the temperature at the beginning, that of the surface, and the source of heat.
  subroutine begin(it, u, source)
    type(box), intent(in) :: it
    real(dp), allocatable, intent(out) :: u(:, :, :), source(:, :, :)
    real(dp) :: x(3)
    integer :: i, j, k
    associate (n => it%cells)
      allocate (u(0:n(1) + 1, 0:n(2) + 1, 0:n(3) + 1), source=0.0_dp)
      allocate (source(n(1), n(2), n(3)), source=0.0_dp)
      if (it%neighbour(1, 1) == MPI_PROC_NULL) u(0, :, :) = 1
      do k = 1, n(3)
        do j = 1, n(2)
          do i = 1, n(1)
            x = (it%first + [i, j, k] - 1.5_dp) / it%whole - 0.5_dp
            if (sum(x**2) < 0.04_dp) source(i, j, k) = 30
          end do
        end do
      end do
    end associate
  end subroutine

  ! Prints the temperatures along the first dimension through the box of rank 0: the line's first rank gathers them.
  subroutine print_profile(it, u)
    type(box), intent(in) :: it
    real(dp), intent(in) :: u(0:, 0:, 0:)
    integer, allocatable :: counts(:), places(:)
    real(dp), allocatable :: profile(:)
    integer :: ierr, ranks, i
    call MPI_Comm_size(it%line, ranks, ierr)
    allocate (counts(ranks), places(ranks), profile(it%whole(1)))
    call MPI_Allgather(it%cells(1), 1, MPI_INTEGER, counts, 1, MPI_INTEGER, it%line, ierr)
    places = [(sum(counts(:i - 1)), i = 1, ranks)]
    call MPI_Gatherv(u(1, it%cells(2), it%cells(3)), it%cells(1), real_type, profile, counts, places, real_type, 0, &
      it%line, ierr)
    if (it%rank == 0) print "(a, *(f16.12))", "profile", profile(1:it%whole(1):max(it%whole(1) / 6, 1))
  end subroutine
end program
