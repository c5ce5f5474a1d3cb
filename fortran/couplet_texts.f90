! Strings between Fortran and C. Neighbours: couplet_binding is above, the C library below. Tests: tests/languages.
module couplet_texts_module
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: c_string, from_c, to_c

  ! The memory of a C string.
  type :: c_string
    character(kind=c_char), allocatable :: letters(:)
  end type

  interface
    function c_strlen(text) bind(c, name="strlen") result(length)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
  end interface

contains

  ! Copies a C string into a Fortran one, which is empty if the address is NULL.
  function from_c(text) result(string)
    type(c_ptr), intent(in) :: text
    character(len=:), allocatable :: string
    character(kind=c_char), pointer :: letters(:)
    integer :: i, length
    length = 0
    if (c_associated(text)) length = int(c_strlen(text))
    allocate (character(len=length) :: string)
    if (length == 0) return
    call c_f_pointer(text, letters, [length])
    do i = 1, length
      string(i:i) = letters(i)
    end do
  end function

  ! Writes a Fortran string as a C one to `buffer`, which must outlive the returned address. The address is NULL if the
  ! string is absent or empty.
  function to_c(buffer, string) result(text)
    character(kind=c_char), allocatable, target, intent(inout) :: buffer(:)
    character(len=*), intent(in), optional :: string
    type(c_ptr) :: text
    integer :: i, length
    text = c_null_ptr
    if (.not. present(string)) return
    length = len_trim(string)
    if (length == 0) return
    allocate (buffer(length + 1))
    do i = 1, length
      buffer(i) = string(i:i)
    end do
    buffer(length + 1) = c_null_char
    text = c_loc(buffer)
  end function
end module
