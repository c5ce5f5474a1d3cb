! The ocean's part of the proof: writes check sums and measured times into files, which summarise.py checks.
module proof
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi_f08
  use couplet_mpi, only: couplet_mpi_version, couplet_series, couplet_series_info, couplet_series_statistics
  use checksums, only: checksum_modulus
  implicit none
  private
  public :: elapsed, write_proof

contains

  ! Returns the seconds since `mark`, and sets `mark` to now.
  real(real64) function elapsed(mark)
    real(real64), intent(inout) :: mark
    real(real64) :: now
    now = MPI_Wtime()
    elapsed = now - mark
    mark = now
  end function elapsed

  ! Writes three files, whose names begin with `output`: ocean.json, checksums_ocean.bin and coupling_ocean.bin. `sums`
  ! are this rank's parts of the check sums; `coupling` is its time in claim and publish for each step, and `computing`
  ! its time in the solver, in seconds. The files have the longest time in Couplet and the shortest computation of all
  ! ranks.
  subroutine write_proof(comm, output, series, sums, coupling, computing)
    type(MPI_Comm), intent(in) :: comm
    character(len=*), intent(in) :: output
    type(couplet_series), intent(in) :: series
    integer(int64), intent(in) :: sums(:)
    real(real64), intent(in) :: coupling(:), computing
    type(couplet_series_statistics) :: counts
    type(couplet_series_info) :: info
    real(real64) :: held, most(2), least, longest(size(coupling))
    integer(int64) :: bytes, all_sums(size(sums))
    integer :: rank, unit
    call series%statistics(counts)
    call series%describe(info)
    held = counts%held_ns * 1e-9_real64
    call MPI_Reduce([sum(coupling) - held, held], most, 2, MPI_DOUBLE_PRECISION, MPI_MAX, 0, comm)
    call MPI_Reduce(coupling, longest, size(coupling), MPI_DOUBLE_PRECISION, MPI_MAX, 0, comm)
    call MPI_Reduce(computing, least, 1, MPI_DOUBLE_PRECISION, MPI_MIN, 0, comm)
    call MPI_Reduce(counts%published * info%step_bytes, bytes, 1, MPI_INTEGER8, MPI_SUM, 0, comm)
    call MPI_Reduce(sums, all_sums, size(sums), MPI_INTEGER8, MPI_SUM, 0, comm)
    call MPI_Comm_rank(comm, rank)
    if (rank > 0) return
    open (newunit=unit, file=trim(output) // 'checksums_ocean.bin', access='stream', form='unformatted', &
      status='replace')
    write (unit) modulo(all_sums, checksum_modulus)
    close (unit)
    open (newunit=unit, file=trim(output) // 'coupling_ocean.bin', access='stream', form='unformatted', &
      status='replace')
    write (unit) longest
    close (unit)
    open (newunit=unit, file=trim(output) // 'ocean.json', status='replace')
    write (unit, '(3a, i0, a)') '{"name": "ocean", "mpi": "', couplet_mpi_version(), '", "ranks": ', info%writers, ','
    write (unit, '(2(a, i0), a)') ' "steps": ', counts%published, ', "bytes": ', bytes, ','
    write (unit, '(3(a, es13.6), a)') ' "seconds_couplet": ', most(1), ', "seconds_held": ', most(2), &
        ', "seconds_computation": ', least, '}'
    close (unit)
  end subroutine write_proof

end module proof
