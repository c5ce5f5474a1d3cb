! Coupled inside one MPI job, which has the ranks of all three programs. `couplet convert --communicator everybody`
! turns it into programs that are started separately, each under an MPI of its own.
module coupling
  use mpi
  implicit none
  private
  public :: begin_coupling, give_source, take_source, give_face, take_face, end_coupling

  integer, parameter :: dp = kind(1d0)
  integer :: everybody = MPI_COMM_NULL
  integer :: given = MPI_REQUEST_NULL              ! the face, on its way
  real(dp), allocatable, target :: face_on_its_way(:, :)
  integer :: heads(3) = -1                         ! the first rank of each program

contains

  ! number: 1 is the source, 2 and 3 are the cubes. comm: the ranks of this program.
  subroutine begin_coupling(number, comm)
    integer, intent(in) :: number
    integer, intent(out) :: comm
    integer, allocatable :: numbers(:)
    integer :: ranks, ierr, i
    call MPI_Init(ierr)
    call MPI_Comm_split(MPI_COMM_WORLD, number, 0, comm, ierr)
    call MPI_Comm_dup(MPI_COMM_WORLD, everybody, ierr)
    call MPI_Comm_size(everybody, ranks, ierr)
    allocate (numbers(ranks))
    call MPI_Allgather(number, 1, MPI_INTEGER, numbers, 1, MPI_INTEGER, everybody, ierr)
    heads = [(findloc(numbers, i, dim=1) - 1, i = 1, 3)]
  end subroutine

  subroutine give_source(drive)
    real(dp), intent(in) :: drive(2)
    integer :: ierr
    call MPI_Send(drive, 2, MPI_DOUBLE_PRECISION, heads(2), 1, everybody, ierr)
    call MPI_Send(drive, 2, MPI_DOUBLE_PRECISION, heads(3), 1, everybody, ierr)
  end subroutine

  subroutine take_source(step, drive)
    integer, intent(in) :: step
    real(dp), intent(out) :: drive(2)
    integer :: ierr
    call MPI_Recv(drive, 2, MPI_DOUBLE_PRECISION, heads(1), 1, everybody, MPI_STATUS_IGNORE, ierr)
  end subroutine

  ! Does not wait until the third program takes the face.
  subroutine give_face(face)
    real(dp), intent(in) :: face(:, :)
    integer :: ierr
    call MPI_Wait(given, MPI_STATUS_IGNORE, ierr)
    face_on_its_way = face
    call MPI_Isend(face_on_its_way, size(face), MPI_DOUBLE_PRECISION, heads(3), 2, everybody, given, ierr)
  end subroutine

  subroutine take_face(step, face)
    integer, intent(in) :: step
    real(dp), intent(out) :: face(:, :)
    integer :: ierr
    call MPI_Recv(face, size(face), MPI_DOUBLE_PRECISION, heads(2), 2, everybody, MPI_STATUS_IGNORE, ierr)
  end subroutine

  subroutine end_coupling()
    integer :: ierr
    call MPI_Wait(given, MPI_STATUS_IGNORE, ierr)
    call MPI_Comm_free(everybody, ierr)
    call MPI_Finalize(ierr)
  end subroutine
end module
