! Exchanges the outer layers of a field with the six neighbours. The faces are packed, since only those of one dimension
! are contiguous. It is built on decomposition; conjugate_gradients is built on it.
module halo
  use decomposition
  use mpi
  implicit none
  private
  public :: exchange, make_exchange, update

  ! The buffers of the faces that are sent and received: 1 below and 2 above, in each dimension.
  type :: exchange
    real(dp), allocatable :: sent(:, :, :), received(:, :, :)
    integer :: requests(12)
    integer :: statuses(MPI_STATUS_SIZE, 12)
  end type

contains

  subroutine make_exchange(it, faces)
    type(box), intent(in) :: it
    type(exchange), intent(out) :: faces
    integer :: largest
    largest = max(it%cells(1) * it%cells(2), it%cells(2) * it%cells(3), it%cells(1) * it%cells(3))
    allocate (faces%sent(largest, 2, 3), faces%received(largest, 2, 3))
    faces%requests = MPI_REQUEST_NULL
  end subroutine

  ! Fills the layer around the box. Outside of the cube the layer stays what it is.
  subroutine update(it, faces, field)
    type(box), intent(in) :: it
    type(exchange), intent(inout) :: faces
    real(dp), intent(inout) :: field(0:, 0:, 0:)
    integer :: dimension, side, ierr, count, number
    number = 0
    do dimension = 1, 3
      count = product(it%cells) / it%cells(dimension)
      do side = 1, 2
        number = number + 1
        call MPI_Irecv(faces%received(1, side, dimension), count, real_type, it%neighbour(side, dimension), &
          10 * dimension + 3 - side, it%comm, faces%requests(number), ierr)
      end do
    end do
    do dimension = 1, 3
      count = product(it%cells) / it%cells(dimension)
      do side = 1, 2
        number = number + 1
        call pack_face(it, field, dimension, merge(1, it%cells(dimension), side == 1), &
          faces%sent(:count, side, dimension))
        call MPI_Isend(faces%sent(1, side, dimension), count, real_type, &
          & it%neighbour(side, dimension), &  ! the tag says where it comes from
          & 10 * dimension + side, it%comm, faces%requests(number), ierr)
      end do
    end do
    call MPI_Waitall(number, faces%requests, faces%statuses, ierr)
    do dimension = 1, 3
      count = product(it%cells) / it%cells(dimension)
      do side = 1, 2
        if (it%neighbour(side, dimension) == MPI_PROC_NULL) cycle
        if (faces%statuses(MPI_SOURCE, 2 * dimension - 2 + side) /= it%neighbour(side, dimension)) error stop "halo"
        call unpack_face(it, field, dimension, merge(0, it%cells(dimension) + 1, side == 1), &
          faces%received(:count, side, dimension))
      end do
    end do
  end subroutine

  subroutine pack_face(it, field, dimension, at, face)
    type(box), intent(in) :: it
    real(dp), intent(in) :: field(0:, 0:, 0:)
    integer, intent(in) :: dimension, at
    real(dp), intent(out) :: face(:)
    associate (n => it%cells)
      if (dimension == 1) face = reshape(field(at, 1:n(2), 1:n(3)), [size(face)])
      if (dimension == 2) face = reshape(field(1:n(1), at, 1:n(3)), [size(face)])
      if (dimension == 3) face = reshape(field(1:n(1), 1:n(2), at), [size(face)])
    end associate
  end subroutine

  subroutine unpack_face(it, field, dimension, at, face)
    type(box), intent(in) :: it
    real(dp), intent(inout) :: field(0:, 0:, 0:)
    integer, intent(in) :: dimension, at
    real(dp), intent(in) :: face(:)
    associate (n => it%cells)
      if (dimension == 1) field(at, 1:n(2), 1:n(3)) = reshape(face, [n(2), n(3)])
      if (dimension == 2) field(1:n(1), at, 1:n(3)) = reshape(face, [n(1), n(3)])
      if (dimension == 3) field(1:n(1), 1:n(2), at) = reshape(face, [n(1), n(2)])
    end associate
  end subroutine
end module
