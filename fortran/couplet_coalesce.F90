! Coalesced communication: many clients, one message for each neighbour, and one wait for each phase of a round
! (docs/guide/coalesce.md). It is built on couplet_binding, couplet_errors, couplet_clients_module and
! couplet_strides_module; couplet_messages has group%create_step_manager. Ranks, rounds, phases, and the numbers of
! clients and requests are 0-based, as in C; bounds of arrays are as in couplet_exchanges_module. Clients and arrays
! must be targets, must not move, and outlive the rounds. Tests: tests/universe/test_coalesce_fortran.py.
module couplet_coalesce_module
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use couplet_binding_module
  use couplet_clients_module
  use couplet_errors_module
  use couplet_strides_module
  use couplet_texts_module, only: from_c, to_c
  implicit none
  private
  public :: couplet_communications_manager, couplet_step_manager, open_step_manager

  ! The base of couplet_step_manager: it takes what clients send and receive.
  type :: couplet_communications_manager
    type(c_ptr) :: handle = c_null_ptr
  contains
    ! call manager%send(client, array, peer [, first, last, tag, title, every, offset, phase, variable, optional,
    !   request, ierr]): the client with that number sends the whole array, or array(first(1):last(1), ...), in the
    !   rounds offset, offset + every, ...; request gets the number of the request
    ! call manager%receive(client, array, peer [, ...])
    ! call manager%send_list(client, array, indices, peer [, block, tag, ...]): for each index, the elements
    !   (index - 1)*block + 1 to index*block
    ! call manager%receive_list(client, array, indices, peer [, block, tag, ...])
#define TEMPLATE "coalesce_bindings.inc"
#include "for_each_kind.inc"
    procedure :: set_length => manager_set_length
    procedure :: length => manager_length
    procedure :: table => manager_table
    procedure :: json => manager_json
    procedure :: timeline => manager_timeline
  end type

  ! Runs the rounds. call group%create_step_manager(name, manager [, ...]) makes it.
  type, extends(couplet_communications_manager) :: couplet_step_manager
    type(entry_of_client), pointer, private :: entries => null()
  contains
    procedure :: add => manager_add
    procedure :: remove => manager_remove
    ! call manager%add_broadcast(phased, name, value, result [, every, phase, root, arity, client, ierr]): from `value`
    !   at the root to `result` at all ranks
    ! call manager%add_reduction(phased, name, operation, value, result [, to_all, every, phase, root, arity, client,
    !   ierr]): operation is couplet_operation_sum, ...; to `result` at the root, or at all ranks
#define TEMPLATE "phased_bindings.inc"
#include "for_each_kind.inc"
    procedure :: freeze => manager_freeze
    procedure :: amend => manager_amend
    procedure :: round => manager_round
    procedure :: round_number => manager_round_number
    procedure :: close => manager_close
  end type

  ! The terms of a request, and the letters of its title.
  type :: terms_of_request
    type(c_coalesce_request) :: c
    character(len=:), allocatable :: title
    integer :: client = -1
    logical :: sends = .false.
  end type

contains

#define TEMPLATE "coalesce_of_kind.inc"
#include "for_each_kind.inc"
#define TEMPLATE "phased_of_kind.inc"
#include "for_each_kind.inc"

  ! Creates a manager of rounds among the ranks of a group. group: its handle.
  subroutine open_step_manager(group, name, manager, phases, merge_waits, merge_messages, method, timeout, max_events, &
                               ierr)
    type(c_ptr), intent(in) :: group
    character(len=*), intent(in) :: name
    type(couplet_step_manager), intent(out) :: manager
    integer, intent(in), optional :: phases, max_events
    logical, intent(in), optional :: merge_waits, merge_messages
    character(len=*), intent(in), optional :: method
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    character(kind=c_char), allocatable, target :: name_letters(:), method_letters(:)
    type(c_coalesce_options) :: options
    call c_coalesce_options_init(options)
    if (present(phases)) options%phase_count = int(phases, c_int32_t)
    if (present(merge_waits)) options%merge_waits = merge(1, 0, merge_waits)
    if (present(merge_messages)) options%merge_messages = merge(1, 0, merge_messages)
    if (present(method)) options%method = to_c(method_letters, method)
    if (present(timeout)) options%timeout_s = timeout
    if (present(max_events)) options%max_events = max(0, max_events)
    call conclude(c_coalesce_create(group, to_c(name_letters, name), options, manager%handle), ierr)
  end subroutine

  ! ---- clients ----

  ! Registers a client. Clients are called in this order, which is the same at all ranks. number gets the number of the
  ! client at this rank.
  subroutine manager_add(manager, client, name, number, ierr)
    class(couplet_step_manager), intent(inout) :: manager
    class(couplet_client), intent(inout), target :: client
    character(len=*), intent(in) :: name
    integer, intent(out), optional :: number, ierr
    character(kind=c_char), allocatable, target :: letters(:)
    type(entry_of_client), pointer :: entry
    type(c_coalesce_client) :: c
    integer(c_int32_t) :: given, status
    call new_entry(manager, entry)
    entry%client => client
    call c_coalesce_client_init(c)
    c%name = to_c(letters, name)
    c%fill = c_funloc(call_fill)
    c%overlap = c_funloc(call_overlap)
    if (client%hears_arrivals()) c%arrived = c_funloc(call_arrived)
    c%use = c_funloc(call_use)
    c%end_round = c_funloc(call_end_round)
    c%context = c_loc(entry)
    given = -1
    status = c_coalesce_register(manager%handle, c, given)
    if (present(number)) number = given
    call conclude(status, ierr)
  end subroutine

  subroutine new_entry(manager, entry)
    class(couplet_step_manager), intent(inout) :: manager
    type(entry_of_client), pointer, intent(out) :: entry
    allocate (entry)
    entry%next => manager%entries
    manager%entries => entry
  end subroutine

  ! The client with that number takes part until the next amendment, and no longer.
  subroutine manager_remove(manager, client, ierr)
    class(couplet_step_manager), intent(in) :: manager
    integer, intent(in) :: client
    integer, intent(out), optional :: ierr
    call conclude(c_coalesce_remove(manager%handle, int(client, c_int32_t)), ierr)
  end subroutine

  ! ---- broadcasts and reductions ----

  ! client: gets the number of the client.
  subroutine register_phased(manager, phased, name, value, result, operation, to_all, every, phase, root, arity, &
                             client, ierr)
    class(couplet_step_manager), intent(inout) :: manager
    class(couplet_phased), intent(inout), target :: phased
    character(len=*), intent(in) :: name
    type(array_layout), intent(in) :: value, result
    integer, intent(in), optional :: operation  ! absent: a broadcast
    logical, intent(in), optional :: to_all
    integer, intent(in), optional :: every, phase, root, arity
    integer, intent(out), optional :: client, ierr
    character(kind=c_char), allocatable, target :: letters(:)
    type(entry_of_client), pointer :: entry
    type(c_coalesce_phased) :: c
    integer(c_int32_t) :: given, status
    if (present(client)) client = -1
    if (.not. (value%has_layout .and. result%has_layout)) then
      call refuse(couplet_error_argument, "'"//name//"': value and result must be contiguous, with at most 5 "// &
                  "dimensions", ierr)
      return
    end if
    if (product(value%extents) /= product(result%extents)) then
      call refuse(couplet_error_shape, "'"//name//"': value and result must have the same number of elements", ierr)
      return
    end if
    call new_entry(manager, entry)
    entry%phased => phased
    entry%element_bytes = c_type_bytes(value%type)
    entry%value = value%address
    entry%result = result%address
    entry%value_bytes = product(value%extents)*entry%element_bytes
    entry%result_bytes = entry%value_bytes
    call c_coalesce_phased_init(c)
    c%name = to_c(letters, name)
    c%give = c_funloc(call_give)
    c%take = c_funloc(call_take)
    c%context = c_loc(entry)
    if (present(every)) c%every = max(0, every)  ! 0 is refused below
    if (present(phase)) c%phase = int(phase, c_int32_t)
    if (present(root)) c%root = int(root, c_int32_t)
    if (present(arity)) c%arity = int(arity, c_int32_t)
    given = -1
    if (present(operation)) then
      status = c_coalesce_add_reduction(manager%handle, c, int(operation, c_int32_t), value%type, &
                                        product(value%extents), flag_of(to_all), given)
    else
      status = c_coalesce_add_broadcast(manager%handle, c, entry%value_bytes, given)
    end if
    if (present(client)) client = given
    call conclude(status, ierr)
  end subroutine

  integer(c_int32_t) function flag_of(given) result(flag)
    logical, intent(in), optional :: given
    flag = 0
    if (present(given)) flag = merge(1, 0, given)
  end function

  ! ---- requests ----

  type(terms_of_request) function request_terms(client, sends, peer, tag, title, every, offset, phase, variable, &
                                                optional) result(terms)
    integer, intent(in) :: client, peer
    logical, intent(in) :: sends
    integer, intent(in), optional :: tag, every, offset, phase
    character(len=*), intent(in), optional :: title
    logical, intent(in), optional :: variable, optional
    call c_coalesce_request_init(terms%c)
    terms%client = client
    terms%sends = sends
    terms%c%peer = int(peer, c_int32_t)
    if (present(tag)) terms%c%tag = tag
    if (present(every)) terms%c%every = max(0, every)  ! 0 is refused below
    if (present(offset)) terms%c%offset = offset
    if (present(phase)) terms%c%phase = int(phase, c_int32_t)
    if (present(variable)) terms%c%is_variable = merge(1, 0, variable)
    if (present(optional)) terms%c%is_optional = merge(1, 0, optional)
    terms%title = ""
    if (present(title)) terms%title = title
  end function

  subroutine declare_box(manager, given, layout, first, last, request, ierr)
    class(couplet_communications_manager), intent(in) :: manager
    type(terms_of_request), intent(in) :: given
    type(array_layout), intent(in) :: layout
    integer, intent(in), optional :: first(:), last(:)
    integer, intent(out), optional :: request, ierr
    integer(c_int64_t), allocatable :: shape(:), start(:), stop(:)
    integer(c_int64_t), allocatable, target :: strides(:)
    character(kind=c_char), allocatable, target :: letters(:)
    type(c_coalesce_request) :: terms
    integer(c_int32_t) :: number, status
    logical :: is_part
    if (present(request)) request = -1
    if (.not. layout%has_layout) then
      call refuse(couplet_error_argument, verb_of(given)//": the array has more than 5 dimensions", ierr)
      return
    else if (given%c%offset < 0) then
      call refuse(couplet_error_argument, verb_of(given)//": offset must be at least 0", ierr)
      return
    end if
    call part_of(layout, first, last, shape, strides, start, stop, is_part)
    if (.not. is_part) then
      call refuse(couplet_error_shape, verb_of(given)//": first and last are no part of the array", ierr)
      return
    end if
    terms = given%c
    terms%title = to_c(letters, given%title)
    number = 0
    if (given%sends) then
      status = c_coalesce_send_box(manager%handle, int(given%client, c_int32_t), terms, layout%address, layout%type, &
                                   size(shape, kind=c_int32_t), shape, c_loc(strides), start, stop, number)
    else
      status = c_coalesce_receive_box(manager%handle, int(given%client, c_int32_t), terms, layout%address, &
                                      layout%type, size(shape, kind=c_int32_t), shape, c_loc(strides), start, stop, &
                                      number)
    end if
    if (status == couplet_ok .and. present(request)) request = number
    call conclude(status, ierr)
  end subroutine

  subroutine declare_list(manager, given, layout, contiguous, indices, block, request, ierr)
    class(couplet_communications_manager), intent(in) :: manager
    type(terms_of_request), intent(in) :: given
    type(array_layout), intent(in) :: layout
    logical, intent(in) :: contiguous
    integer, intent(in) :: indices(:)
    integer, intent(in), optional :: block
    integer, intent(out), optional :: request, ierr
    character(kind=c_char), allocatable, target :: letters(:)
    integer(c_int64_t), allocatable :: places(:)
    type(c_coalesce_request) :: terms
    integer(c_int64_t) :: length
    integer(c_int32_t) :: number, status
    character(len=:), allocatable :: verb
    if (present(request)) request = -1
    verb = verb_of(given)//"_list"
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
    places = int(indices, c_int64_t) - 1
    if (any(places < 0) .or. any(places >= product(layout%extents)/length)) then
      call refuse(couplet_error_shape, verb//": an index leaves the array; the first one is 1", ierr)
      return
    end if
    terms = given%c
    terms%title = to_c(letters, given%title)
    number = 0
    if (given%sends) then
      status = c_coalesce_send_list(manager%handle, int(given%client, c_int32_t), terms, layout%address, layout%type, &
                                    length, places, size(places, kind=c_int64_t), number)
    else
      status = c_coalesce_receive_list(manager%handle, int(given%client, c_int32_t), terms, layout%address, &
                                       layout%type, length, places, size(places, kind=c_int64_t), number)
    end if
    if (status == couplet_ok .and. present(request)) request = number
    call conclude(status, ierr)
  end subroutine

  pure function verb_of(terms) result(verb)
    type(terms_of_request), intent(in) :: terms
    character(len=:), allocatable :: verb
    verb = "receive"
    if (terms%sends) verb = "send"
  end function

  ! Sets how many bytes of a request are sent in this round, within the `fill` of its phase. If it is not called, a
  ! variable request sends all its bytes, and an optional one nothing.
  subroutine manager_set_length(manager, request, bytes, ierr)
    class(couplet_communications_manager), intent(in) :: manager
    integer, intent(in) :: request
    integer(int64), intent(in) :: bytes
    integer, intent(out), optional :: ierr
    call conclude(c_coalesce_set_length(manager%handle, int(request, c_int32_t), bytes), ierr)
  end subroutine

  ! Gives the bytes that a request moves in this round: as set, or as arrived; 0: nothing.
  subroutine manager_length(manager, request, bytes, ierr)
    class(couplet_communications_manager), intent(in) :: manager
    integer, intent(in) :: request
    integer(int64), intent(out) :: bytes
    integer, intent(out), optional :: ierr
    bytes = 0
    call conclude(c_coalesce_length(manager%handle, int(request, c_int32_t), bytes), ierr)
  end subroutine

  ! ---- rounds ----

  ! Agrees with the other ranks on clients and requests. Collective over the group.
  subroutine manager_freeze(manager, ierr)
    class(couplet_step_manager), intent(in) :: manager
    integer, intent(out), optional :: ierr
    call conclude(c_coalesce_freeze(manager%handle), ierr)
  end subroutine

  ! Does the same for what has changed since; it takes effect when the round from_round begins. Collective: all ranks
  ! call it between the same two rounds, with the same number.
  subroutine manager_amend(manager, from_round, ierr)
    class(couplet_step_manager), intent(in) :: manager
    integer(int64), intent(in) :: from_round
    integer, intent(out), optional :: ierr
    call conclude(c_coalesce_amend(manager%handle, from_round), ierr)
  end subroutine

  ! Runs a round. timeout is in seconds; absent or negative: for ever. After couplet_error_timeout the round is still
  ! under way: call it again.
  subroutine manager_round(manager, timeout, ierr)
    class(couplet_step_manager), intent(in) :: manager
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    real(c_double) :: timeout_s
    timeout_s = -1
    if (present(timeout)) timeout_s = timeout
    call conclude(c_coalesce_round(manager%handle, timeout_s), ierr)
  end subroutine

  ! Gives the number of the round that is under way, or comes next.
  subroutine manager_round_number(manager, round, ierr)
    class(couplet_step_manager), intent(in) :: manager
    integer(int64), intent(out) :: round
    integer, intent(out), optional :: ierr
    round = 0
    call conclude(c_coalesce_round_number(manager%handle, round), ierr)
  end subroutine

  ! ---- reports ----

  ! Gives messages, bytes and waits of this rank as a table.
  subroutine manager_table(manager, text, ierr)
    class(couplet_communications_manager), intent(in) :: manager
    character(len=:), allocatable, intent(out) :: text
    integer, intent(out), optional :: ierr
    call report(manager, couplet_coalesce_table, text, ierr)
  end subroutine

  ! Gives the same as one line of JSON.
  subroutine manager_json(manager, text, ierr)
    class(couplet_communications_manager), intent(in) :: manager
    character(len=:), allocatable, intent(out) :: text
    integer, intent(out), optional :: ierr
    call report(manager, couplet_coalesce_json, text, ierr)
  end subroutine

  ! Gives what this rank did when, as JSON in the Chrome trace format.
  subroutine manager_timeline(manager, text, ierr)
    class(couplet_communications_manager), intent(in) :: manager
    character(len=:), allocatable, intent(out) :: text
    integer, intent(out), optional :: ierr
    call report(manager, couplet_coalesce_timeline, text, ierr)
  end subroutine

  subroutine report(manager, form, text, ierr)
    class(couplet_communications_manager), intent(in) :: manager
    integer, intent(in) :: form
    character(len=:), allocatable, intent(out) :: text
    integer, intent(out), optional :: ierr
    character(kind=c_char), allocatable, target :: letters(:)
    integer(c_size_t) :: needed
    integer(c_int32_t) :: status
    text = ""
    needed = 0
    status = c_coalesce_report(manager%handle, int(form, c_int32_t), c_null_ptr, 0_c_size_t, needed)
    if (status == couplet_ok) then
      allocate (letters(needed))
      status = c_coalesce_report(manager%handle, int(form, c_int32_t), c_loc(letters), needed, needed)
      if (status == couplet_ok) text = from_c(c_loc(letters))
    end if
    call conclude(status, ierr)
  end subroutine

  ! Closes the rounds. Ranks that wait for a round which this one has not begun get couplet_error_state. A callback
  ! cannot close its own rounds.
  subroutine manager_close(manager, ierr)
    class(couplet_step_manager), intent(inout) :: manager
    integer, intent(out), optional :: ierr
    type(entry_of_client), pointer :: entry
    integer(c_int32_t) :: status
    logical :: is_running
    is_running = .false.
    entry => manager%entries
    do while (associated(entry))
      is_running = is_running .or. entry%is_running
      entry => entry%next
    end do
    status = c_coalesce_close(manager%handle)
    if (.not. is_running) then  ! otherwise it was refused
      manager%handle = c_null_ptr
      do while (associated(manager%entries))
        entry => manager%entries
        manager%entries => entry%next
        deallocate (entry)
      end do
    end if
    call conclude(status, ierr)
  end subroutine
end module
