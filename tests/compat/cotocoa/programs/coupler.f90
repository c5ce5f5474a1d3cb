! coupler RANKS ID ID ID ID: the same as coupler.c.
program coupler
  use ctca
  implicit none
  include "exchange.inc"
  integer :: reqinfo(CTCAC_REQINFOITEMS), parameters(parameter_count), ints(data_count)
  real(4) :: floats(data_count), note
  real(8) :: doubles(data_count)
  integer :: area, source, phase, done, ranks, k, ids(phases)
  integer(8) :: place
  character(len=20) :: word
  call get_command_argument(1, word)
  read (word, *) ranks
  do k = 1, phases
    call get_command_argument(k + 1, word)
    read (word, *) ids(k)
  end do
  call CTCAC_init()
  call CTCAC_prof_start()
  call CTCAC_regarea_real8(area)
  call CTCAC_regarea_int(area)
  call CTCAC_regarea_real4(area)
  if (area /= 2) error stop "area"
  done = 0
  do
    phase = mod(done/(requests*ranks), phases)
    select case (phase)
    case (0)
      call CTCAC_pollreq(reqinfo, source, parameters, parameter_count)
    case (1)
      call CTCAC_pollreq_withint(reqinfo, source, parameters, parameter_count, ints, data_count)
    case (2)
      call CTCAC_pollreq_withreal4(reqinfo, source, parameters, parameter_count, floats, int(data_count, 8))
    case (3)
      call CTCAC_pollreq_withreal8(reqinfo, source, parameters, parameter_count, doubles, data_count)
    end select
    if (CTCAC_isfin()) exit
    if (source < 0 .or. source >= ranks .or. parameters(1) /= phase .or. parameters(3) /= 0) error stop "request"
    call CTCAC_prof_start_calc()
    place = phase*requests + parameters(2)
    call CTCAC_readarea_real4(area, source, place, 1, note)
    note = 2*note + parameters(2)
    call CTCAC_writearea_real4(area, source, int(place), 1_8, note)
    parameters(3) = 1000 + source
    call CTCAC_prof_stop_calc()
    select case (phase)
    case (0)
      call CTCAC_enqreq(reqinfo, ids(1), parameters, parameter_count)
    case (1)
      call CTCAC_enqreq_withint(reqinfo, ids(2), parameters, parameter_count, ints, data_count)
    case (2)
      call CTCAC_enqreq_withreal4(reqinfo, ids(3), parameters, parameter_count, floats, data_count)
    case (3)
      call CTCAC_enqreq_withreal8(reqinfo, ids(4), parameters, parameter_count, doubles, int(data_count, 8))
    end select
    done = done + 1
  end do
  call CTCAC_prof_stop()
  print "('coupler: ', i0, ' requests')", done
  flush (6)
  call CTCAC_finalize()
end program
