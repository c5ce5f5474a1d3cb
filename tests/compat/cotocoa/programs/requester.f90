! requester ID PROCS ID PROCS ID PROCS ID PROCS: the same as requester.c.
module requester_parts
  use ctca
  use mpi
  implicit none
  include "exchange.inc"
  integer :: rank, size, error, area, phase, request, k, waited, place
  integer :: ids(phases), procs(phases)
  integer, target :: results(requests, phases) = 0  ! two dimensions: registered as one
  real(4) :: notes(requests, phases) = 1
  real(8), allocatable :: field(:)
  integer(8) :: handles(requests)

contains

  subroutine read_arguments()
    character(len=20) :: word
    do k = 1, phases
      call get_command_argument(2*k - 1, word)
      read (word, *) ids(k)
      call get_command_argument(2*k, word)
      read (word, *) procs(k)
    end do
  end subroutine

  subroutine send_request()
    integer :: parameters(parameter_count), ints(2, data_count/2)
    real(4) :: floats(data_count)
    real(8) :: doubles(data_count)
    parameters = [phase, request, 0]
    doubles = [(1000*rank + 100*phase + 10*request + k, k = 0, data_count - 1)]
    floats = real(doubles, 4)
    ints = reshape(int(doubles), [2, data_count/2])
    if (mod(request, 2) == 0) then
      waited = waited + 1
      select case (phase)
      case (0)
        call CTCAR_sendreq_hdl(parameters, parameter_count, handles(waited))
      case (1)
        call CTCAR_sendreq_withint_hdl(parameters, parameter_count, ints, data_count, handles(waited))
      case (2)
        call CTCAR_sendreq_withreal4_hdl(parameters, parameter_count, floats, int(data_count, 8), handles(waited))
      case (3)
        call CTCAR_sendreq_withreal8_hdl(parameters, parameter_count, doubles(1), data_count, handles(waited))
      end select
    else
      select case (phase)
      case (0)
        call CTCAR_sendreq(parameters, parameter_count)
      case (1)
        call CTCAR_sendreq_withint(parameters, parameter_count, ints, int(data_count, 8))
      case (2)
        call CTCAR_sendreq_withreal4(parameters, parameter_count, floats, data_count)
      case (3)
        call CTCAR_sendreq_withreal8(parameters, parameter_count, doubles, data_count)
      end select
    end if
  end subroutine

  ! Requests without a handle complete at some time.
  subroutine check_result(request, phase)
    integer, intent(in) :: request, phase
    integer, volatile, pointer :: result
    integer :: begun, now, rate
    real(8) :: total
    result => results(request + 1, phase + 1)
    call system_clock(begun, rate)
    now = begun
    do while (result == 0 .and. now - begun < 60*rate)
      call system_clock(now)
    end do
    total = sum([(10000d0*rank + 0.5d0*(2*request + k), k = 0, field_count - 1)])
    if (phase > 0) total = total + sum([(1000*rank + 100*phase + 10*request + k, k = 0, data_count - 1)])
    call expect(result == int(procs(phase + 1)*total) + ids(phase + 1), "result")
    call expect(notes(request + 1, phase + 1) == 2 + request, "note")
  end subroutine

  subroutine expect(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    print "('requester rank ', i0, ': wrong ', a)", rank, what
    call MPI_Abort(MPI_COMM_WORLD, 3, error)
  end subroutine
end module

program requester
  use requester_parts
  implicit none
  call read_arguments()
  call CTCAR_init_detail(10, 10, 10)
  call MPI_Comm_rank(CTCA_subcomm, rank, error)
  call MPI_Comm_size(CTCA_subcomm, size, error)
  call CTCAR_prof_start()
  call CTCAR_prof_start_total()
  allocate (field(40*(rank + 1)))
  field = [(10000d0*rank + 0.5d0*k, k = 0, 40*(rank + 1) - 1)]
  call CTCAR_regarea_real8(field, ubound(field, 1), area)
  call expect(area == 0, "area 0")
  call CTCAR_regarea_int(results, int(requests*phases, 8), area)
  call expect(area == 1, "area 1")
  call CTCAR_regarea_real4(notes, requests*phases, area)
  call expect(area == 2, "area 2")
  do phase = 0, phases - 1
    call CTCAR_prof_start_calc()
    call CTCAR_prof_stop_calc()
    waited = 0
    do request = 0, requests - 1
      call send_request()
    end do
    do k = 1, waited
      if (mod(k, 2) == 0) call CTCAR_wait(handles(k))
      do while (.not. CTCAR_test(handles(k)))
      end do
    end do
    call MPI_Barrier(CTCA_subcomm, error)
  end do
  do place = 0, requests*phases - 1
    call check_result(mod(place, requests), place/requests)
  end do
  print "('requester rank ', i0, ' of ', i0, ': ', i0, ' right')", rank, size, requests*phases
  flush (6)
  call CTCAR_prof_stop_total()
  call CTCAR_prof_stop()
  call CTCAR_finalize()
end program
