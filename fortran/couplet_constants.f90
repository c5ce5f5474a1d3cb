! The constants of the C interface: status codes, element types, modes. Every other module here uses them.
! Written by tools/generate from the headers in include/couplet: do not edit (make generate).
module couplet_constants_module
  use, intrinsic :: iso_c_binding, only: c_int32_t
  implicit none
  public
  integer, parameter :: couplet_max_dimensions = 8
  integer(c_int32_t), parameter :: couplet_byte = 0  ! opaque, never converted
  integer(c_int32_t), parameter :: couplet_int8 = 1
  integer(c_int32_t), parameter :: couplet_int16 = 2
  integer(c_int32_t), parameter :: couplet_int32 = 3
  integer(c_int32_t), parameter :: couplet_int64 = 4
  integer(c_int32_t), parameter :: couplet_uint8 = 5
  integer(c_int32_t), parameter :: couplet_uint16 = 6
  integer(c_int32_t), parameter :: couplet_uint32 = 7
  integer(c_int32_t), parameter :: couplet_uint64 = 8
  integer(c_int32_t), parameter :: couplet_real32 = 9
  integer(c_int32_t), parameter :: couplet_real64 = 10
  integer(c_int32_t), parameter :: couplet_complex32 = 11
  integer(c_int32_t), parameter :: couplet_complex64 = 12
  integer, parameter :: couplet_ok = 0

  ! answers
  integer, parameter :: couplet_not_yet = 1  ! nothing could be given within the timeout
  integer, parameter :: couplet_full = 2  ! there was no room within the timeout
  integer, parameter :: couplet_end = 3  ! the writer has closed the series and everything was read
  ! the writer is a new incarnation; the next read begins with its first retained step
  integer, parameter :: couplet_restarted = 4
  ! The thread's interrupt check ended the call: nothing has happened, call again. A collective call is revoked.
  integer, parameter :: couplet_interrupted = 5

  ! errors: the call is lost
  ! an argument is not allowed; the text says which one, and what would be
  integer, parameter :: couplet_error_argument = -1
  ! the call is not allowed now: calls in the wrong order, a handle that is closed
  integer, parameter :: couplet_error_state = -2
  integer, parameter :: couplet_error_not_found = -3  ! there is no such program, series or rank
  integer, parameter :: couplet_error_exists = -4  ! the name is taken
  integer, parameter :: couplet_error_type = -5  ! the data type is not the agreed one
  integer, parameter :: couplet_error_shape = -6  ! the number of dimensions is wrong, or a box is outside the array
  integer, parameter :: couplet_error_step = -7  ! the step is not greater than the one before it
  integer, parameter :: couplet_error_limit = -8  ! a named limit was passed
  integer, parameter :: couplet_error_unsupported = -9  ! this build or this system cannot do it
  integer, parameter :: couplet_error_forked = -10  ! the handle belongs to the parent process
  integer, parameter :: couplet_error_thread = -11  ! two threads used the universe at the same time
  integer, parameter :: couplet_error_memory = -12  ! memory could not be allocated
  integer, parameter :: couplet_error_config = -13  ! there is a mistake in the environment or in the configuration
  integer, parameter :: couplet_error_mpi = -14  ! an MPI call failed, or two MPI libraries are loaded

  ! errors: the request is lost
  integer, parameter :: couplet_error_timeout = -101  ! the deadline has passed
  integer, parameter :: couplet_error_truncated = -102  ! the message is longer than the receive buffer
  ! this holder kept the writer waiting for longer than evict_after_held, or its hold was released
  integer, parameter :: couplet_error_evicted = -103
  integer, parameter :: couplet_error_mismatch = -104  ! the ranks of one program do not agree

  ! errors: the peer is lost
  integer, parameter :: couplet_error_peer_lost = -201  ! the process or program that the text names has died or left
  integer, parameter :: couplet_error_authentication = -202  ! the other side has another secret
  integer, parameter :: couplet_error_version = -203  ! the versions of both sides do not fit together
  integer, parameter :: couplet_error_protocol = -204  ! bytes arrived that are malformed, lost, repeated or damaged

  ! errors: the host is lost
  integer, parameter :: couplet_error_system = -301  ! an operating system call failed
  integer, parameter :: couplet_error_no_space = -302  ! the disk or the shared memory is full
  integer, parameter :: couplet_error_hub_lost = -303  ! the hub is gone or was never there
  integer, parameter :: couplet_error_internal = -304  ! a mistake in Couplet itself; please report it with the text

  ! 
  integer, parameter :: couplet_any_source = -1
  integer, parameter :: couplet_any_tag = -1
  integer, parameter :: couplet_operation_sum = 0
  integer, parameter :: couplet_operation_product = 1
  integer, parameter :: couplet_operation_max = 2  ! NaN if one of the operands is NaN
  integer, parameter :: couplet_operation_min = 3
  integer, parameter :: couplet_operation_logical_and = 4  ! of integers; the result is 0 or 1
  integer, parameter :: couplet_operation_logical_or = 5
  integer, parameter :: couplet_operation_logical_xor = 6
  integer, parameter :: couplet_operation_bitwise_and = 7  ! of integers and bytes
  integer, parameter :: couplet_operation_bitwise_or = 8
  integer, parameter :: couplet_operation_bitwise_xor = 9
  ! Of pairs of elements, value and index, one after the other; the count is that of elements, and even. If values are
  ! equal, the lower index counts.
  integer, parameter :: couplet_operation_maxloc = 10
  integer, parameter :: couplet_operation_minloc = 11
  integer, parameter :: couplet_operation_user = 1000
  ! the library chooses by the size of the message and by the group
  integer, parameter :: couplet_collective_automatic = 0
  integer, parameter :: couplet_collective_linear = 1  ! gather, scatter, scan
  integer, parameter :: couplet_collective_binomial = 2  ! broadcast, reduce, gather, scatter
  integer, parameter :: couplet_collective_doubling = 3  ! barrier, allreduce, allgather, scan
  integer, parameter :: couplet_collective_ring = 4  ! broadcast, allreduce, allgather, reduce_scatter
  integer, parameter :: couplet_collective_pairwise = 5  ! alltoall
  integer, parameter :: couplet_collective_reduce_linear = 6  ! reduce_scatter
  ! barrier, broadcast, reduce, allreduce: once between each two hosts
  integer, parameter :: couplet_collective_systems = 7
  integer, parameter :: couplet_grid_max_dimensions = 4  ! How error texts number dimensions and cells.
  integer, parameter :: couplet_numbering_c = 0  ! from 0, the slowest dimension first
  integer, parameter :: couplet_numbering_fortran = 1  ! from 1, the fastest dimension first
  integer, parameter :: couplet_coalesce_table = 0  ! messages, bytes and waits of this rank, as a table for people
  integer, parameter :: couplet_coalesce_json = 1  ! the same, as one line of JSON
  integer, parameter :: couplet_coalesce_timeline = 2  ! what this rank did when: JSON in the Chrome trace format
  integer, parameter :: couplet_series_hold = 0
  integer, parameter :: couplet_series_follow = 1
  integer, parameter :: couplet_series_from_oldest = 0
  integer, parameter :: couplet_series_from_newest = 1
  integer, parameter :: couplet_series_from_next = 2
  integer, parameter :: couplet_series_from_step = 3
  integer, parameter :: couplet_series_beyond_wait = 0
  integer, parameter :: couplet_series_beyond_error = 1
  integer, parameter :: couplet_tasks_any_worker = -1
  integer, parameter :: couplet_tasks_requester = 0
  integer, parameter :: couplet_tasks_worker = 1
  integer, parameter :: couplet_tasks_coupler = 2
  integer, parameter :: couplet_tasks_fail = 0
  integer, parameter :: couplet_tasks_retry = 1
  integer, parameter :: couplet_tasks_first_idle = 0
  integer, parameter :: couplet_tasks_round_robin = 1
end module
