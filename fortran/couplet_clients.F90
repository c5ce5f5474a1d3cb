! Clients of coalesced communication: a client is a type that extends couplet_client or couplet_phased. This module has
! these types, and the functions by which the library calls them. It is built on couplet_binding and couplet_errors;
! couplet_coalesce_module registers clients. An error to which a callback sets `ierr` fails the rounds of all ranks.
! Invariant: an entry keeps its place until the rounds are closed, since the library has its address.
! Tests: tests/universe/test_coalesce_fortran.py.
module couplet_clients_module
  use, intrinsic :: iso_fortran_env, only: int8, int64
  use couplet_binding_module
  use couplet_errors_module
  use couplet_texts_module, only: to_c
  implicit none
  private
  public :: couplet_client, couplet_phased, couplet_moment, couplet_client_fail
  public :: entry_of_client, call_fill, call_overlap, call_arrived, call_use, call_end_round, call_give, call_take

  ! When and for what a client is called.
  type :: couplet_moment
    integer(int64) :: round = 0
    integer :: phase = 0
    integer :: peer = -1  ! for `arrived`: the rank from which everything for this client is here
  end type

  ! A part of a program that communicates in rounds. Each stage gets ierr = couplet_ok; a client that sets it to an
  ! error, for instance with couplet_client_fail, ends the rounds of all ranks.
  type, abstract :: couplet_client
  contains
    procedure(client_stage), deferred :: fill  ! what is sent in this phase is written, and lengths are set
    procedure :: overlap => client_does_nothing    ! everything is under way: what needs nothing of it is computed
    procedure :: hears_arrivals => client_hears_none  ! is `arrived` to be called?
    procedure :: arrived => client_does_nothing    ! all that moment%peer sends to this client in this phase is here
    procedure(client_stage), deferred :: use   ! everything is here
    procedure :: end_round => client_does_nothing  ! the last phase is over
  end type

  ! A broadcast or reduction that moves one level of a tree in each round. give: called in a round in which one may
  ! begin; a rank that has a value writes it to the array that it has registered, and sets `given`. take: called in the
  ! round in which all ranks that get the result have it; it is in the other array.
  type, abstract :: couplet_phased
  contains
    procedure(phased_give), deferred :: give
    procedure(phased_take), deferred :: take
  end type

  abstract interface
    subroutine client_stage(client, moment, ierr)
      import :: couplet_client, couplet_moment
      class(couplet_client), intent(inout) :: client
      type(couplet_moment), intent(in) :: moment
      integer, intent(inout) :: ierr
    end subroutine
    ! count: the elements of the value; a broadcast may have fewer than its array.
    subroutine phased_give(phased, round, count, given, ierr)
      import :: couplet_phased, int64
      class(couplet_phased), intent(inout) :: phased
      integer(int64), intent(in) :: round
      integer(int64), intent(inout) :: count
      logical, intent(inout) :: given
      integer, intent(inout) :: ierr
    end subroutine
    ! began: the round in which the value was given. givers: how many ranks have given one.
    subroutine phased_take(phased, began, givers, count, ierr)
      import :: couplet_phased, int64
      class(couplet_phased), intent(inout) :: phased
      integer(int64), intent(in) :: began, givers, count
      integer, intent(inout) :: ierr
    end subroutine
  end interface

  ! What the library calls for one client. It keeps its place while the rounds are open.
  type :: entry_of_client
    class(couplet_client), pointer :: client => null()
    class(couplet_phased), pointer :: phased => null()
    type(c_ptr) :: value = c_null_ptr   ! the arrays of a phased one
    type(c_ptr) :: result = c_null_ptr
    integer(int64) :: value_bytes = 0
    integer(int64) :: result_bytes = 0
    integer(int64) :: element_bytes = 1
    logical :: is_running = .false.  ! one of its callbacks is
    type(entry_of_client), pointer :: next => null()
  end type

contains

  subroutine client_does_nothing(client, moment, ierr)
    class(couplet_client), intent(inout) :: client
    type(couplet_moment), intent(in) :: moment
    integer, intent(inout) :: ierr
    associate (unused_client => client, unused_moment => moment, unused_ierr => ierr)
    end associate
  end subroutine

  logical function client_hears_none(client) result(hears)
    class(couplet_client), intent(in) :: client
    associate (unused_client => client)
    end associate
    hears = .false.
  end function

  ! Ends a callback with an error. status: couplet_error_*. text: says what was given, and what would have been right.
  subroutine couplet_client_fail(status, text, ierr)
    integer, intent(in) :: status
    character(len=*), intent(in) :: text
    integer, intent(out) :: ierr
    call refuse(status, text, ierr)
  end subroutine

  ! ---- stages ----

  integer(c_int32_t) function call_fill(moment, context) bind(c, name="") result(status)
    type(c_coalesce_moment), intent(in) :: moment
    type(c_ptr), value :: context
    type(entry_of_client), pointer :: entry
    character(len=:), allocatable :: text
    integer :: ierr
    call begin_stage(context, entry, text, ierr)
    call entry%client%fill(moment_of(moment), ierr)
    status = end_stage(entry, text, ierr)
  end function

  integer(c_int32_t) function call_overlap(moment, context) bind(c, name="") result(status)
    type(c_coalesce_moment), intent(in) :: moment
    type(c_ptr), value :: context
    type(entry_of_client), pointer :: entry
    character(len=:), allocatable :: text
    integer :: ierr
    call begin_stage(context, entry, text, ierr)
    call entry%client%overlap(moment_of(moment), ierr)
    status = end_stage(entry, text, ierr)
  end function

  integer(c_int32_t) function call_arrived(moment, context) bind(c, name="") result(status)
    type(c_coalesce_moment), intent(in) :: moment
    type(c_ptr), value :: context
    type(entry_of_client), pointer :: entry
    character(len=:), allocatable :: text
    integer :: ierr
    call begin_stage(context, entry, text, ierr)
    call entry%client%arrived(moment_of(moment), ierr)
    status = end_stage(entry, text, ierr)
  end function

  integer(c_int32_t) function call_use(moment, context) bind(c, name="") result(status)
    type(c_coalesce_moment), intent(in) :: moment
    type(c_ptr), value :: context
    type(entry_of_client), pointer :: entry
    character(len=:), allocatable :: text
    integer :: ierr
    call begin_stage(context, entry, text, ierr)
    call entry%client%use(moment_of(moment), ierr)
    status = end_stage(entry, text, ierr)
  end function

  integer(c_int32_t) function call_end_round(moment, context) bind(c, name="") result(status)
    type(c_coalesce_moment), intent(in) :: moment
    type(c_ptr), value :: context
    type(entry_of_client), pointer :: entry
    character(len=:), allocatable :: text
    integer :: ierr
    call begin_stage(context, entry, text, ierr)
    call entry%client%end_round(moment_of(moment), ierr)
    status = end_stage(entry, text, ierr)
  end function

  type(couplet_moment) function moment_of(c) result(moment)
    type(c_coalesce_moment), intent(in) :: c
    moment = couplet_moment(round=c%round, phase=int(c%phase), peer=int(c%peer))
  end function

  ! Puts the text of earlier errors aside, so that it is not taken for that of the callback.
  subroutine begin_stage(context, entry, text, ierr)
    type(c_ptr), intent(in) :: context
    type(entry_of_client), pointer, intent(out) :: entry
    character(len=:), allocatable, intent(out) :: text
    integer, intent(out) :: ierr
    call c_f_pointer(context, entry)
    entry%is_running = .true.
    call swap_error_text(text)
    ierr = couplet_ok
  end subroutine

  ! Returns what a callback has ended with, and hands its text to the library.
  integer(c_int32_t) function end_stage(entry, text, ierr) result(status)
    type(entry_of_client), intent(inout) :: entry
    character(len=:), allocatable, intent(inout) :: text
    integer, intent(in) :: ierr
    character(kind=c_char), allocatable, target :: letters(:)
    character(len=:), allocatable :: own
    entry%is_running = .false.
    status = couplet_ok
    call swap_error_text(text)
    if (ierr == couplet_ok) return
    if (allocated(text)) then
      own = text
    else
      own = "ierr was set to "//couplet_status_name(ierr)
    end if
    status = c_coalesce_fail(int(ierr, c_int32_t), to_c(letters, own))
  end function

  ! ---- broadcasts and reductions ----

  integer(c_int32_t) function call_give(round, data, bytes, given, context) bind(c, name="") result(status)
    integer(c_int64_t), value :: round
    type(c_ptr), value :: data, context
    integer(c_int64_t), intent(inout) :: bytes
    integer(c_int32_t), intent(inout) :: given
    type(entry_of_client), pointer :: entry
    character(len=:), allocatable :: text
    integer(int64) :: count
    integer :: ierr
    logical :: has_value
    call begin_stage(context, entry, text, ierr)
    count = entry%value_bytes/entry%element_bytes
    has_value = .false.
    call entry%phased%give(round, count, has_value, ierr)
    if (ierr == couplet_ok .and. has_value) then
      if (count < 0 .or. count*entry%element_bytes > min(bytes, entry%value_bytes)) then
        call refuse(couplet_error_limit, "give: count must be 0 to the number of elements of value", ierr)
      else
        bytes = count*entry%element_bytes
        call copy_bytes(entry%value, data, bytes)
        given = 1
      end if
    end if
    status = end_stage(entry, text, ierr)
  end function

  integer(c_int32_t) function call_take(began, givers, data, bytes, context) bind(c, name="") result(status)
    integer(c_int64_t), value :: began, givers, bytes
    type(c_ptr), value :: data, context
    type(entry_of_client), pointer :: entry
    character(len=:), allocatable :: text
    integer :: ierr
    call begin_stage(context, entry, text, ierr)
    call copy_bytes(data, entry%result, min(bytes, entry%result_bytes))
    call entry%phased%take(began, givers, bytes/entry%element_bytes, ierr)
    status = end_stage(entry, text, ierr)
  end function

  subroutine copy_bytes(source, target, bytes)
    type(c_ptr), intent(in) :: source, target
    integer(int64), intent(in) :: bytes
    integer(int8), pointer, contiguous :: from(:), to(:)
    if (bytes <= 0) return
    call c_f_pointer(source, from, [bytes])
    call c_f_pointer(target, to, [bytes])
    to = from
  end subroutine
end module
