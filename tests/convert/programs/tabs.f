	program tabs
C	Rows of a table go around, in a program with tabs in place of the first columns.
	implicit none
	include 'mpif.h'
	integer ierr, rank, ranks, left, right, request, i
	integer status(MPI_STATUS_SIZE)
	double precision row(5), total(5)
	call MPI_INIT(ierr)
	call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
	call MPI_COMM_SIZE(MPI_COMM_WORLD,
	1 ranks, ierr)
	right = mod(rank + 1, ranks)
	left = mod(rank + ranks - 1, ranks)
	do 10 i = 1, 5
	  row(i) = rank + 0.25d0*i
10	continue
	call MPI_ISEND(row, 5, MPI_DOUBLE_PRECISION, right, 3,       MPI_C
	1OMM_WORLD, request, ierr)
	call MPI_RECV(total, 5, MPI_DOUBLE_PRECISION, left, 3,
	2 MPI_COMM_WORLD, status, ierr)	! a tab in the code, too
  20	call MPI_WAIT(request, status, ierr)
	call MPI_ALLREDUCE(MPI_IN_PLACE, total, 5,MPI_DOUBLE_PRECISION, MP
	1I_SUM, MPI_COMM_WORLD, ierr)
	print '(a,i2,a,5f7.2)', 'rank', rank, ':', total
	call MPI_BARRIER(MPI_COMM_WORLD, ierr)                            SEQ00230
	call MPI_FINALIZE(ierr)
	end
