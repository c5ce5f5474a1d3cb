! The C interface as Fortran sees it: constants, structs and functions of couplet.h, one to one, for the other modules here.
! User code uses module couplet. Neighbours: couplet_errors and everything else of this folder is above, libcouplet below.
! Only pointers and scalars cross: no compiler's array descriptor reaches the library. Tests: tests/languages.
module couplet_binding
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer(c_int32_t), parameter :: couplet_byte = 0, couplet_int8 = 1, couplet_int16 = 2, couplet_int32 = 3, couplet_int64 = 4
  integer(c_int32_t), parameter :: couplet_uint8 = 5, couplet_uint16 = 6, couplet_uint32 = 7, couplet_uint64 = 8
  integer(c_int32_t), parameter :: couplet_real32 = 9, couplet_real64 = 10, couplet_complex32 = 11, couplet_complex64 = 12

  integer, parameter :: couplet_any_source = -1, couplet_any_tag = -1
  integer, parameter :: couplet_hold = 0, couplet_follow = 1
  integer, parameter :: couplet_from_oldest = 0, couplet_from_newest = 1, couplet_from_next = 2, couplet_from_step = 3
  integer, parameter :: couplet_beyond_wait = 0, couplet_beyond_error = 1
  integer, parameter :: couplet_requester = 0, couplet_worker = 1, couplet_coupler = 2
  integer, parameter :: couplet_task_fail = 0, couplet_task_retry = 1
  integer, parameter :: couplet_first_idle = 0, couplet_round_robin = 1
  integer, parameter :: couplet_any_worker = -1
  integer, parameter :: couplet_max_dimensions = 8

  type, bind(c) :: c_join_options
    integer(c_size_t) :: struct_bytes
    integer(c_int32_t) :: rank, size
    type(c_ptr) :: hub, secret_file
    real(c_double) :: timeout_s
    integer(c_int32_t) :: threads, reserved
  end type

  type, bind(c) :: c_message
    integer(c_int32_t) :: source, tag
    integer(c_int64_t) :: bytes, count
  end type

  type, bind(c) :: c_series_options
    integer(c_size_t) :: struct_bytes
    integer(c_int64_t) :: slots, memory_bytes
    type(c_ptr) :: required_readers
    real(c_double) :: required_timeout_s, wait_timeout_s, evict_after_held_s
    type(c_ptr) :: group
    integer(c_int64_t) :: holders
    integer(c_int32_t) :: collective, reserved
  end type

  type, bind(c) :: c_open_options
    integer(c_size_t) :: struct_bytes
    type(c_ptr) :: start, stop
    integer(c_int32_t) :: dimensions, mode, from, local
    integer(c_int64_t) :: from_step
    integer(c_int32_t) :: type, reserved
    type(c_ptr) :: group
    real(c_double) :: timeout_s
    integer(c_int64_t) :: buffer_bytes, every
    integer(c_int32_t) :: latest, torn
    type(c_ptr) :: fields
    integer(c_int32_t) :: field_count, reserved2
    real(c_double) :: interval
    type(c_ptr) :: weights
    integer(c_int32_t) :: beyond_newest, reserved3
  end type

  type, bind(c) :: c_weights
    integer(c_size_t) :: struct_bytes
    integer(c_int64_t) :: rows, source_points
    type(c_ptr) :: row_offsets, sources, weights, source_mask
    real(c_double) :: fill
  end type

  type, bind(c) :: c_field
    integer(c_size_t) :: struct_bytes
    type(c_ptr) :: name
    integer(c_int32_t) :: type, dimensions
    type(c_ptr) :: shape, start, stop
    integer(c_int32_t) :: box_count, reserved
  end type

  type, bind(c) :: c_choice
    integer(c_size_t) :: struct_bytes
    type(c_ptr) :: name, start, stop
    integer(c_int32_t) :: dimensions, type
  end type

  type, bind(c) :: c_array
    type(c_ptr) :: data, strides
    integer(c_int64_t) :: bytes
  end type

  type, bind(c) :: c_field_data
    type(c_ptr) :: data
    integer(c_int64_t) :: step_bytes
  end type

  type, bind(c) :: c_field_info
    integer(c_size_t) :: struct_bytes
    type(c_ptr) :: name
    integer(c_int32_t) :: type, dimensions
    type(c_ptr) :: shape, start, stop
    integer(c_int32_t) :: box_count, reserved
    integer(c_int64_t) :: step_bytes
  end type

  type, bind(c) :: c_series_waits
    integer(c_size_t) :: struct_bytes
    integer(c_int64_t) :: count, total_ns, last_ns, longest_ns
    type(c_ptr) :: last_for, longest_for
    integer(c_int32_t) :: last_rank, longest_rank
  end type

  type, bind(c) :: c_batch
    integer(c_size_t) :: struct_bytes
    integer(c_int64_t) :: count
    type(c_ptr) :: data
    integer(c_int64_t) :: step_bytes
    type(c_ptr) :: steps, ordinals
    integer(c_int64_t) :: lost, incarnation
    type(c_ptr) :: torn, times, fields
    integer(c_int64_t) :: field_count
  end type

  type, bind(c) :: c_series_info
    integer(c_size_t) :: struct_bytes
    type(c_ptr) :: name, program, route
    integer(c_int32_t) :: type, dimensions
    integer(c_int64_t) :: shape(couplet_max_dimensions), start(couplet_max_dimensions), stop(couplet_max_dimensions)
    integer(c_int64_t) :: step_bytes, slots
    integer(c_int32_t) :: writers, field_count
  end type

  type, bind(c) :: c_series_statistics
    integer(c_size_t) :: struct_bytes
    integer(c_int64_t) :: published, first, delivered, lost, lost_torn, skipped, pending, delivered_torn
    integer(c_int64_t) :: calls, largest_batch, bytes, copy_ns, held_ns, library_ns
  end type

  type, bind(c) :: c_task_options
    integer(c_size_t) :: struct_bytes
    integer(c_int32_t) :: role, worker_id, group_size, on_lost, policy, reserved
    integer(c_int64_t) :: queue_limit
    type(c_ptr) :: couplers, requesters, workers
  end type

  type, bind(c) :: c_task_info
    integer(c_size_t) :: struct_bytes
    integer(c_int64_t) :: id
    integer(c_int32_t) :: source, worker
    type(c_ptr) :: parameters, payload
    integer(c_int64_t) :: payload_count
    integer(c_int32_t) :: parameter_count, type
  end type

  type, bind(c) :: c_task_expectation
    integer(c_size_t) :: struct_bytes
    integer(c_int64_t) :: parameter_count, payload_count
    integer(c_int32_t) :: type, reserved
  end type

  type, bind(c) :: c_area_options
    integer(c_size_t) :: struct_bytes
    type(c_ptr) :: memory
    integer(c_int32_t) :: stamped, reserved
  end type

  type, bind(c) :: c_area_info
    integer(c_size_t) :: struct_bytes
    type(c_ptr) :: name, route, memory
    integer(c_int32_t) :: type, dimensions
    integer(c_int64_t) :: shape(couplet_max_dimensions)
    integer(c_int32_t) :: owner, stamped
  end type

  interface
    function c_status_name(status) bind(c, name="couplet_status_name") result(text)
      import :: c_ptr, c_int32_t
      integer(c_int32_t), value :: status
      type(c_ptr) :: text
    end function
    function c_error_text() bind(c, name="couplet_error_text") result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function
    function c_version() bind(c, name="couplet_version") result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function
    function c_type_bytes(type) bind(c, name="couplet_type_bytes") result(bytes)
      import :: c_int32_t, c_size_t
      integer(c_int32_t), value :: type
      integer(c_size_t) :: bytes
    end function

    subroutine c_join_options_init(options) bind(c, name="couplet_join_options_init")
      import :: c_join_options
      type(c_join_options), intent(out) :: options
    end subroutine
    function c_join(program, options, universe) bind(c, name="couplet_join") result(status)
      import :: c_ptr, c_int32_t, c_join_options
      type(c_ptr), value :: program
      type(c_join_options), intent(in) :: options
      type(c_ptr), intent(inout) :: universe
      integer(c_int32_t) :: status
    end function
    function c_leave(universe) bind(c, name="couplet_leave") result(status)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: universe
      integer(c_int32_t) :: status
    end function
    function c_universe_rank(universe, rank, size) bind(c, name="couplet_universe_rank") result(status)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: universe
      integer(c_int32_t), intent(inout) :: rank, size
      integer(c_int32_t) :: status
    end function
    function c_universe_program(universe, program_count, program, rank, size) bind(c, name="couplet_universe_program") &
        result(status)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: universe
      integer(c_int32_t), intent(inout) :: program_count, program, rank, size
      integer(c_int32_t) :: status
    end function
    function c_program_info(universe, program, name, size, first_rank) bind(c, name="couplet_program_info") result(status)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: universe
      integer(c_int32_t), value :: program
      type(c_ptr), intent(inout) :: name
      integer(c_int32_t), intent(inout) :: size, first_rank
      integer(c_int32_t) :: status
    end function
    function c_find_rank(universe, name, rank, universe_rank) bind(c, name="couplet_find_rank") result(status)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: universe, name
      integer(c_int32_t), value :: rank
      integer(c_int32_t), intent(inout) :: universe_rank
      integer(c_int32_t) :: status
    end function
    function c_progress(universe) bind(c, name="couplet_progress") result(status)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: universe
      integer(c_int32_t) :: status
    end function
    function c_explain(universe, text, bytes, needed) bind(c, name="couplet_explain") result(status)
      import :: c_ptr, c_int32_t, c_size_t
      type(c_ptr), value :: universe, text
      integer(c_size_t), value :: bytes
      integer(c_size_t), intent(inout) :: needed
      integer(c_int32_t) :: status
    end function

    function c_universe_group(universe, group) bind(c, name="couplet_universe_group") result(status)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: universe
      type(c_ptr), intent(inout) :: group
      integer(c_int32_t) :: status
    end function
    function c_program_group(universe, group) bind(c, name="couplet_program_group") result(status)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: universe
      type(c_ptr), intent(inout) :: group
      integer(c_int32_t) :: status
    end function
    function c_group_create(universe, name, ranks, count, group) bind(c, name="couplet_group_create") result(status)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: universe, name
      integer(c_int32_t), intent(in) :: ranks(*)
      integer(c_int32_t), value :: count
      type(c_ptr), intent(inout) :: group
      integer(c_int32_t) :: status
    end function
    function c_group_rank(group, rank, size) bind(c, name="couplet_group_rank") result(status)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: group
      integer(c_int32_t), intent(inout) :: rank, size
      integer(c_int32_t) :: status
    end function
    function c_group_free(group) bind(c, name="couplet_group_free") result(status)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: group
      integer(c_int32_t) :: status
    end function

    function c_send(group, data, count, type, target, tag) bind(c, name="couplet_send") result(status)
      import :: c_ptr, c_int32_t, c_int64_t
      type(c_ptr), value :: group, data
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: type, target, tag
      integer(c_int32_t) :: status
    end function
    function c_recv(group, data, count, type, source, tag, message) bind(c, name="couplet_recv") result(status)
      import :: c_ptr, c_int32_t, c_int64_t, c_message
      type(c_ptr), value :: group, data
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: type, source, tag
      type(c_message), intent(inout) :: message
      integer(c_int32_t) :: status
    end function
    function c_isend(group, data, count, type, target, tag, request) bind(c, name="couplet_isend") result(status)
      import :: c_ptr, c_int32_t, c_int64_t
      type(c_ptr), value :: group, data
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: type, target, tag
      type(c_ptr), intent(inout) :: request
      integer(c_int32_t) :: status
    end function
    function c_irecv(group, data, count, type, source, tag, request) bind(c, name="couplet_irecv") result(status)
      import :: c_ptr, c_int32_t, c_int64_t
      type(c_ptr), value :: group, data
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: type, source, tag
      type(c_ptr), intent(inout) :: request
      integer(c_int32_t) :: status
    end function
    function c_wait(request, timeout_s, message) bind(c, name="couplet_wait") result(status)
      import :: c_ptr, c_int32_t, c_double, c_message
      type(c_ptr), intent(inout) :: request
      real(c_double), value :: timeout_s
      type(c_message), intent(inout) :: message
      integer(c_int32_t) :: status
    end function
    function c_test(request, done, message) bind(c, name="couplet_test") result(status)
      import :: c_ptr, c_int32_t, c_message
      type(c_ptr), intent(inout) :: request
      integer(c_int32_t), intent(inout) :: done
      type(c_message), intent(inout) :: message
      integer(c_int32_t) :: status
    end function
    function c_waitall(count, requests, timeout_s, statuses, messages) bind(c, name="couplet_waitall") result(status)
      import :: c_ptr, c_int32_t, c_double, c_message
      integer(c_int32_t), value :: count
      type(c_ptr), intent(inout) :: requests(*)
      real(c_double), value :: timeout_s
      integer(c_int32_t), intent(inout) :: statuses(*)
      type(c_message), intent(inout) :: messages(*)
      integer(c_int32_t) :: status
    end function
    function c_waitany(count, requests, timeout_s, index, message) bind(c, name="couplet_waitany") result(status)
      import :: c_ptr, c_int32_t, c_double, c_message
      integer(c_int32_t), value :: count
      type(c_ptr), intent(inout) :: requests(*)
      real(c_double), value :: timeout_s
      integer(c_int32_t), intent(inout) :: index
      type(c_message), intent(inout) :: message
      integer(c_int32_t) :: status
    end function

    include "series_interfaces.inc"

    subroutine c_task_options_init(options) bind(c, name="couplet_task_options_init")
      import :: c_task_options
      type(c_task_options), intent(out) :: options
    end subroutine
    subroutine c_task_expectation_init(expectation) bind(c, name="couplet_task_expectation_init")
      import :: c_task_expectation
      type(c_task_expectation), intent(out) :: expectation
    end subroutine
    function c_task_open(universe, name, options, tasks) bind(c, name="couplet_task_open") result(status)
      import :: c_int32_t, c_ptr, c_task_options
      type(c_ptr), value :: universe, name
      type(c_task_options), intent(in) :: options
      type(c_ptr), intent(inout) :: tasks
      integer(c_int32_t) :: status
    end function
    function c_task_close(tasks) bind(c, name="couplet_task_close") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: tasks
      integer(c_int32_t) :: status
    end function
    function c_task_submit(tasks, worker, parameters, parameter_count, payload, payload_count, type, timeout_s, task) &
        bind(c, name="couplet_task_submit") result(status)
      import :: c_double, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: tasks, payload, task
      integer(c_int32_t), value :: worker, parameter_count, type
      integer(c_int64_t), intent(in) :: parameters(*)
      integer(c_int64_t), value :: payload_count
      real(c_double), value :: timeout_s
      integer(c_int32_t) :: status
    end function
    function c_task_wait(task, timeout_s) bind(c, name="couplet_task_wait") result(status)
      import :: c_double, c_int32_t, c_ptr
      type(c_ptr), intent(inout) :: task
      real(c_double), value :: timeout_s
      integer(c_int32_t) :: status
    end function
    function c_task_test(task, done) bind(c, name="couplet_task_test") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), intent(inout) :: task
      integer(c_int32_t), intent(inout) :: done
      integer(c_int32_t) :: status
    end function
    function c_task_waitany(count, tasks, timeout_s, index) bind(c, name="couplet_task_waitany") result(status)
      import :: c_double, c_int32_t, c_ptr
      integer(c_int32_t), value :: count
      type(c_ptr), intent(inout) :: tasks(*)
      real(c_double), value :: timeout_s
      integer(c_int32_t), intent(inout) :: index
      integer(c_int32_t) :: status
    end function
    function c_task_next(tasks, expected, timeout_s, info) bind(c, name="couplet_task_next") result(status)
      import :: c_double, c_int32_t, c_ptr, c_task_expectation, c_task_info
      type(c_ptr), value :: tasks
      type(c_task_expectation), intent(in) :: expected
      real(c_double), value :: timeout_s
      type(c_task_info), intent(inout) :: info
      integer(c_int32_t) :: status
    end function
    function c_task_complete(tasks, id, outcome, text) bind(c, name="couplet_task_complete") result(status)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: tasks, text
      integer(c_int64_t), value :: id
      integer(c_int32_t), value :: outcome
      integer(c_int32_t) :: status
    end function
    function c_task_dispatch(tasks, id, worker, parameters, parameter_count, payload, payload_count, type) &
        bind(c, name="couplet_task_dispatch") result(status)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: tasks, payload
      integer(c_int64_t), value :: id, payload_count
      integer(c_int32_t), value :: worker, parameter_count, type
      integer(c_int64_t), intent(in) :: parameters(*)
      integer(c_int32_t) :: status
    end function
    function c_task_run(tasks, timeout_s) bind(c, name="couplet_task_run") result(status)
      import :: c_double, c_int32_t, c_ptr
      type(c_ptr), value :: tasks
      real(c_double), value :: timeout_s
      integer(c_int32_t) :: status
    end function

    subroutine c_area_options_init(options) bind(c, name="couplet_area_options_init")
      import :: c_area_options
      type(c_area_options), intent(out) :: options
    end subroutine
    function c_area_create(universe, name, type, dimensions, shape, options, area) &
        bind(c, name="couplet_area_create") result(status)
      import :: c_area_options, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: universe, name
      integer(c_int32_t), value :: type, dimensions
      integer(c_int64_t), intent(in) :: shape(*)
      type(c_area_options), intent(in) :: options
      type(c_ptr), intent(inout) :: area
      integer(c_int32_t) :: status
    end function
    function c_area_open(universe, name, owner, timeout_s, area) bind(c, name="couplet_area_open") result(status)
      import :: c_double, c_int32_t, c_ptr
      type(c_ptr), value :: universe, name
      integer(c_int32_t), value :: owner
      real(c_double), value :: timeout_s
      type(c_ptr), intent(inout) :: area
      integer(c_int32_t) :: status
    end function
    function c_area_read(area, offset, count, data, timeout_s, stamp) bind(c, name="couplet_area_read") result(status)
      import :: c_double, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: area, data
      integer(c_int64_t), value :: offset, count
      real(c_double), value :: timeout_s
      integer(c_int64_t), intent(inout) :: stamp
      integer(c_int32_t) :: status
    end function
    function c_area_write(area, offset, count, data, timeout_s, stamp) bind(c, name="couplet_area_write") result(status)
      import :: c_double, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: area, data
      integer(c_int64_t), value :: offset, count
      real(c_double), value :: timeout_s
      integer(c_int64_t), intent(inout) :: stamp
      integer(c_int32_t) :: status
    end function
    function c_area_read_box(area, start, stop, data, timeout_s, stamp) bind(c, name="couplet_area_read_box") result(status)
      import :: c_double, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: area, data
      integer(c_int64_t), intent(in) :: start(*), stop(*)
      real(c_double), value :: timeout_s
      integer(c_int64_t), intent(inout) :: stamp
      integer(c_int32_t) :: status
    end function
    function c_area_write_box(area, start, stop, data, timeout_s, stamp) bind(c, name="couplet_area_write_box") result(status)
      import :: c_double, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: area, data
      integer(c_int64_t), intent(in) :: start(*), stop(*)
      real(c_double), value :: timeout_s
      integer(c_int64_t), intent(inout) :: stamp
      integer(c_int32_t) :: status
    end function
    function c_area_begin(area, timeout_s) bind(c, name="couplet_area_begin") result(status)
      import :: c_double, c_int32_t, c_ptr
      type(c_ptr), value :: area
      real(c_double), value :: timeout_s
      integer(c_int32_t) :: status
    end function
    function c_area_end(area) bind(c, name="couplet_area_end") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: area
      integer(c_int32_t) :: status
    end function
    function c_area_describe(area, info) bind(c, name="couplet_area_describe") result(status)
      import :: c_area_info, c_int32_t, c_ptr
      type(c_ptr), value :: area
      type(c_area_info), intent(inout) :: info
      integer(c_int32_t) :: status
    end function
    function c_area_close(area) bind(c, name="couplet_area_close") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: area
      integer(c_int32_t) :: status
    end function

    function c_strlen(text) bind(c, name="strlen") result(length)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
  end interface

contains

  ! A C string as a Fortran one; empty for NULL.
  function from_c(text) result(string)
    type(c_ptr), intent(in) :: text
    character(len=:), allocatable :: string
    character(kind=c_char), pointer :: letters(:)
    integer :: i, length
    length = 0
    if (c_associated(text)) length = int(c_strlen(text))
    allocate (character(len=length) :: string)
    if (length == 0) return
    call c_f_pointer(text, letters, [length])
    do i = 1, length
      string(i:i) = letters(i)
    end do
  end function

  ! Lays a Fortran string down as a C one in `buffer`, which has to outlive the pointer; NULL for an absent or empty one.
  function to_c(buffer, string) result(text)
    character(kind=c_char), allocatable, target, intent(inout) :: buffer(:)
    character(len=*), intent(in), optional :: string
    type(c_ptr) :: text
    integer :: i, length
    text = c_null_ptr
    if (.not. present(string)) return
    length = len_trim(string)
    if (length == 0) return
    allocate (buffer(length + 1))
    do i = 1, length
      buffer(i) = string(i:i)
    end do
    buffer(length + 1) = c_null_char
    text = c_loc(buffer)
  end function
end module
