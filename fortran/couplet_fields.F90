! The fields of a series: what a writer creates (couplet_series_field), and what a reader chooses
! (couplet_series_choice), and how they look to the C interface. couplet_universes_module creates and opens series
! with them.
! Tests: tests/languages.
module couplet_fields_module
  use, intrinsic :: iso_fortran_env, only: int32, int64
  use couplet_binding_module
  use couplet_boxes_module
  use couplet_texts_module
  implicit none
  private
  public :: couplet_series_field, couplet_series_choice, c_field_memory, turn_field, turn_choice

  ! couplet_series_field(name, type, shape [, boxes]): one of several arrays that belong to one step.
  type :: couplet_series_field
    character(len=:), allocatable :: name
    integer(c_int32_t) :: type = couplet_real64
    integer(int64), allocatable :: shape(:)
    ! The boxes of this rank, any number of them. Not allocated: the whole array, if one rank writes it alone.
    type(couplet_box), allocatable :: boxes(:)
  end type
  interface couplet_series_field
    module procedure make_field
  end interface

  ! couplet_series_choice(name [, box]): a field that a reader chooses. Without a box: the whole array.
  type :: couplet_series_choice
    character(len=:), allocatable :: name
    type(couplet_box), allocatable :: box
  end type
  interface couplet_series_choice
    module procedure make_choice
  end interface

  ! Memory to which a field of the C interface points.
  type :: c_field_memory
    character(kind=c_char), allocatable :: letters(:)
    integer(c_int64_t), allocatable :: shape(:)
    type(c_corners) :: corners
  end type

contains

  function make_field(name, type, shape, boxes) result(field)
    character(len=*), intent(in) :: name
    integer(c_int32_t), intent(in) :: type
    integer(int32), intent(in) :: shape(:)
    type(couplet_box), intent(in), optional :: boxes(:)
    type(couplet_series_field) :: field
    field%name = name
    field%type = type
    allocate (field%shape(size(shape)), source=int(shape, int64))
    if (present(boxes)) allocate (field%boxes(size(boxes)), source=boxes)
  end function

  function make_choice(name, box) result(choice)
    character(len=*), intent(in) :: name
    type(couplet_box), intent(in), optional :: box
    type(couplet_series_choice) :: choice
    choice%name = name
    if (present(box)) allocate (choice%box, source=box)
  end function

  ! Makes the field of the C interface, which points into `memory`. `mistake` is allocated if that is not possible.
  subroutine turn_field(field, one, memory, mistake)
    type(couplet_series_field), intent(in) :: field
    type(c_series_field), intent(out) :: one
    type(c_field_memory), intent(inout), target :: memory
    character(len=:), allocatable, intent(inout) :: mistake
    type(c_corners) :: corners
    integer :: i, n
    if (.not. allocated(field%name)) then
      mistake = "a field has no name"
    else if (.not. allocated(field%shape)) then
      mistake = "field '"//field%name//"' has no shape"
    end if
    if (allocated(mistake)) return
    n = size(field%shape)
    call c_series_field_init(one)
    one%name = to_c(memory%letters, field%name)
    one%type = field%type
    one%dimensions = n
    memory%shape = field%shape(n:1:-1)
    one%shape = c_loc(memory%shape)
    if (.not. allocated(field%boxes)) return
    one%box_count = size(field%boxes, kind=c_int32_t)
    if (one%box_count == 0) return
    allocate (memory%corners%start(0), memory%corners%stop(0))
    do i = 1, size(field%boxes)
      call turn_box(n, corners, mistake, field%boxes(i))
      if (allocated(mistake)) then
        mistake = "field '"//field%name//"': "//mistake
        return
      end if
      memory%corners%start = [memory%corners%start, corners%start]
      memory%corners%stop = [memory%corners%stop, corners%stop]
    end do
    one%start = c_loc(memory%corners%start)
    one%stop = c_loc(memory%corners%stop)
  end subroutine

  ! Makes the choice of the C interface, which points into `memory`. `mistake` is allocated if that is not possible.
  subroutine turn_choice(choice, one, memory, mistake)
    type(couplet_series_choice), intent(in) :: choice
    type(c_series_choice), intent(out) :: one
    type(c_field_memory), intent(inout), target :: memory
    character(len=:), allocatable, intent(inout) :: mistake
    call c_series_choice_init(one)
    if (.not. allocated(choice%name)) then
      mistake = "a chosen field has no name"
      return
    end if
    one%name = to_c(memory%letters, choice%name)
    if (.not. allocated(choice%box)) return
    call turn_box(box_dimensions(choice%box), memory%corners, mistake, choice%box)
    if (allocated(mistake)) then
      mistake = "field '"//choice%name//"': "//mistake
      return
    end if
    one%start = start_of(memory%corners)
    one%stop = stop_of(memory%corners)
    one%dimensions = box_dimensions(choice%box)
  end subroutine
end module
