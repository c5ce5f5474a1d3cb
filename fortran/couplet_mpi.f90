! Couplet for Fortran programs with MPI: module couplet, and couplet_join with a communicator, which is of mpi_f08's
! type or an integer. It is compiled once for each MPI, and calls that MPI's libcouplet_mpi library. If `ierr` is
! absent, an error calls MPI_Abort.
! Tests: tests/languages.
module couplet_mpi
  use, intrinsic :: iso_c_binding, only: c_int, c_int32_t, c_ptr, c_null_ptr
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08, only: MPI_Comm, MPI_COMM_WORLD, MPI_Abort, MPI_Initialized, MPI_Finalized
  use couplet
  use couplet_binding_module, only: c_join_options, c_string, from_c, to_c
  use couplet_errors_module, only: conclude, stop_everything
  use couplet_universes_module, only: fill_join_options
  implicit none
  private :: real64, c_int, c_int32_t, c_ptr, c_null_ptr, MPI_Comm, MPI_COMM_WORLD, MPI_Abort, MPI_Initialized, &
    MPI_Finalized
  private :: c_join_options, from_c, to_c, conclude, stop_everything, c_string, fill_join_options
  private :: c_join_mpi_f, c_mpi_version, join_integer, join_f08, abort_everything

  ! call couplet_join(program, comm, universe [, hub, secret_file, timeout, multiple_threads, ierr])
  interface couplet_join
    procedure :: join_integer, join_f08
  end interface

  interface
    function c_join_mpi_f(program, comm, options, universe) bind(c, name="couplet_join_mpi_f") result(status)
      import :: c_ptr, c_int, c_int32_t, c_join_options
      type(c_ptr), value :: program
      integer(c_int), value :: comm
      type(c_join_options), intent(in) :: options
      type(c_ptr), intent(inout) :: universe
      integer(c_int32_t) :: status
    end function
    function c_mpi_version() bind(c, name="couplet_mpi_version") result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function
  end interface

contains

  ! Joins with the rank and size of `comm`. Collective over comm: if joining fails on one rank, it fails on all.
  subroutine join_integer(program, comm, universe, hub, secret_file, timeout, multiple_threads, ierr)
    character(len=*), intent(in) :: program
    integer, intent(in) :: comm
    type(couplet_universe), intent(inout) :: universe
    character(len=*), intent(in), optional :: hub, secret_file
    real(real64), intent(in), optional :: timeout
    logical, intent(in), optional :: multiple_threads
    integer, intent(out), optional :: ierr
    type(c_join_options) :: options
    type(c_string), target :: texts(3)
    integer(c_int32_t) :: status
    stop_everything => abort_everything
    call fill_join_options(options, texts, hub, secret_file, timeout, multiple_threads)
    status = c_join_mpi_f(to_c(texts(3)%letters, program), int(comm, c_int), options, universe%handle)
    call conclude(status, ierr)
  end subroutine

  subroutine join_f08(program, comm, universe, hub, secret_file, timeout, multiple_threads, ierr)
    character(len=*), intent(in) :: program
    type(MPI_Comm), intent(in) :: comm
    type(couplet_universe), intent(inout) :: universe
    character(len=*), intent(in), optional :: hub, secret_file
    real(real64), intent(in), optional :: timeout
    logical, intent(in), optional :: multiple_threads
    integer, intent(out), optional :: ierr
    call join_integer(program, comm%mpi_val, universe, hub, secret_file, timeout, multiple_threads, ierr)
  end subroutine

  ! Returns the first line of the version string of the MPI for which this module was compiled.
  function couplet_mpi_version() result(text)
    character(len=:), allocatable :: text
    text = from_c(c_mpi_version())
  end function

  subroutine abort_everything()
    logical :: started, ended
    call MPI_Initialized(started)
    call MPI_Finalized(ended)
    if (started .and. .not. ended) call MPI_Abort(MPI_COMM_WORLD, 1)
    error stop 1
  end subroutine
end module
