! Datatypes with module mpi_f08: lists of places, steps in bytes. It is converted by tests/convert.
program lists
  use mpi_f08
  implicit none
  integer :: rank, ranks, left, right, i
  integer :: from(24)
  integer(MPI_ADDRESS_KIND) :: places(3)
  type(MPI_Datatype) :: list, few, far, same, stepped, pieces, three
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)
  from = [(100 * rank + i, i = 1, 24)]
  call MPI_Type_indexed(3, [2, 0, 3], [10, 4, 1], MPI_INTEGER, list)
  call shift("indexed", list)
  call MPI_Type_create_indexed_block(3, 2, [9, 0, 4], oldtype=MPI_INTEGER, newtype=few)
  call shift("indexed block", few)
  places = [40, 0, 16]
  call MPI_Type_create_hindexed(3, [1, 2, 0], places, MPI_INTEGER, far)
  call shift("hindexed", far)
  call MPI_Type_create_hindexed_block(2, 3, places, MPI_INTEGER, pieces)
  call shift("hindexed block", pieces)
  places(1) = 20
  call MPI_Type_create_hvector(3, 2, places(1), MPI_INTEGER, stepped)
  call shift("hvector", stepped)
  call MPI_Type_dup(stepped, same)
  call MPI_Type_contiguous(1, same, three)
  call shift("nested", three)
  call MPI_Type_free(three)
  call MPI_Finalize()
contains
  subroutine shift(name, made)
    character(len=*), intent(in) :: name
    type(MPI_Datatype), intent(inout) :: made
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer :: into(24), bytes, count
    integer(MPI_ADDRESS_KIND) :: lower, extent
    into = 0
    call MPI_Type_commit(made)
    call MPI_Isend(from, 1, made, right, 5, MPI_COMM_WORLD, request)
    call MPI_Recv(into, 1, made, left, 5, MPI_COMM_WORLD, status)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Get_count(status, made, count)
    call MPI_Type_size(made, bytes)
    call MPI_Type_get_extent(made, lower, extent)
    print "(2a, 6i4, a, 24i5)", name, " rank", rank, status%MPI_SOURCE, count, bytes, lower, extent, ":", into
  end subroutine
end program
