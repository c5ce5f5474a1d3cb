! What programs that `couplet convert` has made of MPI programs need besides module couplet: one universe and one group
! for the whole process, MPI's special values, and errors that end the run, as they do in MPI by default. It is built
! on module couplet; couplet_ported_messages and couplet_ported_collectives are built on it. Programs use
! couplet_ported.
! Guide: docs/guide/converting-an-mpi-code.md. Tests: tests/convert.
module couplet_ported_base
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64, output_unit
  use couplet
  use couplet_binding_module, only: c_type_bytes, c_collective_options, c_collective_options_init
  use couplet_errors_module, only: conclude, refuse
  implicit none
  private
  public :: couplet_ported_init, couplet_ported_init_thread, couplet_ported_join, couplet_ported_leave, &
    couplet_ported_finalize, couplet_ported_abort, couplet_ported_wtime, couplet_ported_initialized
  public :: operator(==), operator(/=)
  public :: finish, need, elements, element_type, is_made, bytes_of, block_at, refuse_gaps, default_options

  ! The group that has taken the place of the communicator, and the universe of which it is a part.
  type(couplet_group), save, public, protected :: couplet_world
  type(couplet_universe), save, public, target :: couplet_ported_universe
  logical, save :: joined = .false.

  integer, save, target, public :: couplet_in_place = 0          ! its address says that a buffer is the other one
  integer, parameter, public :: couplet_null_rank = -2           ! messages to it and from it are not sent
  integer, parameter, public :: couplet_undefined = -32766
  type(couplet_request), parameter, public :: couplet_null_request = couplet_request()
  type(couplet_group), parameter, public :: couplet_null_group = couplet_group()
  integer, parameter, public :: couplet_thread_single = 0, couplet_thread_funneled = 1, couplet_thread_serialized = 2, &
    couplet_thread_multiple = 3
  ! Pairs of value and index, for maxloc and minloc: a count of pairs is half of that of elements.
  integer, parameter, public :: couplet_pairs = 1000
  integer, parameter, public :: couplet_pair_int32 = couplet_pairs + couplet_int32
  integer, parameter, public :: couplet_pair_real32 = couplet_pairs + couplet_real32
  integer, parameter, public :: couplet_pair_real64 = couplet_pairs + couplet_real64

  interface operator(==)
    module procedure same_request, same_group
  end interface

  interface operator(/=)
    module procedure other_request, other_group
  end interface

contains

  ! Joins the universe. program: by default the variable COUPLET_PROGRAM. couplet_world is the group of the ranks of
  ! this program or, with whole_universe, of all programs. With multiple_threads, threads may call and take turns.
  ! Blocking: until all required programs are complete. A second call does nothing.
  subroutine couplet_ported_join(program, whole_universe, multiple_threads)
    character(len=*), intent(in), optional :: program
    logical, intent(in), optional :: whole_universe, multiple_threads
    logical :: everybody
    if (joined) return
    if (present(program)) then
      call couplet_join(program, couplet_ported_universe, multiple_threads=multiple_threads)
    else
      call couplet_join("", couplet_ported_universe, multiple_threads=multiple_threads)
    end if
    everybody = .false.
    if (present(whole_universe)) everybody = whole_universe
    if (everybody) then
      call couplet_ported_universe%group(couplet_world)
    else
      call couplet_ported_universe%program_group(couplet_world)
    end if
    joined = .true.
  end subroutine

  ! Leaves the universe in good order: what was sent is delivered. Without a join it does nothing.
  subroutine couplet_ported_leave()
    if (.not. joined) return
    call couplet_ported_universe%leave()
    couplet_world = couplet_null_group
    joined = .false.
  end subroutine

  ! Takes the place of MPI_Init in a program without MPI.
  subroutine couplet_ported_init(ierror, program, whole_universe, multiple_threads)
    integer, intent(out), optional :: ierror
    character(len=*), intent(in), optional :: program
    logical, intent(in), optional :: whole_universe, multiple_threads
    call couplet_ported_join(program, whole_universe, multiple_threads)
    call finish(couplet_ok, ierror)
  end subroutine

  ! Takes the place of MPI_Init_thread. If several threads may call, they take turns.
  subroutine couplet_ported_init_thread(required, provided, ierror, program, whole_universe, multiple_threads)
    integer, intent(in) :: required
    integer, intent(out) :: provided
    integer, intent(out), optional :: ierror
    character(len=*), intent(in), optional :: program
    logical, intent(in), optional :: whole_universe, multiple_threads
    logical :: several
    several = required >= couplet_thread_serialized
    if (present(multiple_threads)) several = several .or. multiple_threads
    call couplet_ported_join(program, whole_universe, several)
    provided = required
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_finalize(ierror)
    integer, intent(out), optional :: ierror
    call couplet_ported_leave()
    call finish(couplet_ok, ierror)
  end subroutine

  subroutine couplet_ported_initialized(flag, ierror)
    logical, intent(out) :: flag
    integer, intent(out), optional :: ierror
    flag = joined
    call finish(couplet_ok, ierror)
  end subroutine

  ! Ends this process with the exit status `errorcode`. Its launcher ends the other ranks of the program.
  subroutine couplet_ported_abort(comm, errorcode, ierror)
    type(couplet_group), intent(in) :: comm
    integer, intent(in) :: errorcode
    integer, intent(out), optional :: ierror
    flush (output_unit)
    if (present(ierror)) ierror = errorcode
    if (.not. c_associated(comm%handle)) print "(a)", "couplet_ported_abort: the process has not joined, or has left"
    if (errorcode /= 0) error stop errorcode
    error stop 1
  end subroutine

  ! Returns seconds since some time in the past.
  real(real64) function couplet_ported_wtime() result(seconds)
    integer(int64) :: ticks, rate
    call system_clock(ticks, rate)
    seconds = real(ticks, real64) / real(rate, real64)
  end function

  ! ---- for the modules that are built on this one ----

  ! Ends the run if the status is an error.
  subroutine need(status)
    integer(c_int32_t), intent(in) :: status
    if (status /= couplet_ok) call conclude(status)
  end subroutine

  ! Ends the run if the status is an error: MPI does so by default, also if it is given an ierror.
  subroutine finish(status, ierror)
    integer(c_int32_t), intent(in) :: status
    integer, intent(out), optional :: ierror
    call need(status)
    if (present(ierror)) ierror = 0
  end subroutine

  integer(c_int64_t) function elements(count, datatype) result(number)
    integer, intent(in) :: count, datatype
    number = int(count, c_int64_t)
    if (is_pair(datatype)) number = 2 * number
  end function

  ! Tells pairs from element types and from the handles of datatypes, which are larger.
  logical function is_pair(datatype)
    integer, intent(in) :: datatype
    is_pair = datatype >= couplet_pairs .and. datatype < 2 * couplet_pairs
  end function

  ! Tells datatypes that were made from element types and pairs.
  logical function is_made(datatype)
    integer, intent(in) :: datatype
    is_made = datatype >= 2 * couplet_pairs
  end function

  integer(c_int32_t) function element_type(datatype) result(type)
    integer, intent(in) :: datatype
    type = int(datatype, c_int32_t)
    if (is_pair(datatype)) type = type - couplet_pairs
  end function

  integer(c_int64_t) function bytes_of(count, datatype) result(bytes)
    integer, intent(in) :: count, datatype
    bytes = elements(count, datatype) * int(c_type_bytes(element_type(datatype)), c_int64_t)
  end function

  ! Returns the address that lies `bytes` behind `start`.
  type(c_ptr) function block_at(start, bytes) result(address)
    type(c_ptr), intent(in) :: start
    integer(c_int64_t), intent(in) :: bytes
    address = transfer(transfer(start, 0_c_intptr_t) + int(bytes, c_intptr_t), c_null_ptr)
  end function

  ! A call that does not wait cannot use a copy that the compiler makes of an array with gaps.
  subroutine refuse_gaps(contiguous, verb)
    logical, intent(in) :: contiguous
    character(len=*), intent(in) :: verb
    if (.not. contiguous) call refuse(couplet_error_argument, verb//": the array is not contiguous; a non-blocking &
      &call would have to copy it, and the copy would be gone before the call is done")
  end subroutine

  type(c_collective_options) function default_options() result(options)
    call c_collective_options_init(options)
  end function

  elemental logical function same_request(left, right)
    type(couplet_request), intent(in) :: left, right
    same_request = same_address(left%handle, right%handle)
  end function

  elemental logical function other_request(left, right)
    type(couplet_request), intent(in) :: left, right
    other_request = .not. same_address(left%handle, right%handle)
  end function

  elemental logical function same_group(left, right)
    type(couplet_group), intent(in) :: left, right
    same_group = same_address(left%handle, right%handle)
  end function

  elemental logical function other_group(left, right)
    type(couplet_group), intent(in) :: left, right
    other_group = .not. same_address(left%handle, right%handle)
  end function

  elemental logical function same_address(left, right)
    type(c_ptr), intent(in) :: left, right
    same_address = transfer(left, 0_c_intptr_t) == transfer(right, 0_c_intptr_t)
  end function
end module
