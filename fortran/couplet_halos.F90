! Halos: the cells around the block of this rank, brought up to date from the blocks next to it (docs/guide/halo.md). It
! is built on couplet_binding, couplet_errors and couplet_strides_module; couplet_messages has group%create_halo.
! Dimensions are in Fortran's order, and ranks are numbered with the first one fastest: this is the grid of C, or of
! NumPy, with its dimensions turned around. Indices are 1-based, bounds inclusive, ranks 0-based.
! An array may be a section with gaps: nothing is copied. It must not move, and must be a target or asynchronous, until
! the halo is closed. Tests: tests/universe/test_halo.py.
module couplet_halos_module
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use couplet_binding_module
  use couplet_errors_module
  use couplet_strides_module
  use couplet_texts_module, only: from_c, to_c
  implicit none
  private
  public :: couplet_grid, couplet_halo, open_halo, open_list_halo

  ! A grid of cells that is divided into one block for each rank.
  type :: couplet_grid
    integer, allocatable :: cells(:)        ! the extents of the whole grid
    integer, allocatable :: blocks(:)       ! their number in each dimension
    logical, allocatable :: periodic(:)
    integer(c_int64_t), allocatable, private :: block_cells(:)  ! in the order of C; empty: as even as possible
  contains
    procedure :: divide => grid_divide
    procedure :: box => grid_box
    procedure :: neighbor => grid_neighbor
  end type

  type :: couplet_halo
    type(c_ptr) :: handle = c_null_ptr
    integer, private :: dimensions = 0
  contains
    ! call halo%add(array [, width] [, below, above, first, staggered, corners, name, component_dimension, ierr]): an
    !   array with the dimensions of the grid, or with one for the points of a list; or with one more if a point has
    !   components: component_dimension says which one that is, by default the first. width: of all sides; below and
    !   above: of the sides of each dimension. first: where the block begins in the array, by default behind `below`; it
    !   counts from the first element.
#define TEMPLATE "halos_bindings.inc"
#include "for_each_kind.inc"
    procedure :: freeze => halo_freeze
    procedure :: begin => halo_begin
    procedure :: test => halo_test
    procedure :: end => halo_end
    procedure :: method => halo_method
    procedure :: explain => halo_explain
    procedure :: close => halo_close
  end type

  ! Widths and places of a field, in the order of C. is_right: each list has an entry for each dimension.
  type :: widths_of_field
    integer(c_int64_t) :: below(couplet_grid_max_dimensions) = 0
    integer(c_int64_t) :: above(couplet_grid_max_dimensions) = 0
    integer(c_int64_t) :: first(couplet_grid_max_dimensions) = -1
    integer(c_int32_t) :: staggered(couplet_grid_max_dimensions) = 0
    logical :: is_right = .true.
  end type

contains

#define TEMPLATE "halos_of_kind.inc"
#include "for_each_kind.inc"

  ! Divides a grid of `cells` into one block for each of `ranks` ranks. blocks: their number in each dimension, 0 where
  ! it is to be chosen. block_cells: the cells of each block, dimension by dimension; without it, they are as even as
  ! possible.
  subroutine grid_divide(grid, cells, ranks, blocks, periodic, block_cells, ierr)
    class(couplet_grid), intent(inout), target :: grid
    integer, intent(in) :: cells(:), ranks
    integer, intent(in), optional :: blocks(:), block_cells(:)
    logical, intent(in), optional :: periodic(:)
    integer, intent(out), optional :: ierr
    type(c_grid) :: c
    integer(c_int32_t) :: status
    integer :: n
    n = size(cells)
    if (n > couplet_grid_max_dimensions .or. wrong_size(blocks, n) .or. wrong_flags(periodic, n)) then
      call refuse(couplet_error_argument, "divide: cells must have 1 to 4 entries, and blocks and periodic as many", &
                  ierr)
      return
    end if
    grid%cells = cells
    grid%blocks = spread(0, 1, n)
    if (present(blocks)) grid%blocks = blocks
    grid%periodic = spread(.false., 1, n)
    if (present(periodic)) grid%periodic = periodic
    if (allocated(grid%block_cells)) deallocate (grid%block_cells)
    allocate (grid%block_cells(0))
    if (present(block_cells)) then
      if (size(block_cells) /= sum(grid%blocks)) then
        call refuse(couplet_error_argument, "divide: block_cells must have an entry for each block of each dimension", &
                    ierr)
        return
      end if
      grid%block_cells = turned(block_cells, grid%blocks)
    end if
    c = terms_of(grid)
    status = c_grid_divide(c, int(ranks, c_int32_t))
    if (status == couplet_ok) grid%blocks = c%blocks(n:1:-1)
    call conclude(status, ierr)
  end subroutine

  ! The cells of the blocks, with the last dimension first.
  function turned(block_cells, blocks) result(list)
    integer, intent(in) :: block_cells(:), blocks(:)
    integer(c_int64_t), allocatable :: list(:)
    integer :: dimension, last
    allocate (list(0))
    last = size(block_cells)
    do dimension = size(blocks), 1, -1
      list = [list, int(block_cells(last - blocks(dimension) + 1:last), c_int64_t)]
      last = last - blocks(dimension)
    end do
  end function

  ! The grid as C has it. It points to the list of the blocks, which the caller's target keeps.
  type(c_grid) function terms_of(grid) result(c)
    type(couplet_grid), intent(in), target :: grid
    integer :: n
    call c_grid_init(c)
    if (.not. allocated(grid%cells)) return
    n = size(grid%cells)
    c%numbering = couplet_numbering_fortran
    c%dimensions = int(n, c_int32_t)
    c%cells(:n) = int(grid%cells(n:1:-1), c_int64_t)
    c%blocks(:n) = int(grid%blocks(n:1:-1), c_int32_t)
    c%periodic(:n) = merge(1_c_int32_t, 0_c_int32_t, grid%periodic(n:1:-1))
    if (size(grid%block_cells) > 0) c%block_cells = c_loc(grid%block_cells)
  end function

  ! Gives the first and last cell of a block in each dimension.
  subroutine grid_box(grid, rank, first, last, ierr)
    class(couplet_grid), intent(in), target :: grid
    integer, intent(in) :: rank
    integer, intent(out) :: first(:), last(:)
    integer, intent(out), optional :: ierr
    integer(c_int64_t) :: start(couplet_grid_max_dimensions), stop(couplet_grid_max_dimensions)
    integer(c_int32_t) :: status
    integer :: n
    n = dimensions_of(grid)
    if (size(first) /= n .or. size(last) /= n) then
      call refuse(couplet_error_argument, "box: first and last must have an entry for each dimension of the grid", ierr)
      return
    end if
    status = c_grid_box(terms_of(grid), int(rank, c_int32_t), start, stop)
    if (status == couplet_ok) then
      first = int(start(n:1:-1)) + 1
      last = int(stop(n:1:-1))
    end if
    call conclude(status, ierr)
  end subroutine

  ! Gives the rank whose block is so many blocks away, or -1 if that is beyond the grid.
  subroutine grid_neighbor(grid, rank, offset, neighbor, ierr)
    class(couplet_grid), intent(in), target :: grid
    integer, intent(in) :: rank, offset(:)
    integer, intent(out) :: neighbor
    integer, intent(out), optional :: ierr
    integer(c_int32_t) :: found, status
    neighbor = -1
    found = -1
    if (size(offset) /= dimensions_of(grid)) then
      call refuse(couplet_error_argument, "neighbor: offset must have an entry for each dimension of the grid", ierr)
      return
    end if
    status = c_grid_neighbor(terms_of(grid), int(rank, c_int32_t), int(offset(size(offset):1:-1), c_int32_t), found)
    if (status == couplet_ok) neighbor = found
    call conclude(status, ierr)
  end subroutine

  ! Creates a halo of lists of indices. group: the handle of a group. owned: the points that this rank owns, by numbers
  ! from 1 on that are the same at all ranks. ghosts: those that it needs of others. owners: the rank that owns each
  ! ghost; absent: the owners are found. places: where each owned point, and then each ghost, is in the arrays; absent:
  ! in that order.
  subroutine open_list_halo(group, name, owned, ghosts, halo, owners, places, method, timeout, ierr)
    type(c_ptr), intent(in) :: group
    character(len=*), intent(in) :: name
    integer(int64), intent(in) :: owned(:), ghosts(:)
    type(couplet_halo), intent(out) :: halo
    integer, intent(in), optional :: owners(:), places(:)
    character(len=*), intent(in), optional :: method
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    character(kind=c_char), allocatable, target :: name_letters(:), method_letters(:)
    integer(c_int64_t), allocatable, target :: own(:), needed(:), where(:)
    integer(c_int32_t), allocatable, target :: ranks(:)
    type(c_halo_options) :: options
    type(c_halo_indices) :: indices
    if (wrong_size(owners, size(ghosts)) .or. wrong_size(places, size(owned) + size(ghosts))) then
      call refuse(couplet_error_argument, "create_list_halo: owners must have an entry for each ghost, and places "// &
                  "one for each owned point and one for each ghost", ierr)
      return
    end if
    call c_halo_options_init(options)
    if (present(method)) options%method = to_c(method_letters, method)
    if (present(timeout)) options%timeout_s = timeout
    call c_halo_indices_init(indices)
    indices%base = 1
    own = [owned, 0_int64]  ! so that there is an address if the list is empty
    needed = [ghosts, 0_int64]
    indices%owned = c_loc(own)
    indices%owned_count = size(owned, kind=c_int64_t)
    indices%ghosts = c_loc(needed)
    indices%ghost_count = size(ghosts, kind=c_int64_t)
    if (present(owners)) then
      ranks = [int(owners, c_int32_t), 0_c_int32_t]
      indices%owners = c_loc(ranks)
    end if
    if (present(places)) then
      where = [int(places, c_int64_t), 0_c_int64_t]
      indices%places = c_loc(where)
    end if
    halo%dimensions = 1
    call conclude(c_halo_create_list(group, to_c(name_letters, name), indices, options, halo%handle), ierr)
  end subroutine

  integer function dimensions_of(grid) result(n)
    class(couplet_grid), intent(in) :: grid
    n = 0
    if (allocated(grid%cells)) n = size(grid%cells)
  end function

  ! Creates a halo. group: the handle of a group.
  subroutine open_halo(group, name, grid, halo, widths, method, timeout, ierr)
    type(c_ptr), intent(in) :: group
    character(len=*), intent(in) :: name
    type(couplet_grid), intent(in), target :: grid
    type(couplet_halo), intent(out) :: halo
    logical, intent(in), optional :: widths
    character(len=*), intent(in), optional :: method
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    character(kind=c_char), allocatable, target :: name_letters(:), method_letters(:)
    type(c_halo_options) :: options
    call c_halo_options_init(options)
    if (present(widths)) options%has_widths = merge(1, 0, widths)
    if (present(method)) options%method = to_c(method_letters, method)
    if (present(timeout)) options%timeout_s = timeout
    halo%dimensions = dimensions_of(grid)
    call conclude(c_halo_create(group, to_c(name_letters, name), terms_of(grid), options, halo%handle), ierr)
  end subroutine

  type(widths_of_field) function field_widths(n, width, below, above, first, staggered) result(widths)
    integer, intent(in) :: n
    integer, intent(in), optional :: width, below(:), above(:), first(:)
    logical, intent(in), optional :: staggered(:)
    widths%is_right = .not. (wrong_size(below, n) .or. wrong_size(above, n) .or. wrong_size(first, n) .or. &
                             wrong_flags(staggered, n))
    if (.not. widths%is_right) return
    if (present(width)) widths%below(:n) = width
    if (present(width)) widths%above(:n) = width
    if (present(below)) widths%below(:n) = below(n:1:-1)
    if (present(above)) widths%above(:n) = above(n:1:-1)
    if (present(first)) widths%first(:n) = max(first(n:1:-1), 0) - 1
    if (present(first)) widths%is_right = all(first >= 1)
    if (present(staggered)) widths%staggered(:n) = merge(1, 0, staggered(n:1:-1))
  end function

  subroutine add_field(halo, layout, widths, corners, name, component_dimension, ierr)
    class(couplet_halo), intent(in) :: halo
    type(array_layout), intent(in) :: layout
    type(widths_of_field), intent(in) :: widths
    logical, intent(in), optional :: corners
    character(len=*), intent(in), optional :: name
    integer, intent(in), optional :: component_dimension
    integer, intent(out), optional :: ierr
    character(kind=c_char), allocatable, target :: letters(:)
    type(c_halo_field) :: field
    integer :: n, i, apart, next
    n = halo%dimensions
    call c_halo_field_init(field)
    field%type = layout%type
    field%name = to_c(letters, name)
    apart = 0
    if (layout%dimensions == n + 1) apart = 1
    if (present(component_dimension)) apart = component_dimension
    if (.not. layout%has_layout .or. .not. widths%is_right .or. layout%dimensions /= n + merge(1, 0, apart /= 0) .or. &
        apart < 0 .or. apart > layout%dimensions) then
      call refuse(couplet_error_argument, "add: the array must have as many dimensions as the grid, 1 for a list, "// &
                  "or one more for components; each list of widths as many entries; and first be at least 1", ierr)
      return
    end if
    next = n
    do i = 1, layout%dimensions
      if (i == apart) then
        field%components = layout%extents(i)
        field%component_stride_bytes = layout%strides(i)
        cycle
      end if
      field%shape(next) = layout%extents(i)
      field%stride_bytes(next) = layout%strides(i)
      next = next - 1
    end do
    field%data = layout%address
    field%below = widths%below
    field%above = widths%above
    field%first = widths%first
    field%staggered = widths%staggered
    if (present(corners)) field%corners = merge(1, 0, corners)
    call conclude(c_halo_add(halo%handle, field), ierr)
  end subroutine

  pure logical function wrong_size(list, n) result(wrong)
    integer, intent(in), optional :: list(:)
    integer, intent(in) :: n
    wrong = .false.
    if (present(list)) wrong = size(list) /= n
  end function

  pure logical function wrong_flags(list, n) result(wrong)
    logical, intent(in), optional :: list(:)
    integer, intent(in) :: n
    wrong = .false.
    if (present(list)) wrong = size(list) /= n
  end function

  ! Agrees with the other ranks on the fields and on the method. Collective over the group.
  subroutine halo_freeze(halo, ierr)
    class(couplet_halo), intent(in) :: halo
    integer, intent(out), optional :: ierr
    call conclude(c_halo_freeze(halo%handle), ierr)
  end subroutine

  ! Begins a round. Until it has ended, the block may only be read, and what is around it not be used. width: how far
  ! the halos reach in this round, the same at all ranks; absent: as far as the fields say.
  subroutine halo_begin(halo, width, ierr)
    class(couplet_halo), intent(in) :: halo
    integer, intent(in), optional :: width
    integer, intent(out), optional :: ierr
    integer(c_int64_t) :: wanted
    wanted = -1
    if (present(width)) wanted = merge(-2, width, width < 0)
    call conclude(c_halo_begin(halo%handle, wanted), ierr)
  end subroutine

  ! Says whether the round is over. Never blocks.
  subroutine halo_test(halo, done, ierr)
    class(couplet_halo), intent(in) :: halo
    logical, intent(out) :: done
    integer, intent(out), optional :: ierr
    integer(c_int32_t) :: flag, status
    flag = 0
    status = c_halo_test(halo%handle, flag)
    done = flag /= 0
    call conclude(status, ierr)
  end subroutine

  ! Waits until the round is over. timeout is in seconds; absent or negative: for ever. After couplet_error_timeout the
  ! round is still under way.
  subroutine halo_end(halo, timeout, ierr)
    class(couplet_halo), intent(in) :: halo
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: ierr
    real(c_double) :: timeout_s
    timeout_s = -1
    if (present(timeout)) timeout_s = timeout
    call conclude(c_halo_end(halo%handle, timeout_s), ierr)
  end subroutine

  ! Gives the name of the method, or "" before the halo is frozen.
  subroutine halo_method(halo, name, ierr)
    class(couplet_halo), intent(in) :: halo
    character(len=:), allocatable, intent(out) :: name
    integer, intent(out), optional :: ierr
    type(c_ptr) :: text
    integer(c_int32_t) :: status
    text = c_null_ptr
    status = c_halo_method(halo%handle, text)
    name = from_c(text)
    call conclude(status, ierr)
  end subroutine

  ! Gives a table of the methods, their times in the trials, and why others were left out.
  subroutine halo_explain(halo, text, ierr)
    class(couplet_halo), intent(in) :: halo
    character(len=:), allocatable, intent(out) :: text
    integer, intent(out), optional :: ierr
    character(kind=c_char), allocatable, target :: letters(:)
    integer(c_size_t) :: needed
    integer(c_int32_t) :: status
    text = ""
    needed = 0
    status = c_halo_explain(halo%handle, c_null_ptr, 0_c_size_t, needed)
    if (status == couplet_ok) then
      allocate (letters(needed))
      status = c_halo_explain(halo%handle, c_loc(letters), needed, needed)
      if (status == couplet_ok) text = from_c(c_loc(letters))
    end if
    call conclude(status, ierr)
  end subroutine

  ! Closes the halo. Ranks that wait for a round which this one has not begun get couplet_error_state.
  subroutine halo_close(halo, ierr)
    class(couplet_halo), intent(inout) :: halo
    integer, intent(out), optional :: ierr
    integer(c_int32_t) :: status
    status = c_halo_close(halo%handle)
    halo%handle = c_null_ptr
    call conclude(status, ierr)
  end subroutine
end module
