! Writes and reads series. Arrays are in Fortran's order: eta(i,j) is eta[j,i] in Python. A batch has the steps in its
! last dimension: data(i,j,step). It is built on couplet_binding and couplet_errors; couplet_universes makes series.
! Invariant: the kind, rank and extents of every array are checked here, since the C interface sees only addresses. A
! box has its first index in box(1,:) and its last in box(2,:), 1-based and inclusive. Tests: tests/languages.
module couplet_series_module
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use couplet_binding_module
  use couplet_errors_module
  use couplet_arrays_module
  implicit none
  private
  public :: couplet_series, couplet_series_batch, couplet_series_info, couplet_series_field_info, &
    couplet_series_slot, couplet_series_statistics, couplet_series_waits
  public :: learn_series

  type :: couplet_series_field_info
    character(len=:), allocatable :: name
    integer :: type = -1
    integer(int64), allocatable :: shape(:)        ! in Fortran's order
    integer(int64), allocatable :: boxes(:, :, :)  ! this rank's boxes: boxes(1,:,k) first, boxes(2,:,k) last index
    integer(int64) :: step_bytes = 0               ! size of all boxes of this rank
  end type

  type :: couplet_series_batch
    integer :: status = couplet_not_yet          ! couplet_ok, couplet_not_yet, couplet_end or couplet_restarted
    integer(int64) :: count = 0                  ! number of steps
    integer(int64), allocatable :: steps(:)      ! step numbers
    integer(int64), allocatable :: ordinals(:)   ! their places among all published steps: 0, 1, 2, ...
    logical, allocatable :: torn(:)              ! true: replaced while it was copied (only if opened with torn=.true.)
    real(real64), allocatable :: times(:)        ! physical times, NaN if the writer gave none
    integer(int64) :: lost = 0                   ! steps that were lost since the last read
    integer(int64) :: incarnation = 0            ! which start of the writer this is: 0, 1, ...
    type(c_ptr), allocatable, private :: addresses(:)
    type(couplet_series_field_info), allocatable, private :: fields(:)
    character(len=:), allocatable, private :: name
  contains
    ! call batch%data(pointer [, field, ierr]): pointer(i, j, ..., step), which is valid until the next read or close
#define TEMPLATE "batch_bindings.inc"
#include "for_each_kind.inc"
  end type

  type :: couplet_series_info
    character(len=:), allocatable :: name, program, route
    integer :: type = -1
    integer(int64), allocatable :: shape(:)      ! in Fortran's order
    integer(int64), allocatable :: box(:, :)     ! this rank's box: box(1,:) first, box(2,:) last index
    integer(int64) :: step_bytes = 0, slots = 0
    integer :: writers = 0
    ! The fields. type, shape, box and step_bytes above are those of the first field and its first box.
    type(couplet_series_field_info), allocatable :: fields(:)
  end type

  type :: couplet_series_waits  ! how long put and claim have waited for holding readers
    integer(int64) :: count = 0, total_ns = 0, last_ns = 0, longest_ns = 0
    character(len=:), allocatable :: last_for, longest_for  ! "program 'nowcast' rank 3 on host n02"
    ! Ranks in the universe. -1: a program that has not opened, or no wait.
    integer :: last_rank = -1, longest_rank = -1
  end type

  type :: couplet_series_slot  ! the claimed memory of all fields
    type(c_ptr), allocatable, private :: addresses(:)
    type(couplet_series_field_info), allocatable, private :: fields(:)
    character(len=:), allocatable, private :: name
  contains
    ! call slot%get(field, pointer [, box, ierr]): memory for computation in place until publish.
    ! box: which box, if there are several.
#define TEMPLATE "slot_bindings.inc"
#include "for_each_kind.inc"
  end type

  type :: couplet_series_statistics  ! published - first = delivered + lost + skipped + pending
    integer(int64) :: published = 0, first = 0, delivered = 0, lost = 0, lost_torn = 0, skipped = 0, pending = 0
    integer(int64) :: delivered_torn = 0, calls = 0, largest_batch = 0, bytes = 0, copy_ns = 0, held_ns = 0, &
      library_ns = 0
  end type

  type :: couplet_series
    type(c_ptr) :: handle = c_null_ptr
    character(len=:), allocatable, private :: name
    integer(c_int32_t), private :: type = -1
    integer(int64), allocatable, private :: extents(:)  ! extents of this rank's box
    type(couplet_series_field_info), allocatable, private :: fields(:)
  contains
    procedure :: set_time => series_set_time
    procedure :: waits => series_waits
    procedure, private :: series_claim_slot, series_claim_slot_default, series_put_arrays, series_put_arrays_default
    procedure, private :: series_read_arrays
    ! call series%claim_slot(step, slot [, ierr]): for several fields. Then slot%get for each, and call
    ! series%publish().
    generic :: claim_slot => series_claim_slot, series_claim_slot_default
    ! call series%put(arrays, step [, time, ierr]): one array for each box of each field, in order
    generic :: put => series_put_arrays, series_put_arrays_default
    ! call series%read_into(arrays, batch [, at_least, up_to, timeout, ierr]): one array with steps per field, in order
    generic :: read_into => series_read_arrays
    procedure :: publish => series_publish
    ! call series%abandon([ierr]): gives a claim back, nothing is published
    procedure :: abandon => series_abandon
    procedure :: read => series_read
    ! call series%read_at(times, batch [, timeout, ierr]): values at physical times, interpolated between the steps
    procedure :: read_at => series_read_at
    procedure :: describe => series_describe
    procedure :: statistics => series_statistics
    procedure :: retained => series_retained
    procedure :: newest => series_newest
    procedure :: close => series_close
    ! call series%put(data, step [, first, last, time, ierr]): copies the array, or that part of it, and publishes it
    ! call series%claim(step, pointer [, ierr]): the next slot, for computation in place. Then call series%publish().
    ! call series%read_into(out, batch [, at_least, up_to, timeout, ierr]): into out(i, j, ..., step)
#define TEMPLATE "series_bindings.inc"
#include "for_each_kind.inc"
  end type

contains

#define TEMPLATE "series_of_kind.inc"
#include "for_each_kind.inc"
#define TEMPLATE "batch_of_kind.inc"
#include "for_each_kind.inc"
#define TEMPLATE "slot_of_kind.inc"
#include "for_each_kind.inc"

  include "series_of_fields.inc"

  ! Reads values at physical times, which must not descend: one array for each time, interpolated linearly between the
  ! steps around it. The arrays are the library's. If something prevents the later times, only the earlier ones are
  ! delivered. timeout as for read.
  subroutine series_read_at(series, times, batch, timeout, ierr)
    class(couplet_series), intent(in) :: series
    real(real64), intent(in), contiguous :: times(:)
    type(couplet_series_batch), intent(out) :: batch
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    type(c_series_batch) :: got
    integer(c_int32_t) :: status
    real(c_double) :: timeout_s
    if (is_other(series, "read_at", ierr)) return
    timeout_s = -1
    if (present(timeout)) timeout_s = timeout
    got = empty_batch()
    status = c_series_read_at(series%handle, times, size(times, kind=c_int32_t), timeout_s, c_null_ptr, 0_c_int32_t, &
                              got)
    call take_batch(series, batch, status, got, ierr)
  end subroutine

  ! Says how long put and claim have waited for holders, and for which of them.
  subroutine series_waits(series, waits, ierr)
    class(couplet_series), intent(in) :: series
    type(couplet_series_waits), intent(out) :: waits
    integer, intent(out), optional :: ierr
    type(c_series_waits) :: got
    integer(c_int32_t) :: status
    got%struct_bytes = c_sizeof(got)
    status = c_series_get_waits(series%handle, got)
    if (status == couplet_ok) then
      waits = couplet_series_waits(got%count, got%total_ns, got%last_ns, got%longest_ns, from_c(got%last_for), &
                            from_c(got%longest_for), got%last_rank, got%longest_rank)
    end if
    call conclude(status, ierr)
  end subroutine

  ! Publishes the claimed slot.
  subroutine series_publish(series, ierr)
    class(couplet_series), intent(in) :: series
    integer, intent(out), optional :: ierr
    call conclude(c_series_publish(series%handle), ierr)
  end subroutine

  subroutine series_abandon(series, ierr)
    class(couplet_series), intent(in) :: series
    integer, intent(out), optional :: ierr
    call conclude(c_series_abandon(series%handle), ierr)
  end subroutine

  ! Reads at least `at_least` (default 1; waited for) and at most `up_to` (default 64) steps into the library's buffer.
  ! timeout in seconds; absent or negative: for ever. Answers are in batch%status and ierr, and stop nothing.
  subroutine series_read(series, batch, at_least, up_to, timeout, ierr)
    class(couplet_series), intent(in) :: series
    type(couplet_series_batch), intent(out) :: batch
    integer, intent(in), optional :: at_least, up_to
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    integer :: steps
    steps = 64
    if (present(at_least)) steps = max(steps, at_least)
    if (present(up_to)) steps = up_to
    call read_steps(series, batch, at_least, steps, timeout, c_null_ptr, 0_int64, ierr)
  end subroutine

  subroutine read_steps(series, batch, at_least, up_to, timeout, out, out_bytes, ierr)
    type(couplet_series), intent(in) :: series
    type(couplet_series_batch), intent(inout) :: batch
    integer, intent(in), optional :: at_least
    integer, intent(in) :: up_to
    real(real64), intent(in), optional :: timeout
    type(c_ptr), intent(in) :: out
    integer(int64), intent(in) :: out_bytes
    integer, intent(out), optional :: ierr
    type(c_series_array) :: list(1)
    list(1) = c_series_array(out, c_null_ptr, out_bytes)
    if (c_associated(out)) then
      call read_lists(series, batch, at_least, up_to, timeout, list, ierr)
    else
      call read_lists(series, batch, at_least, up_to, timeout, list(:0), ierr)
    end if
  end subroutine

  subroutine read_lists(series, batch, at_least, up_to, timeout, outs, ierr)
    class(couplet_series), intent(in) :: series
    type(couplet_series_batch), intent(inout) :: batch
    integer, intent(in), optional :: at_least
    integer, intent(in) :: up_to
    real(real64), intent(in), optional :: timeout
    type(c_series_array), intent(in) :: outs(:)
    integer, intent(out), optional :: ierr
    type(c_series_batch) :: got
    integer(c_int32_t) :: status
    integer(c_int64_t) :: wanted
    real(c_double) :: timeout_s
    if (is_other(series, "read", ierr)) return
    wanted = 1
    if (present(at_least)) wanted = at_least
    timeout_s = -1
    if (present(timeout)) timeout_s = timeout
    got = empty_batch()
    status = c_series_read_arrays(series%handle, wanted, int(up_to, c_int64_t), timeout_s, outs, &
                                  size(outs, kind=c_int32_t), got)
    call take_batch(series, batch, status, got, ierr)
  end subroutine

  ! Has a new incarnation another layout than the one that arrays are checked for? Then the read is refused.
  logical function is_other(series, verb, ierr) result(other)
    class(couplet_series), intent(in) :: series
    character(len=*), intent(in) :: verb
    integer, intent(out), optional :: ierr
    type(couplet_series_info) :: now
    integer :: i
    call series%describe(now, i)
    other = .false.
    if (i /= couplet_ok .or. .not. allocated(series%extents)) return
    other = size(now%fields) /= size(series%fields)
    if (.not. other) other = any([(.not. is_same_field(now%fields(i), series%fields(i)), i=1, size(now%fields))])
    if (other) call refuse(couplet_error_shape, verb//": series '"//series%name//"' was created again with another "// &
                           "shape, type or order of fields: close it, and open it again", ierr)
  end function

  pure logical function is_same_field(one, other) result(same)
    type(couplet_series_field_info), intent(in) :: one, other
    same = one%name == other%name .and. one%type == other%type .and. all(shape(one%boxes) == shape(other%boxes))
    if (same) same = all(one%boxes == other%boxes)
  end function

  ! What a read has answered.
  subroutine take_batch(series, batch, status, got, ierr)
    class(couplet_series), intent(in) :: series
    type(couplet_series_batch), intent(inout) :: batch
    integer(c_int32_t), intent(in) :: status
    type(c_series_batch), intent(in) :: got
    integer, intent(out), optional :: ierr
    batch%status = int(status)
    allocate (batch%steps(0), batch%ordinals(0), batch%torn(0), batch%times(0))
    if (allocated(series%fields)) batch%fields = series%fields
    if (allocated(series%name)) batch%name = series%name
    if (status >= couplet_ok) then
      batch%lost = got%lost
      batch%incarnation = got%incarnation
    end if
    if (status == couplet_ok) call take_steps(batch, got)
    call conclude_answer(status, ierr)
  end subroutine

  subroutine take_steps(batch, got)
    type(couplet_series_batch), intent(inout) :: batch
    type(c_series_batch), intent(in) :: got
    integer(int64), pointer :: numbers(:)
    integer(int8), pointer :: marks(:)
    real(real64), pointer :: times(:)
    type(c_series_field_data), pointer :: fields(:)
    integer :: i
    batch%count = got%count
    call c_f_pointer(got%steps, numbers, [got%count])
    batch%steps = numbers
    call c_f_pointer(got%ordinals, numbers, [got%count])
    batch%ordinals = numbers
    call c_f_pointer(got%torn, marks, [got%count])
    batch%torn = marks /= 0
    call c_f_pointer(got%times, times, [got%count])
    batch%times = times
    call c_f_pointer(got%fields, fields, [got%field_count])
    allocate (batch%addresses(got%field_count))
    do i = 1, int(got%field_count)
      batch%addresses(i) = fields(i)%data
    end do
  end subroutine

  type(c_series_batch) function empty_batch() result(batch)
    batch%struct_bytes = c_sizeof(batch)
    batch%count = 0
    batch%data = c_null_ptr
    batch%step_bytes = 0
    batch%steps = c_null_ptr
    batch%ordinals = c_null_ptr
    batch%torn = c_null_ptr
    batch%times = c_null_ptr
    batch%fields = c_null_ptr
    batch%field_count = 0
    batch%lost = 0
    batch%incarnation = 0
  end function

  subroutine series_describe(series, info, ierr)
    class(couplet_series), intent(in) :: series
    type(couplet_series_info), intent(out) :: info
    integer, intent(out), optional :: ierr
    type(c_series_info) :: got
    integer(c_int32_t) :: status
    integer :: n, i
    got%struct_bytes = c_sizeof(got)
    status = c_series_describe(series%handle, got)
    if (status == couplet_ok) then
      n = got%dimensions
      info%name = from_c(got%name)
      info%program = from_c(got%program)
      info%route = from_c(got%route)
      info%type = got%type
      info%shape = got%shape(n:1:-1)
      allocate (info%box(2, n))
      info%box(1, :) = got%start(n:1:-1) + 1
      info%box(2, :) = got%stop(n:1:-1)
      info%step_bytes = got%step_bytes
      info%slots = got%slots
      info%writers = got%writers
      allocate (info%fields(got%field_count))
      do i = 1, int(got%field_count)
        if (status == couplet_ok) status = describe_field(series, i, info%fields(i))
      end do
    end if
    call conclude(status, ierr)
  end subroutine

  integer(c_int32_t) function describe_field(series, number, info) result(status)
    class(couplet_series), intent(in) :: series
    integer, intent(in) :: number
    type(couplet_series_field_info), intent(inout) :: info
    type(c_series_field_info) :: got
    integer(int64), pointer :: extents(:), starts(:, :), stops(:, :)
    integer :: n
    got%struct_bytes = c_sizeof(got)
    status = c_series_describe_field(series%handle, int(number - 1, c_int32_t), got)
    if (status /= couplet_ok) return
    n = got%dimensions
    call c_f_pointer(got%shape, extents, [n])
    info%name = from_c(got%name)
    info%type = got%type
    info%shape = extents(n:1:-1)
    info%step_bytes = got%step_bytes
    allocate (info%boxes(2, n, got%box_count))
    if (got%box_count > 0) then
      call c_f_pointer(got%start, starts, [n, int(got%box_count)])
      call c_f_pointer(got%stop, stops, [n, int(got%box_count)])
      info%boxes(1, :, :) = starts(n:1:-1, :) + 1
      info%boxes(2, :, :) = stops(n:1:-1, :)
    end if
  end function

  subroutine series_statistics(series, statistics, ierr)
    class(couplet_series), intent(in) :: series
    type(couplet_series_statistics), intent(out) :: statistics
    integer, intent(out), optional :: ierr
    type(c_series_statistics) :: got
    integer(c_int32_t) :: status
    got%struct_bytes = c_sizeof(got)
    status = c_series_get_statistics(series%handle, got)
    if (status == couplet_ok) then
      statistics = couplet_series_statistics(got%published, got%first, got%delivered, got%lost, got%lost_torn, &
        got%skipped, &
                                      got%pending, got%delivered_torn, got%calls, got%largest_batch, got%bytes, &
                                      got%copy_ns, got%held_ns, got%library_ns)
    end if
    call conclude(status, ierr)
  end subroutine

  ! Gives the ordinals first to last (inclusive) that are still there, and the newest step. Before the first step, last
  ! is less than first, and ierr is couplet_not_yet.
  subroutine series_retained(series, first, last, newest_step, ierr)
    class(couplet_series), intent(in) :: series
    integer(int64), intent(out), optional :: first, last, newest_step
    integer, intent(out), optional :: ierr
    integer(c_int64_t) :: from, to, newest
    integer(c_int32_t) :: status
    from = 0
    to = 0
    newest = 0
    status = c_series_retained(series%handle, from, to, newest)
    if (present(first)) first = from
    if (present(last)) last = to - 1
    if (present(newest_step)) newest_step = newest
    call conclude_answer(status, ierr)
  end subroutine

  ! Gives the newest published step. `there` is .false. before the first one.
  subroutine series_newest(series, step, there, ierr)
    class(couplet_series), intent(in) :: series
    integer(int64), intent(out) :: step
    logical, intent(out), optional :: there
    integer, intent(out), optional :: ierr
    integer(c_int64_t) :: from, to
    integer(c_int32_t) :: status
    step = 0
    status = c_series_retained(series%handle, from, to, step)
    if (present(there)) there = status == couplet_ok
    call conclude_answer(status, ierr)
  end subroutine

  ! Ends writing (readers get what is left, then the end) or reading.
  subroutine series_close(series, ierr)
    class(couplet_series), intent(inout) :: series
    integer, intent(out), optional :: ierr
    integer(c_int32_t) :: status
    status = c_series_close(series%handle)
    series%handle = c_null_ptr
    call conclude(status, ierr)
  end subroutine

  ! Wraps a new handle, and remembers which arrays it accepts. For couplet_universes.
  subroutine learn_series(series, handle, ierr)
    type(couplet_series), intent(out) :: series
    type(c_ptr), intent(in) :: handle
    integer, intent(out), optional :: ierr
    type(couplet_series_info) :: info
    integer :: n
    series%handle = handle
    call series%describe(info, ierr)
    if (.not. allocated(info%box)) return
    n = size(info%shape)
    series%name = info%name
    series%type = int(info%type, c_int32_t)
    allocate (series%extents(n))
    series%extents = max(0_int64, info%box(2, :) - info%box(1, :) + 1)
    series%fields = info%fields
  end subroutine

  ! Fortran has no unsigned integers: those of a series appear as integers of the same size.
  pure logical function same_kind(type, code) result(same)
    integer(c_int32_t), intent(in) :: type, code
    same = type == code .or. (type >= couplet_uint8 .and. type <= couplet_uint64 .and. type - 4 == code)
  end function

  subroutine check_kind(series, verb, code, array_rank, more, mistake, text)
    type(couplet_series), intent(in) :: series
    character(len=*), intent(in) :: verb
    integer(c_int32_t), intent(in) :: code
    integer, intent(in) :: array_rank, more
    integer, intent(out) :: mistake
    character(len=:), allocatable, intent(out) :: text
    mistake = couplet_ok
    text = ""
    if (.not. allocated(series%extents)) then
      mistake = couplet_error_state
      text = verb//": the series is not open"
    else if (.not. same_kind(series%type, code)) then
      mistake = couplet_error_type
      text = verb//": series '"//series%name//"' has elements of "//type_name(series%type)//", the array has "// &
        type_name(code)
    else if (array_rank /= size(series%extents) + more) then
      mistake = couplet_error_shape
      text = verb//": series '"//series%name//"' needs an array of rank "//in_digits(size(series%extents) + more)// &
             ", this one has rank "//in_digits(array_rank)
    else if (verb /= "put" .and. verb /= "read_into" .and. array_rank - more > 4) then
      mistake = couplet_error_unsupported
      text = verb//": series '"//series%name//"' has more than 4 dimensions; use put and read_into"
    end if
  end subroutine

  ! A scalar is accepted for a box of one element.
  subroutine check_box(series, verb, code, extents, mistake, text)
    type(couplet_series), intent(in) :: series
    character(len=*), intent(in) :: verb
    integer(c_int32_t), intent(in) :: code
    integer(int64), intent(in) :: extents(:)
    integer, intent(out) :: mistake
    character(len=:), allocatable, intent(out) :: text
    if (size(extents) == 0 .and. allocated(series%extents)) then
      call check_kind(series, verb, code, size(series%extents), 0, mistake, text)
      if (mistake == couplet_ok .and. product(series%extents) /= 1) then
        mistake = couplet_error_shape
        text = verb//": a scalar for series '"//series%name//"', whose box is "//listed(series%extents)
      end if
      return
    end if
    call check_kind(series, verb, code, size(extents), 0, mistake, text)
    if (mistake /= couplet_ok) return
    if (any(extents /= series%extents)) then
      mistake = couplet_error_shape
      text = verb//": series '"//series%name//"' has the box "//listed(series%extents)//", the array is "// &
        listed(extents)
    end if
  end subroutine

  ! Checks the array of read_into, which is a box and steps, or only a box for one step. steps: how many may be read.
  subroutine check_out(series, code, extents, contiguous, up_to, steps, mistake, text)
    type(couplet_series), intent(in) :: series
    integer(c_int32_t), intent(in) :: code
    integer(int64), intent(in) :: extents(:)
    logical, intent(in) :: contiguous
    integer, intent(in), optional :: up_to
    integer, intent(out) :: steps, mistake
    character(len=:), allocatable, intent(out) :: text
    integer :: n
    steps = 1
    n = size(extents)
    if (allocated(series%extents)) then
      if (n /= size(series%extents)) then
        n = size(extents) - 1
        if (n >= 0) steps = int(extents(size(extents)))
      end if
    end if
    call check_kind(series, "read_into", code, n, 0, mistake, text)
    if (mistake /= couplet_ok) return
    if (any(extents(:n) /= series%extents)) then
      mistake = couplet_error_shape
      text = "read_into: series '"//series%name//"' has the box "//listed(series%extents)//", the array is "// &
        listed(extents)
    else if (.not. contiguous) then
      mistake = couplet_error_argument
      text = "read_into: the array for series '"//series%name//"' is not contiguous"
    else if (present(up_to)) then
      if (up_to > steps) then
        mistake = couplet_error_shape
        text = "read_into: up_to = "//in_digits(up_to)//" steps of series '"//series%name// &
               "' do not fit: the array is "//listed(extents)
      else
        steps = up_to
      end if
    end if
  end subroutine

  subroutine check_batch(batch, code, array_rank, field, address, extents, mistake, text)
    type(couplet_series_batch), intent(in) :: batch
    integer(c_int32_t), intent(in) :: code
    integer, intent(in) :: array_rank
    character(len=*), intent(in), optional :: field
    type(c_ptr), intent(out) :: address
    integer(int64), allocatable, intent(out) :: extents(:)
    integer, intent(out) :: mistake
    character(len=:), allocatable, intent(out) :: text
    type(couplet_series) :: series
    integer :: i
    mistake = couplet_error_state
    text = "data: the batch is empty"
    address = c_null_ptr
    if (batch%count == 0 .or. .not. allocated(batch%addresses)) return
    i = 1
    if (present(field)) then
      do i = 1, size(batch%fields)
        if (batch%fields(i)%name == field) exit
      end do
      mistake = couplet_error_not_found
      text = "data: series '"//batch%name//"' has no field '"//field//"' that is read"
      if (i > size(batch%fields)) return
    end if
    address = batch%addresses(i)
    extents = box_extents(batch%fields(i), 1)
    series%name = batch%name
    series%type = int(batch%fields(i)%type, c_int32_t)
    series%extents = extents
    call check_kind(series, "data", code, array_rank, 1, mistake, text)
  end subroutine

  function listed(extents) result(text)
    integer(int64), intent(in) :: extents(:)
    character(len=:), allocatable :: text
    character(len=20) :: number
    integer :: i
    text = "("
    do i = 1, size(extents)
      write (number, "(i0)") extents(i)
      if (i > 1) text = text//", "
      text = text//trim(number)
    end do
    text = text//")"
  end function

  function in_digits(value) result(text)
    integer, intent(in) :: value
    character(len=:), allocatable :: text
    character(len=11) :: number
    write (number, "(i0)") value
    text = trim(number)
  end function

  function type_name(code) result(name)
    integer(c_int32_t), intent(in) :: code
    character(len=:), allocatable :: name
    character(len=9), parameter :: names(0:12) = [character(len=9) :: "byte", "int8", "int16", "int32", "int64", &
                                                  "uint8", "uint16", "uint32", "uint64", "real32", "real64", &
                                                  "complex32", "complex64"]
    name = "an unknown type"
    if (code >= 0 .and. code <= 12) name = trim(names(code))
  end function
end module
