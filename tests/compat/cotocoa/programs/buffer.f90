! buffer ROLE VARIANT METHOD STEPS [late]: the same as buffer.c. The arrays' first dimension is the buffer's last one.
module buffer_roles
  use ctca
  use mpi
  use, intrinsic :: iso_c_binding, only: c_f_pointer
  implicit none
  integer, parameter :: rows = 18, columns = 24, id = 4
  integer :: rank, error, method, steps
  integer, dimension(2) :: grid_requester = [3, 3], grid_worker = [2, 2], total = [rows, columns]
  logical :: late
  character(len=20) :: role, variant, word

contains

  real(8) function value_at(step, row, column)
    integer, intent(in) :: step, row, column
    value_at = 1000d0*step + columns*row + column
  end function

  subroutine requester()
    real(8) :: doubles(8, 6)
    integer :: ints(8, 6), start(2), step, i, j
    real(4) :: floats(8, 6)
    call CTCAR_init()
    call MPI_Comm_rank(CTCA_subcomm, rank, error)
    start = [rank/3*6, mod(rank, 3)*8]
    select case (variant)
    case ("boxes")
      call CTCAR_buffer_init_real8(1, 2, start, start + [6, 8])
    case ("grid")
      call CTCAR_buffer_init_int(1, 2, ints, grid_requester, total, method)
    case ("untyped")
      call CTCAR_buffer_init_real4(1, 2, floats, grid_requester, total, method)
    end select
    do step = 0, steps - 1
      doubles = reshape([((value_at(step, start(1) + i, start(2) + j), j = 0, 7), i = 0, 5)], [8, 6])
      ints = int(doubles)
      floats = real(doubles, 4)
      select case (variant)
      case ("boxes")
        call CTCAR_buffer_load_data_real8(doubles)
      case ("grid")
        call CTCAR_buffer_load_data_int(ints)
      case ("untyped")
        call CTCAR_buffer_load_data()
      end select
    end do
    call CTCAR_buffer_over()
    call MPI_Barrier(CTCA_subcomm, error)
    if (late .and. rank == 0) call CTCAR_sendreq([0], 1)
    call CTCAR_buffer_free()
    call CTCAR_finalize()
  end subroutine

  subroutine coupler()
    integer :: reqinfo(CTCAC_REQINFOITEMS), source, parameter(1)
    call CTCAC_init()
    select case (variant)
    case ("boxes")
      call CTCAC_buffer_init_real8()
    case ("grid")
      call CTCAC_buffer_init_int()
    case ("untyped")
      call CTCAC_buffer_init()
    end select
    do
      call CTCAC_pollreq(reqinfo, source, parameter, 1)
      if (CTCAC_isfin()) exit
      call CTCAC_enqreq(reqinfo, id, parameter, 1)
    end do
    call CTCAC_buffer_free()
    call CTCAC_finalize()
  end subroutine

  ! Reads one step and returns 1, or returns 2 at the end.
  integer function read_step(data) result(answer)
    real(8), intent(inout), contiguous :: data(:, :)
    integer :: ints(12, 9)
    real(4), pointer :: floats(:, :)
    select case (variant)
    case ("boxes")
      answer = CTCAW_buffer_read_data_real8(data)
    case ("grid")
      answer = CTCAW_buffer_read_data_int(ints)
      data = ints
    case default
      answer = CTCAW_buffer_read_data()
      if (answer /= 1) return
      call c_f_pointer(CTCAW_buffer_get_address(), floats, [12, 9])
      data = floats
    end select
  end function

  subroutine worker()
    real(8), allocatable :: data(:, :), right(:, :)
    integer :: start(2), extent(2), step, last, mixed, steps_read, i, j, source, parameter(1)
    call CTCAW_init(id, 4)
    call MPI_Comm_rank(CTCA_subcomm, rank, error)
    extent = merge([6, 8], [9, 12], variant == "boxes")
    start = merge([3, 4], [0, 0], variant == "boxes") + [rank/2, mod(rank, 2)]*extent
    allocate (data(extent(2), extent(1)))
    select case (variant)
    case ("boxes")
      call CTCAW_buffer_init_real8(steps + 1, start, start + extent, method)
    case ("grid")
      call CTCAW_buffer_init_int(grid_worker, total)
    case ("untyped")
      call CTCAW_buffer_init(grid_worker, total)
    end select
    if (late) then
      call CTCAW_pollreq(source, parameter, 1)
      if (CTCAW_isfin()) error stop "no request"
      call CTCAW_complete()
    end if
    last = -1
    steps_read = 0
    do while (read_step(data) == 1)
      if (variant == "boxes") then
        step = CTCAW_get_timestep()
        mixed = CTCAW_get_overwrite_flag()
      else
        step = CTCAW_buffer_get_timestep()
        mixed = CTCAW_buffer_get_overwriting_flag()
      end if
      right = reshape([((value_at(step, start(1) + i, start(2) + j), j = 0, extent(2) - 1), i = 0, extent(1) - 1)], &
                      [extent(2), extent(1)])
      if (mixed == 0 .and. any(data /= right)) error stop "a step that is not marked is mixed"
      if (step <= last .or. (method == 1 .and. (step /= last + 1 .or. mixed /= 0))) error stop "order of the steps"
      last = step
      steps_read = steps_read + 1
    end do
    if (last /= steps - 1 .or. (method == 1 .and. steps_read /= steps)) error stop "steps are missing"
    if (method == 1 .or. late) print "('worker rank ', i0, ': ', i0, ' steps')", rank, steps_read
    flush (6)
    call CTCAW_buffer_free()
    call CTCAW_pollreq(source, parameter, 1)
    if (.not. CTCAW_isfin()) error stop "not the end"
    call CTCAW_finalize()
  end subroutine
end module

program buffer
  use buffer_roles
  implicit none
  call get_command_argument(1, role)
  call get_command_argument(2, variant)
  call get_command_argument(3, word)
  read (word, *) method
  call get_command_argument(4, word)
  read (word, *) steps
  late = command_argument_count() > 4
  select case (role)
  case ("requester")
    call requester()
  case ("coupler")
    call coupler()
  case ("worker")
    call worker()
  end select
end program
