! Weights of a reader: a sparse matrix in compressed rows, with Fortran's numbering. Below: couplet_binding; above:
! couplet_universes, which opens series with them. Tests: tests/languages.
module couplet_weights_module
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use couplet_binding_module
  implicit none
  private
  public :: couplet_series_weights, c_weights_memory, turn_weights

  ! Row r has the entries row_offsets(r) to row_offsets(r+1) - 1. A source is the number of an element of the whole
  ! array in array element order, from 1 on. For eta(i,j) with shape [ni, nj] it is i + (j-1) * ni. This is the flat
  ! index of the C interface plus 1, since eta(i,j) is C's eta[j][i]. A row without entries, or with a masked source,
  ! gets `fill`, which is NaN unless it is set.
  type :: couplet_series_weights
    integer(int64) :: source_points = 0            ! elements of the whole array
    integer(int64), allocatable :: row_offsets(:)  ! one more than there are rows, from 1 on
    integer(int64), allocatable :: sources(:)      ! for each entry the number of its source
    real(real64), allocatable :: weights(:)        ! for each entry its weight
    logical, allocatable :: source_mask(:)         ! .false.: the source point is masked; not allocated: none is
    real(real64), allocatable :: fill
  end type

  ! What the C struct points to.
  type :: c_weights_memory
    integer(c_int64_t), allocatable :: row_offsets(:), sources(:)
    real(c_double), allocatable :: weights(:)
    integer(c_int8_t), allocatable :: source_mask(:)
    type(c_series_weights) :: image
  end type

contains

  ! text: what is wrong with the lengths; not allocated: nothing.
  subroutine turn_weights(weights, memory, text)
    type(couplet_series_weights), intent(in) :: weights
    type(c_weights_memory), intent(inout), target :: memory
    character(len=:), allocatable, intent(out) :: text
    if (.not. (allocated(weights%row_offsets) .and. allocated(weights%sources) .and. allocated(weights%weights))) then
      text = "weights: row_offsets, sources and weights must be allocated"
    else if (size(weights%row_offsets) == 0) then
      text = "weights: row_offsets must have one element more than there are rows"
    else if (size(weights%sources) /= size(weights%weights) .or. &
             weights%row_offsets(size(weights%row_offsets)) /= size(weights%sources, kind=int64) + 1) then
      text = "weights: row_offsets must end with the number of sources, and of weights, plus 1"
    else if (allocated(weights%source_mask)) then
      if (size(weights%source_mask, kind=int64) /= weights%source_points) then
        text = "weights: source_mask must have source_points elements"
      end if
    end if
    if (allocated(text)) return
    call c_series_weights_init(memory%image)
    memory%row_offsets = weights%row_offsets - 1
    memory%sources = weights%sources - 1
    memory%weights = weights%weights
    memory%image%rows = size(weights%row_offsets, kind=c_int64_t) - 1
    memory%image%source_points = weights%source_points
    memory%image%row_offsets = c_loc(memory%row_offsets)
    if (size(memory%sources) > 0) then
      memory%image%sources = c_loc(memory%sources)
      memory%image%weights = c_loc(memory%weights)
    end if
    if (allocated(weights%source_mask)) then
      memory%source_mask = merge(1_c_int8_t, 0_c_int8_t, weights%source_mask)
      memory%image%source_mask = c_loc(memory%source_mask)
    end if
    if (allocated(weights%fill)) memory%image%fill = weights%fill
  end subroutine
end module
