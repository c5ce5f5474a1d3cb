! Collective calls of converted programs, and groups: MPI's names, arguments and their order. Arguments have the names
! that mpi_f08 gives them, so that keywords stay what they are. A name that begins with i starts the call without
! waiting. It is built on couplet_ported_starts; module couplet_ported, which programs use, is built on it. Tests:
! tests/convert.
module couplet_ported_collectives
  use, intrinsic :: iso_c_binding
  use couplet
  use couplet_binding_module, only: c_barrier, c_ibarrier, c_broadcast, c_ibroadcast, c_reduce, c_ireduce, &
    c_allreduce, c_iallreduce, c_scan, c_iscan
  use couplet_ported_base
  use couplet_ported_messages, only: couplet_ported_wait
  use couplet_ported_starts
  implicit none
  private

  ! What is known of a group that was split: each of its splits gets a name of its own.
  type :: known_group
    type(couplet_group) :: group
    character(len=:), allocatable :: path
    integer :: splits = 0
  end type
  type(known_group), allocatable, save :: known(:)

  public :: couplet_ported_comm_rank, couplet_ported_comm_size, couplet_ported_comm_split
  public :: couplet_ported_comm_dup, couplet_ported_comm_free, couplet_ported_barrier, couplet_ported_ibarrier
  public :: couplet_ported_bcast, couplet_ported_ibcast, couplet_ported_reduce, couplet_ported_ireduce
  public :: couplet_ported_allreduce, couplet_ported_iallreduce, couplet_ported_scan, couplet_ported_iscan
  public :: couplet_ported_gather, couplet_ported_igather, couplet_ported_gatherv, couplet_ported_igatherv
  public :: couplet_ported_allgather, couplet_ported_iallgather, couplet_ported_allgatherv
  public :: couplet_ported_iallgatherv, couplet_ported_scatter, couplet_ported_iscatter
  public :: couplet_ported_scatterv, couplet_ported_iscatterv, couplet_ported_alltoall
  public :: couplet_ported_ialltoall, couplet_ported_alltoallv, couplet_ported_ialltoallv
  public :: couplet_ported_reduce_scatter, couplet_ported_ireduce_scatter

contains

  subroutine couplet_ported_comm_rank(comm, rank, ierror)
    type(couplet_group), intent(in) :: comm
    integer, intent(out) :: rank
    integer, intent(out), optional :: ierror
    call comm%rank(rank)
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_comm_size(comm, size, ierror)
    type(couplet_group), intent(in) :: comm
    integer, intent(out) :: size
    integer, intent(out), optional :: ierror
    call comm%rank(size=size)
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_comm_split(comm, color, key, newcomm, ierror)
    type(couplet_group), intent(in) :: comm
    integer, intent(in) :: color, key
    type(couplet_group), intent(out) :: newcomm
    integer, intent(out), optional :: ierror
    character(len=12) :: number
    character(len=:), allocatable :: name
    integer :: own, place
    place = place_of(comm, "ported")
    known(place)%splits = known(place)%splits + 1
    write (number, "(i0)") known(place)%splits
    name = known(place)%path//"/"//trim(number)
    own = color
    if (own == couplet_undefined) own = -1
    call comm%split(name, own, newcomm, key)
    write (number, "(i0)") own
    if (newcomm /= couplet_null_group) place = place_of(newcomm, name//":"//trim(number))
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_comm_dup(comm, newcomm, ierror)
    type(couplet_group), intent(in) :: comm
    type(couplet_group), intent(out) :: newcomm
    integer, intent(out), optional :: ierror
    call couplet_ported_comm_split(comm, 0, 0, newcomm, ierror)
  end subroutine

  subroutine couplet_ported_comm_free(comm, ierror)
    type(couplet_group), intent(inout) :: comm
    integer, intent(out), optional :: ierror
    integer :: i
    if (allocated(known)) known = pack(known, [(known(i)%group /= comm, i=1, size(known))])
    call comm%free()
    comm = couplet_null_group
    call finish(couplet_ok, ierror)
  end subroutine

  ! Returns the place of a group in `known`. `path` is that of a group that is not known yet.
  integer function place_of(group, path) result(place)
    type(couplet_group), intent(in) :: group
    character(len=*), intent(in) :: path
    type(known_group) :: new
    if (.not. allocated(known)) allocate (known(0))
    do place = 1, size(known)
      if (known(place)%group == group) return
    end do
    new%group = group
    new%path = path
    known = [known, new]
    place = size(known)
  end function

  subroutine couplet_ported_barrier(comm, ierror)
    type(couplet_group), intent(in) :: comm
    integer, intent(out), optional :: ierror
    call finish(c_barrier(comm%handle, default_options()), ierror)
  end subroutine

  subroutine couplet_ported_ibarrier(comm, request, ierror)
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    integer, intent(out), optional :: ierror
    call finish(c_ibarrier(comm%handle, default_options(), request%handle), ierror)
  end subroutine

  subroutine couplet_ported_bcast(buffer, count, datatype, root, comm, ierror)
    type(*), dimension(..), intent(inout), contiguous, target :: buffer
    integer, intent(in) :: count, datatype, root
    type(couplet_group), intent(in) :: comm
    integer, intent(out), optional :: ierror
    call finish(c_broadcast(comm%handle, c_loc(buffer), elements(count, datatype), element_type(datatype), root, &
      default_options()), ierror)
  end subroutine

  subroutine couplet_ported_ibcast(buffer, count, datatype, root, comm, request, ierror)
    type(*), dimension(..), intent(inout), asynchronous, target :: buffer
    integer, intent(in) :: count, datatype, root
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    integer, intent(out), optional :: ierror
    call refuse_gaps(is_contiguous(buffer), "ibcast")
    call finish(c_ibroadcast(comm%handle, c_loc(buffer), elements(count, datatype), element_type(datatype), root, &
      default_options(), request%handle), ierror)
  end subroutine

  subroutine couplet_ported_reduce(sendbuf, recvbuf, count, datatype, op, root, comm, ierror)
    type(*), dimension(..), intent(in), contiguous, target :: sendbuf
    type(*), dimension(..), intent(inout), contiguous, target :: recvbuf
    integer, intent(in) :: count, datatype, op, root
    type(couplet_group), intent(in) :: comm
    integer, intent(out), optional :: ierror
    call finish(c_reduce(comm%handle, source_of(c_loc(sendbuf), c_loc(recvbuf)), c_loc(recvbuf), elements(count, &
      datatype), element_type(datatype), op, root, default_options()), ierror)
  end subroutine

  subroutine couplet_ported_ireduce(sendbuf, recvbuf, count, datatype, op, root, comm, request, ierror)
    type(*), dimension(..), intent(in), asynchronous, target :: sendbuf
    type(*), dimension(..), intent(inout), asynchronous, target :: recvbuf
    integer, intent(in) :: count, datatype, op, root
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    integer, intent(out), optional :: ierror
    call refuse_gaps(is_contiguous(sendbuf) .and. is_contiguous(recvbuf), "ireduce")
    call finish(c_ireduce(comm%handle, source_of(c_loc(sendbuf), c_loc(recvbuf)), c_loc(recvbuf), elements(count, &
      datatype), element_type(datatype), op, root, default_options(), request%handle), ierror)
  end subroutine

  subroutine couplet_ported_allreduce(sendbuf, recvbuf, count, datatype, op, comm, ierror)
    type(*), dimension(..), intent(in), contiguous, target :: sendbuf
    type(*), dimension(..), intent(inout), contiguous, target :: recvbuf
    integer, intent(in) :: count, datatype, op
    type(couplet_group), intent(in) :: comm
    integer, intent(out), optional :: ierror
    call finish(c_allreduce(comm%handle, source_of(c_loc(sendbuf), c_loc(recvbuf)), c_loc(recvbuf), &
      elements(count, datatype), element_type(datatype), op, default_options()), ierror)
  end subroutine

  subroutine couplet_ported_iallreduce(sendbuf, recvbuf, count, datatype, op, comm, request, ierror)
    type(*), dimension(..), intent(in), asynchronous, target :: sendbuf
    type(*), dimension(..), intent(inout), asynchronous, target :: recvbuf
    integer, intent(in) :: count, datatype, op
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    integer, intent(out), optional :: ierror
    call refuse_gaps(is_contiguous(sendbuf) .and. is_contiguous(recvbuf), "iallreduce")
    call finish(c_iallreduce(comm%handle, source_of(c_loc(sendbuf), c_loc(recvbuf)), c_loc(recvbuf), &
      elements(count, datatype), element_type(datatype), op, default_options(), request%handle), ierror)
  end subroutine

  subroutine couplet_ported_scan(sendbuf, recvbuf, count, datatype, op, comm, ierror)
    type(*), dimension(..), intent(in), contiguous, target :: sendbuf
    type(*), dimension(..), intent(inout), contiguous, target :: recvbuf
    integer, intent(in) :: count, datatype, op
    type(couplet_group), intent(in) :: comm
    integer, intent(out), optional :: ierror
    call finish(c_scan(comm%handle, source_of(c_loc(sendbuf), c_loc(recvbuf)), c_loc(recvbuf), elements(count, &
      datatype), element_type(datatype), op, default_options()), ierror)
  end subroutine

  subroutine couplet_ported_iscan(sendbuf, recvbuf, count, datatype, op, comm, request, ierror)
    type(*), dimension(..), intent(in), asynchronous, target :: sendbuf
    type(*), dimension(..), intent(inout), asynchronous, target :: recvbuf
    integer, intent(in) :: count, datatype, op
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    integer, intent(out), optional :: ierror
    call refuse_gaps(is_contiguous(sendbuf) .and. is_contiguous(recvbuf), "iscan")
    call finish(c_iscan(comm%handle, source_of(c_loc(sendbuf), c_loc(recvbuf)), c_loc(recvbuf), elements(count, &
      datatype), element_type(datatype), op, default_options(), request%handle), ierror)
  end subroutine

  subroutine couplet_ported_gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, ierror)
    type(*), dimension(..), intent(in), contiguous, target :: sendbuf
    type(*), dimension(..), intent(inout), contiguous, target :: recvbuf
    integer, intent(in) :: sendcount, sendtype, recvcount, recvtype, root
    type(couplet_group), intent(in) :: comm
    integer, intent(out), optional :: ierror
    type(couplet_request) :: request
    call start_gather(c_loc(sendbuf), sendcount, sendtype, c_loc(recvbuf), recvcount, recvtype, root, comm, request)
    call couplet_ported_wait(request, ierror=ierror)
  end subroutine

  subroutine couplet_ported_igather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, &
      request, ierror)
    type(*), dimension(..), intent(in), asynchronous, target :: sendbuf
    type(*), dimension(..), intent(inout), asynchronous, target :: recvbuf
    integer, intent(in) :: sendcount, sendtype, recvcount, recvtype, root
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    integer, intent(out), optional :: ierror
    call refuse_gaps(is_contiguous(sendbuf) .and. is_contiguous(recvbuf), "igather")
    call start_gather(c_loc(sendbuf), sendcount, sendtype, c_loc(recvbuf), recvcount, recvtype, root, comm, request)
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_gatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, &
      comm, ierror)
    type(*), dimension(..), intent(in), contiguous, target :: sendbuf
    type(*), dimension(..), intent(inout), contiguous, target :: recvbuf
    integer, intent(in) :: sendcount, sendtype, recvtype, root, recvcounts(*), displs(*)
    type(couplet_group), intent(in) :: comm
    integer, intent(out), optional :: ierror
    type(couplet_request) :: request
    call start_gatherv(c_loc(sendbuf), sendcount, sendtype, c_loc(recvbuf), recvcounts, displs, recvtype, root, &
      comm, request)
    call couplet_ported_wait(request, ierror=ierror)
  end subroutine

  subroutine couplet_ported_igatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, &
      comm, request, ierror)
    type(*), dimension(..), intent(in), asynchronous, target :: sendbuf
    type(*), dimension(..), intent(inout), asynchronous, target :: recvbuf
    integer, intent(in) :: sendcount, sendtype, recvtype, root, recvcounts(*), displs(*)
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    integer, intent(out), optional :: ierror
    call refuse_gaps(is_contiguous(sendbuf) .and. is_contiguous(recvbuf), "igatherv")
    call start_gatherv(c_loc(sendbuf), sendcount, sendtype, c_loc(recvbuf), recvcounts, displs, recvtype, root, &
      comm, request)
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, ierror)
    type(*), dimension(..), intent(in), contiguous, target :: sendbuf
    type(*), dimension(..), intent(inout), contiguous, target :: recvbuf
    integer, intent(in) :: sendcount, sendtype, recvcount, recvtype
    type(couplet_group), intent(in) :: comm
    integer, intent(out), optional :: ierror
    type(couplet_request) :: request
    call start_allgather(c_loc(sendbuf), sendcount, sendtype, c_loc(recvbuf), recvcount, recvtype, comm, request)
    call couplet_ported_wait(request, ierror=ierror)
  end subroutine

  subroutine couplet_ported_iallgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request, &
      ierror)
    type(*), dimension(..), intent(in), asynchronous, target :: sendbuf
    type(*), dimension(..), intent(inout), asynchronous, target :: recvbuf
    integer, intent(in) :: sendcount, sendtype, recvcount, recvtype
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    integer, intent(out), optional :: ierror
    call refuse_gaps(is_contiguous(sendbuf) .and. is_contiguous(recvbuf), "iallgather")
    call start_allgather(c_loc(sendbuf), sendcount, sendtype, c_loc(recvbuf), recvcount, recvtype, comm, request)
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm, &
      ierror)
    type(*), dimension(..), intent(in), contiguous, target :: sendbuf
    type(*), dimension(..), intent(inout), contiguous, target :: recvbuf
    integer, intent(in) :: sendcount, sendtype, recvtype, recvcounts(*), displs(*)
    type(couplet_group), intent(in) :: comm
    integer, intent(out), optional :: ierror
    type(couplet_request) :: request
    call start_allgatherv(c_loc(sendbuf), sendcount, sendtype, c_loc(recvbuf), recvcounts, displs, recvtype, comm, &
      request)
    call couplet_ported_wait(request, ierror=ierror)
  end subroutine

  subroutine couplet_ported_iallgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, &
      comm, request, ierror)
    type(*), dimension(..), intent(in), asynchronous, target :: sendbuf
    type(*), dimension(..), intent(inout), asynchronous, target :: recvbuf
    integer, intent(in) :: sendcount, sendtype, recvtype, recvcounts(*), displs(*)
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    integer, intent(out), optional :: ierror
    call refuse_gaps(is_contiguous(sendbuf) .and. is_contiguous(recvbuf), "iallgatherv")
    call start_allgatherv(c_loc(sendbuf), sendcount, sendtype, c_loc(recvbuf), recvcounts, displs, recvtype, comm, &
      request)
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, ierror)
    type(*), dimension(..), intent(in), contiguous, target :: sendbuf
    type(*), dimension(..), intent(inout), contiguous, target :: recvbuf
    integer, intent(in) :: sendcount, sendtype, recvcount, recvtype, root
    type(couplet_group), intent(in) :: comm
    integer, intent(out), optional :: ierror
    type(couplet_request) :: request
    call start_scatter(c_loc(sendbuf), sendcount, sendtype, c_loc(recvbuf), recvcount, recvtype, root, comm, &
      request)
    call couplet_ported_wait(request, ierror=ierror)
  end subroutine

  subroutine couplet_ported_iscatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, &
      request, ierror)
    type(*), dimension(..), intent(in), asynchronous, target :: sendbuf
    type(*), dimension(..), intent(inout), asynchronous, target :: recvbuf
    integer, intent(in) :: sendcount, sendtype, recvcount, recvtype, root
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    integer, intent(out), optional :: ierror
    call refuse_gaps(is_contiguous(sendbuf) .and. is_contiguous(recvbuf), "iscatter")
    call start_scatter(c_loc(sendbuf), sendcount, sendtype, c_loc(recvbuf), recvcount, recvtype, root, comm, &
      request)
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_scatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, &
      comm, ierror)
    type(*), dimension(..), intent(in), contiguous, target :: sendbuf
    type(*), dimension(..), intent(inout), contiguous, target :: recvbuf
    integer, intent(in) :: sendtype, recvcount, recvtype, root, sendcounts(*), displs(*)
    type(couplet_group), intent(in) :: comm
    integer, intent(out), optional :: ierror
    type(couplet_request) :: request
    call start_scatterv(c_loc(sendbuf), sendcounts, displs, sendtype, c_loc(recvbuf), recvcount, recvtype, root, &
      comm, request)
    call couplet_ported_wait(request, ierror=ierror)
  end subroutine

  subroutine couplet_ported_iscatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, &
      comm, request, ierror)
    type(*), dimension(..), intent(in), asynchronous, target :: sendbuf
    type(*), dimension(..), intent(inout), asynchronous, target :: recvbuf
    integer, intent(in) :: sendtype, recvcount, recvtype, root, sendcounts(*), displs(*)
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    integer, intent(out), optional :: ierror
    call refuse_gaps(is_contiguous(sendbuf) .and. is_contiguous(recvbuf), "iscatterv")
    call start_scatterv(c_loc(sendbuf), sendcounts, displs, sendtype, c_loc(recvbuf), recvcount, recvtype, root, &
      comm, request)
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, ierror)
    type(*), dimension(..), intent(in), contiguous, target :: sendbuf
    type(*), dimension(..), intent(inout), contiguous, target :: recvbuf
    integer, intent(in) :: sendcount, sendtype, recvcount, recvtype
    type(couplet_group), intent(in) :: comm
    integer, intent(out), optional :: ierror
    type(couplet_request) :: request
    call start_alltoall(c_loc(sendbuf), sendcount, sendtype, c_loc(recvbuf), recvcount, recvtype, comm, request)
    call couplet_ported_wait(request, ierror=ierror)
  end subroutine

  subroutine couplet_ported_ialltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request, &
      ierror)
    type(*), dimension(..), intent(in), asynchronous, target :: sendbuf
    type(*), dimension(..), intent(inout), asynchronous, target :: recvbuf
    integer, intent(in) :: sendcount, sendtype, recvcount, recvtype
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    integer, intent(out), optional :: ierror
    call refuse_gaps(is_contiguous(sendbuf) .and. is_contiguous(recvbuf), "ialltoall")
    call start_alltoall(c_loc(sendbuf), sendcount, sendtype, c_loc(recvbuf), recvcount, recvtype, comm, request)
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, &
      recvtype, comm, ierror)
    type(*), dimension(..), intent(in), contiguous, target :: sendbuf
    type(*), dimension(..), intent(inout), contiguous, target :: recvbuf
    integer, intent(in) :: sendtype, recvtype, sendcounts(*), sdispls(*), recvcounts(*), rdispls(*)
    type(couplet_group), intent(in) :: comm
    integer, intent(out), optional :: ierror
    type(couplet_request) :: request
    call start_alltoallv(c_loc(sendbuf), sendcounts, sdispls, sendtype, c_loc(recvbuf), recvcounts, rdispls, &
      recvtype, comm, request)
    call couplet_ported_wait(request, ierror=ierror)
  end subroutine

  subroutine couplet_ported_ialltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, &
      recvtype, comm, request, ierror)
    type(*), dimension(..), intent(in), asynchronous, target :: sendbuf
    type(*), dimension(..), intent(inout), asynchronous, target :: recvbuf
    integer, intent(in) :: sendtype, recvtype, sendcounts(*), sdispls(*), recvcounts(*), rdispls(*)
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    integer, intent(out), optional :: ierror
    call refuse_gaps(is_contiguous(sendbuf) .and. is_contiguous(recvbuf), "ialltoallv")
    call start_alltoallv(c_loc(sendbuf), sendcounts, sdispls, sendtype, c_loc(recvbuf), recvcounts, rdispls, &
      recvtype, comm, request)
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_reduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm, ierror)
    type(*), dimension(..), intent(in), contiguous, target :: sendbuf
    type(*), dimension(..), intent(inout), contiguous, target :: recvbuf
    integer, intent(in) :: datatype, op, recvcounts(*)
    type(couplet_group), intent(in) :: comm
    integer, intent(out), optional :: ierror
    type(couplet_request) :: request
    call start_reduce_scatter(c_loc(sendbuf), c_loc(recvbuf), recvcounts, datatype, op, comm, request)
    call couplet_ported_wait(request, ierror=ierror)
  end subroutine

  subroutine couplet_ported_ireduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm, request, ierror)
    type(*), dimension(..), intent(in), asynchronous, target :: sendbuf
    type(*), dimension(..), intent(inout), asynchronous, target :: recvbuf
    integer, intent(in) :: datatype, op, recvcounts(*)
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    integer, intent(out), optional :: ierror
    call refuse_gaps(is_contiguous(sendbuf) .and. is_contiguous(recvbuf), "ireduce_scatter")
    call start_reduce_scatter(c_loc(sendbuf), c_loc(recvbuf), recvcounts, datatype, op, comm, request)
    call finish(couplet_ok, ierror)
  end subroutine
end module
