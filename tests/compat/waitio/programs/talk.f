c     The calling style of WaitIO's talk, in fixed source form: undeclared
c     names, a communicator in a REAL*8, and requests and statuses by
c     columns. The heads exchange arrays with the heads of all PBs; then
c     all ranks of all PBs add up a dot product.
      program talk
      implicit real*8(a-h,o-z)
      include 'mpif.h'
      include 'waitio_mpif.h'
      integer(4) ireq(WAITIO_MPI_REQUEST_SIZE,32)
      integer(4) ista(WAITIO_MPI_STATUS_SIZE,32)
      dimension snd(50), rcv(50,16)
      dimension guard(2)
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, me, ierr)
      call WAITIO_CREATE_UNIVERSE(wcomm, ierr)
      if (ierr.ne.0) stop 1
      guard(1) = 1d0
      guard(2) = 1d0
      call WAITIO_CREATE_UNIVERSE_PBHEAD(hcomm, ierr)
      call WAITIO_GROUP_RANK(wcomm, iwrank, ierr)
      call WAITIO_GROUP_SIZE(wcomm, iwsize, ierr)
      call WAITIO_GROUP_RANK(hcomm, ihrank, ierr)
      call WAITIO_GROUP_SIZE(hcomm, ihsize, ierr)
      nwrong = 0
      if (me.eq.0 .and. ihrank.lt.0) nwrong = nwrong + 1
      if (me.ne.0 .and. ihrank.ne.-1) nwrong = nwrong + 1
      if (ihrank.ge.0) then
        do i = 1, 50
          snd(i) = 1000d0*ihrank + i
        end do
        k = 0
        do ip = 0, ihsize - 1
          if (ip.ne.ihrank) then
            k = k + 1
            call WAITIO_MPI_ISEND(snd, 50, WAITIO_MPI_DOUBLE_PRECISION,
     &           ip, 9, hcomm, ireq(1,k), ierr)
            nwrong = nwrong + ierr
            k = k + 1
            call WAITIO_MPI_IRECV(rcv(1,ip+1), 50,
     &           WAITIO_MPI_DOUBLE_PRECISION, ip, 9, hcomm, ireq(1,k),
     &           ierr)
            nwrong = nwrong + ierr
          end if
        end do
        call WAITIO_MPI_WAITALL(k, ireq, ista, ierr)
        nwrong = nwrong + ierr
        do ip = 0, ihsize - 1
          if (ip.ne.ihrank) then
            do i = 1, 50
              if (rcv(i,ip+1).ne.1000d0*ip + i) nwrong = nwrong + 1
            end do
          end if
        end do
        do j = 2, k, 2
          if (ista(2,j).ne.9 .or. ista(4,j).ne.400) nwrong = nwrong + 1
        end do
      end if
      dot = dble(iwrank + 1)**2
      call WAITIO_MPI_ALLREDUCE(dot, total, 1,
     &     WAITIO_MPI_DOUBLE_PRECISION, WAITIO_MPI_SUM, wcomm, ierr)
      expect = 0d0
      do i = 1, iwsize
        expect = expect + dble(i)**2
      end do
      if (total.ne.expect) nwrong = nwrong + 1
      call WAITIO_MPI_BARRIER(wcomm, ierr)
      call WAITIO_FINALIZE(ierr)
      nwrong = nwrong + ierr
      write(*,'(a,i0,a,i0,a,i0,a)') 'talk: rank ', iwrank, ' of ',
     &     iwsize, ': ', nwrong, ' wrong'
      call MPI_FINALIZE(ierr)
      if (nwrong.ne.0) stop 1
      end
