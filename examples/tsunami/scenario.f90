! The input: turns a namelist file and a scenario file into a sea and the settings of a run. prepare.py writes the
! scenario file: int32 columns, rows; real64 dx, dy (m); real64 bottom(columns, rows), then surface(columns, rows) (m,
! upwards; the first row is the southernmost).
module scenario
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use mpi_f08
  use shallow_water, only: sea, open_sea, share_of_rows
  implicit none
  private
  public :: settings, set_up

  type :: settings
    integer :: columns, rows                             ! size of the whole sea
    integer :: steps                                     ! number of steps to publish
    real(real64) :: interval                             ! seconds from one step to the next
    character(len=256) :: output                         ! folder, or beginning of the file names, of the results
  end type settings

contains

  subroutine set_up(namelist_file, comm, run, s)
    character(len=*), intent(in) :: namelist_file
    type(MPI_Comm), intent(in) :: comm
    type(settings), intent(out) :: run
    type(sea), intent(out) :: s
    character(len=256) :: scenario_file, output
    integer :: steps, unit
    real(real64) :: interval, drag, coriolis
    logical :: radiating
    namelist /ocean/ scenario_file, output, steps, interval, drag, coriolis, radiating
    drag = 0
    coriolis = 0
    radiating = .false.
    open (newunit=unit, file=namelist_file, action='read', status='old')
    read (unit, nml=ocean)
    close (unit)
    run%steps = steps
    run%interval = interval
    run%output = output
    call read_sea(trim(scenario_file), comm, run, s)
    s%drag = drag
    s%coriolis = coriolis
    s%radiating = radiating
  end subroutine set_up

  ! Reads the sea. Every rank reads its own rows.
  subroutine read_sea(file, comm, run, s)
    character(len=*), intent(in) :: file
    type(MPI_Comm), intent(in) :: comm
    type(settings), intent(inout) :: run
    type(sea), intent(out) :: s
    real(real64), allocatable :: bottom(:,:), surface(:,:)
    real(real64) :: dx, dy
    integer(int32) :: columns, all_rows
    integer(int64) :: start, row_bytes
    integer :: unit, rank, ranks, first_row, rows
    call MPI_Comm_rank(comm, rank)
    call MPI_Comm_size(comm, ranks)
    open (newunit=unit, file=file, access='stream', form='unformatted', action='read', status='old')
    read (unit) columns, all_rows, dx, dy
    inquire (unit, pos=start)
    call share_of_rows(int(all_rows), rank, ranks, first_row, rows)
    allocate (bottom(columns, rows), surface(columns, rows))
    row_bytes = columns * int(storage_size(bottom) / 8, int64)
    read (unit, pos=start + (first_row - 1) * row_bytes) bottom
    read (unit, pos=start + (all_rows + first_row - 1) * row_bytes) surface
    close (unit)
    call open_sea(s, comm, bottom, surface, dx, dy)
    s%first_row = first_row
    run%columns = columns
    run%rows = all_rows
  end subroutine read_sea

end module scenario
