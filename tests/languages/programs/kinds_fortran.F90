! Every kind and rank in Fortran, series and messages, in one process; see test_kinds.py.
module kinds
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64, error_unit
  use couplet
  implicit none
  type(couplet_universe) :: universe
  type(couplet_group) :: group

contains

  subroutine require(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    write (error_unit, "(2a)") "not true: ", what
    error stop 1
  end subroutine

#define TEMPLATE "kinds_of_kind.inc"
#include "for_each_kind.inc"
end module

program kinds_fortran
  use couplet
  use kinds
  implicit none

  call couplet_join("solo", universe)
  call universe%group(group)
  call try_int8()
  call try_int16()
  call try_int32()
  call try_int64()
  call try_real32()
  call try_real64()
  call try_complex32()
  call try_complex64()
  call universe%leave()
  print "(a)", "fortran: all kinds"
end program
