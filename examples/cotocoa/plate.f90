program plate  ! the requester: a plate that warms up; each rank has a part, and asks for a closer look when it is hot
  use ctca
  use mpi
  implicit none
  integer, parameter :: n = 40, steps = 6
  real(8) :: heat(n, n)
  real(8) :: means(steps) = 0
  integer :: rank, error, heat_id, means_id, step, i, j, hottest(2)
  integer(8) :: look(steps)
  call CTCAR_init()
  call MPI_Comm_rank(CTCA_subcomm, rank, error)
  call CTCAR_regarea_real8(heat, n*n, heat_id)
  call CTCAR_regarea_real8(means, steps, means_id)
  do step = 1, steps
    heat = reshape([((step*exp(-((i - 10d0*rank - 15)**2 + (j - 20)**2)/50), i = 1, n), j = 1, n)], [n, n])
    hottest = maxloc(heat)
    call CTCAR_sendreq_hdl([step, hottest(1), hottest(2)], 3, look(step))
    call CTCAR_wait(look(step))  ! here because the next step changes what the worker reads
  end do
  print "('rank ', i0, ':', 6f7.3)", rank, means
  call CTCAR_finalize()
end program
