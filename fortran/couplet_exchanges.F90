! Exchanges: the same parts of the same arrays to and from the same ranks, in each round (docs/guide/exchange.md).
! It is built on couplet_binding, couplet_errors and couplet_strides_module; couplet_messages has group%create_exchange.
! Arrays have up to five dimensions, and may be sections with gaps, such as u(1, :): nothing is copied. An array must
! not move, and must be a target or asynchronous, until the exchange is closed. Bounds are 1-based and inclusive, as in
! couplet_arrays%add; they count from the first element, whatever the declared lower bound is. Ranks are 0-based.
! Tests: tests/languages/test_exchange.py.
module couplet_exchanges_module
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use couplet_binding_module
  use couplet_errors_module
  use couplet_strides_module
  use couplet_texts_module, only: from_c, to_c
  implicit none
  private
  public :: couplet_exchange, open_exchange

  type :: couplet_exchange
    type(c_ptr) :: handle = c_null_ptr
  contains
    ! call exchange%send(array, peer [, first, last, tag, title, every, offset, variable, edge, ierr]): the whole array,
    !   or array(first(1):last(1), first(2):last(2), ...); edge gets the number of the edge
    ! call exchange%receive(array, peer [, ...])
    ! call exchange%send_list(array, indices, peer [, block, tag, title, every, offset, variable, edge, ierr]): for each
    !   index, the elements (index - 1)*block + 1 to index*block
    ! call exchange%receive_list(array, indices, peer [, ...])
#define TEMPLATE "exchanges_bindings.inc"
#include "for_each_kind.inc"
    procedure :: freeze => exchange_freeze
    procedure :: start => exchange_start
    procedure :: test => exchange_test
    procedure :: wait => exchange_wait
    procedure :: arrived => exchange_arrived
    procedure :: set_length => exchange_set_length
    procedure :: length => exchange_length
    procedure :: method => exchange_method
    procedure :: explain => exchange_explain
    procedure :: close => exchange_close
  end type

  ! The terms of an edge, and the letters of its title.
  type :: terms_of_edge
    type(c_exchange_edge) :: c
    character(len=:), allocatable :: title
  end type

contains

#define TEMPLATE "exchanges_of_kind.inc"
#include "for_each_kind.inc"

  ! Creates an exchange among the ranks of a group. group: its handle.
  subroutine open_exchange(group, name, exchange, method, timeout, ierr)
    type(c_ptr), intent(in) :: group
    character(len=*), intent(in) :: name
    type(couplet_exchange), intent(out) :: exchange
    character(len=*), intent(in), optional :: method
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    character(kind=c_char), allocatable, target :: name_letters(:), method_letters(:)
    type(c_exchange_options) :: options
    call c_exchange_options_init(options)
    if (present(method)) options%method = to_c(method_letters, method)
    if (present(timeout)) options%timeout_s = timeout
    call conclude(c_exchange_create(group, to_c(name_letters, name), options, exchange%handle), ierr)
  end subroutine

  type(terms_of_edge) function edge_terms(peer, tag, title, every, offset, variable) result(terms)
    integer, intent(in) :: peer
    integer, intent(in), optional :: tag, every, offset
    character(len=*), intent(in), optional :: title
    logical, intent(in), optional :: variable
    call c_exchange_edge_init(terms%c)
    terms%c%peer = int(peer, c_int32_t)
    if (present(tag)) terms%c%tag = tag
    if (present(every)) terms%c%every = max(0, every)  ! 0 is refused below
    if (present(offset)) terms%c%offset = offset
    if (present(variable)) terms%c%is_variable = merge(1, 0, variable)
    terms%title = ""
    if (present(title)) terms%title = title
  end function

  subroutine add_box(exchange, sends, layout, first, last, given, edge, ierr)
    class(couplet_exchange), intent(in) :: exchange
    logical, intent(in) :: sends
    type(array_layout), intent(in) :: layout
    integer, intent(in), optional :: first(:), last(:)
    type(terms_of_edge), intent(in) :: given
    integer, intent(out), optional :: edge, ierr
    integer(c_int64_t), allocatable :: shape(:), start(:), stop(:)
    integer(c_int64_t), allocatable, target :: strides(:)
    character(kind=c_char), allocatable, target :: letters(:)
    type(c_exchange_edge) :: terms
    integer(c_int32_t) :: number, status
    logical :: is_part
    if (.not. layout%has_layout) then
      call refuse(couplet_error_argument, verb_of(sends)//": the array has more than 5 dimensions", ierr)
      return
    else if (given%c%offset < 0) then
      call refuse(couplet_error_argument, verb_of(sends)//": offset must be at least 0", ierr)
      return
    end if
    call part_of(layout, first, last, shape, strides, start, stop, is_part)
    if (.not. is_part) then
      call refuse(couplet_error_shape, verb_of(sends)//": first and last are no part of the array", ierr)
      return
    end if
    terms = given%c
    terms%title = to_c(letters, given%title)
    number = 0
    if (sends) then
      status = c_exchange_send_box(exchange%handle, terms, layout%address, layout%type, size(shape, kind=c_int32_t), &
                                   shape, c_loc(strides), start, stop, number)
    else
      status = c_exchange_receive_box(exchange%handle, terms, layout%address, layout%type, &
                                      size(shape, kind=c_int32_t), shape, c_loc(strides), start, stop, number)
    end if
    if (status == couplet_ok .and. present(edge)) edge = number
    call conclude(status, ierr)
  end subroutine

  subroutine add_list(exchange, sends, layout, contiguous, indices, block, given, edge, ierr)
    class(couplet_exchange), intent(in) :: exchange
    logical, intent(in) :: sends, contiguous
    type(array_layout), intent(in) :: layout
    integer, intent(in) :: indices(:)
    integer, intent(in), optional :: block
    type(terms_of_edge), intent(in) :: given
    integer, intent(out), optional :: edge, ierr
    character(kind=c_char), allocatable, target :: letters(:)
    integer(c_int64_t), allocatable :: places(:)
    type(c_exchange_edge) :: terms
    integer(c_int64_t) :: length
    integer(c_int32_t) :: number, status
    character(len=:), allocatable :: verb
    verb = verb_of(sends)//"_list"
    length = 1
    if (present(block)) length = block
    if (.not. layout%has_layout .or. .not. contiguous) then
      call refuse(couplet_error_argument, verb//": the array is not contiguous, or has more than 5 dimensions; "// &
                  "give the whole array, and the indices of its elements", ierr)
      return
    else if (length < 1 .or. given%c%offset < 0) then
      call refuse(couplet_error_argument, verb//": block must be at least 1, and offset at least 0", ierr)
      return
    end if
    allocate (places(size(indices)))
    places = int(indices, c_int64_t) - 1
    if (any(places < 0) .or. any(places >= product(layout%extents) / length)) then
      call refuse(couplet_error_shape, verb//": an index leaves the array; the first one is 1", ierr)
      return
    end if
    terms = given%c
    terms%title = to_c(letters, given%title)
    number = 0
    if (sends) then
      status = c_exchange_send_list(exchange%handle, terms, layout%address, layout%type, length, places, &
                                    size(places, kind=c_int64_t), number)
    else
      status = c_exchange_receive_list(exchange%handle, terms, layout%address, layout%type, length, places, &
                                       size(places, kind=c_int64_t), number)
    end if
    if (status == couplet_ok .and. present(edge)) edge = number
    call conclude(status, ierr)
  end subroutine

  pure function verb_of(sends) result(verb)
    logical, intent(in) :: sends
    character(len=:), allocatable :: verb
    verb = "receive"
    if (sends) verb = "send"
  end function

  ! Agrees with the other ranks on the edges and on the method. Collective over the group.
  subroutine exchange_freeze(exchange, ierr)
    class(couplet_exchange), intent(in) :: exchange
    integer, intent(out), optional :: ierr
    call conclude(c_exchange_freeze(exchange%handle), ierr)
  end subroutine

  ! Begins a round. Leave the arrays alone until it has ended.
  subroutine exchange_start(exchange, ierr)
    class(couplet_exchange), intent(in) :: exchange
    integer, intent(out), optional :: ierr
    call conclude(c_exchange_start(exchange%handle), ierr)
  end subroutine

  ! Says whether the round is over. Never blocks.
  subroutine exchange_test(exchange, done, ierr)
    class(couplet_exchange), intent(in) :: exchange
    logical, intent(out) :: done
    integer, intent(out), optional :: ierr
    integer(c_int32_t) :: flag, status
    flag = 0
    status = c_exchange_test(exchange%handle, flag)
    done = flag /= 0
    call conclude(status, ierr)
  end subroutine

  ! Waits until the round is over. timeout is in seconds; absent or negative: for ever. After couplet_error_timeout the
  ! round is still under way.
  subroutine exchange_wait(exchange, timeout, ierr)
    class(couplet_exchange), intent(in) :: exchange
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    real(c_double) :: timeout_s
    timeout_s = -1
    if (present(timeout)) timeout_s = timeout
    call conclude(c_exchange_wait(exchange%handle, timeout_s), ierr)
  end subroutine

  ! Says whether what an edge receives has arrived in this round.
  subroutine exchange_arrived(exchange, edge, arrived, ierr)
    class(couplet_exchange), intent(in) :: exchange
    integer, intent(in) :: edge
    logical, intent(out) :: arrived
    integer, intent(out), optional :: ierr
    integer(c_int32_t) :: flag, status
    flag = 0
    status = c_exchange_arrived(exchange%handle, int(edge, c_int32_t), flag)
    arrived = flag /= 0
    call conclude(status, ierr)
  end subroutine

  ! Sets how many bytes of an edge with a variable length are sent from the next round on.
  subroutine exchange_set_length(exchange, edge, bytes, ierr)
    class(couplet_exchange), intent(in) :: exchange
    integer, intent(in) :: edge
    integer(int64), intent(in) :: bytes
    integer, intent(out), optional :: ierr
    call conclude(c_exchange_set_length(exchange%handle, int(edge, c_int32_t), bytes), ierr)
  end subroutine

  ! Gives the bytes that the edge moves: as set, or as arrived last.
  subroutine exchange_length(exchange, edge, bytes, ierr)
    class(couplet_exchange), intent(in) :: exchange
    integer, intent(in) :: edge
    integer(int64), intent(out) :: bytes
    integer, intent(out), optional :: ierr
    bytes = 0
    call conclude(c_exchange_length(exchange%handle, int(edge, c_int32_t), bytes), ierr)
  end subroutine

  ! Gives the name of the method, or "" before the exchange is frozen.
  subroutine exchange_method(exchange, name, ierr)
    class(couplet_exchange), intent(in) :: exchange
    character(len=:), allocatable, intent(out) :: name
    integer, intent(out), optional :: ierr
    type(c_ptr) :: text
    integer(c_int32_t) :: status
    text = c_null_ptr
    status = c_exchange_method(exchange%handle, text)
    name = from_c(text)
    call conclude(status, ierr)
  end subroutine

  ! Gives a table of the methods, their times in the trials, and why others were left out.
  subroutine exchange_explain(exchange, text, ierr)
    class(couplet_exchange), intent(in) :: exchange
    character(len=:), allocatable, intent(out) :: text
    integer, intent(out), optional :: ierr
    character(kind=c_char), allocatable, target :: letters(:)
    integer(c_size_t) :: needed
    integer(c_int32_t) :: status
    text = ""
    needed = 0
    status = c_exchange_explain(exchange%handle, c_null_ptr, 0_c_size_t, needed)
    if (status == couplet_ok) then
      allocate (letters(needed))
      status = c_exchange_explain(exchange%handle, c_loc(letters), needed, needed)
      if (status == couplet_ok) text = from_c(c_loc(letters))
    end if
    call conclude(status, ierr)
  end subroutine

  ! Closes the exchange. Ranks that wait for a round which this one has not begun get couplet_error_state.
  subroutine exchange_close(exchange, ierr)
    class(couplet_exchange), intent(inout) :: exchange
    integer, intent(out), optional :: ierr
    integer(c_int32_t) :: status
    status = c_exchange_close(exchange%handle)
    exchange%handle = c_null_ptr
    call conclude(status, ierr)
  end subroutine
end module
