! Groups that are made from what each process knows of the programs. It is built on couplet_universes and
! couplet_messages; module couplet, which programs use, is built on it. Tests: tests/languages.
module couplet_groups_module
  use couplet_binding_module
  use couplet_errors_module
  use couplet_messages_module, only: couplet_group
  use couplet_texts_module, only: to_c
  use couplet_universes_module, only: couplet_universe
  implicit none
  private
  public :: couplet_heads_group, couplet_program_group_of, couplet_filter_group

contains

  ! Creates the group of the ranks 0 of all programs. name: by default "heads".
  subroutine couplet_heads_group(universe, group, name, ierr)
    type(couplet_universe), intent(in) :: universe
    type(couplet_group), intent(out) :: group
    character(len=*), intent(in), optional :: name
    integer, intent(out), optional :: ierr
    character(kind=c_char), allocatable, target :: letters(:)
    type(c_ptr) :: chosen
    chosen = to_c(letters, name)
    if (.not. present(name)) chosen = to_c(letters, "heads")
    call conclude(c_group_create_heads(universe%handle, chosen, group%handle), ierr)
  end subroutine

  ! Creates the group of all ranks of one program. Ranks of other programs are no members.
  subroutine couplet_program_group_of(universe, program, group, ierr)
    type(couplet_universe), intent(in) :: universe
    character(len=*), intent(in) :: program
    type(couplet_group), intent(out) :: group
    integer, intent(out), optional :: ierr
    character(kind=c_char), allocatable, target :: letters(:)
    call conclude(c_group_create_program(universe%handle, to_c(letters, program), group%handle), ierr)
  end subroutine

  ! Creates the group of the universe ranks for which keep(rank, program id) is true, in their order. Every process
  ! calls it with a function that decides alike.
  subroutine couplet_filter_group(universe, name, keep, group, ierr)
    type(couplet_universe), intent(in) :: universe
    character(len=*), intent(in) :: name
    interface
      logical function keep(rank, program)
        integer, intent(in) :: rank, program
      end function
    end interface
    type(couplet_group), intent(out) :: group
    integer, intent(out), optional :: ierr
    integer, allocatable :: ranks(:)
    integer :: program, programs, first, members, rank, status
    call universe%program(program_count=programs, ierr=status)
    allocate (ranks(0))
    do program = 0, programs - 1
      if (status /= couplet_ok) exit
      call universe%program_info(program, size=members, first_rank=first, ierr=status)
      do rank = first, first + members - 1
        if (keep(rank, program)) ranks = [ranks, rank]
      end do
    end do
    if (status /= couplet_ok) then
      call conclude(int(status, c_int32_t), ierr)
    else
      call universe%create_group(name, ranks, group, ierr)
    end if
  end subroutine
end module
