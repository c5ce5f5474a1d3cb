! The universe: joining and leaving, ranks and programs, and the calls that make groups, series, tasks and areas. It is
! built on the modules of those; module couplet, which programs use, and couplet_mpi are built on it. It turns Fortran's
! dimensions and 1-based inclusive boxes into those of the C interface.
! Tests: tests/languages.
module couplet_universes_module
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use couplet_binding_module
  use couplet_errors_module
  use couplet_messages_module
  use couplet_boxes_module
  use couplet_fields_module
  use couplet_series_module
  use couplet_weights_module
  use couplet_tasks_module
  use couplet_areas_module
  implicit none
  private
  public :: couplet_universe, couplet_join, couplet_version, fill_join_options

  type :: couplet_universe
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: leave => universe_leave
    procedure :: rank => universe_rank
    procedure :: program => universe_program
    procedure :: program_info => universe_program_info
    procedure :: find_rank => universe_find_rank
    procedure :: progress => universe_progress
    procedure :: descriptor => universe_descriptor
    procedure :: explain => universe_explain
    procedure :: group => universe_group
    procedure :: program_group => universe_program_group
    procedure :: create_group => universe_create_group
    procedure :: heads_group => universe_heads_group
    procedure :: program_group_of => universe_program_group_of
    procedure :: filter_group => universe_filter_group
    procedure, private :: create_series_int32, create_series_int64, create_series_fields
    ! call universe%create_series(name, shape, series [, box, type, slots, memory_bytes, required_readers,
    !      required_timeout, wait_timeout, evict_after_held, group, holders, collective, ierr])
    ! call universe%create_series(name, fields, series [, slots and so on])
    generic :: create_series => create_series_int32, create_series_int64, create_series_fields
    procedure :: open_series
    procedure :: open_tasks => universe_open_tasks
    procedure :: open_area => universe_open_area
    procedure, private :: create_area_int32, create_area_int64
    ! call universe%create_area(name, shape, area [, type, stamped, ierr]): the library's memory, set to zero
    generic :: create_area => create_area_int32, create_area_int64
    ! call universe%expose_area(name, array, area [, stamped, ierr]): an array of this process, which must be a target
#define TEMPLATE "universes_bindings.inc"
#include "for_each_kind.inc"
  end type

  interface couplet_join
    module procedure join
  end interface

contains

  ! Joins as one rank of `program` ("": the variable COUPLET_PROGRAM). rank and size, if absent, are taken from the
  ! launcher's environment; hub and secret_file, if absent, from the variables. Blocking: until all required programs
  ! are complete, at most `timeout` seconds. With multiple_threads, several threads may call; they take turns.
  subroutine join(program, universe, rank, size, hub, secret_file, timeout, multiple_threads, ierr)
    character(len=*), intent(in) :: program
    type(couplet_universe), intent(inout) :: universe
    integer, intent(in), optional :: rank, size
    character(len=*), intent(in), optional :: hub, secret_file
    real(real64), intent(in), optional :: timeout
    logical, intent(in), optional :: multiple_threads
    integer, intent(out), optional :: ierr
    type(c_join_options) :: options
    type(c_string), target :: texts(3)
    call fill_join_options(options, texts, hub, secret_file, timeout, multiple_threads)
    if (present(rank)) options%rank = rank
    if (present(size)) options%size = size
    call conclude(c_join(to_c(texts(3)%letters, program), options, universe%handle), ierr)
  end subroutine

  ! Sets the options of the C call, also for couplet_mpi. The texts must outlive the options.
  subroutine fill_join_options(options, texts, hub, secret_file, timeout, multiple_threads)
    type(c_join_options), intent(out) :: options
    type(c_string), intent(inout), target :: texts(:)
    character(len=*), intent(in), optional :: hub, secret_file
    real(real64), intent(in), optional :: timeout
    logical, intent(in), optional :: multiple_threads
    call c_join_options_init(options)
    options%hub = to_c(texts(1)%letters, hub)
    options%secret_file = to_c(texts(2)%letters, secret_file)
    if (present(timeout)) options%timeout_s = timeout
    if (present(multiple_threads)) options%threads = merge(1, 0, multiple_threads)
  end subroutine

  function couplet_version() result(text)
    character(len=:), allocatable :: text
    text = from_c(c_version())
  end function

  ! Leaves the universe in good order: closes what is open and delivers what was sent.
  subroutine universe_leave(universe, ierr)
    class(couplet_universe), intent(inout) :: universe
    integer, intent(out), optional :: ierr
    integer(c_int32_t) :: status
    status = c_leave(universe%handle)
    universe%handle = c_null_ptr
    call conclude(status, ierr)
  end subroutine

  ! Gives the rank in the universe, and the number of ranks of the universe.
  subroutine universe_rank(universe, rank, size, ierr)
    class(couplet_universe), intent(in) :: universe
    integer, intent(out), optional :: rank, size
    integer, intent(out), optional :: ierr
    integer(c_int32_t) :: own, all_ranks, status
    status = c_universe_rank(universe%handle, own, all_ranks)
    if (status == couplet_ok) then
      if (present(rank)) rank = own
      if (present(size)) size = all_ranks
    end if
    call conclude(status, ierr)
  end subroutine

  ! Gives this program's id (0-based), the caller's rank in it, its number of ranks, and the number of programs.
  subroutine universe_program(universe, program, rank, size, program_count, ierr)
    class(couplet_universe), intent(in) :: universe
    integer, intent(out), optional :: program, rank, size, program_count
    integer, intent(out), optional :: ierr
    integer(c_int32_t) :: id, own, ranks, programs, status
    status = c_universe_program(universe%handle, programs, id, own, ranks)
    if (status == couplet_ok) then
      if (present(program)) program = id
      if (present(rank)) rank = own
      if (present(size)) size = ranks
      if (present(program_count)) program_count = programs
    end if
    call conclude(status, ierr)
  end subroutine

  subroutine universe_program_info(universe, program, name, size, first_rank, ierr)
    class(couplet_universe), intent(in) :: universe
    integer, intent(in) :: program
    character(len=:), allocatable, intent(out), optional :: name
    integer, intent(out), optional :: size, first_rank
    integer, intent(out), optional :: ierr
    type(c_ptr) :: text
    integer(c_int32_t) :: ranks, first, status
    status = c_universe_describe_program(universe%handle, int(program, c_int32_t), text, ranks, first)
    if (status == couplet_ok) then
      if (present(name)) name = from_c(text)
      if (present(size)) size = ranks
      if (present(first_rank)) first_rank = first
    end if
    call conclude(status, ierr)
  end subroutine

  ! Gives the universe rank of rank `rank` of the program `name`.
  subroutine universe_find_rank(universe, name, rank, universe_rank, ierr)
    class(couplet_universe), intent(in) :: universe
    character(len=*), intent(in) :: name
    integer, intent(in) :: rank
    integer, intent(out) :: universe_rank
    integer, intent(out), optional :: ierr
    type(c_string), target :: text
    integer(c_int32_t) :: found
    found = -1
    call conclude(c_universe_find_rank(universe%handle, to_c(text%letters, name), int(rank, c_int32_t), found), ierr)
    universe_rank = found
  end subroutine

  ! Lets the library do pending work. Never blocks.
  subroutine universe_progress(universe, ierr)
    class(couplet_universe), intent(in) :: universe
    integer, intent(out), optional :: ierr
    call conclude(c_universe_progress(universe%handle), ierr)
  end subroutine

  ! Gives the descriptor for event loops, which couplet_arm_any arms. It belongs to the universe.
  subroutine universe_descriptor(universe, descriptor, ierr)
    class(couplet_universe), intent(in) :: universe
    integer, intent(out) :: descriptor
    integer, intent(out), optional :: ierr
    integer(c_int32_t) :: number, status
    number = -1
    status = c_universe_descriptor(universe%handle, number)
    descriptor = number
    call conclude(status, ierr)
  end subroutine

  ! Gives a JSON text that describes links, limits and choices.
  subroutine universe_explain(universe, text, ierr)
    class(couplet_universe), intent(in) :: universe
    character(len=:), allocatable, intent(out) :: text
    integer, intent(out), optional :: ierr
    character(kind=c_char), allocatable, target :: letters(:)
    integer(c_size_t) :: needed
    integer(c_int32_t) :: status
    integer :: attempt
    allocate (letters(4096))
    do attempt = 1, 8  ! the text may grow between two calls
      needed = 0
      status = c_universe_explain(universe%handle, c_loc(letters), size(letters, kind=c_size_t), needed)
      if (status /= couplet_error_limit .or. needed <= size(letters)) exit
      deallocate (letters)
      allocate (letters(needed))
    end do
    text = ""
    if (status == couplet_ok) text = from_c(c_loc(letters))
    call conclude(status, ierr)
  end subroutine

  ! Gives the group of all ranks of the universe.
  subroutine universe_group(universe, group, ierr)
    class(couplet_universe), intent(in) :: universe
    type(couplet_group), intent(out) :: group
    integer, intent(out), optional :: ierr
    call conclude(c_universe_group(universe%handle, group%handle), ierr)
  end subroutine

  ! Gives the group of all ranks of this program.
  subroutine universe_program_group(universe, group, ierr)
    class(couplet_universe), intent(in) :: universe
    type(couplet_group), intent(out) :: group
    integer, intent(out), optional :: ierr
    call conclude(c_universe_program_group(universe%handle, group%handle), ierr)
  end subroutine

  ! Creates the group `name` of these universe ranks, in this order. Every member makes the same call.
  subroutine universe_create_group(universe, name, ranks, group, ierr)
    class(couplet_universe), intent(in) :: universe
    character(len=*), intent(in) :: name
    integer, intent(in) :: ranks(:)
    type(couplet_group), intent(out) :: group
    integer, intent(out), optional :: ierr
    type(c_string), target :: text
    integer(c_int32_t) :: members(size(ranks)), status
    members = int(ranks, c_int32_t)
    status = c_group_create(universe%handle, to_c(text%letters, name), members, size(ranks, kind=c_int32_t), &
      group%handle)
    call conclude(status, ierr)
  end subroutine

  ! Creates the group of the ranks 0 of all programs. name: by default "heads".
  subroutine universe_heads_group(universe, group, name, ierr)
    class(couplet_universe), intent(in) :: universe
    type(couplet_group), intent(out) :: group
    character(len=*), intent(in), optional :: name
    integer, intent(out), optional :: ierr
    type(c_string), target :: text
    type(c_ptr) :: chosen
    chosen = to_c(text%letters, name)
    if (.not. present(name)) chosen = to_c(text%letters, "heads")
    call conclude(c_group_create_heads(universe%handle, chosen, group%handle), ierr)
  end subroutine

  ! Creates the group of all ranks of one program. Ranks of other programs are no members.
  subroutine universe_program_group_of(universe, program, group, ierr)
    class(couplet_universe), intent(in) :: universe
    character(len=*), intent(in) :: program
    type(couplet_group), intent(out) :: group
    integer, intent(out), optional :: ierr
    type(c_string), target :: text
    call conclude(c_group_create_program(universe%handle, to_c(text%letters, program), group%handle), ierr)
  end subroutine

  ! Creates the group of the universe ranks for which keep(rank, program id) is true, in their order. Every process
  ! calls it with a function that decides alike.
  subroutine universe_filter_group(universe, name, keep, group, ierr)
    class(couplet_universe), intent(in) :: universe
    character(len=*), intent(in) :: name
    interface
      logical function keep(rank, program)
        integer, intent(in) :: rank, program
      end function
    end interface
    type(couplet_group), intent(out) :: group
    integer, intent(out), optional :: ierr
    integer, allocatable :: ranks(:)
    integer :: program, programs, first, members, rank, status
    call universe%program(program_count=programs, ierr=status)
    allocate (ranks(0))
    do program = 0, programs - 1
      if (status /= couplet_ok) exit
      call universe%program_info(program, size=members, first_rank=first, ierr=status)
      do rank = first, first + members - 1
        if (keep(rank, program)) ranks = [ranks, rank]
      end do
    end do
    if (status /= couplet_ok) then
      call conclude(int(status, c_int32_t), ierr)
    else
      call universe%create_group(name, ranks, group, ierr)
    end if
  end subroutine

  ! Creates the series `name`: an array with the extents `shape`, of which this rank writes `box` (nothing if a last
  ! index is below the first one). box: by default the whole array, if one rank writes it. Collective over the writers.
  ! type: the type of the elements, by default couplet_real64. Timeouts are in seconds; negative: for ever. holders: the
  ! number of readers that can hold at the same time. collective: put and claim are collective, and all ranks get the
  ! slot, or none.
  subroutine create_series_int64(universe, name, shape, series, box, type, slots, memory_bytes, required_readers, &
                                 required_timeout, wait_timeout, evict_after_held, group, holders, collective, ierr)
    class(couplet_universe), intent(in) :: universe
    character(len=*), intent(in) :: name
    integer(int64), intent(in) :: shape(:)
    type(couplet_series), intent(out) :: series
    type(couplet_box), intent(in), optional :: box
    integer(c_int32_t), intent(in), optional :: type
    integer, intent(in), optional :: slots
    integer(int64), intent(in), optional :: memory_bytes
    character(len=*), intent(in), optional :: required_readers
    real(real64), intent(in), optional :: required_timeout, wait_timeout, evict_after_held
    type(couplet_group), intent(in), optional :: group
    integer, intent(in), optional :: holders
    logical, intent(in), optional :: collective
    integer, intent(out), optional :: ierr
    type(c_series_create_options) :: options
    type(c_string), target :: texts(2)
    type(c_corners), target :: corners
    character(len=:), allocatable :: mistake
    integer(c_int32_t) :: element
    type(c_ptr) :: handle
    call fill_create_options(options, texts(1), slots, memory_bytes, required_readers, required_timeout, wait_timeout, &
                             evict_after_held, group, holders, collective)
    element = couplet_real64
    if (present(type)) element = type
    call turn_box(size(shape), corners, mistake, box)
    if (allocated(mistake)) then
      call refuse(couplet_error_shape, "series '"//trim(name)//"': "//mistake, ierr)
      return
    end if
    call take_series(series, c_series_create(universe%handle, to_c(texts(2)%letters, name), element, &
                                             size(shape, kind=c_int32_t), shape(size(shape):1:-1), &
                                             start_of(corners), stop_of(corners), options, handle), handle, ierr)
  end subroutine

  subroutine create_series_int32(universe, name, shape, series, box, type, slots, memory_bytes, required_readers, &
                                 required_timeout, wait_timeout, evict_after_held, group, holders, collective, ierr)
    class(couplet_universe), intent(in) :: universe
    character(len=*), intent(in) :: name
    integer(int32), intent(in) :: shape(:)
    type(couplet_series), intent(out) :: series
    type(couplet_box), intent(in), optional :: box
    integer(c_int32_t), intent(in), optional :: type
    integer, intent(in), optional :: slots
    integer(int64), intent(in), optional :: memory_bytes
    character(len=*), intent(in), optional :: required_readers
    real(real64), intent(in), optional :: required_timeout, wait_timeout, evict_after_held
    type(couplet_group), intent(in), optional :: group
    integer, intent(in), optional :: holders
    logical, intent(in), optional :: collective
    integer, intent(out), optional :: ierr
    call create_series_int64(universe, name, int(shape, int64), series, box, type, slots, memory_bytes, &
                             required_readers, required_timeout, wait_timeout, evict_after_held, group, holders, &
                             collective, ierr)
  end subroutine

  ! Creates the series `name` of several fields. The other arguments are those of a series of one array.
  subroutine create_series_fields(universe, name, fields, series, slots, memory_bytes, required_readers, &
                                  required_timeout, wait_timeout, evict_after_held, group, holders, collective, ierr)
    class(couplet_universe), intent(in) :: universe
    character(len=*), intent(in) :: name
    type(couplet_series_field), intent(in) :: fields(:)
    type(couplet_series), intent(out) :: series
    integer, intent(in), optional :: slots
    integer(int64), intent(in), optional :: memory_bytes
    character(len=*), intent(in), optional :: required_readers
    real(real64), intent(in), optional :: required_timeout, wait_timeout, evict_after_held
    type(couplet_group), intent(in), optional :: group
    integer, intent(in), optional :: holders
    logical, intent(in), optional :: collective
    integer, intent(out), optional :: ierr
    type(c_series_create_options) :: options
    type(c_string), target :: texts(2)
    type(c_field_memory), target :: memory(size(fields))
    type(c_series_field) :: list(size(fields))
    character(len=:), allocatable :: mistake
    type(c_ptr) :: handle
    integer :: i
    call fill_create_options(options, texts(1), slots, memory_bytes, required_readers, required_timeout, wait_timeout, &
                             evict_after_held, group, holders, collective)
    do i = 1, size(fields)
      call turn_field(fields(i), list(i), memory(i), mistake)
      if (allocated(mistake)) then
        call refuse(couplet_error_shape, "series '"//trim(name)//"', "//mistake, ierr)
        return
      end if
    end do
    call take_series(series, c_series_create_fields(universe%handle, to_c(texts(2)%letters, name), list, &
                                                    size(fields, kind=c_int32_t), options, handle), handle, ierr)
  end subroutine

  ! Sets the options of the C call. The text must outlive the options.
  subroutine fill_create_options(options, text, slots, memory_bytes, required_readers, required_timeout, wait_timeout, &
                                 evict_after_held, group, holders, collective)
    type(c_series_create_options), intent(out) :: options
    type(c_string), intent(inout), target :: text
    integer, intent(in), optional :: slots
    integer(int64), intent(in), optional :: memory_bytes
    character(len=*), intent(in), optional :: required_readers
    real(real64), intent(in), optional :: required_timeout, wait_timeout, evict_after_held
    type(couplet_group), intent(in), optional :: group
    integer, intent(in), optional :: holders
    logical, intent(in), optional :: collective
    call c_series_create_options_init(options)
    if (present(slots)) options%slots = slots
    if (present(memory_bytes)) options%memory_bytes = memory_bytes
    options%required_readers = to_c(text%letters, required_readers)
    if (present(required_timeout)) options%required_timeout_s = required_timeout
    if (present(wait_timeout)) options%wait_timeout_s = wait_timeout
    if (present(evict_after_held)) options%evict_after_held_s = evict_after_held
    if (present(group)) options%group = group%handle
    if (present(holders)) options%holders = holders
    if (present(collective)) options%collective = merge(1, 0, collective)
  end subroutine

  ! Opens the series `name` to read `box` (by default the whole array), or `fields`, each with a box of its own, or,
  ! with `weights`, what they make of the whole array.
  ! Blocking: until the series exists, at most `timeout` seconds. Collective over the readers, unless `local`.
  ! The other arguments are the members of couplet_series_open_options (docs/reference/c.md).
  subroutine open_series(universe, name, series, box, fields, weights, group, &
#include "open_options_names.inc"
                         ierr)
    class(couplet_universe), intent(in) :: universe
    character(len=*), intent(in) :: name
    type(couplet_series), intent(out) :: series
    type(couplet_box), intent(in), optional :: box
    type(couplet_series_choice), intent(in), optional :: fields(:)
    type(couplet_series_weights), intent(in), optional :: weights
    type(couplet_group), intent(in), optional :: group
#include "open_options_declarations.inc"
    integer, intent(out), optional :: ierr
    type(c_series_open_options) :: options
    type(c_series_choice), allocatable, target :: choices(:)
    type(c_field_memory), allocatable, target :: memory(:)
    type(c_weights_memory), target :: weights_memory
    type(c_corners), target :: corners
    type(c_string), target :: text
    character(len=:), allocatable :: mistake
    type(c_ptr) :: handle
    integer :: i
    call c_series_open_options_init(options)
#include "open_options_values.inc"
    if (present(group)) options%group = group%handle
    if (present(box)) then
      call turn_box(box_dimensions(box), corners, mistake, box)
      options%start = start_of(corners)
      options%stop = stop_of(corners)
      options%dimensions = box_dimensions(box)
    end if
    if (present(fields)) then
      allocate (choices(size(fields)), memory(size(fields)))
      do i = 1, size(fields)
        if (.not. allocated(mistake)) call turn_choice(fields(i), choices(i), memory(i), mistake)
      end do
      options%field_count = size(fields, kind=c_int32_t)
      if (size(fields) > 0) options%fields = c_loc(choices)
    end if
    if (allocated(mistake)) then
      call refuse(couplet_error_shape, "series '"//trim(name)//"': "//mistake, ierr)
      return
    end if
    if (present(weights)) then
      call turn_weights(weights, weights_memory, mistake)
      if (allocated(mistake)) then
        call refuse(couplet_error_argument, "open_series '"//name//"': "//mistake, ierr)
        return
      end if
      options%weights = c_loc(weights_memory%image)
    end if
    call take_series(series, c_series_open(universe%handle, to_c(text%letters, name), options, handle), handle, ierr)
  end subroutine

  ! Concludes a call that has made a series.
  subroutine take_series(series, status, handle, ierr)
    type(couplet_series), intent(inout) :: series
    integer(c_int32_t), intent(in) :: status
    type(c_ptr), intent(in) :: handle
    integer, intent(out), optional :: ierr
    if (status == couplet_ok) then
      call learn_series(series, handle, ierr)
    else
      call conclude(status, ierr)
    end if
  end subroutine

  ! Opens the tasks `name`.
  ! role: couplet_tasks_requester, couplet_tasks_worker or couplet_tasks_coupler. couplers: the program whose ranks
  ! dispatch, default "coupler".
  ! Worker: worker_id (default: the id of its program), group_size (default: all ranks of the program do a task
  ! together).
  ! Coupler: requesters and workers are program names, separated by commas; one of them must be given. on_lost is
  ! couplet_tasks_fail (default) or couplet_tasks_retry; policy is couplet_tasks_first_idle (default) or
  ! couplet_tasks_round_robin; queue_limit (default: none) is the largest number of waiting tasks.
  subroutine universe_open_tasks(universe, name, role, tasks, couplers, worker_id, group_size, requesters, workers, &
                                 on_lost, policy, queue_limit, ierr)
    class(couplet_universe), intent(in) :: universe
    character(len=*), intent(in) :: name
    integer, intent(in) :: role
    type(couplet_tasks), intent(out) :: tasks
    character(len=*), intent(in), optional :: couplers, requesters, workers
    integer, intent(in), optional :: worker_id, group_size, on_lost, policy
    integer(int64), intent(in), optional :: queue_limit
    integer, intent(out), optional :: ierr
    type(c_tasks_options) :: options
    type(c_string), target :: texts(4)
    call c_tasks_options_init(options)
    options%role = int(role, c_int32_t)
    if (present(couplers)) options%couplers = to_c(texts(1)%letters, couplers)
    options%requesters = to_c(texts(2)%letters, requesters)
    options%workers = to_c(texts(3)%letters, workers)
    if (present(worker_id)) options%worker_id = worker_id
    if (present(group_size)) options%group_size = group_size
    if (present(on_lost)) options%on_lost = on_lost
    if (present(policy)) options%policy = policy
    if (present(queue_limit)) options%queue_limit = queue_limit
    call conclude(c_tasks_open(universe%handle, to_c(texts(4)%letters, name), options, tasks%handle), ierr)
  end subroutine

  ! Opens the area `name` of universe rank `owner`. Blocking: until the owner has created it, at most `timeout` seconds.
  subroutine universe_open_area(universe, name, owner, area, timeout, ierr)
    class(couplet_universe), intent(in) :: universe
    character(len=*), intent(in) :: name
    integer, intent(in) :: owner
    type(couplet_area), intent(out) :: area
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    type(c_string), target :: text
    real(c_double) :: timeout_s
    timeout_s = 60
    if (present(timeout)) timeout_s = timeout
    call conclude(c_area_open(universe%handle, to_c(text%letters, name), int(owner, c_int32_t), timeout_s, &
                              area%handle), ierr)
  end subroutine

  ! Creates the area `name`. type is that of the elements, default couplet_real64. stamped: one process writes at a
  ! time, and what is read is whole.
  subroutine create_area_int64(universe, name, shape, area, type, stamped, ierr)
    class(couplet_universe), intent(in) :: universe
    character(len=*), intent(in) :: name
    integer(int64), intent(in) :: shape(:)
    type(couplet_area), intent(out) :: area
    integer(c_int32_t), intent(in), optional :: type
    logical, intent(in), optional :: stamped
    integer, intent(out), optional :: ierr
    integer(c_int32_t) :: element
    element = couplet_real64
    if (present(type)) element = type
    call make_area(universe, name, shape, element, c_null_ptr, area, stamped, ierr)
  end subroutine

  subroutine create_area_int32(universe, name, shape, area, type, stamped, ierr)
    class(couplet_universe), intent(in) :: universe
    character(len=*), intent(in) :: name
    integer(int32), intent(in) :: shape(:)
    type(couplet_area), intent(out) :: area
    integer(c_int32_t), intent(in), optional :: type
    logical, intent(in), optional :: stamped
    integer, intent(out), optional :: ierr
    call create_area_int64(universe, name, int(shape, int64), area, type, stamped, ierr)
  end subroutine

  subroutine make_area(universe, name, shape, element, memory, area, stamped, ierr)
    class(couplet_universe), intent(in) :: universe
    character(len=*), intent(in) :: name
    integer(int64), intent(in) :: shape(:)
    integer(c_int32_t), intent(in) :: element
    type(c_ptr), intent(in) :: memory
    type(couplet_area), intent(inout) :: area
    logical, intent(in), optional :: stamped
    integer, intent(out), optional :: ierr
    type(c_area_options) :: options
    type(c_string), target :: text
    call c_area_options_init(options)
    options%memory = memory
    if (present(stamped)) options%stamped = merge(1, 0, stamped)
    call conclude(c_area_create(universe%handle, to_c(text%letters, name), element, size(shape, kind=c_int32_t), &
                                shape(size(shape):1:-1), options, area%handle), ierr)
  end subroutine

#define TEMPLATE "universes_of_kind.inc"
#include "for_each_kind.inc"
end module
