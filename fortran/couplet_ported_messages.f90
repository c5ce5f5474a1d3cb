! Messages of converted programs: MPI's names, arguments and their order, with a buffer of any type that is given by its
! first element and a count. Arguments have the names that mpi_f08 gives them, so that keywords stay what they are.
! It is built on couplet_ported_base; module couplet_ported, which programs use, is built on it.
! An array of a non-blocking call must stay in place until the call is complete. Tests: tests/convert.
module couplet_ported_messages
  use, intrinsic :: iso_c_binding
  use couplet
  use couplet_binding_module, only: c_awaited, c_message, c_send, c_recv, c_isend, c_irecv, c_wait, c_test, c_waitall, &
    c_waitany, c_wait_any
  use couplet_errors_module, only: refuse
  use couplet_messages_module, only: fill_message, no_message
  use couplet_ported_base
  implicit none
  private
  public :: couplet_ported_send, couplet_ported_recv, couplet_ported_isend, couplet_ported_irecv
  public :: couplet_ported_wait, couplet_ported_waitall, couplet_ported_waitany, couplet_ported_waitsome
  public :: couplet_ported_test, couplet_ported_testall, couplet_ported_testany
  public :: couplet_ported_sendrecv, couplet_ported_sendrecv_replace
  public :: couplet_ported_probe, couplet_ported_iprobe, couplet_ported_get_count

contains

  subroutine couplet_ported_send(buf, count, datatype, dest, tag, comm, ierror)
    type(*), dimension(..), intent(in), contiguous, target :: buf
    integer, intent(in) :: count, datatype, dest, tag
    type(couplet_group), intent(in) :: comm
    integer, intent(out), optional :: ierror
    integer(c_int32_t) :: status
    status = couplet_ok
    if (dest /= couplet_null_rank) status = c_send(comm%handle, c_loc(buf), elements(count, datatype), &
      element_type(datatype), dest, tag)
    call finish(status, ierror)
  end subroutine

  subroutine couplet_ported_recv(buf, count, datatype, source, tag, comm, status, ierror)
    type(*), dimension(..), intent(inout), contiguous, target :: buf
    integer, intent(in) :: count, datatype, source, tag
    type(couplet_group), intent(in) :: comm
    type(couplet_message), intent(out), optional :: status
    integer, intent(out), optional :: ierror
    type(c_message) :: answer
    answer = nothing()
    if (source /= couplet_null_rank) call need(c_recv(comm%handle, c_loc(buf), elements(count, datatype), &
      element_type(datatype), source, tag, answer))
    call fill_message(status, answer)
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_isend(buf, count, datatype, dest, tag, comm, request, ierror)
    type(*), dimension(..), intent(in), asynchronous, target :: buf
    integer, intent(in) :: count, datatype, dest, tag
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    integer, intent(out), optional :: ierror
    call refuse_gaps(is_contiguous(buf), "isend")
    request%handle = c_null_ptr
    if (dest /= couplet_null_rank) call need(c_isend(comm%handle, c_loc(buf), elements(count, datatype), &
      element_type(datatype), dest, tag, request%handle))
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_irecv(buf, count, datatype, source, tag, comm, request, ierror)
    type(*), dimension(..), intent(inout), asynchronous, target :: buf
    integer, intent(in) :: count, datatype, source, tag
    type(couplet_group), intent(in) :: comm
    type(couplet_request), intent(inout) :: request
    integer, intent(out), optional :: ierror
    call refuse_gaps(is_contiguous(buf), "irecv")
    request%handle = c_null_ptr
    if (source /= couplet_null_rank) call need(c_irecv(comm%handle, c_loc(buf), elements(count, datatype), &
      element_type(datatype), source, tag, request%handle))
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_wait(request, status, ierror)
    type(couplet_request), intent(inout) :: request
    type(couplet_message), intent(out), optional :: status
    integer, intent(out), optional :: ierror
    type(c_message) :: answer
    answer = no_message()
    call need(c_wait(request%handle, -1.0_c_double, answer))
    call fill_message(status, answer)
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_waitall(count, array_of_requests, array_of_statuses, ierror)
    integer, intent(in) :: count
    type(couplet_request), intent(inout) :: array_of_requests(*)
    type(couplet_message), intent(inout), optional :: array_of_statuses(*)
    integer, intent(out), optional :: ierror
    type(c_ptr) :: handles(max(count, 1))
    type(c_message) :: answers(max(count, 1))
    integer(c_int32_t) :: each(max(count, 1))
    integer :: i
    answers = no_message()
    do i = 1, count
      handles(i) = array_of_requests(i)%handle
    end do
    if (count > 0) call need(c_waitall(int(count, c_int32_t), handles, -1.0_c_double, each, answers))
    do i = 1, count
      array_of_requests(i)%handle = handles(i)
      if (present(array_of_statuses)) call fill_message(array_of_statuses(i), answers(i))
    end do
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_waitany(count, array_of_requests, index, status, ierror)
    integer, intent(in) :: count
    type(couplet_request), intent(inout) :: array_of_requests(*)
    integer, intent(out) :: index
    type(couplet_message), intent(out), optional :: status
    integer, intent(out), optional :: ierror
    type(c_ptr) :: handles(max(count, 1))
    type(c_message) :: answer
    integer(c_int32_t) :: which
    integer :: i
    answer = no_message()
    do i = 1, count
      handles(i) = array_of_requests(i)%handle
    end do
    which = -1
    if (count > 0) call need(c_waitany(int(count, c_int32_t), handles, -1.0_c_double, which, answer))
    do i = 1, count
      array_of_requests(i)%handle = handles(i)
    end do
    index = couplet_undefined
    if (which >= 0) index = which + 1
    call fill_message(status, answer)
    call finish(couplet_ok, ierror)
  end subroutine

  ! Waits for one request, and then takes all that are complete.
  subroutine couplet_ported_waitsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses, ierror)
    integer, intent(in) :: incount
    type(couplet_request), intent(inout) :: array_of_requests(*)
    integer, intent(out) :: outcount
    integer, intent(inout) :: array_of_indices(*)
    type(couplet_message), intent(inout), optional :: array_of_statuses(*)
    integer, intent(out), optional :: ierror
    type(couplet_message) :: message
    integer :: i, first
    logical :: done
    outcount = couplet_undefined
    call couplet_ported_waitany(incount, array_of_requests, first, message)
    if (first /= couplet_undefined) then
      outcount = 1
      array_of_indices(1) = first
      if (present(array_of_statuses)) array_of_statuses(1) = message
      do i = 1, incount
        if (.not. array_of_requests(i)%is_pending()) cycle
        call couplet_ported_test(array_of_requests(i), done, message)
        if (.not. done) cycle
        outcount = outcount + 1
        array_of_indices(outcount) = i
        if (present(array_of_statuses)) array_of_statuses(outcount) = message
      end do
    end if
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_test(request, flag, status, ierror)
    type(couplet_request), intent(inout) :: request
    logical, intent(out) :: flag
    type(couplet_message), intent(out), optional :: status
    integer, intent(out), optional :: ierror
    type(c_message) :: answer
    integer(c_int32_t) :: done
    answer = no_message()
    done = 0
    call need(c_test(request%handle, done, answer))
    flag = done /= 0
    if (flag) call fill_message(status, answer)
    call finish(couplet_ok, ierror)
  end subroutine

  ! Requests that are complete are freed, also if others are not.
  subroutine couplet_ported_testall(count, array_of_requests, flag, array_of_statuses, ierror)
    integer, intent(in) :: count
    type(couplet_request), intent(inout) :: array_of_requests(*)
    logical, intent(out) :: flag
    type(couplet_message), intent(inout), optional :: array_of_statuses(*)
    integer, intent(out), optional :: ierror
    type(couplet_message) :: message
    integer :: i
    logical :: done
    flag = .true.
    do i = 1, count
      if (.not. array_of_requests(i)%is_pending()) cycle
      call couplet_ported_test(array_of_requests(i), done, message)
      if (done .and. present(array_of_statuses)) array_of_statuses(i) = message
      flag = flag .and. done
    end do
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_testany(count, array_of_requests, index, flag, status, ierror)
    integer, intent(in) :: count
    type(couplet_request), intent(inout) :: array_of_requests(*)
    integer, intent(out) :: index
    logical, intent(out) :: flag
    type(couplet_message), intent(out), optional :: status
    integer, intent(out), optional :: ierror
    type(couplet_message) :: message
    integer :: i
    logical :: any_pending
    index = couplet_undefined
    flag = .false.
    any_pending = .false.
    do i = 1, count
      if (.not. array_of_requests(i)%is_pending()) cycle
      any_pending = .true.
      call couplet_ported_test(array_of_requests(i), flag, message)
      if (flag) then
        index = i
        exit
      end if
    end do
    if (.not. any_pending) flag = .true.
    if (present(status)) status = message
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, &
      source, recvtag, comm, status, ierror)
    type(*), dimension(..), intent(in), contiguous, target :: sendbuf
    integer, intent(in) :: sendcount, sendtype, dest, sendtag
    type(*), dimension(..), intent(inout), contiguous, target :: recvbuf
    integer, intent(in) :: recvcount, recvtype, source, recvtag
    type(couplet_group), intent(in) :: comm
    type(couplet_message), intent(out), optional :: status
    integer, intent(out), optional :: ierror
    type(couplet_request) :: request
    type(c_message) :: answer
    answer = nothing()
    if (source /= couplet_null_rank) call need(c_irecv(comm%handle, c_loc(recvbuf), elements(recvcount, recvtype), &
      element_type(recvtype), source, recvtag, request%handle))
    if (dest /= couplet_null_rank) call need(c_send(comm%handle, c_loc(sendbuf), elements(sendcount, sendtype), &
      element_type(sendtype), dest, sendtag))
    if (source /= couplet_null_rank) call need(c_wait(request%handle, -1.0_c_double, answer))
    call fill_message(status, answer)
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_sendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag, comm, status, ierror)
    type(*), dimension(..), intent(inout), contiguous, target :: buf
    integer, intent(in) :: count, datatype, dest, sendtag, source, recvtag
    type(couplet_group), intent(in) :: comm
    type(couplet_message), intent(out), optional :: status
    integer, intent(out), optional :: ierror
    integer(c_int8_t), allocatable :: sent(:)
    integer(c_int8_t), pointer :: bytes(:)
    if (is_made(datatype)) call refuse(couplet_error_argument, "sendrecv_replace: it takes no datatype that was made; &
      &use sendrecv and a second array")
    call c_f_pointer(c_loc(buf), bytes, [bytes_of(count, datatype)])
    allocate (sent, source=bytes)
    call couplet_ported_sendrecv(sent, count, datatype, dest, sendtag, buf, count, datatype, source, recvtag, comm, &
      status, ierror)
  end subroutine

  subroutine couplet_ported_probe(source, tag, comm, status, ierror)
    integer, intent(in) :: source, tag
    type(couplet_group), intent(in) :: comm
    type(couplet_message), intent(out), optional :: status
    integer, intent(out), optional :: ierror
    logical :: found
    call look(source, tag, comm, -1.0_c_double, found, status)
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_iprobe(source, tag, comm, flag, status, ierror)
    integer, intent(in) :: source, tag
    type(couplet_group), intent(in) :: comm
    logical, intent(out) :: flag
    type(couplet_message), intent(out), optional :: status
    integer, intent(out), optional :: ierror
    call look(source, tag, comm, 0.0_c_double, flag, status)
    call finish(couplet_ok, ierror)
  end subroutine

  ! Says whether a message can be received, and waits for one for at most timeout_s.
  subroutine look(source, tag, comm, timeout_s, found, status)
    integer, intent(in) :: source, tag
    type(couplet_group), intent(in) :: comm
    real(c_double), intent(in) :: timeout_s
    logical, intent(out) :: found
    type(couplet_message), intent(out), optional :: status
    type(c_awaited) :: awaited(1)
    type(c_message) :: answer
    integer(c_int32_t) :: code, which
    answer = nothing()
    found = .true.
    if (source /= couplet_null_rank) then
      awaited(1) = c_awaited(c_null_ptr, comm%handle, c_null_ptr, c_null_ptr, 0_c_int64_t, int(source, c_int32_t), &
        int(tag, c_int32_t), 0_c_int64_t)
      which = -1
      code = c_wait_any(awaited, 1_c_int32_t, timeout_s, which, answer)
      found = code == couplet_ok
      if (code /= couplet_not_yet) call need(code)
    end if
    if (found) call fill_message(status, answer)
  end subroutine

  ! Gives the number of elements of a message that was received or looked at.
  subroutine couplet_ported_get_count(status, datatype, count, ierror)
    type(couplet_message), intent(in) :: status
    integer, intent(in) :: datatype
    integer, intent(out) :: count
    integer, intent(out), optional :: ierror
    integer(c_int64_t) :: bytes
    bytes = bytes_of(1, datatype)
    count = couplet_undefined
    if (bytes == 0) then
      if (status%bytes == 0) count = 0
    else if (mod(status%bytes, bytes) == 0) then
      count = int(status%bytes / bytes)
    end if
    call finish(couplet_ok, ierror)
  end subroutine

  ! What is received from the null rank.
  type(c_message) function nothing() result(answer)
    answer = no_message()
    answer%source = couplet_null_rank
  end function
end module
