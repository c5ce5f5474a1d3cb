C     A token goes round a ring of ranks, in fixed form with
C     continuation lines. It is converted by tests/convert.
      PROGRAM RING
      INCLUDE 'mpif.h'
      INTEGER IERR, ME, NP, NEXT, PREV, REQ(2), STAT(MPI_STATUS_SIZE,2)
      INTEGER STATUS(MPI_STATUS_SIZE)
      DOUBLE PRECISION TOKEN(3), OUT(3)
      INTEGER I
      CALL MPI_INIT(IERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, ME, IERR)
      CALL MPI_COMM_SIZE(MPI_COMM_WORLD, NP, IERR)
      NEXT = MOD(ME + 1, NP)
      PREV = MOD(ME + NP - 1, NP)
      DO 10 I = 1, 3
        TOKEN(I) = 100.0D0*ME + I
   10 CONTINUE
c     the call is spread over three lines, with a comment between
      CALL MPI_IRECV(OUT(1), 3, MPI_DOUBLE_PRECISION, PREV, 7,
c     a comment inside of a statement
     &               MPI_COMM_WORLD,
     +               REQ(1), IERR)
      CALL MPI_ISEND(TOKEN(1), 3, MPI_DOUBLE_PRECISION, NEXT, 7, MPI_COM
     &M_WORLD, REQ(2), IERR)
      CALL MPI_WAITALL(2, REQ, STAT, IERR)
      IF (STAT(MPI_SOURCE,1) .NE. PREV) PRINT *, 'wrong source ! really'
      CALL MPI_SENDRECV(OUT, 1, MPI_DOUBLE_PRECISION, PREV, 8, TOKEN, 1,
     &     MPI_DOUBLE_PRECISION, NEXT, 8, MPI_COMM_WORLD, STATUS, IERR)
      PRINT '(A,I2,4F8.1,I3)', 'rank', ME, OUT, TOKEN(1), STATUS(MPI_TAG
     &)
      CALL MPI_FINALIZE(IERR)
      END
