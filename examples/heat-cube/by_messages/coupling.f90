! Coupled by messages, written by hand: the programs s1, s2 and s3 of a universe send each other what the others had to
! read. Only the first rank of each cube calls this beside the beginning and the end.
module coupling
  use couplet
  use mpi
  implicit none
  private
  public :: begin_coupling, give_source, take_source, give_face, take_face, end_coupling

  integer, parameter :: dp = kind(1d0)
  type(couplet_universe) :: universe
  type(couplet_group) :: everybody
  type(couplet_request) :: given                       ! the face, on its way
  real(dp), allocatable, target :: face_on_its_way(:, :)
  integer :: heads(3) = -1                             ! the first rank of each program

contains

  ! number: 1 is the source, 2 and 3 are the cubes. comm: the ranks of this program.
  subroutine begin_coupling(number, comm)
    integer, intent(in) :: number
    integer, intent(out) :: comm
    character(len=2), parameter :: names(3) = ["s1", "s2", "s3"]
    integer :: ierr, i
    call MPI_Init(ierr)
    comm = MPI_COMM_WORLD
    call couplet_join(names(number), universe)
    call universe%group(everybody)
    do i = 1, 3
      call universe%find_rank(names(i), 0, heads(i))
    end do
  end subroutine

  subroutine give_source(drive)
    real(dp), intent(in) :: drive(2)
    call everybody%send(drive, heads(2), 1)
    call everybody%send(drive, heads(3), 1)
  end subroutine

  subroutine take_source(step, drive)
    integer, intent(in) :: step
    real(dp), intent(out) :: drive(2)
    call everybody%recv(drive, heads(1), 1)
  end subroutine

  ! Does not wait until the third program takes the face.
  subroutine give_face(face)
    real(dp), intent(in) :: face(:, :)
    call given%wait()
    face_on_its_way = face
    call everybody%isend(face_on_its_way, heads(3), 2, given)
  end subroutine

  subroutine take_face(step, face)
    integer, intent(in) :: step
    real(dp), intent(out) :: face(:, :)
    call everybody%recv(face, heads(2), 2)
  end subroutine

  subroutine end_coupling()
    integer :: ierr
    call given%wait()
    call universe%leave()
    call MPI_Finalize(ierr)
  end subroutine
end module
