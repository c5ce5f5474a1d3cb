! The cube of the program heat_cube: its size, its temperatures at the beginning, and the profile that is printed at the
! end. It is built on decomposition.
module cube
  use decomposition
  use mpi
  implicit none
  private
  public :: arguments, begin, print_profile

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
end module
