! The first program: a point source, whose power follows a sine over time. Its data are in s1.dat, and its listing is
! s1.out.
program point_source
  use coupling
  use listing
  implicit none
  integer, parameter :: dp = kind(1d0)
  integer :: ITERmax, iteration, comm
  real(dp) :: Period, Interval, Val, drive(2)
  namelist /data/ ITERmax, Period, Interval, Val
  open (10, file="s1.dat", status="old", action="read")
  read (10, nml=data)
  close (10)
  call begin_coupling(1, comm)
  call begin_listing("s1.out")
  do iteration = 1, min(ITERmax, nint(Period / Interval))
    drive(1) = iteration * Interval
    drive(2) = Val * sin(drive(1) * acos(-1.0_dp) / 180)
    call write_listing(drive)
    call give_source(drive)
  end do
  call end_coupling()
end program
