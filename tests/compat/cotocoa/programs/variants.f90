! variants ROLE METHOD STEPS GROUP VARIANT: as variant.h, for each published variant of the buffer's interface. The
! names of mpi and of iso_c_binding come with ctca. The first dimension of an array is the last one of the buffer.
module variant_roles
  use ctca
  implicit none
  integer, parameter :: rows = 12, columns = 10, id = 1, most_steps = 4096
  integer :: rank, error, method, steps, group_size
  integer :: start(2), end(2), grid_requester(2) = [2, 1], grid_worker(2), total(2) = [rows, columns]
  real(8), target :: doubles(columns, rows/2)
  integer, target :: ints(columns, rows/2)
  real(8), allocatable, target :: double_steps(:)
  integer, allocatable, target :: int_steps(:)
  character(len=20) :: role, variant, word

contains

  subroutine requester_init()
    if (variant == "a" .or. variant == "old") then
      if (method == 1) call CTCAR_buffer_init_real8(1, 2, start, end)
      if (method == 2) call CTCAR_buffer_init_int(1, 2, start, end)
    else
      if (method == 1) call CTCAR_buffer_init_real8(1, 2, doubles, grid_requester, total)
      if (method == 2) call CTCAR_buffer_init_int(1, 2, ints, grid_requester, total, 2)
    end if
  end subroutine

  subroutine load()
    if (variant == "b" .or. variant == "c") then
      call CTCAR_buffer_load_data()
    else if (variant == "a") then
      if (method == 1) call CTCAR_buffer_load_data(doubles)
      if (method == 2) call CTCAR_buffer_load_data(ints)
    else
      if (method == 1) call CTCAR_buffer_load_data_real8(doubles)
      if (method == 2) call CTCAR_buffer_load_data_int(ints)
    end if
  end subroutine

  subroutine requester()
    integer :: step, i, j
    call CTCAR_init()
    call MPI_Comm_rank(CTCA_subcomm, rank, error)
    start = [rank*rows/2, 0]
    end = [(rank + 1)*rows/2, columns]
    call requester_init()
    do step = 0, steps - 1
      ints = reshape([((1000*step + columns*i + j, j = 0, columns - 1), i = start(1), end(1) - 1)], [columns, rows/2])
      doubles = ints
      call load()
    end do
    if (variant == "b" .or. variant == "c") call CTCAR_buffer_over()
    call CTCAR_buffer_free()
    call CTCAR_finalize()
  end subroutine

  subroutine coupler()
    integer :: reqinfo(CTCAC_REQINFOITEMS), source, parameter(1)
    call CTCAC_init()
    if (variant == "old" .and. method == 1) then
      call CTCAC_buffer_init_real8()
    else if (variant == "old") then
      call CTCAC_buffer_init_int()
    else
      call CTCAC_buffer_init()
    end if
    call CTCAC_pollreq(reqinfo, source, parameter, 1)
    if (.not. CTCAC_isfin()) error stop "a request"
    call CTCAC_buffer_free()
    call CTCAC_finalize()
  end subroutine

  subroutine worker_init()
    select case (variant)
    case ("a", "old")
      if (method == 1) call CTCAW_buffer_init_real8(most_steps, start, end, 1)
      if (method == 2) call CTCAW_buffer_init_int(most_steps, start, end, 2)
    case ("b")
      call CTCAW_buffer_init(grid_worker, total)
    case ("c")
      if (method == 1) call CTCAW_buffer_init(grid_worker, total, double_steps)
      if (method == 2) call CTCAW_buffer_init(grid_worker, total, int_steps)
    end select
  end subroutine

  integer function read_step()
    read_step = 0
    select case (variant)
    case ("a")
      if (method == 1) read_step = CTCAW_buffer_read_data(double_steps)
      if (method == 2) read_step = CTCAW_buffer_read_data_int(int_steps)
    case ("b", "c")
      read_step = CTCAW_buffer_read_data()
    case ("old")
      if (method == 1) read_step = CTCAW_buffer_get_data_real8(double_steps)
      if (method == 2) read_step = CTCAW_get_data_int(int_steps)
    end select
  end function

  type(c_ptr) function step_data()
    select case (variant)
    case ("b")
      step_data = CTCAW_buffer_get_address()
    case ("old")
      if (method == 1) step_data = CTCAW_get_address(double_steps)
      if (method == 2) step_data = CTCAW_get_address(int_steps)
    case default
      if (method == 1) step_data = CTCAW_buffer_get_address(double_steps)
      if (method == 2) step_data = CTCAW_buffer_get_address(int_steps)
    end select
  end function

  logical function whole(step)
    integer, intent(in) :: step
    real(8), pointer :: as_doubles(:, :)
    integer, pointer :: as_ints(:, :)
    integer :: i, j
    integer, allocatable :: right(:, :)
    right = reshape([((1000*step + columns*i + j, j = 0, columns - 1), i = start(1), end(1) - 1)], &
                    [columns, end(1) - start(1)])
    if (method == 1) then
      call c_f_pointer(step_data(), as_doubles, shape(right))
      whole = all(nint(as_doubles) == right)
    else
      call c_f_pointer(step_data(), as_ints, shape(right))
      whole = all(as_ints == right)
    end if
  end function

  subroutine worker()
    integer :: step, mixed, last, steps_read, least, most, source, parameter(1)
    call CTCAW_init(id, group_size)
    call MPI_Comm_rank(CTCA_subcomm, rank, error)
    start = [rank*rows/group_size, 0]
    end = [(rank + 1)*rows/group_size, columns]
    grid_worker = [group_size, 1]
    allocate (double_steps(most_steps*rows*columns), int_steps(most_steps*rows*columns))
    call worker_init()
    last = -1
    steps_read = 0
    do while (read_step() == 1)
      if (variant == "old") then
        step = CTCAW_get_timestep()
        mixed = CTCAW_get_overwrite_flag()
      else
        step = CTCAW_buffer_get_timestep()
        mixed = CTCAW_buffer_get_overwriting_flag()
      end if
      call MPI_Allreduce(step, least, 1, MPI_INTEGER, MPI_MIN, CTCA_subcomm, error)
      call MPI_Allreduce(step, most, 1, MPI_INTEGER, MPI_MAX, CTCA_subcomm, error)
      if (least /= step .or. most /= step) error stop "the ranks of a group got different steps"
      if (step <= last .or. (method == 1 .and. (step /= last + 1 .or. mixed /= 0))) error stop "order of the steps"
      if (mixed == 0 .and. .not. whole(step)) error stop "a step that is not marked is mixed"
      last = step
      steps_read = steps_read + 1
    end do
    if (read_step() /= 2) error stop "after the end there is more"
    if (method == 1) print "('worker: ', i0, ' steps')", steps_read
    if (method == 2) print "('worker: last step ', i0)", last
    flush (6)
    call CTCAW_buffer_free()
    call CTCAW_pollreq(source, parameter, 1)
    if (.not. CTCAW_isfin()) error stop "not the end"
    call CTCAW_finalize()
  end subroutine
end module

program variants
  use variant_roles
  implicit none
  call get_command_argument(1, role)
  call get_command_argument(2, word)
  read (word, *) method
  call get_command_argument(3, word)
  read (word, *) steps
  call get_command_argument(4, word)
  read (word, *) group_size
  call get_command_argument(5, variant)
  select case (role)
  case ("requester")
    call requester()
  case ("coupler")
    call coupler()
  case ("worker")
    call worker()
  end select
end program
