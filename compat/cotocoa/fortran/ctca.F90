! CoToCoA's Fortran module, over Couplet: a program written for CoToCoA compiles against it unchanged. Sizes and offsets
! are integers of kind 4 or 8; arrays may have any rank, or be single elements. An error prints a sentence and ends the
! program.
! Guide: docs/guide/from-cotocoa.md. It is built on libctca_f and libctca. Tests: tests/compat/cotocoa.
module ctca_functions
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_size_t, c_float, c_double, c_ptr, c_loc, c_null_ptr
  implicit none
  private

  integer, parameter, public :: CTCA_ROLE_REQ = 0, CTCA_ROLE_CPL = 1, CTCA_ROLE_WRK = 2
  integer, parameter, public :: CTCAC_REQINFOITEMS = 4
  integer, public :: CTCA_subcomm = -1  ! replaces MPI_COMM_WORLD, from init to finalize
  integer, parameter :: type_int = 0, type_real4 = 1, type_real8 = 2

  public :: CTCAR_init, CTCAR_init_detail, CTCAR_finalize, CTCAR_sendreq, CTCAR_sendreq_hdl, CTCAR_wait, CTCAR_test
  public :: CTCAR_prof_start, CTCAR_prof_stop, CTCAR_prof_start_total, CTCAR_prof_stop_total
  public :: CTCAR_prof_start_calc, CTCAR_prof_stop_calc
  public :: CTCAC_init, CTCAC_init_detail, CTCAC_finalize, CTCAC_isfin, CTCAC_pollreq, CTCAC_enqreq
  public :: CTCAC_prof_start, CTCAC_prof_stop, CTCAC_prof_start_calc, CTCAC_prof_stop_calc
  public :: CTCAW_init, CTCAW_init_detail, CTCAW_finalize, CTCAW_isfin, CTCAW_pollreq, CTCAW_complete
  public :: CTCAW_prof_start, CTCAW_prof_stop, CTCAW_prof_start_calc, CTCAW_prof_stop_calc
  public :: CTCAR_buffer_load_data, CTCAR_buffer_over, CTCAR_buffer_free, CTCAC_buffer_init, CTCAC_buffer_free
  public :: CTCAW_buffer_init, CTCAW_buffer_read_data, CTCAW_buffer_get_address, CTCAW_get_address, CTCAW_buffer_free
  public :: CTCAW_buffer_get_timestep, CTCAW_buffer_get_overwriting_flag, CTCAW_get_timestep, CTCAW_get_overwrite_flag

  ! These functions are in ctca.h and libctca_f. Those of ctca.h return 0, or do not return.
  interface
    integer(c_int) function c_subcomm() bind(c, name="ctca_f_subcomm")
      import :: c_int
    end function
#define NOTHING(ours, symbol) integer(c_int) function ours() bind(c, name=symbol); import :: c_int; end function
    NOTHING(c_requester_init, "CTCAR_init")
    NOTHING(c_requester_finalize, "CTCAR_finalize")
    NOTHING(c_requester_prof_start, "CTCAR_prof_start")
    NOTHING(c_requester_prof_stop, "CTCAR_prof_stop")
    NOTHING(c_requester_prof_start_total, "CTCAR_prof_start_total")
    NOTHING(c_requester_prof_stop_total, "CTCAR_prof_stop_total")
    NOTHING(c_requester_prof_start_calc, "CTCAR_prof_start_calc")
    NOTHING(c_requester_prof_stop_calc, "CTCAR_prof_stop_calc")
    NOTHING(c_coupler_init, "CTCAC_init")
    NOTHING(c_coupler_finalize, "CTCAC_finalize")
    NOTHING(c_coupler_isfin, "CTCAC_isfin")
    NOTHING(c_coupler_prof_start, "CTCAC_prof_start")
    NOTHING(c_coupler_prof_stop, "CTCAC_prof_stop")
    NOTHING(c_coupler_prof_start_calc, "CTCAC_prof_start_calc")
    NOTHING(c_coupler_prof_stop_calc, "CTCAC_prof_stop_calc")
    NOTHING(c_worker_finalize, "CTCAW_finalize")
    NOTHING(c_worker_isfin, "CTCAW_isfin")
    NOTHING(c_worker_complete, "CTCAW_complete")
    NOTHING(c_worker_prof_start, "CTCAW_prof_start")
    NOTHING(c_worker_prof_stop, "CTCAW_prof_stop")
    NOTHING(c_worker_prof_start_calc, "CTCAW_prof_start_calc")
    NOTHING(c_worker_prof_stop_calc, "CTCAW_prof_stop_calc")
    NOTHING(c_buffer_over, "CTCAR_buffer_over")
    NOTHING(c_requester_buffer_free, "CTCAR_buffer_free")
    NOTHING(c_coupler_buffer_init, "CTCAC_buffer_init")
    NOTHING(c_coupler_buffer_free, "CTCAC_buffer_free")
    NOTHING(c_worker_buffer_free, "CTCAW_buffer_free")
    NOTHING(c_timestep, "CTCAW_get_timestep")
    NOTHING(c_overwrite_flag, "CTCAW_get_overwrite_flag")
    integer(c_int) function c_worker_init(progid, procspercomm) bind(c, name="CTCAW_init")
      import :: c_int
      integer(c_int), value :: progid, procspercomm
    end function
    type(c_ptr) function c_step_address() bind(c, name="CTCAW_buffer_step_address")
      import :: c_ptr
    end function
    integer(c_int) function c_load_from(data) bind(c, name="CTCAR_buffer_load_from")
      import :: c_int, c_ptr
      type(c_ptr), value :: data
    end function
    integer(c_int) function c_read_to(data) bind(c, name="CTCAW_buffer_read_to")
      import :: c_int, c_ptr
      type(c_ptr), value :: data
    end function
    integer(c_int) function c_sendreq(parameters, count) bind(c, name="CTCAR_sendreq")
      import :: c_int, c_ptr
      type(c_ptr), value :: parameters
      integer(c_int), value :: count
    end function
    integer(c_int) function c_sendreq_hdl(parameters, count, handle) bind(c, name="CTCAR_sendreq_hdl")
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: parameters
      integer(c_int), value :: count
      integer(c_int64_t), intent(out) :: handle
    end function
    integer(c_int) function c_wait(handle) bind(c, name="CTCAR_wait")
      import :: c_int, c_int64_t
      integer(c_int64_t), value :: handle
    end function
    integer(c_int) function c_test(handle) bind(c, name="CTCAR_test")
      import :: c_int, c_int64_t
      integer(c_int64_t), value :: handle
    end function
    integer(c_int) function c_coupler_pollreq(info, source, parameters, count) bind(c, name="CTCAC_pollreq")
      import :: c_int, c_ptr
      type(c_ptr), value :: info, parameters
      integer(c_int), intent(out) :: source
      integer(c_int), value :: count
    end function
    integer(c_int) function c_enqreq(info, progid, parameters, count) bind(c, name="CTCAC_enqreq")
      import :: c_int, c_ptr
      type(c_ptr), value :: info, parameters
      integer(c_int), value :: progid, count
    end function
    integer(c_int) function c_worker_pollreq(source, parameters, count) bind(c, name="CTCAW_pollreq")
      import :: c_int, c_ptr
      integer(c_int), intent(out) :: source
      type(c_ptr), value :: parameters
      integer(c_int), value :: count
    end function
    subroutine c_regarea(role, type, base, size, areaid) bind(c, name="ctca_f_regarea")
      import :: c_int, c_size_t, c_ptr
      integer(c_int), value :: role, type
      type(c_ptr), value :: base
      integer(c_size_t), value :: size
      integer(c_int), intent(out) :: areaid
    end subroutine
    subroutine c_readarea(role, type, areaid, reqrank, offset, size, dest) bind(c, name="ctca_f_readarea")
      import :: c_int, c_size_t, c_ptr
      integer(c_int), value :: role, type, areaid, reqrank
      integer(c_size_t), value :: offset, size
      type(c_ptr), value :: dest
    end subroutine
    subroutine c_writearea(role, type, areaid, reqrank, offset, size, src) bind(c, name="ctca_f_writearea")
      import :: c_int, c_size_t, c_ptr
      integer(c_int), value :: role, type, areaid, reqrank
      integer(c_size_t), value :: offset, size
      type(c_ptr), value :: src
    end subroutine
    subroutine c_sendreq_with(type, parameters, count, data, size, handle) bind(c, name="ctca_f_sendreq")
      import :: c_int, c_size_t, c_ptr
      integer(c_int), value :: type, count
      type(c_ptr), value :: parameters, data, handle
      integer(c_size_t), value :: size
    end subroutine
    subroutine c_coupler_pollreq_with(type, info, source, parameters, count, data, size) &
        bind(c, name="ctca_f_pollreq_coupler")
      import :: c_int, c_size_t, c_ptr
      integer(c_int), value :: type, count
      type(c_ptr), value :: info, parameters, data
      integer(c_int), intent(out) :: source
      integer(c_size_t), value :: size
    end subroutine
    subroutine c_enqreq_with(type, info, progid, parameters, count, data, size) bind(c, name="ctca_f_enqreq")
      import :: c_int, c_size_t, c_ptr
      integer(c_int), value :: type, progid, count
      type(c_ptr), value :: info, parameters, data
      integer(c_size_t), value :: size
    end subroutine
    subroutine c_worker_pollreq_with(type, source, parameters, count, data, size) bind(c, name="ctca_f_pollreq_worker")
      import :: c_int, c_size_t, c_ptr
      integer(c_int), value :: type, count
      integer(c_int), intent(out) :: source
      type(c_ptr), value :: parameters, data
      integer(c_size_t), value :: size
    end subroutine
    subroutine c_buffer_requester(type, gigabytes, dimensions, start, end) bind(c, name="ctca_f_buffer_requester")
      import :: c_int, c_ptr
      integer(c_int), value :: type, gigabytes, dimensions
      type(c_ptr), value :: start, end
    end subroutine
    subroutine c_buffer_requester_grid(type, gigabytes, dimensions, array, grid, total, policy) &
        bind(c, name="ctca_f_buffer_requester_grid")
      import :: c_int, c_ptr
      integer(c_int), value :: type, gigabytes, dimensions, policy
      type(c_ptr), value :: array, grid, total
    end subroutine
    subroutine c_buffer_coupler(type) bind(c, name="ctca_f_buffer_coupler")
      import :: c_int
      integer(c_int), value :: type
    end subroutine
    subroutine c_buffer_worker(type, steps, start, end, method) bind(c, name="ctca_f_buffer_worker")
      import :: c_int, c_ptr
      integer(c_int), value :: type, steps, method
      type(c_ptr), value :: start, end
    end subroutine
    subroutine c_buffer_worker_grid(type, grid, total) bind(c, name="ctca_f_buffer_worker_grid")
      import :: c_int, c_ptr
      integer(c_int), value :: type
      type(c_ptr), value :: grid, total
    end subroutine
    integer(c_int) function c_worker_buffer_init(grid, total) bind(c, name="CTCAW_buffer_init_grid")
      import :: c_int, c_ptr
      type(c_ptr), value :: grid, total
    end function
    integer(c_int) function c_worker_buffer_init_array(grid, total, array) bind(c, name="CTCAW_buffer_init_array")
      import :: c_int, c_ptr
      type(c_ptr), value :: grid, total, array
    end function
    subroutine c_buffer_load(type, data) bind(c, name="ctca_f_buffer_load")
      import :: c_int, c_ptr
      integer(c_int), value :: type
      type(c_ptr), value :: data
    end subroutine
    integer(c_int) function c_buffer_read(type, data) bind(c, name="ctca_f_buffer_read")
      import :: c_int, c_ptr
      integer(c_int), value :: type
      type(c_ptr), value :: data
    end function
  end interface

  ! These are the forms without an array. ctca_generics.inc has those with one.
  interface CTCAR_buffer_load_data
    procedure :: load_the_array
  end interface
  interface CTCAW_buffer_init
    procedure :: worker_buffer_untyped
  end interface
  interface CTCAW_buffer_read_data
    procedure :: read_next
  end interface
  interface CTCAW_buffer_get_address
    procedure :: step_address
  end interface

#define TEMPLATE "ctca_generics.inc"
#include "ctca_types.inc"

contains

#define TEMPLATE "ctca_of_type.inc"
#include "ctca_types.inc"

  ! Converts an integer of any kind to a count of elements.
  integer(c_size_t) function to_size(number)
    class(*), intent(in) :: number
    select type (number)
    type is (integer(c_int))
      to_size = int(number, c_size_t)
    type is (integer(c_int64_t))
      to_size = int(number, c_size_t)
    class default
      to_size = 0
      error stop "CoToCoA: a size or an offset is an integer of kind 4 or 8"
    end select
    if (to_size < 0) error stop "CoToCoA: a size or an offset is negative"
  end function

  ! Memory that is registered stays in use after the call, so a copy of it would not do.
  subroutine require_contiguous(contiguous)
    logical, intent(in) :: contiguous
    if (.not. contiguous) error stop "CoToCoA: an array that is registered has to be contiguous"
  end subroutine

  subroutine done(code)
    integer(c_int), intent(in) :: code
    if (code /= 0) error stop "CoToCoA: a function answered an error"
  end subroutine

  subroutine begun(code)
    integer(c_int), intent(in) :: code
    call done(code)
    CTCA_subcomm = c_subcomm()
  end subroutine

  ! ---- requester ----

  subroutine CTCAR_init()
    call begun(c_requester_init())
  end subroutine

  ! The numbers are the sizes of CoToCoA's tables. Couplet's tables grow, so they are not needed.
  subroutine CTCAR_init_detail(numareas, numreqs, intparams)
    integer, intent(in) :: numareas, numreqs, intparams
    if (min(numareas, numreqs, intparams) < 0) error stop "CTCAR_init_detail: a negative number"
    call begun(c_requester_init())
  end subroutine

  subroutine CTCAR_finalize()
    call done(c_requester_finalize())
  end subroutine

  subroutine CTCAR_sendreq(intparams, numintparams)
    integer(c_int), intent(in), target, contiguous :: intparams(..)
    integer, intent(in) :: numintparams
    call done(c_sendreq(c_loc(intparams), numintparams))
  end subroutine

  subroutine CTCAR_sendreq_hdl(intparams, numintparams, hdl)
    integer(c_int), intent(in), target, contiguous :: intparams(..)
    integer, intent(in) :: numintparams
    integer(c_int64_t), intent(out) :: hdl
    call done(c_sendreq_hdl(c_loc(intparams), numintparams, hdl))
  end subroutine

  subroutine CTCAR_wait(hdl)
    integer(c_int64_t), intent(in) :: hdl
    call done(c_wait(hdl))
  end subroutine

  logical function CTCAR_test(hdl)
    integer(c_int64_t), intent(in) :: hdl
    CTCAR_test = c_test(hdl) /= 0
  end function

#define PROFILING(name, c_name) subroutine name(); call done(c_name()); end subroutine
  PROFILING(CTCAR_prof_start, c_requester_prof_start)
  PROFILING(CTCAR_prof_stop, c_requester_prof_stop)
  PROFILING(CTCAR_prof_start_total, c_requester_prof_start_total)
  PROFILING(CTCAR_prof_stop_total, c_requester_prof_stop_total)
  PROFILING(CTCAR_prof_start_calc, c_requester_prof_start_calc)
  PROFILING(CTCAR_prof_stop_calc, c_requester_prof_stop_calc)
  PROFILING(CTCAC_prof_start, c_coupler_prof_start)
  PROFILING(CTCAC_prof_stop, c_coupler_prof_stop)
  PROFILING(CTCAC_prof_start_calc, c_coupler_prof_start_calc)
  PROFILING(CTCAC_prof_stop_calc, c_coupler_prof_stop_calc)
  PROFILING(CTCAW_prof_start, c_worker_prof_start)
  PROFILING(CTCAW_prof_stop, c_worker_prof_stop)
  PROFILING(CTCAW_prof_start_calc, c_worker_prof_start_calc)
  PROFILING(CTCAW_prof_stop_calc, c_worker_prof_stop_calc)

  ! ---- coupler ----

  subroutine CTCAC_init()
    call begun(c_coupler_init())
  end subroutine

  subroutine CTCAC_init_detail(numareas, numreqs, intparams, bufslotsz, bufslotnum)
    integer, intent(in) :: numareas, numreqs, intparams, bufslotnum
    class(*), intent(in) :: bufslotsz
    integer(c_size_t) :: slot_bytes
    slot_bytes = to_size(bufslotsz)
    if (min(numareas, numreqs, intparams, bufslotnum) < 0 .or. slot_bytes < 0) then
      error stop "CTCAC_init_detail: a negative number"
    end if
    call begun(c_coupler_init())
  end subroutine

  subroutine CTCAC_finalize()
    call done(c_coupler_finalize())
  end subroutine

  logical function CTCAC_isfin()
    CTCAC_isfin = c_coupler_isfin() /= 0
  end function

  subroutine CTCAC_pollreq(reqinfo, fromrank, intparams, numintparams)
    integer(c_int), intent(inout), target, contiguous :: reqinfo(:)
    integer, intent(out) :: fromrank
    integer(c_int), intent(inout), target, contiguous :: intparams(..)
    integer, intent(in) :: numintparams
    call done(c_coupler_pollreq(c_loc(reqinfo), fromrank, c_loc(intparams), numintparams))
  end subroutine

  subroutine CTCAC_enqreq(reqinfo, progid, intparams, numintparams)
    integer(c_int), intent(in), target, contiguous :: reqinfo(:)
    integer, intent(in) :: progid, numintparams
    integer(c_int), intent(in), target, contiguous :: intparams(..)
    call done(c_enqreq(c_loc(reqinfo), progid, c_loc(intparams), numintparams))
  end subroutine

  ! ---- worker ----

  subroutine CTCAW_init(progid, procspercomm)
    integer, intent(in) :: progid, procspercomm
    call begun(c_worker_init(progid, procspercomm))
  end subroutine

  subroutine CTCAW_init_detail(progid, procspercomm, numareas, intparams)
    integer, intent(in) :: progid, procspercomm, numareas, intparams
    if (min(numareas, intparams) < 0) error stop "CTCAW_init_detail: a negative number"
    call begun(c_worker_init(progid, procspercomm))
  end subroutine

  subroutine CTCAW_finalize()
    call done(c_worker_finalize())
  end subroutine

  logical function CTCAW_isfin()
    CTCAW_isfin = c_worker_isfin() /= 0
  end function

  subroutine CTCAW_pollreq(fromrank, intparams, numintparams)
    integer, intent(out) :: fromrank
    integer(c_int), intent(inout), target, contiguous :: intparams(..)
    integer, intent(in) :: numintparams
    call done(c_worker_pollreq(fromrank, c_loc(intparams), numintparams))
  end subroutine

  subroutine CTCAW_complete()
    call done(c_worker_complete())
  end subroutine

  ! ---- buffer ----

  subroutine load_the_array()
    call done(c_load_from(c_null_ptr))
  end subroutine

  subroutine CTCAR_buffer_over()
    call done(c_buffer_over())
  end subroutine

  subroutine CTCAR_buffer_free()
    call done(c_requester_buffer_free())
  end subroutine

  subroutine CTCAC_buffer_init()
    call done(c_coupler_buffer_init())
  end subroutine

  subroutine CTCAC_buffer_free()
    call done(c_coupler_buffer_free())
  end subroutine

  subroutine worker_buffer_untyped(grid, total_size)
    integer(c_int), intent(in), target, contiguous :: grid(:), total_size(:)
    call done(c_worker_buffer_init(c_loc(grid), c_loc(total_size)))
  end subroutine

  ! Reads the next step. Returns 1 for a step and 2 for the end.
  integer function read_next()
    read_next = c_read_to(c_null_ptr)
  end function

  type(c_ptr) function step_address()
    step_address = c_step_address()
  end function

  integer function CTCAW_buffer_get_timestep()
    CTCAW_buffer_get_timestep = c_timestep()
  end function

  integer function CTCAW_buffer_get_overwriting_flag()
    CTCAW_buffer_get_overwriting_flag = c_overwrite_flag()
  end function

  integer function CTCAW_get_timestep()
    CTCAW_get_timestep = c_timestep()
  end function

  integer function CTCAW_get_overwrite_flag()
    CTCAW_get_overwrite_flag = c_overwrite_flag()
  end function

  subroutine CTCAW_buffer_free()
    call done(c_worker_buffer_free())
  end subroutine
end module

! The module that programs use: the functions, and the names of mpi and iso_c_binding, as CoToCoA's module has them.
module ctca
  use ctca_functions
  use mpi
  use, intrinsic :: iso_c_binding
  implicit none
end module
