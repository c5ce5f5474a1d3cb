! Couplet for Fortran: what user code uses. Every call has an optional `ierr` as its last argument; where it is absent, an
! error prints its sentence and stops everything. Answers ("not yet", "full", "end", "restarted") are positive.
! Dimensions: the first is the fastest; shape and boxes are 1-based and inclusive; eta(i,j) is Python's eta[j,i].
! Modules below: couplet_universes, couplet_{fields,series,weights,arrays,tasks,areas}_module, couplet_messages, couplet_errors, couplet_binding.
! With MPI use couplet_mpi instead, which has all of this. Guide: docs/guide/fortran.md. Tests: tests/languages.
module couplet
  use couplet_binding, only: couplet_byte, couplet_int8, couplet_int16, couplet_int32, couplet_int64, couplet_uint8, &
    couplet_uint16, couplet_uint32, couplet_uint64, couplet_real32, couplet_real64, couplet_complex32, couplet_complex64, &
    couplet_any_source, couplet_any_tag, couplet_hold, couplet_follow, couplet_from_oldest, couplet_from_newest, &
    couplet_from_next, couplet_from_step, couplet_max_dimensions, couplet_requester, couplet_worker, couplet_coupler, &
    couplet_task_fail, couplet_task_retry, couplet_first_idle, couplet_round_robin, couplet_any_worker, &
    couplet_beyond_wait, couplet_beyond_error
  use couplet_errors, only: couplet_error_message, couplet_status_name, couplet_ok, couplet_not_yet, couplet_full, couplet_end, &
    couplet_restarted, couplet_interrupted, couplet_error_argument, couplet_error_state, couplet_error_not_found, &
    couplet_error_exists, &
    couplet_error_type, couplet_error_shape, couplet_error_step, couplet_error_limit, couplet_error_unsupported, &
    couplet_error_forked, couplet_error_thread, couplet_error_memory, couplet_error_config, couplet_error_mpi, &
    couplet_error_timeout, couplet_error_truncated, couplet_error_evicted, couplet_error_mismatch, couplet_error_peer_lost, &
    couplet_error_authentication, couplet_error_version, couplet_error_protocol, couplet_error_system, &
    couplet_error_no_space, couplet_error_hub_lost, couplet_error_internal
  use couplet_messages, only: couplet_group, couplet_message, couplet_request, couplet_waitall, couplet_waitany
  use couplet_arrays_module, only: couplet_arrays
  use couplet_series_module, only: couplet_series, couplet_batch, couplet_series_info, couplet_field_info, couplet_slot, &
    couplet_statistics, couplet_waits
  use couplet_weights_module, only: couplet_weights
  use couplet_tasks_module, only: couplet_tasks, couplet_task, couplet_work, couplet_task_waitany
  use couplet_areas_module, only: couplet_area, couplet_area_info
  use couplet_universes, only: couplet_universe, couplet_join, couplet_version
  use couplet_fields_module, only: couplet_field, couplet_choice, couplet_create_fields, couplet_open_fields
  implicit none
  public
end module
