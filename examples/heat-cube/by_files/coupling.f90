! Coupled by files: what a program gives is in its listing, and the others read that as it grows.
module coupling
  use listing
  use mpi
  implicit none
  private
  public :: begin_coupling, give_source, take_source, give_face, take_face, end_coupling

  integer, parameter :: dp = kind(1d0)

contains

  ! number: 1 is the source, 2 and 3 are the cubes. comm: the ranks of this program.
  subroutine begin_coupling(number, comm)
    integer, intent(in) :: number
    integer, intent(out) :: comm
    integer :: ierr
    call MPI_Init(ierr)
    comm = MPI_COMM_WORLD
  end subroutine

  subroutine give_source(drive)
    real(dp), intent(in) :: drive(2)
  end subroutine

  subroutine take_source(step, drive)
    integer, intent(in) :: step
    real(dp), intent(out) :: drive(2)
    call read_listing("s1.out", step, drive)
  end subroutine

  subroutine give_face(face)
    real(dp), intent(in) :: face(:, :)
  end subroutine

  subroutine take_face(step, face)
    integer, intent(in) :: step
    real(dp), intent(out) :: face(:, :)
    real(dp) :: drive(2)
    call read_listing("s2.out", step, drive, face)
  end subroutine

  subroutine end_coupling()
    integer :: ierr
    call MPI_Finalize(ierr)
  end subroutine
end module
