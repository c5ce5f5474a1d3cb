! Creates and opens series of several fields. The calls on such a series belong to type couplet_series. It is built on
! couplet_universes and couplet_series_module, and module couplet is built on it. Boxes are 1-based and inclusive:
! boxes(1,:,k) is the first index of box k, boxes(2,:,k) the last. The first dimension varies fastest.
! Tests: tests/languages.
module couplet_fields_module
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use couplet_binding_module
  use couplet_errors_module
  use couplet_messages_module, only: couplet_group
  use couplet_series_module
  use couplet_universes_module
  implicit none
  private
  public :: couplet_series_field, couplet_series_choice, couplet_create_fields, couplet_open_fields

  type :: couplet_series_field  ! one of several arrays that belong to one step
    character(len=:), allocatable :: name
    integer(c_int32_t) :: type = couplet_real64
    integer(int64), allocatable :: shape(:)
    ! The boxes of this rank. Not allocated: the whole array, if one rank writes it alone.
    integer(int64), allocatable :: boxes(:, :, :)
  end type
  interface couplet_series_field
    module procedure make_field_int32
  end interface

  type :: couplet_series_choice  ! a field that a reader chooses
    character(len=:), allocatable :: name
    integer(int64), allocatable :: box(:, :)  ! not allocated: the whole array
  end type
  interface couplet_series_choice
    module procedure make_choice_int32
  end interface

  type :: corners
    integer(c_int64_t), allocatable :: shape(:), start(:), stop(:)
  end type

contains

  ! couplet_series_field(name, type, shape [, boxes]): boxes(2, dimensions, number of boxes). With no box, this rank writes
  ! nothing.
  function make_field_int32(name, type, shape, boxes) result(field)
    character(len=*), intent(in) :: name
    integer(c_int32_t), intent(in) :: type
    integer(int32), intent(in) :: shape(:)
    integer(int32), intent(in), optional :: boxes(:, :, :)
    type(couplet_series_field) :: field
    field%name = name
    field%type = type
    allocate (field%shape(size(shape)), source=int(shape, int64))
    if (present(boxes)) field%boxes = int(boxes, int64)
  end function

  ! couplet_series_choice(name [, box])
  function make_choice_int32(name, box) result(choice)
    character(len=*), intent(in) :: name
    integer(int32), intent(in), optional :: box(:, :)
    type(couplet_series_choice) :: choice
    choice%name = name
    if (present(box)) choice%box = int(box, int64)
  end function

  ! Creates the series `name` of these fields. The other arguments are those of universe%create_series.
  subroutine couplet_create_fields(universe, name, fields, series, slots, memory_bytes, required_readers, &
                                   required_timeout, wait_timeout, evict_after_held, group, holders, collective, &
                                   ierr)
    type(couplet_universe), intent(in) :: universe
    character(len=*), intent(in) :: name
    type(couplet_series_field), intent(in) :: fields(:)
    type(couplet_series), intent(out) :: series
    integer, intent(in), optional :: slots
    integer(int64), intent(in), optional :: memory_bytes
    character(len=*), intent(in), optional :: required_readers
    real(real64), intent(in), optional :: required_timeout, wait_timeout, evict_after_held
    type(couplet_group), intent(in), optional :: group
    integer, intent(in), optional :: holders
    logical, intent(in), optional :: collective
    integer, intent(out), optional :: ierr
    type(c_series_create_options) :: options
    type(c_string), target :: texts(size(fields) + 2)
    type(corners), target :: places(size(fields))
    type(c_series_field) :: list(size(fields))
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    integer :: i
    call fill_series_options(options, texts(1), slots, memory_bytes, required_readers, required_timeout, wait_timeout, &
                             evict_after_held, group, holders, collective)
    do i = 1, size(fields)
      if (.not. fits(name, fields(i))) then
        call refuse(couplet_error_shape, "series '"//trim(name)//"', field "//quoted(fields(i)%name)// &
                    " needs a shape, and boxes(2, dimensions, how many): boxes(1,:,k) = first, boxes(2,:,k) = last", &
                    ierr)
        return
      end if
      list(i) = c_field_of(fields(i), texts(i + 2), places(i))
    end do
    status = c_series_create_fields(universe%handle, to_c(texts(2)%letters, name), list, size(fields, kind=c_int32_t), &
                                    options, handle)
    if (status == couplet_ok) then
      call learn_series(series, handle, ierr)
    else
      call conclude(status, ierr)
    end if
  end subroutine

  logical function fits(name, field)
    character(len=*), intent(in) :: name
    type(couplet_series_field), intent(in) :: field
    fits = len(name) > 0 .and. allocated(field%shape) .and. allocated(field%name)
    if (fits .and. allocated(field%boxes)) fits = size(field%boxes, 1) == 2 .and. &
      size(field%boxes, 2) == size(field%shape)
  end function

  function quoted(name) result(text)
    character(len=:), allocatable, intent(in) :: name
    character(len=:), allocatable :: text
    text = "without a name"
    if (allocated(name)) text = "'"//name//"'"
  end function

  ! Returns the field as the C interface takes it. Its pointers point into `text` and `place`.
  type(c_series_field) function c_field_of(field, text, place) result(one)
    type(couplet_series_field), intent(in) :: field
    type(c_string), intent(inout), target :: text
    type(corners), intent(inout), target :: place
    integer :: n
    n = size(field%shape)
    call c_series_field_init(one)
    one%name = to_c(text%letters, field%name)
    one%type = field%type
    one%dimensions = n
    place%shape = field%shape(n:1:-1)
    one%shape = c_loc(place%shape)
    if (.not. allocated(field%boxes)) return
    one%box_count = size(field%boxes, 3, kind=c_int32_t)
    if (one%box_count == 0) return
    place%start = reshape(field%boxes(1, n:1:-1, :) - 1, [size(field%boxes) / 2])
    place%stop = reshape(field%boxes(2, n:1:-1, :), [size(field%boxes) / 2])
    one%start = c_loc(place%start)
    one%stop = c_loc(place%stop)
  end function

  ! Opens the series `name` to read these fields, in this order. No fields: all. The other arguments are those of
  ! universe%open_series.
  subroutine couplet_open_fields(universe, name, fields, series, mode, from, from_step, local, group, timeout, &
                                 buffer_bytes, every, latest, torn, interval, ierr)
    type(couplet_universe), intent(in) :: universe
    character(len=*), intent(in) :: name
    type(couplet_series_choice), intent(in) :: fields(:)
    type(couplet_series), intent(out) :: series
    integer, intent(in), optional :: mode, from
    integer(int64), intent(in), optional :: from_step
    logical, intent(in), optional :: local
    type(couplet_group), intent(in), optional :: group
    real(real64), intent(in), optional :: timeout
    integer(int64), intent(in), optional :: buffer_bytes
    integer, intent(in), optional :: every
    logical, intent(in), optional :: latest, torn
    real(real64), intent(in), optional :: interval
    integer, intent(out), optional :: ierr
    type(c_string), target :: texts(size(fields))
    type(corners), target :: places(size(fields))
    type(c_series_choice), target :: list(size(fields))
    integer(c_int64_t) :: none(0)
    logical :: good
    integer :: i
    do i = 1, size(fields)
      call c_series_choice_init(list(i))
      list(i)%name = to_c(texts(i)%letters, fields(i)%name)
      if (.not. allocated(fields(i)%box)) cycle
      call turn_box(name, size(fields(i)%box, 2), fields(i)%box, places(i)%start, places(i)%stop, good, ierr)
      if (.not. good) return
      list(i)%start = c_loc(places(i)%start)
      list(i)%stop = c_loc(places(i)%stop)
      list(i)%dimensions = size(fields(i)%box, 2, kind=c_int32_t)
    end do
    if (size(fields) == 0) then
      call open_box(universe, name, none, none, series, mode, from, from_step, local, group=group, timeout=timeout, &
                    buffer_bytes=buffer_bytes, every=every, latest=latest, torn=torn, interval=interval, ierr=ierr)
    else
      call open_box(universe, name, none, none, series, mode, from, from_step, local, group=group, timeout=timeout, &
                    buffer_bytes=buffer_bytes, every=every, latest=latest, torn=torn, interval=interval, ierr=ierr, &
                    choices=list)
    end if
  end subroutine
end module
