! Couplet for Fortran: the module that programs use. Every call has an optional `ierr` as its last argument. If it is
! absent, an error prints its sentence and stops the whole run. Answers (not yet, full, end, restarted) are positive
! values of ierr. The first dimension varies fastest; shapes and boxes are 1-based and inclusive; eta(i,j) is eta[j,i]
! in Python. The work is done by the modules couplet_universes, couplet_messages, couplet_errors, couplet_binding and
! couplet_*_module. Programs with MPI use couplet_mpi in place of this module; it has everything that is here.
! Guide: docs/guide/fortran.md. Tests: tests/languages.
module couplet
  use couplet_constants_module
  use couplet_errors_module, only: couplet_error_message, couplet_status_name
  use couplet_messages_module, only: couplet_group, couplet_message, couplet_request, couplet_waitall, couplet_waitany
  use couplet_datatypes_module, only: couplet_datatype
  use couplet_exchanges_module, only: couplet_exchange
  use couplet_halos_module, only: couplet_grid, couplet_halo
  use couplet_clients_module, only: couplet_client, couplet_client_fail, couplet_moment, couplet_phased
  use couplet_coalesce_module, only: couplet_communications_manager, couplet_step_manager
  use couplet_arrays_module, only: couplet_arrays
  use couplet_series_module, only: couplet_series, couplet_series_batch, couplet_series_info, &
    couplet_series_field_info, couplet_series_slot, couplet_series_statistics, couplet_series_waits
  use couplet_weights_module, only: couplet_series_weights
  use couplet_tasks_module, only: couplet_tasks, couplet_task, couplet_work, couplet_task_waitany
  use couplet_areas_module, only: couplet_area, couplet_area_info
  use couplet_universes_module, only: couplet_universe, couplet_join, couplet_version
  use couplet_waiting_module, only: couplet_awaited, couplet_wait_any, couplet_arm_any
  use couplet_boxes_module, only: couplet_box
  use couplet_fields_module, only: couplet_series_field, couplet_series_choice
  implicit none
  public
end module
