! worker ID PROCS PHASE: the same as worker.c.
program worker
  use ctca
  use mpi
  implicit none
  include "exchange.inc"
  integer :: parameters(parameter_count), ints(data_count), arguments(3), result
  real(4) :: floats(data_count)
  real(8) :: doubles(data_count), field(field_count), total
  integer :: area, source, rank, size, error, done, k
  character(len=20) :: word
  do k = 1, 3
    call get_command_argument(k, word)
    read (word, *) arguments(k)
  end do
  call CTCAW_init(arguments(1), arguments(2))
  call MPI_Comm_rank(CTCA_subcomm, rank, error)
  call MPI_Comm_size(CTCA_subcomm, size, error)
  if (size /= arguments(2)) error stop "size of the group"
  call CTCAW_prof_start()
  call CTCAW_regarea_real8(area)
  call CTCAW_regarea_int(area)
  call CTCAW_regarea_real4(area)
  if (area /= 2) error stop "area"
  done = 0
  do
    doubles = 0
    select case (arguments(3))
    case (0)
      call CTCAW_pollreq(source, parameters, parameter_count)
    case (1)
      call CTCAW_pollreq_withint(source, parameters, parameter_count, ints, data_count)
      doubles = ints
    case (2)
      call CTCAW_pollreq_withreal4(source, parameters, parameter_count, floats, data_count)
      doubles = floats
    case (3)
      call CTCAW_pollreq_withreal8(source, parameters, parameter_count, doubles, int(data_count, 8))
    end select
    if (CTCAW_isfin()) exit
    if (parameters(1) /= arguments(3) .or. parameters(3) /= 1000 + source) error stop "request"
    call CTCAW_prof_start_calc()
    call CTCAW_readarea_real8(0, source, int(2*parameters(2), 8), field_count, field)
    total = sum(field) + sum(doubles)
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, CTCA_subcomm, error)
    if (rank == 0) then
      result = int(total) + arguments(1)
      call CTCAW_writearea_int(1, source, arguments(3)*requests + parameters(2), 1, result)
      done = done + 1
    end if
    call CTCAW_prof_stop_calc()
    call CTCAW_complete()
  end do
  call CTCAW_prof_stop()
  if (rank == 0) print "('worker ', i0, ': ', i0, ' requests')", arguments(1), done
  flush (6)
  call CTCAW_finalize()
end program
