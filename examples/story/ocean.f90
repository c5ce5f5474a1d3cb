program ocean  ! writes 100 steps of eta(300, 200); waits for the nowcast, and loses nothing
  use, intrinsic :: iso_fortran_env, only: real64
  use couplet
  implicit none
  type(couplet_universe) :: universe
  type(couplet_series) :: series
  real(real64) :: eta(300, 200)
  integer :: step, i
  call couplet_join("ocean", universe)
  call universe%create_series("eta", [300, 200], series, required_readers="nowcast", slots=16)
  do step = 1, 100
    eta = spread([(sin(0.1_real64*(i + step)), i = 1, 300)], 2, 200)  ! the computation
    call series%put(eta, step)
  end do
  call series%close()
  call universe%leave()
end program
