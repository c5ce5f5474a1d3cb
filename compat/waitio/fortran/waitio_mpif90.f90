! WaitIO's Fortran module, over Couplet: derived types for communicators, types, operations and requests, and an
! optional ierr, which is the last argument. A call that fails prints a sentence; without ierr it then ends the program.
! Guide: docs/guide/from-waitio.md. It is built on the externals of libwaitio. Tests: tests/compat/waitio.
module waitio_mpif90
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  private

  integer, parameter, public :: WAITIO_MPI_DEFTAG = 524288, WAITIO_MPI_STATUS_SIZE = 4, WAITIO_MPI_REQUEST_SIZE = 22

  type, bind(c), public :: WAITIO_MPI_Comm
    integer(c_int) :: waitio_val = 0
  end type
  type, bind(c), public :: WAITIO_MPI_Datatype
    integer(c_int) :: waitio_val = 0
  end type
  type, bind(c), public :: WAITIO_MPI_Op
    integer(c_int) :: waitio_val = 0
  end type
  type, bind(c), public :: WAITIO_MPI_Request
    integer(c_int) :: words(WAITIO_MPI_REQUEST_SIZE) = 0
  end type

  type(WAITIO_MPI_Datatype), parameter, public :: &
    WAITIO_MPI_INT = WAITIO_MPI_Datatype(1 + WAITIO_MPI_DEFTAG), &
    WAITIO_MPI_INTEGER = WAITIO_MPI_Datatype(1 + WAITIO_MPI_DEFTAG), &
    WAITIO_MPI_LONG = WAITIO_MPI_Datatype(2 + WAITIO_MPI_DEFTAG), &
    WAITIO_MPI_CHAR = WAITIO_MPI_Datatype(3 + WAITIO_MPI_DEFTAG), &
    WAITIO_MPI_FLOAT = WAITIO_MPI_Datatype(4 + WAITIO_MPI_DEFTAG), &
    WAITIO_MPI_DOUBLE = WAITIO_MPI_Datatype(5 + WAITIO_MPI_DEFTAG), &
    WAITIO_MPI_DOUBLE_PRECISION = WAITIO_MPI_Datatype(5 + WAITIO_MPI_DEFTAG)
  type(WAITIO_MPI_Op), parameter, public :: &
    WAITIO_MPI_SUM = WAITIO_MPI_Op(1 + WAITIO_MPI_DEFTAG), &
    WAITIO_MPI_MAX = WAITIO_MPI_Op(2 + WAITIO_MPI_DEFTAG), &
    WAITIO_MPI_MIN = WAITIO_MPI_Op(3 + WAITIO_MPI_DEFTAG)

  public :: WMPI_Init, WMPI_Create_universe, WMPI_Create_universe_pbhead, WAITIO_Init, WAITIO_Finalize
  public :: WAITIO_Create_universe, WAITIO_Create_universe_pbhead, WAITIO_Create_pbgroup
  public :: WAITIO_Group_rank, WAITIO_Group_size, WAITIO_MPI_Comm_rank, WAITIO_MPI_Comm_size
  public :: WAITIO_PB_rank, WAITIO_PB_size, WAITIO_Get_nprocs, WAITIO_MPI_Type_size
  public :: WAITIO_Wait, WAITIO_MPI_Waitall, WAITIO_MPI_Send, WAITIO_MPI_Recv, WAITIO_MPI_Isend, WAITIO_MPI_Irecv
  public :: WAITIO_Barrier, WAITIO_MPI_Barrier, WAITIO_MPI_Bcast, WAITIO_MPI_Reduce, WAITIO_MPI_Allreduce
  public :: WAITIO_MPI_Gather, WAITIO_MPI_Allgather, WAITIO_MPI_Scatter, WAITIO_MPI_Scatterv, WAITIO_MPI_Gatherv

  interface WMPI_Init
    module procedure init_alone, init_with_number
  end interface
  interface WMPI_Create_universe
    module procedure WAITIO_Create_universe
  end interface
  interface WMPI_Create_universe_pbhead
    module procedure WAITIO_Create_universe_pbhead
  end interface
  interface WAITIO_MPI_Comm_rank
    module procedure WAITIO_Group_rank
  end interface
  interface WAITIO_MPI_Comm_size
    module procedure WAITIO_Group_size
  end interface
  interface WAITIO_Barrier
    module procedure WAITIO_MPI_Barrier
  end interface

  interface
    include 'waitio_externals.inc'
  end interface

contains

  ! Gives the caller the error, or ends the program if the caller has not asked for it.
  subroutine give(error, ierr)
    integer(c_int), intent(in) :: error
    integer, intent(out), optional :: ierr
    if (present(ierr)) then
      ierr = error
    else if (error /= 0) then
      error stop 1
    end if
  end subroutine

  subroutine WAITIO_Init(n, ierr)
    integer(c_int), intent(in) :: n
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_init(n, error)
    call give(error, ierr)
  end subroutine

  subroutine WAITIO_Create_universe(comm, ierr)
    type(WAITIO_MPI_Comm), intent(inout) :: comm
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_create_universe(comm, error)
    call give(error, ierr)
  end subroutine

  subroutine WAITIO_Create_universe_pbhead(comm, ierr)
    type(WAITIO_MPI_Comm), intent(inout) :: comm
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_create_universe_pbhead(comm, error)
    call give(error, ierr)
  end subroutine

  subroutine WAITIO_Create_pbgroup(comm, pbid, ierr)
    type(WAITIO_MPI_Comm), intent(inout) :: comm
    integer(c_int), intent(in) :: pbid
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_create_pbgroup(comm, pbid, error)
    call give(error, ierr)
  end subroutine

  subroutine WAITIO_Group_rank(comm, rank, ierr)
    type(WAITIO_MPI_Comm), intent(in) :: comm
    integer(c_int), intent(out) :: rank
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_group_rank(comm, rank, error)
    call give(error, ierr)
  end subroutine

  subroutine WAITIO_Group_size(comm, size, ierr)
    type(WAITIO_MPI_Comm), intent(in) :: comm
    integer(c_int), intent(out) :: size
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_group_size(comm, size, error)
    call give(error, ierr)
  end subroutine

  subroutine WAITIO_PB_rank(rank, ierr)
    integer(c_int), intent(out) :: rank
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_pb_rank(rank, error)
    call give(error, ierr)
  end subroutine

  subroutine WAITIO_PB_size(size, ierr)
    integer(c_int), intent(out) :: size
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_pb_size(size, error)
    call give(error, ierr)
  end subroutine

  subroutine WAITIO_Get_nprocs(nprocs, ierr)
    integer(c_int), intent(inout) :: nprocs(*)
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_get_nprocs(nprocs, error)
    call give(error, ierr)
  end subroutine

  subroutine WAITIO_MPI_Type_size(datatype, size, ierr)
    type(WAITIO_MPI_Datatype), intent(in) :: datatype
    integer(c_int), intent(out) :: size
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_mpi_type_size(datatype, size, error)
    call give(error, ierr)
  end subroutine

  subroutine WAITIO_Wait(request, ierr)
    type(WAITIO_MPI_Request), intent(inout) :: request
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_wait(request, error)
    call give(error, ierr)
  end subroutine

  subroutine WAITIO_MPI_Waitall(count, requests, statuses, ierr)
    integer(c_int), intent(in) :: count
    type(WAITIO_MPI_Request), intent(inout) :: requests(*)
    integer(c_int), intent(inout) :: statuses(WAITIO_MPI_STATUS_SIZE, *)
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_mpi_waitall(count, requests, statuses, error)
    call give(error, ierr)
  end subroutine

  subroutine WAITIO_MPI_Send(buf, count, datatype, dest, tag, comm, ierr)
    type(*), intent(in) :: buf(*)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ IGNORE_TKR buf
    integer(c_int), intent(in) :: count, dest, tag
    type(WAITIO_MPI_Datatype), intent(in) :: datatype
    type(WAITIO_MPI_Comm), intent(in) :: comm
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_mpi_send(buf, count, datatype, dest, tag, comm, error)
    call give(error, ierr)
  end subroutine

  subroutine WAITIO_MPI_Isend(buf, count, datatype, dest, tag, comm, request, ierr)
    type(*), intent(in) :: buf(*)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ IGNORE_TKR buf
    integer(c_int), intent(in) :: count, dest, tag
    type(WAITIO_MPI_Datatype), intent(in) :: datatype
    type(WAITIO_MPI_Comm), intent(in) :: comm
    type(WAITIO_MPI_Request), intent(inout) :: request
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_mpi_isend(buf, count, datatype, dest, tag, comm, request, error)
    call give(error, ierr)
  end subroutine

  subroutine WAITIO_MPI_Recv(buf, count, datatype, source, tag, comm, ierr)
    type(*) :: buf(*)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ IGNORE_TKR buf
    integer(c_int), intent(in) :: count, source, tag
    type(WAITIO_MPI_Datatype), intent(in) :: datatype
    type(WAITIO_MPI_Comm), intent(in) :: comm
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_mpi_recv(buf, count, datatype, source, tag, comm, error)
    call give(error, ierr)
  end subroutine

  subroutine WAITIO_MPI_Irecv(buf, count, datatype, source, tag, comm, request, ierr)
    type(*) :: buf(*)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ IGNORE_TKR buf
    integer(c_int), intent(in) :: count, source, tag
    type(WAITIO_MPI_Datatype), intent(in) :: datatype
    type(WAITIO_MPI_Comm), intent(in) :: comm
    type(WAITIO_MPI_Request), intent(inout) :: request
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_mpi_irecv(buf, count, datatype, source, tag, comm, request, error)
    call give(error, ierr)
  end subroutine

  subroutine WAITIO_MPI_Barrier(comm, ierr)
    type(WAITIO_MPI_Comm), intent(in) :: comm
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_mpi_barrier(comm, error)
    call give(error, ierr)
  end subroutine

  subroutine WAITIO_MPI_Bcast(buf, count, datatype, root, comm, ierr)
    type(*) :: buf(*)
    !GCC$ attributes no_arg_check :: buf
    !DIR$ IGNORE_TKR buf
    integer(c_int), intent(in) :: count, root
    type(WAITIO_MPI_Datatype), intent(in) :: datatype
    type(WAITIO_MPI_Comm), intent(in) :: comm
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_mpi_bcast(buf, count, datatype, root, comm, error)
    call give(error, ierr)
  end subroutine

  subroutine WAITIO_MPI_Reduce(sendbuf, recvbuf, count, datatype, op, root, comm, ierr)
    type(*), intent(in) :: sendbuf(*)
    !GCC$ attributes no_arg_check :: sendbuf
    !DIR$ IGNORE_TKR sendbuf
    type(*) :: recvbuf(*)
    !GCC$ attributes no_arg_check :: recvbuf
    !DIR$ IGNORE_TKR recvbuf
    integer(c_int), intent(in) :: count, root
    type(WAITIO_MPI_Datatype), intent(in) :: datatype
    type(WAITIO_MPI_Op), intent(in) :: op
    type(WAITIO_MPI_Comm), intent(in) :: comm
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_mpi_reduce(sendbuf, recvbuf, count, datatype, op, root, comm, error)
    call give(error, ierr)
  end subroutine

  subroutine WAITIO_MPI_Allreduce(sendbuf, recvbuf, count, datatype, op, comm, ierr)
    type(*), intent(in) :: sendbuf(*)
    !GCC$ attributes no_arg_check :: sendbuf
    !DIR$ IGNORE_TKR sendbuf
    type(*) :: recvbuf(*)
    !GCC$ attributes no_arg_check :: recvbuf
    !DIR$ IGNORE_TKR recvbuf
    integer(c_int), intent(in) :: count
    type(WAITIO_MPI_Datatype), intent(in) :: datatype
    type(WAITIO_MPI_Op), intent(in) :: op
    type(WAITIO_MPI_Comm), intent(in) :: comm
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_mpi_allreduce(sendbuf, recvbuf, count, datatype, op, comm, error)
    call give(error, ierr)
  end subroutine

  subroutine WAITIO_MPI_Gather(sendbuf, recvbuf, count, datatype, root, comm, ierr)
    type(*), intent(in) :: sendbuf(*)
    !GCC$ attributes no_arg_check :: sendbuf
    !DIR$ IGNORE_TKR sendbuf
    type(*) :: recvbuf(*)
    !GCC$ attributes no_arg_check :: recvbuf
    !DIR$ IGNORE_TKR recvbuf
    integer(c_int), intent(in) :: count, root
    type(WAITIO_MPI_Datatype), intent(in) :: datatype
    type(WAITIO_MPI_Comm), intent(in) :: comm
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_mpi_gather(sendbuf, recvbuf, count, datatype, root, comm, error)
    call give(error, ierr)
  end subroutine

  subroutine WAITIO_MPI_Allgather(sendbuf, recvbuf, count, datatype, comm, ierr)
    type(*), intent(in) :: sendbuf(*)
    !GCC$ attributes no_arg_check :: sendbuf
    !DIR$ IGNORE_TKR sendbuf
    type(*) :: recvbuf(*)
    !GCC$ attributes no_arg_check :: recvbuf
    !DIR$ IGNORE_TKR recvbuf
    integer(c_int), intent(in) :: count
    type(WAITIO_MPI_Datatype), intent(in) :: datatype
    type(WAITIO_MPI_Comm), intent(in) :: comm
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_mpi_allgather(sendbuf, recvbuf, count, datatype, comm, error)
    call give(error, ierr)
  end subroutine

  subroutine WAITIO_MPI_Scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, ierr)
    type(*), intent(in) :: sendbuf(*)
    !GCC$ attributes no_arg_check :: sendbuf
    !DIR$ IGNORE_TKR sendbuf
    integer(c_int), intent(in) :: sendcount, recvcount, root
    type(WAITIO_MPI_Datatype), intent(in) :: sendtype, recvtype
    type(*) :: recvbuf(*)
    !GCC$ attributes no_arg_check :: recvbuf
    !DIR$ IGNORE_TKR recvbuf
    type(WAITIO_MPI_Comm), intent(in) :: comm
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_mpi_scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, error)
    call give(error, ierr)
  end subroutine

  subroutine WAITIO_MPI_Scatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, &
      comm, ierr)
    type(*), intent(in) :: sendbuf(*)
    !GCC$ attributes no_arg_check :: sendbuf
    !DIR$ IGNORE_TKR sendbuf
    integer(c_int), intent(in) :: sendcounts(*), displs(*)
    type(WAITIO_MPI_Datatype), intent(in) :: sendtype, recvtype
    type(*) :: recvbuf(*)
    !GCC$ attributes no_arg_check :: recvbuf
    !DIR$ IGNORE_TKR recvbuf
    integer(c_int), intent(in) :: recvcount, root
    type(WAITIO_MPI_Comm), intent(in) :: comm
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_mpi_scatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm, error)
    call give(error, ierr)
  end subroutine

  subroutine WAITIO_MPI_Gatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, &
      comm, ierr)
    type(*), intent(in) :: sendbuf(*)
    !GCC$ attributes no_arg_check :: sendbuf
    !DIR$ IGNORE_TKR sendbuf
    integer(c_int), intent(in) :: sendcount, root
    type(WAITIO_MPI_Datatype), intent(in) :: sendtype, recvtype
    type(*) :: recvbuf(*)
    !GCC$ attributes no_arg_check :: recvbuf
    !DIR$ IGNORE_TKR recvbuf
    integer(c_int), intent(in) :: recvcounts(*), displs(*)
    type(WAITIO_MPI_Comm), intent(in) :: comm
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_mpi_gatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm, error)
    call give(error, ierr)
  end subroutine

  subroutine init_alone(ierr)
    integer, intent(out), optional :: ierr
    call WAITIO_Init(0, ierr)
  end subroutine

  subroutine init_with_number(n, ierr)
    integer(c_int), intent(in) :: n
    integer, intent(out) :: ierr
    call WAITIO_Init(n, ierr)
  end subroutine

  subroutine WAITIO_Finalize(ierr)
    integer, intent(out), optional :: ierr
    integer(c_int) :: error
    call c_finalize(error)
    call give(error, ierr)
  end subroutine

end module
