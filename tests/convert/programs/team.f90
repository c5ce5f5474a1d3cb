! Threads compute, and one thread communicates between the regions. It is converted by tests/convert.
program team
  use mpi
  implicit none
  integer :: rank, ierr, provided, i
  real(8) :: a(1000), own, total
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierr)
  if (provided < MPI_THREAD_FUNNELED) print *, "no threads"
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  own = 0
!$omp parallel do reduction(+:own)
  do i = 1, 1000
    a(i) = i * (rank + 1)
    own = own + a(i)
  end do
!$omp end parallel do
  call MPI_Allreduce(own, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
!$omp parallel default(shared)
  a = a / total
!$omp master
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
!$omp end master
!$omp end parallel
  print "(a, i2, f12.1)", "total", rank, total
  call MPI_Finalize(ierr)
end program
