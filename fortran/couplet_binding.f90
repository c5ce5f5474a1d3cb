! The structs and functions of the C interface, one to one, for the modules here. User code uses couplet.
! Only pointers and scalars cross: no array descriptor of a compiler reaches C. Tests: tests/languages.
! Written by tools/generate from the headers in include/couplet: do not edit (make generate).
module couplet_binding_module
  use, intrinsic :: iso_c_binding
  use couplet_constants_module
  use couplet_texts_module
  implicit none
  public

  type, bind(c) :: c_join_options
    integer(c_size_t) :: struct_bytes
    integer(c_int32_t) :: rank
    integer(c_int32_t) :: size
    type(c_ptr) :: hub
    type(c_ptr) :: secret_file
    real(c_double) :: timeout_s
    integer(c_int32_t) :: threads
    integer(c_int32_t) :: reserved
  end type

  type, bind(c) :: c_message
    integer(c_int32_t) :: source
    integer(c_int32_t) :: tag
    integer(c_int64_t) :: bytes
    integer(c_int64_t) :: count
  end type

  type, bind(c) :: c_collective_options
    integer(c_size_t) :: struct_bytes
    real(c_double) :: timeout_s
    integer(c_int32_t) :: method
    integer(c_int32_t) :: reserved
    integer(c_int64_t) :: data_size
    integer(c_int64_t) :: result_size
    integer(c_int64_t) :: counts_size
  end type

  type, bind(c) :: c_exchange_options
    integer(c_size_t) :: struct_bytes
    type(c_ptr) :: method
    real(c_double) :: timeout_s
  end type

  type, bind(c) :: c_exchange_edge
    integer(c_size_t) :: struct_bytes
    type(c_ptr) :: title
    integer(c_int64_t) :: tag
    integer(c_int64_t) :: every
    integer(c_int64_t) :: offset
    integer(c_int32_t) :: peer
    integer(c_int32_t) :: is_variable
  end type

  type, bind(c) :: c_grid
    integer(c_size_t) :: struct_bytes
    integer(c_int32_t) :: dimensions
    integer(c_int32_t) :: numbering
    integer(c_int64_t) :: cells(couplet_grid_max_dimensions)
    integer(c_int32_t) :: blocks(couplet_grid_max_dimensions)
    integer(c_int32_t) :: periodic(couplet_grid_max_dimensions)
    type(c_ptr) :: block_cells
  end type

  type, bind(c) :: c_halo_options
    integer(c_size_t) :: struct_bytes
    type(c_ptr) :: method
    real(c_double) :: timeout_s
    integer(c_int32_t) :: has_widths
    integer(c_int32_t) :: reserved
  end type

  type, bind(c) :: c_halo_field
    integer(c_size_t) :: struct_bytes
    type(c_ptr) :: name
    type(c_ptr) :: data
    integer(c_int32_t) :: type
    integer(c_int32_t) :: corners
    integer(c_int64_t) :: shape(couplet_grid_max_dimensions)
    integer(c_int64_t) :: stride_bytes(couplet_grid_max_dimensions)
    integer(c_int64_t) :: first(couplet_grid_max_dimensions)
    integer(c_int64_t) :: below(couplet_grid_max_dimensions)
    integer(c_int64_t) :: above(couplet_grid_max_dimensions)
    integer(c_int32_t) :: staggered(couplet_grid_max_dimensions)
    integer(c_int64_t) :: components
    integer(c_int64_t) :: component_stride_bytes
  end type

  type, bind(c) :: c_halo_indices
    integer(c_size_t) :: struct_bytes
    type(c_ptr) :: owned
    type(c_ptr) :: ghosts
    type(c_ptr) :: owners
    type(c_ptr) :: places
    integer(c_int64_t) :: owned_count
    integer(c_int64_t) :: ghost_count
    integer(c_int64_t) :: base
  end type

  type, bind(c) :: c_coalesce_options
    integer(c_size_t) :: struct_bytes
    type(c_ptr) :: method
    real(c_double) :: timeout_s
    integer(c_int32_t) :: phase_count
    integer(c_int32_t) :: merge_waits
    integer(c_int32_t) :: merge_messages
    integer(c_int64_t) :: max_events
  end type

  type, bind(c) :: c_coalesce_moment
    integer(c_size_t) :: struct_bytes
    integer(c_int64_t) :: round
    integer(c_int32_t) :: phase
    integer(c_int32_t) :: peer
  end type

  type, bind(c) :: c_coalesce_client
    integer(c_size_t) :: struct_bytes
    type(c_ptr) :: name
    type(c_funptr) :: fill
    type(c_funptr) :: overlap
    type(c_funptr) :: arrived
    type(c_funptr) :: use
    type(c_funptr) :: end_round
    type(c_ptr) :: context
  end type

  type, bind(c) :: c_coalesce_request
    integer(c_size_t) :: struct_bytes
    type(c_ptr) :: title
    integer(c_int64_t) :: tag
    integer(c_int64_t) :: every
    integer(c_int64_t) :: offset
    integer(c_int32_t) :: peer
    integer(c_int32_t) :: phase
    integer(c_int32_t) :: is_variable
    integer(c_int32_t) :: is_optional
  end type

  type, bind(c) :: c_coalesce_phased
    integer(c_size_t) :: struct_bytes
    type(c_ptr) :: name
    type(c_funptr) :: give
    type(c_funptr) :: take
    type(c_ptr) :: context
    integer(c_int64_t) :: every
    integer(c_int32_t) :: phase
    integer(c_int32_t) :: root
    integer(c_int32_t) :: arity
  end type

  type, bind(c) :: c_series_create_options
    integer(c_size_t) :: struct_bytes
    integer(c_int64_t) :: slots
    integer(c_int64_t) :: memory_bytes
    type(c_ptr) :: required_readers
    real(c_double) :: required_timeout_s
    real(c_double) :: wait_timeout_s
    real(c_double) :: evict_after_held_s
    type(c_ptr) :: group
    integer(c_int64_t) :: holders
    integer(c_int32_t) :: collective
    integer(c_int32_t) :: reserved
  end type

  type, bind(c) :: c_series_field
    integer(c_size_t) :: struct_bytes
    type(c_ptr) :: name
    integer(c_int32_t) :: type
    integer(c_int32_t) :: dimensions
    type(c_ptr) :: shape
    type(c_ptr) :: start
    type(c_ptr) :: stop
    integer(c_int32_t) :: box_count
    integer(c_int32_t) :: reserved
  end type

  type, bind(c) :: c_series_array
    type(c_ptr) :: data
    type(c_ptr) :: strides
    integer(c_int64_t) :: bytes
  end type

  type, bind(c) :: c_series_choice
    integer(c_size_t) :: struct_bytes
    type(c_ptr) :: name
    type(c_ptr) :: start
    type(c_ptr) :: stop
    integer(c_int32_t) :: dimensions
    integer(c_int32_t) :: type
  end type

  type, bind(c) :: c_series_weights
    integer(c_size_t) :: struct_bytes
    integer(c_int64_t) :: rows
    integer(c_int64_t) :: source_points
    type(c_ptr) :: row_offsets
    type(c_ptr) :: sources
    type(c_ptr) :: weights
    type(c_ptr) :: source_mask
    real(c_double) :: fill
  end type

  type, bind(c) :: c_series_open_options
    integer(c_size_t) :: struct_bytes
    type(c_ptr) :: start
    type(c_ptr) :: stop
    integer(c_int32_t) :: dimensions
    integer(c_int32_t) :: mode
    integer(c_int32_t) :: from
    integer(c_int32_t) :: local
    integer(c_int64_t) :: from_step
    integer(c_int32_t) :: type
    integer(c_int32_t) :: reserved
    type(c_ptr) :: group
    real(c_double) :: timeout_s
    integer(c_int64_t) :: buffer_bytes
    integer(c_int64_t) :: every
    integer(c_int32_t) :: latest
    integer(c_int32_t) :: torn
    type(c_ptr) :: fields
    integer(c_int32_t) :: field_count
    integer(c_int32_t) :: reserved2
    real(c_double) :: interval
    type(c_ptr) :: weights
    integer(c_int32_t) :: beyond_newest
    integer(c_int32_t) :: reserved3
    integer(c_int64_t) :: up_to_bytes
  end type

  type, bind(c) :: c_series_field_data
    type(c_ptr) :: data
    integer(c_int64_t) :: step_bytes
  end type

  type, bind(c) :: c_series_batch
    integer(c_size_t) :: struct_bytes
    integer(c_int64_t) :: count
    type(c_ptr) :: data
    integer(c_int64_t) :: step_bytes
    type(c_ptr) :: steps
    type(c_ptr) :: ordinals
    integer(c_int64_t) :: lost
    integer(c_int64_t) :: incarnation
    type(c_ptr) :: torn
    type(c_ptr) :: times
    type(c_ptr) :: fields
    integer(c_int64_t) :: field_count
  end type

  type, bind(c) :: c_series_info
    integer(c_size_t) :: struct_bytes
    type(c_ptr) :: name
    type(c_ptr) :: program
    type(c_ptr) :: route
    integer(c_int32_t) :: type
    integer(c_int32_t) :: dimensions
    integer(c_int64_t) :: shape(couplet_max_dimensions)
    integer(c_int64_t) :: start(couplet_max_dimensions)
    integer(c_int64_t) :: stop(couplet_max_dimensions)
    integer(c_int64_t) :: step_bytes
    integer(c_int64_t) :: slots
    integer(c_int32_t) :: writers
    integer(c_int32_t) :: field_count
  end type

  type, bind(c) :: c_series_field_info
    integer(c_size_t) :: struct_bytes
    type(c_ptr) :: name
    integer(c_int32_t) :: type
    integer(c_int32_t) :: dimensions
    type(c_ptr) :: shape
    type(c_ptr) :: start
    type(c_ptr) :: stop
    integer(c_int32_t) :: box_count
    integer(c_int32_t) :: reserved
    integer(c_int64_t) :: step_bytes
  end type

  type, bind(c) :: c_series_statistics
    integer(c_size_t) :: struct_bytes
    integer(c_int64_t) :: published
    integer(c_int64_t) :: first
    integer(c_int64_t) :: delivered
    integer(c_int64_t) :: lost
    integer(c_int64_t) :: lost_torn
    integer(c_int64_t) :: skipped
    integer(c_int64_t) :: pending
    integer(c_int64_t) :: delivered_torn
    integer(c_int64_t) :: calls
    integer(c_int64_t) :: largest_batch
    integer(c_int64_t) :: bytes
    integer(c_int64_t) :: copy_ns
    integer(c_int64_t) :: held_ns
    integer(c_int64_t) :: library_ns
  end type

  type, bind(c) :: c_series_waits
    integer(c_size_t) :: struct_bytes
    integer(c_int64_t) :: count
    integer(c_int64_t) :: total_ns
    integer(c_int64_t) :: last_ns
    integer(c_int64_t) :: longest_ns
    type(c_ptr) :: last_for
    type(c_ptr) :: longest_for
    integer(c_int32_t) :: last_rank
    integer(c_int32_t) :: longest_rank
  end type

  type, bind(c) :: c_tasks_options
    integer(c_size_t) :: struct_bytes
    integer(c_int32_t) :: role
    integer(c_int32_t) :: worker_id
    integer(c_int32_t) :: group_size
    integer(c_int32_t) :: on_lost
    integer(c_int32_t) :: policy
    integer(c_int32_t) :: reserved
    integer(c_int64_t) :: queue_limit
    type(c_ptr) :: couplers
    type(c_ptr) :: requesters
    type(c_ptr) :: workers
  end type

  type, bind(c) :: c_task_info
    integer(c_size_t) :: struct_bytes
    integer(c_int64_t) :: id
    integer(c_int32_t) :: source
    integer(c_int32_t) :: worker
    type(c_ptr) :: parameters
    type(c_ptr) :: payload
    integer(c_int64_t) :: payload_count
    integer(c_int32_t) :: parameter_count
    integer(c_int32_t) :: type
  end type

  type, bind(c) :: c_task_expectation
    integer(c_size_t) :: struct_bytes
    integer(c_int64_t) :: parameter_count
    integer(c_int64_t) :: payload_count
    integer(c_int32_t) :: type
    integer(c_int32_t) :: reserved
  end type

  type, bind(c) :: c_area_options
    integer(c_size_t) :: struct_bytes
    type(c_ptr) :: memory
    integer(c_int32_t) :: stamped
    integer(c_int32_t) :: reserved
  end type

  type, bind(c) :: c_area_info
    integer(c_size_t) :: struct_bytes
    type(c_ptr) :: name
    type(c_ptr) :: route
    type(c_ptr) :: memory
    integer(c_int32_t) :: type
    integer(c_int32_t) :: dimensions
    integer(c_int64_t) :: shape(couplet_max_dimensions)
    integer(c_int32_t) :: owner
    integer(c_int32_t) :: stamped
  end type

  type, bind(c) :: c_awaited
    type(c_ptr) :: series
    type(c_ptr) :: group
    type(c_ptr) :: request
    type(c_ptr) :: task
    integer(c_int64_t) :: at_least
    integer(c_int32_t) :: source
    integer(c_int32_t) :: tag
    integer(c_int64_t) :: reserved
  end type

  interface
    function c_type_bytes(type) bind(c, name="couplet_type_bytes") result(bytes)
      import :: c_int32_t, c_size_t
      integer(c_int32_t), value :: type
      integer(c_size_t) :: bytes
    end function
    function c_version() bind(c, name="couplet_version") result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function
    function c_status_name(status) bind(c, name="couplet_status_name") result(text)
      import :: c_int32_t, c_ptr
      integer(c_int32_t), value :: status
      type(c_ptr) :: text
    end function
    function c_error_text() bind(c, name="couplet_error_text") result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function
    function c_type_create_contiguous(count, of, made) bind(c, name="couplet_type_create_contiguous") result(status)
      import :: c_int32_t, c_int64_t
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: of
      integer(c_int32_t), intent(inout) :: made
      integer(c_int32_t) :: status
    end function
    function c_type_create_vector(count, block, stride, of, made) bind(c, name="couplet_type_create_vector") &
        result(status)
      import :: c_int32_t, c_int64_t
      integer(c_int64_t), value :: count
      integer(c_int64_t), value :: block
      integer(c_int64_t), value :: stride
      integer(c_int32_t), value :: of
      integer(c_int32_t), intent(inout) :: made
      integer(c_int32_t) :: status
    end function
    function c_type_create_indexed(count, blocks, displacements, of, made) &
        bind(c, name="couplet_type_create_indexed") result(status)
      import :: c_int32_t, c_int64_t
      integer(c_int64_t), value :: count
      integer(c_int64_t), intent(in) :: blocks(*)
      integer(c_int64_t), intent(in) :: displacements(*)
      integer(c_int32_t), value :: of
      integer(c_int32_t), intent(inout) :: made
      integer(c_int32_t) :: status
    end function
    function c_type_create_subarray(dimensions, sizes, subsizes, starts, of, made) &
        bind(c, name="couplet_type_create_subarray") result(status)
      import :: c_int32_t, c_int64_t
      integer(c_int32_t), value :: dimensions
      integer(c_int64_t), intent(in) :: sizes(*)
      integer(c_int64_t), intent(in) :: subsizes(*)
      integer(c_int64_t), intent(in) :: starts(*)
      integer(c_int32_t), value :: of
      integer(c_int32_t), intent(inout) :: made
      integer(c_int32_t) :: status
    end function
    function c_type_create_struct(count, blocks, displacements, types, made) &
        bind(c, name="couplet_type_create_struct") result(status)
      import :: c_int32_t, c_int64_t
      integer(c_int64_t), value :: count
      integer(c_int64_t), intent(in) :: blocks(*)
      integer(c_int64_t), intent(in) :: displacements(*)
      integer(c_int32_t), intent(in) :: types(*)
      integer(c_int32_t), intent(inout) :: made
      integer(c_int32_t) :: status
    end function
    function c_type_create_resized(of, lower_bound, extent, made) bind(c, name="couplet_type_create_resized") &
        result(status)
      import :: c_int32_t, c_int64_t
      integer(c_int32_t), value :: of
      integer(c_int64_t), value :: lower_bound
      integer(c_int64_t), value :: extent
      integer(c_int32_t), intent(inout) :: made
      integer(c_int32_t) :: status
    end function
    function c_type_extent(type, lower_bound, extent) bind(c, name="couplet_type_extent") result(status)
      import :: c_int32_t, c_int64_t
      integer(c_int32_t), value :: type
      integer(c_int64_t), intent(inout) :: lower_bound
      integer(c_int64_t), intent(inout) :: extent
      integer(c_int32_t) :: status
    end function
    function c_type_free(type) bind(c, name="couplet_type_free") result(status)
      import :: c_int32_t
      integer(c_int32_t), intent(inout) :: type
      integer(c_int32_t) :: status
    end function
    subroutine c_join_options_init(options) bind(c, name="couplet_join_options_init")
      import :: c_join_options
      type(c_join_options), intent(out) :: options
    end subroutine
    function c_join(program, options, universe) bind(c, name="couplet_join") result(status)
      import :: c_int32_t, c_join_options, c_ptr
      type(c_ptr), value :: program
      type(c_join_options), intent(in) :: options
      type(c_ptr), intent(inout) :: universe
      integer(c_int32_t) :: status
    end function
    function c_leave(universe) bind(c, name="couplet_leave") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: universe
      integer(c_int32_t) :: status
    end function
    function c_universe_rank(universe, rank, size) bind(c, name="couplet_universe_rank") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: universe
      integer(c_int32_t), intent(inout) :: rank
      integer(c_int32_t), intent(inout) :: size
      integer(c_int32_t) :: status
    end function
    function c_universe_program(universe, program_count, program, rank, size) &
        bind(c, name="couplet_universe_program") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: universe
      integer(c_int32_t), intent(inout) :: program_count
      integer(c_int32_t), intent(inout) :: program
      integer(c_int32_t), intent(inout) :: rank
      integer(c_int32_t), intent(inout) :: size
      integer(c_int32_t) :: status
    end function
    function c_universe_describe_program(universe, program, name, size, first_rank) &
        bind(c, name="couplet_universe_describe_program") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: universe
      integer(c_int32_t), value :: program
      type(c_ptr), intent(inout) :: name
      integer(c_int32_t), intent(inout) :: size
      integer(c_int32_t), intent(inout) :: first_rank
      integer(c_int32_t) :: status
    end function
    function c_universe_find_rank(universe, name, rank, universe_rank) bind(c, name="couplet_universe_find_rank") &
        result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: universe
      type(c_ptr), value :: name
      integer(c_int32_t), value :: rank
      integer(c_int32_t), intent(inout) :: universe_rank
      integer(c_int32_t) :: status
    end function
    function c_universe_progress(universe) bind(c, name="couplet_universe_progress") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: universe
      integer(c_int32_t) :: status
    end function
    function c_universe_explain(universe, text, bytes, needed) bind(c, name="couplet_universe_explain") &
        result(status)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: universe
      type(c_ptr), value :: text
      integer(c_size_t), value :: bytes
      integer(c_size_t), intent(inout) :: needed
      integer(c_int32_t) :: status
    end function
    function c_universe_group(universe, group) bind(c, name="couplet_universe_group") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: universe
      type(c_ptr), intent(inout) :: group
      integer(c_int32_t) :: status
    end function
    function c_universe_program_group(universe, group) bind(c, name="couplet_universe_program_group") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: universe
      type(c_ptr), intent(inout) :: group
      integer(c_int32_t) :: status
    end function
    function c_group_create(universe, name, ranks, count, group) bind(c, name="couplet_group_create") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: universe
      type(c_ptr), value :: name
      integer(c_int32_t), intent(in) :: ranks(*)
      integer(c_int32_t), value :: count
      type(c_ptr), intent(inout) :: group
      integer(c_int32_t) :: status
    end function
    function c_group_create_heads(universe, name, group) bind(c, name="couplet_group_create_heads") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: universe
      type(c_ptr), value :: name
      type(c_ptr), intent(inout) :: group
      integer(c_int32_t) :: status
    end function
    function c_group_create_program(universe, program, group) bind(c, name="couplet_group_create_program") &
        result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: universe
      type(c_ptr), value :: program
      type(c_ptr), intent(inout) :: group
      integer(c_int32_t) :: status
    end function
    function c_group_rank(group, rank, size) bind(c, name="couplet_group_rank") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: group
      integer(c_int32_t), intent(inout) :: rank
      integer(c_int32_t), intent(inout) :: size
      integer(c_int32_t) :: status
    end function
    function c_group_free(group) bind(c, name="couplet_group_free") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: group
      integer(c_int32_t) :: status
    end function
    function c_send(group, data, count, type, target, tag) bind(c, name="couplet_send") result(status)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: target
      integer(c_int32_t), value :: tag
      integer(c_int32_t) :: status
    end function
    function c_recv(group, data, count, type, source, tag, message) bind(c, name="couplet_recv") result(status)
      import :: c_int32_t, c_int64_t, c_message, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: source
      integer(c_int32_t), value :: tag
      type(c_message), intent(inout) :: message
      integer(c_int32_t) :: status
    end function
    function c_isend(group, data, count, type, target, tag, request) bind(c, name="couplet_isend") result(status)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: target
      integer(c_int32_t), value :: tag
      type(c_ptr), intent(inout) :: request
      integer(c_int32_t) :: status
    end function
    function c_irecv(group, data, count, type, source, tag, request) bind(c, name="couplet_irecv") result(status)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: source
      integer(c_int32_t), value :: tag
      type(c_ptr), intent(inout) :: request
      integer(c_int32_t) :: status
    end function
    function c_wait(request, timeout_s, message) bind(c, name="couplet_wait") result(status)
      import :: c_double, c_int32_t, c_message, c_ptr
      type(c_ptr), intent(inout) :: request
      real(c_double), value :: timeout_s
      type(c_message), intent(inout) :: message
      integer(c_int32_t) :: status
    end function
    function c_test(request, done, message) bind(c, name="couplet_test") result(status)
      import :: c_int32_t, c_message, c_ptr
      type(c_ptr), intent(inout) :: request
      integer(c_int32_t), intent(inout) :: done
      type(c_message), intent(inout) :: message
      integer(c_int32_t) :: status
    end function
    function c_waitall(count, requests, timeout_s, statuses, messages) bind(c, name="couplet_waitall") result(status)
      import :: c_double, c_int32_t, c_message, c_ptr
      integer(c_int32_t), value :: count
      type(c_ptr), intent(inout) :: requests(*)
      real(c_double), value :: timeout_s
      integer(c_int32_t), intent(inout) :: statuses(*)
      type(c_message), intent(inout) :: messages(*)
      integer(c_int32_t) :: status
    end function
    function c_waitany(count, requests, timeout_s, index, message) bind(c, name="couplet_waitany") result(status)
      import :: c_double, c_int32_t, c_message, c_ptr
      integer(c_int32_t), value :: count
      type(c_ptr), intent(inout) :: requests(*)
      real(c_double), value :: timeout_s
      integer(c_int32_t), intent(inout) :: index
      type(c_message), intent(inout) :: message
      integer(c_int32_t) :: status
    end function
    subroutine c_collective_options_init(options) bind(c, name="couplet_collective_options_init")
      import :: c_collective_options
      type(c_collective_options), intent(out) :: options
    end subroutine
    function c_collective_refuse(group, call, error, text) bind(c, name="couplet_collective_refuse") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: call
      integer(c_int32_t), value :: error
      type(c_ptr), value :: text
      integer(c_int32_t) :: status
    end function
    function c_collective_method(group, call, bytes, method) bind(c, name="couplet_collective_method") result(status)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: call
      integer(c_int64_t), value :: bytes
      type(c_ptr), intent(inout) :: method
      integer(c_int32_t) :: status
    end function
    function c_group_split(group, name, color, key, options, made) bind(c, name="couplet_group_split") result(status)
      import :: c_collective_options, c_int32_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: name
      integer(c_int32_t), value :: color
      integer(c_int32_t), value :: key
      type(c_collective_options), intent(in) :: options
      type(c_ptr), intent(inout) :: made
      integer(c_int32_t) :: status
    end function
    function c_barrier(group, options) bind(c, name="couplet_barrier") result(status)
      import :: c_collective_options, c_int32_t, c_ptr
      type(c_ptr), value :: group
      type(c_collective_options), intent(in) :: options
      integer(c_int32_t) :: status
    end function
    function c_broadcast(group, data, count, type, root, options) bind(c, name="couplet_broadcast") result(status)
      import :: c_collective_options, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: root
      type(c_collective_options), intent(in) :: options
      integer(c_int32_t) :: status
    end function
    function c_reduce(group, data, result, count, type, operation, root, options) bind(c, name="couplet_reduce") &
        result(status)
      import :: c_collective_options, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      type(c_ptr), value :: result
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: operation
      integer(c_int32_t), value :: root
      type(c_collective_options), intent(in) :: options
      integer(c_int32_t) :: status
    end function
    function c_allreduce(group, data, result, count, type, operation, options) bind(c, name="couplet_allreduce") &
        result(status)
      import :: c_collective_options, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      type(c_ptr), value :: result
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: operation
      type(c_collective_options), intent(in) :: options
      integer(c_int32_t) :: status
    end function
    function c_gather(group, data, count, result, type, root, options) bind(c, name="couplet_gather") result(status)
      import :: c_collective_options, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      integer(c_int64_t), value :: count
      type(c_ptr), value :: result
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: root
      type(c_collective_options), intent(in) :: options
      integer(c_int32_t) :: status
    end function
    function c_gatherv(group, data, count, result, counts, offsets, type, root, options) &
        bind(c, name="couplet_gatherv") result(status)
      import :: c_collective_options, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      integer(c_int64_t), value :: count
      type(c_ptr), value :: result
      type(c_ptr), value :: counts
      type(c_ptr), value :: offsets
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: root
      type(c_collective_options), intent(in) :: options
      integer(c_int32_t) :: status
    end function
    function c_allgather(group, data, count, result, type, options) bind(c, name="couplet_allgather") result(status)
      import :: c_collective_options, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      integer(c_int64_t), value :: count
      type(c_ptr), value :: result
      integer(c_int32_t), value :: type
      type(c_collective_options), intent(in) :: options
      integer(c_int32_t) :: status
    end function
    function c_allgatherv(group, data, result, counts, offsets, type, options) bind(c, name="couplet_allgatherv") &
        result(status)
      import :: c_collective_options, c_int32_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      type(c_ptr), value :: result
      type(c_ptr), value :: counts
      type(c_ptr), value :: offsets
      integer(c_int32_t), value :: type
      type(c_collective_options), intent(in) :: options
      integer(c_int32_t) :: status
    end function
    function c_scatter(group, data, result, count, type, root, options) bind(c, name="couplet_scatter") &
        result(status)
      import :: c_collective_options, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      type(c_ptr), value :: result
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: root
      type(c_collective_options), intent(in) :: options
      integer(c_int32_t) :: status
    end function
    function c_scatterv(group, data, counts, offsets, result, count, type, root, options) &
        bind(c, name="couplet_scatterv") result(status)
      import :: c_collective_options, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      type(c_ptr), value :: counts
      type(c_ptr), value :: offsets
      type(c_ptr), value :: result
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: root
      type(c_collective_options), intent(in) :: options
      integer(c_int32_t) :: status
    end function
    function c_alltoall(group, data, result, count, type, options) bind(c, name="couplet_alltoall") result(status)
      import :: c_collective_options, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      type(c_ptr), value :: result
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: type
      type(c_collective_options), intent(in) :: options
      integer(c_int32_t) :: status
    end function
    function c_alltoallv(group, data, counts, offsets, result, result_counts, result_offsets, type, options) &
        bind(c, name="couplet_alltoallv") result(status)
      import :: c_collective_options, c_int32_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      type(c_ptr), value :: counts
      type(c_ptr), value :: offsets
      type(c_ptr), value :: result
      type(c_ptr), value :: result_counts
      type(c_ptr), value :: result_offsets
      integer(c_int32_t), value :: type
      type(c_collective_options), intent(in) :: options
      integer(c_int32_t) :: status
    end function
    function c_reduce_scatter(group, data, result, counts, type, operation, options) &
        bind(c, name="couplet_reduce_scatter") result(status)
      import :: c_collective_options, c_int32_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      type(c_ptr), value :: result
      type(c_ptr), value :: counts
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: operation
      type(c_collective_options), intent(in) :: options
      integer(c_int32_t) :: status
    end function
    function c_scan(group, data, result, count, type, operation, options) bind(c, name="couplet_scan") result(status)
      import :: c_collective_options, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      type(c_ptr), value :: result
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: operation
      type(c_collective_options), intent(in) :: options
      integer(c_int32_t) :: status
    end function
    function c_ibarrier(group, options, request) bind(c, name="couplet_ibarrier") result(status)
      import :: c_collective_options, c_int32_t, c_ptr
      type(c_ptr), value :: group
      type(c_collective_options), intent(in) :: options
      type(c_ptr), intent(inout) :: request
      integer(c_int32_t) :: status
    end function
    function c_ibroadcast(group, data, count, type, root, options, request) bind(c, name="couplet_ibroadcast") &
        result(status)
      import :: c_collective_options, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: root
      type(c_collective_options), intent(in) :: options
      type(c_ptr), intent(inout) :: request
      integer(c_int32_t) :: status
    end function
    function c_ireduce(group, data, result, count, type, operation, root, options, request) &
        bind(c, name="couplet_ireduce") result(status)
      import :: c_collective_options, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      type(c_ptr), value :: result
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: operation
      integer(c_int32_t), value :: root
      type(c_collective_options), intent(in) :: options
      type(c_ptr), intent(inout) :: request
      integer(c_int32_t) :: status
    end function
    function c_iallreduce(group, data, result, count, type, operation, options, request) &
        bind(c, name="couplet_iallreduce") result(status)
      import :: c_collective_options, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      type(c_ptr), value :: result
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: operation
      type(c_collective_options), intent(in) :: options
      type(c_ptr), intent(inout) :: request
      integer(c_int32_t) :: status
    end function
    function c_igather(group, data, count, result, type, root, options, request) bind(c, name="couplet_igather") &
        result(status)
      import :: c_collective_options, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      integer(c_int64_t), value :: count
      type(c_ptr), value :: result
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: root
      type(c_collective_options), intent(in) :: options
      type(c_ptr), intent(inout) :: request
      integer(c_int32_t) :: status
    end function
    function c_igatherv(group, data, count, result, counts, offsets, type, root, options, request) &
        bind(c, name="couplet_igatherv") result(status)
      import :: c_collective_options, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      integer(c_int64_t), value :: count
      type(c_ptr), value :: result
      type(c_ptr), value :: counts
      type(c_ptr), value :: offsets
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: root
      type(c_collective_options), intent(in) :: options
      type(c_ptr), intent(inout) :: request
      integer(c_int32_t) :: status
    end function
    function c_iallgather(group, data, count, result, type, options, request) bind(c, name="couplet_iallgather") &
        result(status)
      import :: c_collective_options, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      integer(c_int64_t), value :: count
      type(c_ptr), value :: result
      integer(c_int32_t), value :: type
      type(c_collective_options), intent(in) :: options
      type(c_ptr), intent(inout) :: request
      integer(c_int32_t) :: status
    end function
    function c_iallgatherv(group, data, result, counts, offsets, type, options, request) &
        bind(c, name="couplet_iallgatherv") result(status)
      import :: c_collective_options, c_int32_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      type(c_ptr), value :: result
      type(c_ptr), value :: counts
      type(c_ptr), value :: offsets
      integer(c_int32_t), value :: type
      type(c_collective_options), intent(in) :: options
      type(c_ptr), intent(inout) :: request
      integer(c_int32_t) :: status
    end function
    function c_iscatter(group, data, result, count, type, root, options, request) bind(c, name="couplet_iscatter") &
        result(status)
      import :: c_collective_options, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      type(c_ptr), value :: result
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: root
      type(c_collective_options), intent(in) :: options
      type(c_ptr), intent(inout) :: request
      integer(c_int32_t) :: status
    end function
    function c_iscatterv(group, data, counts, offsets, result, count, type, root, options, request) &
        bind(c, name="couplet_iscatterv") result(status)
      import :: c_collective_options, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      type(c_ptr), value :: counts
      type(c_ptr), value :: offsets
      type(c_ptr), value :: result
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: root
      type(c_collective_options), intent(in) :: options
      type(c_ptr), intent(inout) :: request
      integer(c_int32_t) :: status
    end function
    function c_ialltoall(group, data, result, count, type, options, request) bind(c, name="couplet_ialltoall") &
        result(status)
      import :: c_collective_options, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      type(c_ptr), value :: result
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: type
      type(c_collective_options), intent(in) :: options
      type(c_ptr), intent(inout) :: request
      integer(c_int32_t) :: status
    end function
    function c_ialltoallv(group, data, counts, offsets, result, result_counts, result_offsets, type, options, request) &
        bind(c, name="couplet_ialltoallv") result(status)
      import :: c_collective_options, c_int32_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      type(c_ptr), value :: counts
      type(c_ptr), value :: offsets
      type(c_ptr), value :: result
      type(c_ptr), value :: result_counts
      type(c_ptr), value :: result_offsets
      integer(c_int32_t), value :: type
      type(c_collective_options), intent(in) :: options
      type(c_ptr), intent(inout) :: request
      integer(c_int32_t) :: status
    end function
    function c_ireduce_scatter(group, data, result, counts, type, operation, options, request) &
        bind(c, name="couplet_ireduce_scatter") result(status)
      import :: c_collective_options, c_int32_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      type(c_ptr), value :: result
      type(c_ptr), value :: counts
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: operation
      type(c_collective_options), intent(in) :: options
      type(c_ptr), intent(inout) :: request
      integer(c_int32_t) :: status
    end function
    function c_iscan(group, data, result, count, type, operation, options, request) bind(c, name="couplet_iscan") &
        result(status)
      import :: c_collective_options, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: data
      type(c_ptr), value :: result
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: operation
      type(c_collective_options), intent(in) :: options
      type(c_ptr), intent(inout) :: request
      integer(c_int32_t) :: status
    end function
    subroutine c_exchange_options_init(options) bind(c, name="couplet_exchange_options_init")
      import :: c_exchange_options
      type(c_exchange_options), intent(out) :: options
    end subroutine
    subroutine c_exchange_edge_init(edge) bind(c, name="couplet_exchange_edge_init")
      import :: c_exchange_edge
      type(c_exchange_edge), intent(out) :: edge
    end subroutine
    function c_exchange_create(group, name, options, exchange) bind(c, name="couplet_exchange_create") result(status)
      import :: c_exchange_options, c_int32_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: name
      type(c_exchange_options), intent(in) :: options
      type(c_ptr), intent(inout) :: exchange
      integer(c_int32_t) :: status
    end function
    function c_exchange_send_box(exchange, edge, data, type, dimensions, shape, stride_bytes, start, stop, number) &
        bind(c, name="couplet_exchange_send_box") result(status)
      import :: c_exchange_edge, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: exchange
      type(c_exchange_edge), intent(in) :: edge
      type(c_ptr), value :: data
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: dimensions
      integer(c_int64_t), intent(in) :: shape(*)
      type(c_ptr), value :: stride_bytes
      integer(c_int64_t), intent(in) :: start(*)
      integer(c_int64_t), intent(in) :: stop(*)
      integer(c_int32_t), intent(inout) :: number
      integer(c_int32_t) :: status
    end function
    function c_exchange_receive_box(exchange, edge, data, type, dimensions, shape, stride_bytes, start, stop, number) &
        bind(c, name="couplet_exchange_receive_box") result(status)
      import :: c_exchange_edge, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: exchange
      type(c_exchange_edge), intent(in) :: edge
      type(c_ptr), value :: data
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: dimensions
      integer(c_int64_t), intent(in) :: shape(*)
      type(c_ptr), value :: stride_bytes
      integer(c_int64_t), intent(in) :: start(*)
      integer(c_int64_t), intent(in) :: stop(*)
      integer(c_int32_t), intent(inout) :: number
      integer(c_int32_t) :: status
    end function
    function c_exchange_send_list(exchange, edge, data, type, block, indices, index_count, number) &
        bind(c, name="couplet_exchange_send_list") result(status)
      import :: c_exchange_edge, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: exchange
      type(c_exchange_edge), intent(in) :: edge
      type(c_ptr), value :: data
      integer(c_int32_t), value :: type
      integer(c_int64_t), value :: block
      integer(c_int64_t), intent(in) :: indices(*)
      integer(c_int64_t), value :: index_count
      integer(c_int32_t), intent(inout) :: number
      integer(c_int32_t) :: status
    end function
    function c_exchange_receive_list(exchange, edge, data, type, block, indices, index_count, number) &
        bind(c, name="couplet_exchange_receive_list") result(status)
      import :: c_exchange_edge, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: exchange
      type(c_exchange_edge), intent(in) :: edge
      type(c_ptr), value :: data
      integer(c_int32_t), value :: type
      integer(c_int64_t), value :: block
      integer(c_int64_t), intent(in) :: indices(*)
      integer(c_int64_t), value :: index_count
      integer(c_int32_t), intent(inout) :: number
      integer(c_int32_t) :: status
    end function
    function c_exchange_freeze(exchange) bind(c, name="couplet_exchange_freeze") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: exchange
      integer(c_int32_t) :: status
    end function
    function c_exchange_start(exchange) bind(c, name="couplet_exchange_start") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: exchange
      integer(c_int32_t) :: status
    end function
    function c_exchange_test(exchange, done) bind(c, name="couplet_exchange_test") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: exchange
      integer(c_int32_t), intent(inout) :: done
      integer(c_int32_t) :: status
    end function
    function c_exchange_wait(exchange, timeout_s) bind(c, name="couplet_exchange_wait") result(status)
      import :: c_double, c_int32_t, c_ptr
      type(c_ptr), value :: exchange
      real(c_double), value :: timeout_s
      integer(c_int32_t) :: status
    end function
    function c_exchange_arrived(exchange, edge, arrived) bind(c, name="couplet_exchange_arrived") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: exchange
      integer(c_int32_t), value :: edge
      integer(c_int32_t), intent(inout) :: arrived
      integer(c_int32_t) :: status
    end function
    function c_exchange_set_length(exchange, edge, bytes) bind(c, name="couplet_exchange_set_length") result(status)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: exchange
      integer(c_int32_t), value :: edge
      integer(c_int64_t), value :: bytes
      integer(c_int32_t) :: status
    end function
    function c_exchange_length(exchange, edge, bytes) bind(c, name="couplet_exchange_length") result(status)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: exchange
      integer(c_int32_t), value :: edge
      integer(c_int64_t), intent(inout) :: bytes
      integer(c_int32_t) :: status
    end function
    function c_exchange_method(exchange, method) bind(c, name="couplet_exchange_method") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: exchange
      type(c_ptr), intent(inout) :: method
      integer(c_int32_t) :: status
    end function
    function c_exchange_explain(exchange, text, bytes, needed) bind(c, name="couplet_exchange_explain") &
        result(status)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: exchange
      type(c_ptr), value :: text
      integer(c_size_t), value :: bytes
      integer(c_size_t), intent(inout) :: needed
      integer(c_int32_t) :: status
    end function
    function c_exchange_close(exchange) bind(c, name="couplet_exchange_close") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: exchange
      integer(c_int32_t) :: status
    end function
    subroutine c_grid_init(grid) bind(c, name="couplet_grid_init")
      import :: c_grid
      type(c_grid), intent(out) :: grid
    end subroutine
    function c_grid_divide(grid, rank_count) bind(c, name="couplet_grid_divide") result(status)
      import :: c_grid, c_int32_t
      type(c_grid), intent(inout) :: grid
      integer(c_int32_t), value :: rank_count
      integer(c_int32_t) :: status
    end function
    function c_grid_box(grid, rank, start, stop) bind(c, name="couplet_grid_box") result(status)
      import :: c_grid, c_int32_t, c_int64_t
      type(c_grid), intent(in) :: grid
      integer(c_int32_t), value :: rank
      integer(c_int64_t), intent(inout) :: start(*)
      integer(c_int64_t), intent(inout) :: stop(*)
      integer(c_int32_t) :: status
    end function
    function c_grid_neighbor(grid, rank, offset, neighbor) bind(c, name="couplet_grid_neighbor") result(status)
      import :: c_grid, c_int32_t
      type(c_grid), intent(in) :: grid
      integer(c_int32_t), value :: rank
      integer(c_int32_t), intent(in) :: offset(*)
      integer(c_int32_t), intent(inout) :: neighbor
      integer(c_int32_t) :: status
    end function
    subroutine c_halo_options_init(options) bind(c, name="couplet_halo_options_init")
      import :: c_halo_options
      type(c_halo_options), intent(out) :: options
    end subroutine
    subroutine c_halo_field_init(field) bind(c, name="couplet_halo_field_init")
      import :: c_halo_field
      type(c_halo_field), intent(out) :: field
    end subroutine
    function c_halo_create(group, name, grid, options, halo) bind(c, name="couplet_halo_create") result(status)
      import :: c_grid, c_halo_options, c_int32_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: name
      type(c_grid), intent(in) :: grid
      type(c_halo_options), intent(in) :: options
      type(c_ptr), intent(inout) :: halo
      integer(c_int32_t) :: status
    end function
    subroutine c_halo_indices_init(indices) bind(c, name="couplet_halo_indices_init")
      import :: c_halo_indices
      type(c_halo_indices), intent(out) :: indices
    end subroutine
    function c_halo_create_list(group, name, indices, options, halo) bind(c, name="couplet_halo_create_list") &
        result(status)
      import :: c_halo_indices, c_halo_options, c_int32_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: name
      type(c_halo_indices), intent(in) :: indices
      type(c_halo_options), intent(in) :: options
      type(c_ptr), intent(inout) :: halo
      integer(c_int32_t) :: status
    end function
    function c_halo_add(halo, field) bind(c, name="couplet_halo_add") result(status)
      import :: c_halo_field, c_int32_t, c_ptr
      type(c_ptr), value :: halo
      type(c_halo_field), intent(in) :: field
      integer(c_int32_t) :: status
    end function
    function c_halo_freeze(halo) bind(c, name="couplet_halo_freeze") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: halo
      integer(c_int32_t) :: status
    end function
    function c_halo_begin(halo, width) bind(c, name="couplet_halo_begin") result(status)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: halo
      integer(c_int64_t), value :: width
      integer(c_int32_t) :: status
    end function
    function c_halo_test(halo, done) bind(c, name="couplet_halo_test") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: halo
      integer(c_int32_t), intent(inout) :: done
      integer(c_int32_t) :: status
    end function
    function c_halo_end(halo, timeout_s) bind(c, name="couplet_halo_end") result(status)
      import :: c_double, c_int32_t, c_ptr
      type(c_ptr), value :: halo
      real(c_double), value :: timeout_s
      integer(c_int32_t) :: status
    end function
    function c_halo_method(halo, method) bind(c, name="couplet_halo_method") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: halo
      type(c_ptr), intent(inout) :: method
      integer(c_int32_t) :: status
    end function
    function c_halo_explain(halo, text, bytes, needed) bind(c, name="couplet_halo_explain") result(status)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: halo
      type(c_ptr), value :: text
      integer(c_size_t), value :: bytes
      integer(c_size_t), intent(inout) :: needed
      integer(c_int32_t) :: status
    end function
    function c_halo_close(halo) bind(c, name="couplet_halo_close") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: halo
      integer(c_int32_t) :: status
    end function
    subroutine c_coalesce_options_init(options) bind(c, name="couplet_coalesce_options_init")
      import :: c_coalesce_options
      type(c_coalesce_options), intent(out) :: options
    end subroutine
    function c_coalesce_fail(error, text) bind(c, name="couplet_coalesce_fail") result(status)
      import :: c_int32_t, c_ptr
      integer(c_int32_t), value :: error
      type(c_ptr), value :: text
      integer(c_int32_t) :: status
    end function
    subroutine c_coalesce_client_init(client) bind(c, name="couplet_coalesce_client_init")
      import :: c_coalesce_client
      type(c_coalesce_client), intent(out) :: client
    end subroutine
    subroutine c_coalesce_request_init(request) bind(c, name="couplet_coalesce_request_init")
      import :: c_coalesce_request
      type(c_coalesce_request), intent(out) :: request
    end subroutine
    function c_coalesce_create(group, name, options, coalesce) bind(c, name="couplet_coalesce_create") result(status)
      import :: c_coalesce_options, c_int32_t, c_ptr
      type(c_ptr), value :: group
      type(c_ptr), value :: name
      type(c_coalesce_options), intent(in) :: options
      type(c_ptr), intent(inout) :: coalesce
      integer(c_int32_t) :: status
    end function
    function c_coalesce_register(coalesce, client, number) bind(c, name="couplet_coalesce_register") result(status)
      import :: c_coalesce_client, c_int32_t, c_ptr
      type(c_ptr), value :: coalesce
      type(c_coalesce_client), intent(in) :: client
      integer(c_int32_t), intent(inout) :: number
      integer(c_int32_t) :: status
    end function
    function c_coalesce_remove(coalesce, client) bind(c, name="couplet_coalesce_remove") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: coalesce
      integer(c_int32_t), value :: client
      integer(c_int32_t) :: status
    end function
    function c_coalesce_send_box(coalesce, client, terms, data, type, dimensions, shape, stride_bytes, start, stop, request) &
        bind(c, name="couplet_coalesce_send_box") result(status)
      import :: c_coalesce_request, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: coalesce
      integer(c_int32_t), value :: client
      type(c_coalesce_request), intent(in) :: terms
      type(c_ptr), value :: data
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: dimensions
      integer(c_int64_t), intent(in) :: shape(*)
      type(c_ptr), value :: stride_bytes
      integer(c_int64_t), intent(in) :: start(*)
      integer(c_int64_t), intent(in) :: stop(*)
      integer(c_int32_t), intent(inout) :: request
      integer(c_int32_t) :: status
    end function
    function c_coalesce_receive_box(coalesce, client, terms, data, type, dimensions, shape, stride_bytes, start, stop, request) &
        bind(c, name="couplet_coalesce_receive_box") result(status)
      import :: c_coalesce_request, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: coalesce
      integer(c_int32_t), value :: client
      type(c_coalesce_request), intent(in) :: terms
      type(c_ptr), value :: data
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: dimensions
      integer(c_int64_t), intent(in) :: shape(*)
      type(c_ptr), value :: stride_bytes
      integer(c_int64_t), intent(in) :: start(*)
      integer(c_int64_t), intent(in) :: stop(*)
      integer(c_int32_t), intent(inout) :: request
      integer(c_int32_t) :: status
    end function
    function c_coalesce_send_list(coalesce, client, terms, data, type, block, indices, index_count, request) &
        bind(c, name="couplet_coalesce_send_list") result(status)
      import :: c_coalesce_request, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: coalesce
      integer(c_int32_t), value :: client
      type(c_coalesce_request), intent(in) :: terms
      type(c_ptr), value :: data
      integer(c_int32_t), value :: type
      integer(c_int64_t), value :: block
      integer(c_int64_t), intent(in) :: indices(*)
      integer(c_int64_t), value :: index_count
      integer(c_int32_t), intent(inout) :: request
      integer(c_int32_t) :: status
    end function
    function c_coalesce_receive_list(coalesce, client, terms, data, type, block, indices, index_count, request) &
        bind(c, name="couplet_coalesce_receive_list") result(status)
      import :: c_coalesce_request, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: coalesce
      integer(c_int32_t), value :: client
      type(c_coalesce_request), intent(in) :: terms
      type(c_ptr), value :: data
      integer(c_int32_t), value :: type
      integer(c_int64_t), value :: block
      integer(c_int64_t), intent(in) :: indices(*)
      integer(c_int64_t), value :: index_count
      integer(c_int32_t), intent(inout) :: request
      integer(c_int32_t) :: status
    end function
    subroutine c_coalesce_phased_init(phased) bind(c, name="couplet_coalesce_phased_init")
      import :: c_coalesce_phased
      type(c_coalesce_phased), intent(out) :: phased
    end subroutine
    function c_coalesce_add_broadcast(coalesce, phased, capacity_bytes, client) &
        bind(c, name="couplet_coalesce_add_broadcast") result(status)
      import :: c_coalesce_phased, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: coalesce
      type(c_coalesce_phased), intent(in) :: phased
      integer(c_int64_t), value :: capacity_bytes
      integer(c_int32_t), intent(inout) :: client
      integer(c_int32_t) :: status
    end function
    function c_coalesce_add_reduction(coalesce, phased, operation, type, count, to_all, client) &
        bind(c, name="couplet_coalesce_add_reduction") result(status)
      import :: c_coalesce_phased, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: coalesce
      type(c_coalesce_phased), intent(in) :: phased
      integer(c_int32_t), value :: operation
      integer(c_int32_t), value :: type
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: to_all
      integer(c_int32_t), intent(inout) :: client
      integer(c_int32_t) :: status
    end function
    function c_coalesce_freeze(coalesce) bind(c, name="couplet_coalesce_freeze") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: coalesce
      integer(c_int32_t) :: status
    end function
    function c_coalesce_amend(coalesce, from_round) bind(c, name="couplet_coalesce_amend") result(status)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: coalesce
      integer(c_int64_t), value :: from_round
      integer(c_int32_t) :: status
    end function
    function c_coalesce_round(coalesce, timeout_s) bind(c, name="couplet_coalesce_round") result(status)
      import :: c_double, c_int32_t, c_ptr
      type(c_ptr), value :: coalesce
      real(c_double), value :: timeout_s
      integer(c_int32_t) :: status
    end function
    function c_coalesce_round_number(coalesce, round) bind(c, name="couplet_coalesce_round_number") result(status)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: coalesce
      integer(c_int64_t), intent(inout) :: round
      integer(c_int32_t) :: status
    end function
    function c_coalesce_set_length(coalesce, request, bytes) bind(c, name="couplet_coalesce_set_length") &
        result(status)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: coalesce
      integer(c_int32_t), value :: request
      integer(c_int64_t), value :: bytes
      integer(c_int32_t) :: status
    end function
    function c_coalesce_length(coalesce, request, bytes) bind(c, name="couplet_coalesce_length") result(status)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: coalesce
      integer(c_int32_t), value :: request
      integer(c_int64_t), intent(inout) :: bytes
      integer(c_int32_t) :: status
    end function
    function c_coalesce_report(coalesce, form, text, bytes, needed) bind(c, name="couplet_coalesce_report") &
        result(status)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value :: coalesce
      integer(c_int32_t), value :: form
      type(c_ptr), value :: text
      integer(c_size_t), value :: bytes
      integer(c_size_t), intent(inout) :: needed
      integer(c_int32_t) :: status
    end function
    function c_coalesce_close(coalesce) bind(c, name="couplet_coalesce_close") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: coalesce
      integer(c_int32_t) :: status
    end function
    subroutine c_series_create_options_init(options) bind(c, name="couplet_series_create_options_init")
      import :: c_series_create_options
      type(c_series_create_options), intent(out) :: options
    end subroutine
    function c_series_create(universe, name, type, dimensions, shape, start, stop, options, series) &
        bind(c, name="couplet_series_create") result(status)
      import :: c_int32_t, c_int64_t, c_ptr, c_series_create_options
      type(c_ptr), value :: universe
      type(c_ptr), value :: name
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: dimensions
      integer(c_int64_t), intent(in) :: shape(*)
      type(c_ptr), value :: start
      type(c_ptr), value :: stop
      type(c_series_create_options), intent(in) :: options
      type(c_ptr), intent(inout) :: series
      integer(c_int32_t) :: status
    end function
    function c_series_put(series, data, step) bind(c, name="couplet_series_put") result(status)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: series
      type(c_ptr), value :: data
      integer(c_int64_t), value :: step
      integer(c_int32_t) :: status
    end function
    function c_series_claim(series, step, data) bind(c, name="couplet_series_claim") result(status)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: series
      integer(c_int64_t), value :: step
      type(c_ptr), intent(inout) :: data
      integer(c_int32_t) :: status
    end function
    function c_series_publish(series) bind(c, name="couplet_series_publish") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: series
      integer(c_int32_t) :: status
    end function
    function c_series_abandon(series) bind(c, name="couplet_series_abandon") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: series
      integer(c_int32_t) :: status
    end function
    subroutine c_series_field_init(field) bind(c, name="couplet_series_field_init")
      import :: c_series_field
      type(c_series_field), intent(out) :: field
    end subroutine
    function c_series_create_fields(universe, name, fields, field_count, options, series) &
        bind(c, name="couplet_series_create_fields") result(status)
      import :: c_int32_t, c_ptr, c_series_create_options, c_series_field
      type(c_ptr), value :: universe
      type(c_ptr), value :: name
      type(c_series_field), intent(in) :: fields(*)
      integer(c_int32_t), value :: field_count
      type(c_series_create_options), intent(in) :: options
      type(c_ptr), intent(inout) :: series
      integer(c_int32_t) :: status
    end function
    function c_series_put_arrays(series, arrays, array_count, step) bind(c, name="couplet_series_put_arrays") &
        result(status)
      import :: c_int32_t, c_int64_t, c_ptr, c_series_array
      type(c_ptr), value :: series
      type(c_series_array), intent(in) :: arrays(*)
      integer(c_int32_t), value :: array_count
      integer(c_int64_t), value :: step
      integer(c_int32_t) :: status
    end function
    function c_series_claim_arrays(series, step, data, array_count) bind(c, name="couplet_series_claim_arrays") &
        result(status)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: series
      integer(c_int64_t), value :: step
      type(c_ptr), intent(inout) :: data(*)
      integer(c_int32_t), value :: array_count
      integer(c_int32_t) :: status
    end function
    function c_series_set_time(series, time) bind(c, name="couplet_series_set_time") result(status)
      import :: c_double, c_int32_t, c_ptr
      type(c_ptr), value :: series
      real(c_double), value :: time
      integer(c_int32_t) :: status
    end function
    subroutine c_series_choice_init(choice) bind(c, name="couplet_series_choice_init")
      import :: c_series_choice
      type(c_series_choice), intent(out) :: choice
    end subroutine
    subroutine c_series_weights_init(weights) bind(c, name="couplet_series_weights_init")
      import :: c_series_weights
      type(c_series_weights), intent(out) :: weights
    end subroutine
    subroutine c_series_open_options_init(options) bind(c, name="couplet_series_open_options_init")
      import :: c_series_open_options
      type(c_series_open_options), intent(out) :: options
    end subroutine
    function c_series_open(universe, name, options, series) bind(c, name="couplet_series_open") result(status)
      import :: c_int32_t, c_ptr, c_series_open_options
      type(c_ptr), value :: universe
      type(c_ptr), value :: name
      type(c_series_open_options), intent(in) :: options
      type(c_ptr), intent(inout) :: series
      integer(c_int32_t) :: status
    end function
    function c_series_read(series, at_least, up_to, timeout_s, out, out_bytes, batch) &
        bind(c, name="couplet_series_read") result(status)
      import :: c_double, c_int32_t, c_int64_t, c_ptr, c_series_batch
      type(c_ptr), value :: series
      integer(c_int64_t), value :: at_least
      integer(c_int64_t), value :: up_to
      real(c_double), value :: timeout_s
      type(c_ptr), value :: out
      integer(c_int64_t), value :: out_bytes
      type(c_series_batch), intent(inout) :: batch
      integer(c_int32_t) :: status
    end function
    function c_series_read_arrays(series, at_least, up_to, timeout_s, outs, out_count, batch) &
        bind(c, name="couplet_series_read_arrays") result(status)
      import :: c_double, c_int32_t, c_int64_t, c_ptr, c_series_array, c_series_batch
      type(c_ptr), value :: series
      integer(c_int64_t), value :: at_least
      integer(c_int64_t), value :: up_to
      real(c_double), value :: timeout_s
      type(c_series_array), intent(in) :: outs(*)
      integer(c_int32_t), value :: out_count
      type(c_series_batch), intent(inout) :: batch
      integer(c_int32_t) :: status
    end function
    function c_series_read_at(series, times, time_count, timeout_s, outs, out_count, batch) &
        bind(c, name="couplet_series_read_at") result(status)
      import :: c_double, c_int32_t, c_ptr, c_series_batch
      type(c_ptr), value :: series
      real(c_double), intent(in) :: times(*)
      integer(c_int32_t), value :: time_count
      real(c_double), value :: timeout_s
      type(c_ptr), value :: outs
      integer(c_int32_t), value :: out_count
      type(c_series_batch), intent(inout) :: batch
      integer(c_int32_t) :: status
    end function
    function c_series_describe(series, info) bind(c, name="couplet_series_describe") result(status)
      import :: c_int32_t, c_ptr, c_series_info
      type(c_ptr), value :: series
      type(c_series_info), intent(inout) :: info
      integer(c_int32_t) :: status
    end function
    function c_series_describe_field(series, field, info) bind(c, name="couplet_series_describe_field") &
        result(status)
      import :: c_int32_t, c_ptr, c_series_field_info
      type(c_ptr), value :: series
      integer(c_int32_t), value :: field
      type(c_series_field_info), intent(inout) :: info
      integer(c_int32_t) :: status
    end function
    function c_series_get_statistics(series, statistics) bind(c, name="couplet_series_get_statistics") result(status)
      import :: c_int32_t, c_ptr, c_series_statistics
      type(c_ptr), value :: series
      type(c_series_statistics), intent(inout) :: statistics
      integer(c_int32_t) :: status
    end function
    function c_series_get_waits(series, waits) bind(c, name="couplet_series_get_waits") result(status)
      import :: c_int32_t, c_ptr, c_series_waits
      type(c_ptr), value :: series
      type(c_series_waits), intent(inout) :: waits
      integer(c_int32_t) :: status
    end function
    function c_series_retained(series, first, end, newest_step) bind(c, name="couplet_series_retained") &
        result(status)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: series
      integer(c_int64_t), intent(inout) :: first
      integer(c_int64_t), intent(inout) :: end
      integer(c_int64_t), intent(inout) :: newest_step
      integer(c_int32_t) :: status
    end function
    function c_series_close(series) bind(c, name="couplet_series_close") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: series
      integer(c_int32_t) :: status
    end function
    subroutine c_tasks_options_init(options) bind(c, name="couplet_tasks_options_init")
      import :: c_tasks_options
      type(c_tasks_options), intent(out) :: options
    end subroutine
    function c_tasks_open(universe, name, options, tasks) bind(c, name="couplet_tasks_open") result(status)
      import :: c_int32_t, c_ptr, c_tasks_options
      type(c_ptr), value :: universe
      type(c_ptr), value :: name
      type(c_tasks_options), intent(in) :: options
      type(c_ptr), intent(inout) :: tasks
      integer(c_int32_t) :: status
    end function
    function c_tasks_close(tasks) bind(c, name="couplet_tasks_close") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: tasks
      integer(c_int32_t) :: status
    end function
    function c_tasks_submit(tasks, worker, parameters, parameter_count, payload, payload_count, type, timeout_s, task) &
        bind(c, name="couplet_tasks_submit") result(status)
      import :: c_double, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: tasks
      integer(c_int32_t), value :: worker
      integer(c_int64_t), intent(in) :: parameters(*)
      integer(c_int32_t), value :: parameter_count
      type(c_ptr), value :: payload
      integer(c_int64_t), value :: payload_count
      integer(c_int32_t), value :: type
      real(c_double), value :: timeout_s
      type(c_ptr), value :: task
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
    subroutine c_task_expectation_init(expectation) bind(c, name="couplet_task_expectation_init")
      import :: c_task_expectation
      type(c_task_expectation), intent(out) :: expectation
    end subroutine
    function c_tasks_next(tasks, expected, timeout_s, info) bind(c, name="couplet_tasks_next") result(status)
      import :: c_double, c_int32_t, c_ptr, c_task_expectation, c_task_info
      type(c_ptr), value :: tasks
      type(c_task_expectation), intent(in) :: expected
      real(c_double), value :: timeout_s
      type(c_task_info), intent(inout) :: info
      integer(c_int32_t) :: status
    end function
    function c_tasks_complete(tasks, id, outcome, text) bind(c, name="couplet_tasks_complete") result(status)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: tasks
      integer(c_int64_t), value :: id
      integer(c_int32_t), value :: outcome
      type(c_ptr), value :: text
      integer(c_int32_t) :: status
    end function
    function c_tasks_dispatch(tasks, id, worker, parameters, parameter_count, payload, payload_count, type) &
        bind(c, name="couplet_tasks_dispatch") result(status)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: tasks
      integer(c_int64_t), value :: id
      integer(c_int32_t), value :: worker
      integer(c_int64_t), intent(in) :: parameters(*)
      integer(c_int32_t), value :: parameter_count
      type(c_ptr), value :: payload
      integer(c_int64_t), value :: payload_count
      integer(c_int32_t), value :: type
      integer(c_int32_t) :: status
    end function
    function c_tasks_run(tasks, timeout_s) bind(c, name="couplet_tasks_run") result(status)
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
      type(c_ptr), value :: universe
      type(c_ptr), value :: name
      integer(c_int32_t), value :: type
      integer(c_int32_t), value :: dimensions
      integer(c_int64_t), intent(in) :: shape(*)
      type(c_area_options), intent(in) :: options
      type(c_ptr), intent(inout) :: area
      integer(c_int32_t) :: status
    end function
    function c_area_open(universe, name, owner, timeout_s, area) bind(c, name="couplet_area_open") result(status)
      import :: c_double, c_int32_t, c_ptr
      type(c_ptr), value :: universe
      type(c_ptr), value :: name
      integer(c_int32_t), value :: owner
      real(c_double), value :: timeout_s
      type(c_ptr), intent(inout) :: area
      integer(c_int32_t) :: status
    end function
    function c_area_read(area, offset, count, data, timeout_s, stamp) bind(c, name="couplet_area_read") &
        result(status)
      import :: c_double, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: area
      integer(c_int64_t), value :: offset
      integer(c_int64_t), value :: count
      type(c_ptr), value :: data
      real(c_double), value :: timeout_s
      integer(c_int64_t), intent(inout) :: stamp
      integer(c_int32_t) :: status
    end function
    function c_area_write(area, offset, count, data, timeout_s, stamp) bind(c, name="couplet_area_write") &
        result(status)
      import :: c_double, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: area
      integer(c_int64_t), value :: offset
      integer(c_int64_t), value :: count
      type(c_ptr), value :: data
      real(c_double), value :: timeout_s
      integer(c_int64_t), intent(inout) :: stamp
      integer(c_int32_t) :: status
    end function
    function c_area_read_box(area, start, stop, data, timeout_s, stamp) bind(c, name="couplet_area_read_box") &
        result(status)
      import :: c_double, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: area
      integer(c_int64_t), intent(in) :: start(*)
      integer(c_int64_t), intent(in) :: stop(*)
      type(c_ptr), value :: data
      real(c_double), value :: timeout_s
      integer(c_int64_t), intent(inout) :: stamp
      integer(c_int32_t) :: status
    end function
    function c_area_write_box(area, start, stop, data, timeout_s, stamp) bind(c, name="couplet_area_write_box") &
        result(status)
      import :: c_double, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: area
      integer(c_int64_t), intent(in) :: start(*)
      integer(c_int64_t), intent(in) :: stop(*)
      type(c_ptr), value :: data
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
    function c_wait_any(awaited, awaited_count, timeout_s, index, message) bind(c, name="couplet_wait_any") &
        result(status)
      import :: c_awaited, c_double, c_int32_t, c_message
      type(c_awaited), intent(in) :: awaited(*)
      integer(c_int32_t), value :: awaited_count
      real(c_double), value :: timeout_s
      integer(c_int32_t), intent(inout) :: index
      type(c_message), intent(inout) :: message
      integer(c_int32_t) :: status
    end function
    function c_universe_descriptor(universe, descriptor) bind(c, name="couplet_universe_descriptor") result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: universe
      integer(c_int32_t), intent(inout) :: descriptor
      integer(c_int32_t) :: status
    end function
    function c_arm_any(awaited, awaited_count, index, message) bind(c, name="couplet_arm_any") result(status)
      import :: c_awaited, c_int32_t, c_message
      type(c_awaited), intent(in) :: awaited(*)
      integer(c_int32_t), value :: awaited_count
      integer(c_int32_t), intent(inout) :: index
      type(c_message), intent(inout) :: message
      integer(c_int32_t) :: status
    end function
  end interface
end module
