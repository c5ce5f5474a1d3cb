! Turns a status into the caller's `ierr`, or, if that is absent, into a sentence on standard error and the end of the
! run. It is built on couplet_binding, and every other module is built on it.
! Invariant: no error passes unnoticed. couplet_mpi replaces the way in which the run is stopped (MPI_Abort).
! Tests: tests/languages/test_errors.py.
module couplet_errors_module
  use, intrinsic :: iso_fortran_env, only: error_unit
  use couplet_binding_module
  implicit none
  private
  public :: couplet_error_message, couplet_status_name, conclude, conclude_answer, refuse, stop_everything, stop_handler
  public :: swap_error_text

  abstract interface
    ! Ends all processes of this program. It does not return.
    subroutine stop_handler()
    end subroutine
  end interface
  procedure(stop_handler), pointer, save :: stop_everything => stop_program

  character(len=:), allocatable, save :: last_text
  !$omp threadprivate(last_text)

contains

  ! Returns the sentence of the last call that did not return couplet_ok. It says what went wrong, and names program,
  ! rank, host, series and step.
  function couplet_error_message() result(text)
    character(len=:), allocatable :: text
    text = ""
    if (allocated(last_text)) text = last_text
  end function

  function couplet_status_name(status) result(name)
    integer, intent(in) :: status
    character(len=:), allocatable :: name
    name = from_c(c_status_name(int(status, c_int32_t)))
  end function

  ! Ends a call that has no answer but couplet_ok, or whose answer must not be overlooked, such as a put that found the
  ! slots full.
  subroutine conclude(status, ierr)
    integer(c_int32_t), intent(in) :: status
    integer, intent(out), optional :: ierr
    if (status /= couplet_ok) call remember(status, from_c(c_error_text()))
    call deliver(status, ierr)
  end subroutine

  ! Ends a call whose answers the caller also finds in its outputs, such as a read. An answer never stops the run.
  subroutine conclude_answer(status, ierr)
    integer(c_int32_t), intent(in) :: status
    integer, intent(out), optional :: ierr
    if (status > couplet_ok) then
      if (present(ierr)) ierr = int(status)
      return
    end if
    call conclude(status, ierr)
  end subroutine

  ! Ends a call with an error that was found before the C interface was called.
  subroutine refuse(status, text, ierr)
    integer, intent(in) :: status
    character(len=*), intent(in) :: text
    integer, intent(out), optional :: ierr
    call remember(int(status, c_int32_t), text)
    call deliver(int(status, c_int32_t), ierr)
  end subroutine

  subroutine remember(status, text)
    integer(c_int32_t), intent(in) :: status
    character(len=*), intent(in) :: text
    if (len(text) > 0) then
      last_text = text
    else
      last_text = couplet_status_name(int(status))
    end if
  end subroutine

  ! Exchanges the sentence of the last error with another one; a text that is not allocated means that there is none.
  ! This is for callbacks, whose errors are told apart from earlier ones in this way.
  subroutine swap_error_text(text)
    character(len=:), allocatable, intent(inout) :: text
    character(len=:), allocatable :: other
    call move_alloc(last_text, other)
    call move_alloc(text, last_text)
    call move_alloc(other, text)
  end subroutine

  subroutine deliver(status, ierr)
    integer(c_int32_t), intent(in) :: status
    integer, intent(out), optional :: ierr
    if (present(ierr)) then
      ierr = int(status)
    else if (status /= couplet_ok) then
      write (error_unit, "(4a)") "couplet: ", couplet_status_name(int(status)), ": ", last_text
      flush (error_unit)
      call stop_everything()
    end if
  end subroutine

  subroutine stop_program()
    error stop 1
  end subroutine
end module
