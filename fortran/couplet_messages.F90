! Groups, messages and requests: MPI's verbs as type-bound procedures, for every kind and rank of arrays. Ranks are
! 0-based, as in MPI. It is built on couplet_binding and couplet_errors; couplet_universes makes the groups. A blocking
! call copies an array with gaps, a non-blocking one refuses it. The array of a non-blocking call must stay in place
! until the call is complete: declare it as target or asynchronous.
! Tests: tests/languages.
module couplet_messages_module
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use couplet_binding_module
  use couplet_coalesce_module, only: couplet_step_manager, open_step_manager
  use couplet_datatypes_module, only: couplet_datatype
  use couplet_errors_module
  use couplet_exchanges_module, only: couplet_exchange, open_exchange
  use couplet_halos_module, only: couplet_grid, couplet_halo, open_halo, open_list_halo
  use couplet_texts_module, only: to_c
  implicit none
  private
  public :: couplet_group, couplet_message, couplet_request, couplet_waitall, couplet_waitany
  public :: fill_message, no_message, timeout_of

  type :: couplet_message
    integer :: source = couplet_any_source  ! rank in the group
    integer :: tag = couplet_any_tag        ! the tag with which it was sent
    integer(int64) :: bytes = 0             ! number of bytes received
    integer(int64) :: count = 0             ! number of elements of the receive call's kind
  end type

  type :: couplet_request
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: wait => request_wait
    procedure :: test => request_test
    procedure :: is_pending => request_is_pending
  end type

  type :: couplet_group
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: rank => group_rank
    procedure :: free => group_free
    procedure :: create_exchange => group_create_exchange
    procedure :: create_halo => group_create_halo
    procedure, private :: group_create_list_halo, group_create_short_list_halo
    ! call group%create_list_halo(name, owned, ghosts, halo [, owners, places, method, timeout, ierr])
    generic :: create_list_halo => group_create_list_halo, group_create_short_list_halo
    procedure :: create_step_manager => group_create_step_manager
    ! call group%send(data, target, tag [, ierr])
    ! call group%recv(data, source, tag [, message] [, ierr])
    ! call group%isend(data, target, tag, request [, ierr])
    ! call group%irecv(data, source, tag, request [, ierr])
#define TEMPLATE "messages_bindings.inc"
#include "for_each_kind.inc"
    ! Items of a datatype: `data` is the array, or the element at which the first item begins.
    procedure :: send_items => group_send_items
    procedure :: recv_items => group_recv_items
    procedure :: isend_items => group_isend_items
    procedure :: irecv_items => group_irecv_items
    ! Collective calls, each with [, timeout] [, method] [, ierr] at the end; those with an i in front, which do not
    ! wait, have a request before them: call group%allreduce(data, result, couplet_operation_sum)
    procedure :: barrier => group_barrier
    procedure :: ibarrier => group_ibarrier
    procedure :: refuse_collective => group_refuse_collective
    procedure :: split => group_split
#define TEMPLATE "collectives_bindings.inc"
#include "for_each_kind.inc"
  end type

contains

  ! Gives the caller's rank (-1: not a member) and the number of ranks.
  subroutine group_rank(group, rank, size, ierr)
    class(couplet_group), intent(in) :: group
    integer, intent(out), optional :: rank, size
    integer, intent(out), optional :: ierr
    integer(c_int32_t) :: own, members, status
    status = c_group_rank(group%handle, own, members)
    if (status == couplet_ok) then
      if (present(rank)) rank = own
      if (present(size)) size = members
    end if
    call conclude(status, ierr)
  end subroutine

  subroutine group_send_items(group, data, count, datatype, target, tag, ierr)
    class(couplet_group), intent(in) :: group
    type(*), intent(in), target :: data(..)
    integer, intent(in) :: count, target, tag
    type(couplet_datatype), intent(in) :: datatype
    integer, intent(out), optional :: ierr
    if (cannot_take_items(is_contiguous(data), count, "send_items", ierr)) return
    call conclude(c_send(group%handle, c_loc(data), int(count, c_int64_t), datatype%handle, target, tag), ierr)
  end subroutine

  subroutine group_recv_items(group, data, count, datatype, source, tag, message, ierr)
    class(couplet_group), intent(in) :: group
    type(*), intent(inout), target :: data(..)
    integer, intent(in) :: count, source, tag
    type(couplet_datatype), intent(in) :: datatype
    type(couplet_message), intent(out), optional :: message
    integer, intent(out), optional :: ierr
    type(c_message) :: answer
    integer(c_int32_t) :: status
    if (cannot_take_items(is_contiguous(data), count, "recv_items", ierr)) return
    status = c_recv(group%handle, c_loc(data), int(count, c_int64_t), datatype%handle, source, tag, answer)
    if (status == couplet_ok) call fill_message(message, answer)
    call conclude(status, ierr)
  end subroutine

  subroutine group_isend_items(group, data, count, datatype, target, tag, request, ierr)
    class(couplet_group), intent(in) :: group
    type(*), intent(inout), target, asynchronous :: data(..)
    integer, intent(in) :: count, target, tag
    type(couplet_datatype), intent(in) :: datatype
    type(couplet_request), intent(inout) :: request
    integer, intent(out), optional :: ierr
    if (cannot_take_items(is_contiguous(data), count, "isend_items", ierr)) return
    call conclude(c_isend(group%handle, c_loc(data), int(count, c_int64_t), datatype%handle, target, tag, &
                          request%handle), ierr)
  end subroutine

  subroutine group_irecv_items(group, data, count, datatype, source, tag, request, ierr)
    class(couplet_group), intent(in) :: group
    type(*), intent(inout), target, asynchronous :: data(..)
    integer, intent(in) :: count, source, tag
    type(couplet_datatype), intent(in) :: datatype
    type(couplet_request), intent(inout) :: request
    integer, intent(out), optional :: ierr
    if (cannot_take_items(is_contiguous(data), count, "irecv_items", ierr)) return
    call conclude(c_irecv(group%handle, c_loc(data), int(count, c_int64_t), datatype%handle, source, tag, &
                          request%handle), ierr)
  end subroutine

  ! Returns .true. after it has refused a section with gaps, or a negative count.
  logical function cannot_take_items(is_whole, count, verb, ierr)
    logical, intent(in) :: is_whole
    integer, intent(in) :: count
    character(len=*), intent(in) :: verb
    integer, intent(out), optional :: ierr
    cannot_take_items = .not. is_whole .or. count < 0
    if (.not. is_whole) then
      call refuse(couplet_error_argument, verb//": the array is a section with gaps; give the whole array, or the &
                                                &element at which the first item begins", ierr)
    else if (count < 0) then
      call refuse(couplet_error_argument, verb//": count is negative", ierr)
    end if
  end function

  ! Frees a group of create_group. The other groups belong to the universe.
  subroutine group_free(group, ierr)
    class(couplet_group), intent(inout) :: group
    integer, intent(out), optional :: ierr
    integer(c_int32_t) :: status
    status = c_group_free(group%handle)
    if (status == couplet_ok) group%handle = c_null_ptr
    call conclude(status, ierr)
  end subroutine

  ! Creates the exchange `name` among the ranks of the group. No message is sent. method: "auto", or the name of one.
  ! timeout: limits a freeze or a close.
  subroutine group_create_exchange(group, name, exchange, method, timeout, ierr)
    class(couplet_group), intent(in) :: group
    character(len=*), intent(in) :: name
    type(couplet_exchange), intent(out) :: exchange
    character(len=*), intent(in), optional :: method
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    call open_exchange(group%handle, name, exchange, method, timeout, ierr)
  end subroutine

  ! Creates the halo `name` for a grid with one block for each rank of the group. No message is sent. widths: whether
  ! halo%begin may be given a width. The rest is as in create_exchange.
  subroutine group_create_halo(group, name, grid, halo, widths, method, timeout, ierr)
    class(couplet_group), intent(in) :: group
    character(len=*), intent(in) :: name
    type(couplet_grid), intent(in) :: grid
    type(couplet_halo), intent(out) :: halo
    logical, intent(in), optional :: widths
    character(len=*), intent(in), optional :: method
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    call open_halo(group%handle, name, grid, halo, widths, method, timeout, ierr)
  end subroutine

  ! Creates the halo `name` of points that have numbers of their own. No message is sent. owned: the points that this
  ! rank owns; ghosts: those that it needs of others; owners: the rank that owns each ghost, or absent if the owners are
  ! to be found; places: where each owned point, and then each ghost, is in the arrays, by default in that order. All
  ! but the ranks count from 1. The rest is as in create_exchange.
  subroutine group_create_list_halo(group, name, owned, ghosts, halo, owners, places, method, timeout, ierr)
    class(couplet_group), intent(in) :: group
    character(len=*), intent(in) :: name
    integer(int64), intent(in) :: owned(:), ghosts(:)
    type(couplet_halo), intent(out) :: halo
    integer, intent(in), optional :: owners(:), places(:)
    character(len=*), intent(in), optional :: method
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    call open_list_halo(group%handle, name, owned, ghosts, halo, owners, places, method, timeout, ierr)
  end subroutine

  ! The same with numbers of four bytes.
  subroutine group_create_short_list_halo(group, name, owned, ghosts, halo, owners, places, method, timeout, ierr)
    class(couplet_group), intent(in) :: group
    character(len=*), intent(in) :: name
    integer(int32), intent(in) :: owned(:), ghosts(:)
    type(couplet_halo), intent(out) :: halo
    integer, intent(in), optional :: owners(:), places(:)
    character(len=*), intent(in), optional :: method
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    call open_list_halo(group%handle, name, int(owned, int64), int(ghosts, int64), halo, owners, places, method, &
                        timeout, ierr)
  end subroutine

  ! Creates the manager `name` of coalesced rounds among the ranks of the group. No message is sent. phases: of a round.
  ! max_events: bounds the timeline; 0: there is none. All ranks give the same phases and merges. The rest is as in
  ! create_exchange.
  subroutine group_create_step_manager(group, name, manager, phases, merge_waits, merge_messages, method, timeout, &
                                       max_events, ierr)
    class(couplet_group), intent(in) :: group
    character(len=*), intent(in) :: name
    type(couplet_step_manager), intent(out) :: manager
    integer, intent(in), optional :: phases, max_events
    logical, intent(in), optional :: merge_waits, merge_messages
    character(len=*), intent(in), optional :: method
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    call open_step_manager(group%handle, name, manager, phases, merge_waits, merge_messages, method, timeout, &
                           max_events, ierr)
  end subroutine

#define TEMPLATE "messages_of_kind.inc"
#include "for_each_kind.inc"
#define TEMPLATE "collectives_of_kind.inc"
#include "for_each_kind.inc"

  ! Waits until every member of the group has called it.
  subroutine group_barrier(group, timeout, method, ierr)
    class(couplet_group), intent(in) :: group
    real(real64), intent(in), optional :: timeout
    integer, intent(in), optional :: method
    integer, intent(out), optional :: ierr
    call conclude(c_barrier(group%handle, options_of(timeout, method)), ierr)
  end subroutine

  subroutine group_ibarrier(group, request, timeout, method, ierr)
    class(couplet_group), intent(in) :: group
    type(couplet_request), intent(inout) :: request
    real(real64), intent(in), optional :: timeout
    integer, intent(in), optional :: method
    integer, intent(out), optional :: ierr
    call conclude(c_ibarrier(group%handle, options_of(timeout, method), request%handle), ierr)
  end subroutine

  ! Refuses the next collective call of the group, named as in "allreduce": it fails at all members, with this text,
  ! because this member cannot make it. The error is not one of this subroutine.
  subroutine group_refuse_collective(group, name, text, ierr)
    class(couplet_group), intent(in) :: group
    character(len=*), intent(in) :: name, text
    integer, intent(out), optional :: ierr
    character(kind=c_char), allocatable, target :: call_letters(:), text_letters(:)
    integer(c_int32_t) :: status
    status = c_collective_refuse(group%handle, to_c(call_letters, name), couplet_error_state, to_c(text_letters, text))
    if (status == couplet_error_state) status = couplet_ok
    call conclude(status, ierr)
  end subroutine

  ! data_size, result_size: elements of the arrays. counts_size: entries of the counts.
  type(c_collective_options) function options_of(timeout, method, data_size, result_size, counts_size) result(options)
    real(real64), intent(in), optional :: timeout
    integer, intent(in), optional :: method
    integer(c_int64_t), intent(in), optional :: data_size, result_size, counts_size
    call c_collective_options_init(options)
    if (present(timeout)) options%timeout_s = timeout
    if (present(method)) options%method = int(method, c_int32_t)
    if (present(data_size)) options%data_size = data_size
    if (present(result_size)) options%result_size = result_size
    if (present(counts_size)) options%counts_size = counts_size
  end function

  ! The length of a block of alltoall.
  integer(c_int64_t) function block_of(group, elements) result(count)
    class(couplet_group), intent(in) :: group
    integer(c_int64_t), intent(in) :: elements
    integer :: members
    call group%rank(size=members)
    count = elements / members
  end function

  ! Waits until the request is complete. timeout is in seconds; absent or negative: for ever. After
  ! couplet_error_timeout the request is still pending.
  subroutine request_wait(request, message, timeout, ierr)
    class(couplet_request), intent(inout) :: request
    type(couplet_message), intent(out), optional :: message
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    type(c_message) :: answer
    integer(c_int32_t) :: status
    answer = no_message()
    status = c_wait(request%handle, timeout_of(timeout), answer)
    if (status == couplet_ok) call fill_message(message, answer)
    call conclude(status, ierr)
  end subroutine

  subroutine request_test(request, done, message, ierr)
    class(couplet_request), intent(inout) :: request
    logical, intent(out) :: done
    type(couplet_message), intent(out), optional :: message
    integer, intent(out), optional :: ierr
    type(c_message) :: answer
    integer(c_int32_t) :: status, flag
    answer = no_message()
    flag = 0
    status = c_test(request%handle, flag, answer)
    done = flag /= 0
    if (status == couplet_ok .and. done) call fill_message(message, answer)
    call conclude(status, ierr)
  end subroutine

  logical function request_is_pending(request) result(pending)
    class(couplet_request), intent(in) :: request
    pending = c_associated(request%handle)
  end function

  ! Waits until all requests are complete. ierr is the first error in the order of the array; statuses has the status of
  ! each.
  subroutine couplet_waitall(requests, timeout, messages, statuses, ierr)
    type(couplet_request), intent(inout) :: requests(:)
    real(real64), intent(in), optional :: timeout
    type(couplet_message), intent(out), optional :: messages(:)
    integer, intent(out), optional :: statuses(:)
    integer, intent(out), optional :: ierr
    type(c_ptr) :: handles(size(requests))
    type(c_message) :: answers(size(requests))
    integer(c_int32_t) :: each(size(requests)), status
    integer :: i
    handles = requests%handle
    answers = no_message()
    each = couplet_ok
    status = c_waitall(int(size(requests), c_int32_t), handles, timeout_of(timeout), each, answers)
    do i = 1, size(requests)
      requests(i)%handle = handles(i)
      if (present(messages)) call fill_message(messages(i), answers(i))
      if (present(statuses)) statuses(i) = each(i)
    end do
    call conclude(status, ierr)
  end subroutine

  ! Waits until one request is complete. index is its 1-based place in the array, or 0 if none is pending.
  subroutine couplet_waitany(requests, index, message, timeout, ierr)
    type(couplet_request), intent(inout) :: requests(:)
    integer, intent(out) :: index
    type(couplet_message), intent(out), optional :: message
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    type(c_ptr) :: handles(size(requests))
    type(c_message) :: answer
    integer(c_int32_t) :: status, which
    integer :: i
    handles = requests%handle
    answer = no_message()
    which = -1
    status = c_waitany(int(size(requests), c_int32_t), handles, timeout_of(timeout), which, answer)
    do i = 1, size(requests)
      requests(i)%handle = handles(i)
    end do
    index = which + 1
    if (status == couplet_ok) call fill_message(message, answer)
    call conclude(status, ierr)
  end subroutine

  real(c_double) function timeout_of(timeout) result(timeout_s)
    real(real64), intent(in), optional :: timeout
    timeout_s = -1
    if (present(timeout)) timeout_s = timeout
  end function

  type(c_message) function no_message() result(answer)
    answer%source = couplet_any_source
    answer%tag = couplet_any_tag
    answer%bytes = 0
    answer%count = 0
  end function

  subroutine fill_message(message, answer)
    type(couplet_message), intent(out), optional :: message
    type(c_message), intent(in) :: answer
    if (.not. present(message)) return
    message%source = answer%source
    message%tag = answer%tag
    message%bytes = answer%bytes
    message%count = answer%count
  end subroutine

  ! Splits the group into groups of the members that give the same color, which is at least 0, in the order of their
  ! keys, and of their ranks if keys are equal. With a negative color, `made` stays without a group.
  subroutine group_split(group, name, color, made, key, timeout, ierr)
    class(couplet_group), intent(in) :: group
    character(len=*), intent(in) :: name
    integer, intent(in) :: color
    type(couplet_group), intent(out) :: made
    integer, intent(in), optional :: key
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    character(kind=c_char), allocatable, target :: letters(:)
    integer(c_int32_t) :: order
    order = 0
    if (present(key)) order = int(key, c_int32_t)
    call conclude(c_group_split(group%handle, to_c(letters, name), int(color, c_int32_t), order, options_of(timeout), &
      made%handle), ierr)
  end subroutine

  ! Ends a collective call that was not made, but counts.
  subroutine refuse_call(group, verb, ierr)
    class(couplet_group), intent(in) :: group
    character(len=*), intent(in) :: verb
    integer, intent(out), optional :: ierr
    character(kind=c_char), allocatable, target :: call_letters(:), text_letters(:)
    integer(c_int32_t) :: status
    status = c_collective_refuse(group%handle, to_c(call_letters, verb), couplet_error_argument, &
      to_c(text_letters, "the array is not contiguous"))
    call refuse_gaps(verb, ierr)
  end subroutine

  subroutine refuse_gaps(verb, ierr)
    character(len=*), intent(in) :: verb
    integer, intent(out), optional :: ierr
    call refuse(couplet_error_argument, &
      verb//": the array is not contiguous; a non-blocking call would have to copy it, &
                &and the copy would be gone before the call is done", ierr)
  end subroutine
end module
