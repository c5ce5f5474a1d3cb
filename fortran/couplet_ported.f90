! What programs use that `couplet convert` has made of MPI programs: module couplet, and messages, datatypes and
! collective calls that have the arguments of MPI's (subroutine couplet_ported_send for MPI_Send, and so on). An error
! ends the run.
! Guide: docs/guide/converting-an-mpi-code.md. Tests: tests/convert.
module couplet_ported
  use couplet
  use couplet_ported_base, only: couplet_world, couplet_in_place, couplet_null_rank, couplet_undefined, &
    couplet_null_request, couplet_null_group, couplet_pair_int32, couplet_pair_real32, couplet_pair_real64, &
    couplet_thread_single, couplet_thread_funneled, couplet_thread_serialized, couplet_thread_multiple, &
    couplet_ported_universe, couplet_ported_init, couplet_ported_init_thread, couplet_ported_join, &
    couplet_ported_leave, couplet_ported_finalize, couplet_ported_abort, couplet_ported_wtime, &
    couplet_ported_initialized, operator(==), operator(/=)
  use couplet_ported_datatypes
  use couplet_ported_messages
  use couplet_ported_collectives
  implicit none
  public
end module
